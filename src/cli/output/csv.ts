import { asText, toJson } from '../../contract/json-values.ts';

/** Formats a value as one cell. Text stays unchanged; lists and objects become JSON. */
const cellOf = (value: unknown) => (value === null || value === undefined ? '' : (asText(value) ?? toJson(value)));

type Rows = readonly (readonly unknown[])[];

/** Formats rows as CSV (RFC 4180), but with LF line endings, as is usual for shell tools. */
export async function formatCsv(rows: Rows): Promise<string> {
  const { stringify } = await import('csv-stringify/sync');
  return stringify(rows.map((row) => row.map(cellOf)));
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
const escapeTsv = (text: string) => text.replace(/[\\\t\n\r]/g, (each) => escapes[each] as string);

/** Formats rows as TSV. Escapes tabs, line endings and backslashes in values as jq's @tsv does. */
export const formatTsv = (rows: Rows) =>
  rows.map((row) => `${row.map((value) => escapeTsv(cellOf(value))).join('\t')}\n`).join('');
