import { cell, printable } from '../../contract/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Column, ListResult, Row, Shown } from './result.ts';

type Json = unknown;

/** The value at a path such as `player_config.theme` or `items.0.asset`; a name maps over a list. */
function valueAt(record: Json, path: string): Json {
  return path.split('.').reduce<Json>((value, name) => step(value, name), record);
}

function step(value: Json, name: string): Json {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value) && !/^\d+$/.test(name)) return value.map((each) => step(each, name));
  return Object.hasOwn(value, name) ? (value as Record<string, Json>)[name] : undefined;
}

/** The fields of a record under the paths they were asked by; null where it has none. */
const picked = (record: Json, paths: readonly string[]): Record<string, Json> =>
  Object.fromEntries(paths.map((path) => [path, valueAt(record, path) ?? null]));

/** Remembers which of the paths any record had, so that a mistyped one is not silently empty. */
class FieldsSeen {
  readonly #missing: Set<string>;
  #records = 0;

  constructor(paths: readonly string[]) {
    this.#missing = new Set(paths);
  }

  see(record: Json): void {
    this.#records++;
    for (const path of this.#missing)
      if (valueAt(record, path) !== undefined) this.#missing.delete(path);
  }

  /** Paths that no record had, where there was a record. */
  get missing(): string[] {
    return this.#records === 0 ? [] : [...this.#missing];
  }
}

/** --fields: records of those fields alone, as rows and as columns. */
export function withFields(result: Shown, fields: readonly string[], terminal: Terminal): Shown {
  const seen = new FieldsSeen(fields);
  const warn = () => {
    for (const field of seen.missing)
      terminal.warn(`no record has a field ${printable(field)}; --json shows those there are`);
  };
  const pick = (item: unknown) => {
    seen.see(item);
    return picked(item, fields);
  };
  if (result.kind === 'record') {
    // A record that is a list, such as a tree, is picked from item by item.
    const only = Array.isArray(result.record) ? result.record.map(pick) : pick(result.record);
    warn();
    return {
      ...result,
      record: only,
      view: (render) =>
        fields.map((field): Row => {
          const known = result.columns?.find((column) => column.field === field);
          const value = known?.value(result.record, render);
          return [field, value ?? cell(valueAt(result.record, field))];
        }),
    };
  }
  if (result.kind !== 'list') return result;
  const { pages, id } = result;
  async function* pickedPages() {
    for await (const page of pages)
      yield page.map((item) => ({ ...pick(item), [identity]: id(item) }));
    warn();
  }
  return {
    ...result,
    pages: pickedPages(),
    id: (item) => item[identity],
    columns: fields.map((field) => columnOf(field, result.columns)),
  };
}

/** As tables show the field, on a terminal and in a pipe; in the order that was asked for. */
function columnOf(field: string, columns: ListResult['columns']): Column<Record<string, Json>> {
  const known = columns.find((column) => column.field === field);
  return {
    header: field,
    value: known?.value ?? ((item) => cell(item[field])),
    whole: known?.whole ?? false,
    ...(known?.uid && { uid: known.uid }),
  };
}

const identity = Symbol('what --quiet prints');
