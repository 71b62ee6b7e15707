import { textIn, toJson } from '../../contract/reading.ts';

/** A value as one cell: text as it is, lists and objects as JSON. */
const cellOf = (value: unknown) =>
  value === null || value === undefined ? '' : (textIn(value) ?? toJson(value));

type Rows = readonly (readonly unknown[])[];

/** Rows as RFC 4180 has them, but with bare line feeds, as other tools of a shell write them. */
export async function csvLines(rows: Rows): Promise<string> {
  const { stringify } = await import('csv-stringify/sync');
  return stringify(rows.map((row) => row.map(cellOf)));
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
const escaped = (text: string) => text.replace(/[\\\t\n\r]/g, (each) => escapes[each] as string);

/** Rows with tabs between; a tab, line end or backslash in a value is escaped, as jq's @tsv does. */
export const tsvLines = (rows: Rows) =>
  rows.map((row) => `${row.map((value) => escaped(cellOf(value))).join('\t')}\n`).join('');
