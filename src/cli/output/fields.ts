import { displayText, escapeControls } from '../../contract/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Column, DetailRow, ListResult, PrintableResult } from './result.ts';

type Json = unknown;

/**
 * Returns the value at a path such as `player_config.theme` or `items.0.asset`; undefined if it is missing. If a
 * name is applied to a list, returns the list of that property's values.
 */
function valueAt(record: Json, path: string): Json {
  return path.split('.').reduce<Json>((value, name) => propertyOrMap(value, name), record);
}

function propertyOrMap(value: Json, name: string): Json {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value) && !/^\d+$/.test(name)) return value.map((each) => propertyOrMap(each, name));
  return Object.hasOwn(value, name) ? (value as Record<string, Json>)[name] : undefined;
}

const pickFields = (record: Json, paths: readonly string[]): Record<string, Json> =>
  Object.fromEntries(paths.map((path) => [path, valueAt(record, path) ?? null]));

/** Tracks which requested paths occurred in no record, to warn of misspelled field names. */
class FieldTracker {
  readonly #missing: Set<string>;
  #records = 0;

  constructor(paths: readonly string[]) {
    this.#missing = new Set(paths);
  }

  track(record: Json): void {
    this.#records++;
    for (const path of this.#missing) if (valueAt(record, path) !== undefined) this.#missing.delete(path);
  }

  get missing(): string[] {
    return this.#records === 0 ? [] : [...this.#missing];
  }
}

export function selectFields(result: PrintableResult, fields: readonly string[], terminal: Terminal): PrintableResult {
  const seen = new FieldTracker(fields);
  const warn = () => {
    for (const field of seen.missing)
      terminal.warn(`no record has a field ${escapeControls(field)}; --json shows all fields`);
  };
  const pick = (item: unknown) => {
    seen.track(item);
    return pickFields(item, fields);
  };
  if (result.kind === 'record') {
    // If the record is itself a list, such as a folder tree, the fields are picked from each item.
    const only = Array.isArray(result.record) ? result.record.map(pick) : pick(result.record);
    warn();
    return {
      ...result,
      record: only,
      view: (render) =>
        fields.map((field): DetailRow => {
          const known = result.columns?.find((column) => column.field === field);
          const value = known?.value(result.record, render);
          return [field, value ?? displayText(valueAt(result.record, field))];
        }),
    };
  }
  if (result.kind !== 'list') return result;
  const { pages, id } = result;
  async function* pickedPages() {
    for await (const page of pages) yield page.map((item) => ({ ...pick(item), [idSymbol]: id(item) }));
    warn();
  }
  return {
    ...result,
    pages: pickedPages(),
    id: (item) => item[idSymbol],
    columns: fields.map((field) => columnOf(field, result.columns)),
  };
}

function columnOf(field: string, columns: ListResult['columns']): Column<Record<string, Json>> {
  const known = columns.find((column) => column.field === field);
  const { value = (item: Record<string, Json>) => displayText(item[field]), noTruncate = false, uid } = known ?? {};
  return { header: field, value, noTruncate, ...(uid && { uid }) };
}

const idSymbol = Symbol('id for --quiet');
