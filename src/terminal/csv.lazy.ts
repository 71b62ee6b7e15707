import { stringify } from 'csv-stringify/sync';
import { textIn, toJson } from '../wire/reading.ts';

/** A value as one cell: text as it is, lists and objects as JSON. */
const cellOf = (value: unknown) =>
  value === null || value === undefined ? '' : (textIn(value) ?? toJson(value));

/** Rows as RFC 4180 has them, but with bare line feeds, as other tools of a shell write them. */
export const csvLines = (rows: readonly (readonly unknown[])[]) =>
  stringify(rows.map((row) => row.map(cellOf)));

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Rows with tabs between; a tab, line end or backslash in a value is escaped, as jq's @tsv does. */
export const tsvLines = (rows: readonly (readonly unknown[])[]) =>
  rows
    .map((row) =>
      row
        .map((value) => cellOf(value).replace(/[\\\t\n\r]/g, (each) => escapes[each] as string))
        .join('\t'),
    )
    .map((line) => `${line}\n`)
    .join('');
