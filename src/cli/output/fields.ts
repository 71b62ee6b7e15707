import { closestSpellings } from '../../client/spelling.ts';
import { displayText, escapeControls } from '../../shared/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { cellOf } from './cells.ts';
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

/**
 * Tracks which requested paths occurred in no record, to warn of misspelled field names.
 *
 * @param columns fields that the table of the records shows
 */
function trackFields(paths: readonly string[], columns: readonly Pick<Column<never>, 'field'>[], terminal: Terminal) {
  const missing = new Set(paths);
  const known = new Set(columns.flatMap(({ field }) => field ?? []));
  let hasRecords = false;
  const pick = (record: Json) => {
    hasRecords = true;
    for (const field of Object.keys(Object(record))) known.add(field);
    for (const path of missing) if (valueAt(record, path) !== undefined) missing.delete(path);
    return pickFields(record, paths);
  };
  /** Warns of each field that no record has, with the field that may be meant. */
  const warn = () => {
    for (const field of hasRecords ? missing : []) {
      const similar = closestSpellings(field.toLowerCase().replaceAll(' ', '_'), [...known]);
      const meant = similar.length > 0 ? `did you mean ${similar.join(' or ')}?` : '--json shows all fields';
      terminal.warn(escapeControls(`no record has a field ${field}; ${meant}`));
    }
  };
  return { pick, warn };
}

export function selectFields(result: PrintableResult, fields: readonly string[], terminal: Terminal): PrintableResult {
  const columns = 'columns' in result ? (result.columns ?? []) : [];
  const { pick, warn } = trackFields(fields, columns, terminal);
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
          const value = known && cellOf(known, result.record, render);
          return [field, value ?? displayText(valueAt(result.record, field))];
        }),
    };
  }
  if (result.kind !== 'list') return result;
  const { pages, id } = result;
  async function* pickedPages() {
    for await (const page of pages)
      yield page.map((item) => ({ ...pick(item), [idSymbol]: id(item), [wholeSymbol]: item }));
    warn();
  }
  return {
    ...result,
    pages: pickedPages(),
    id: (item) => item[idSymbol],
    columns: fields.map((field) => columnOf(field, result.columns)),
  };
}

function columnOf(field: string, columns: ListResult['columns']): Column<Picked> {
  const known = columns.find((column) => column.field === field);
  const { noTruncate = false, uid } = known ?? {};
  return {
    field,
    // Scripts get the value of the field, and a terminal what its column shows.
    value: (item, render) =>
      known && render.isTerminal ? cellOf(known, item[wholeSymbol], render) : displayText(item[field]),
    noTruncate,
    ...(uid && { uid }),
  };
}

type Picked = Record<string, Json> & { [idSymbol]?: string; [wholeSymbol]?: unknown };

const idSymbol = Symbol('id for --quiet');
const wholeSymbol = Symbol('record that the fields were picked from');
