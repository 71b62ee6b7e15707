import { asText, toJson } from '../../contract/json-values.ts';

/** Formats a value as one cell: text unchanged, lists and objects as JSON. */
const cellOf = (value: unknown) =>
  value === null || value === undefined ? '' : (asText(value) ?? toJson(value));

type Rows = readonly (readonly unknown[])[];

/** Formats rows as CSV (RFC 4180), but with LF line endings as other shell tools write them. */
export async function formatCsv(rows: Rows): Promise<string> {
  const { stringify } = await import('csv-stringify/sync');
  return stringify(rows.map((row) => row.map(cellOf)));
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
const escapeTsv = (text: string) => text.replace(/[\\\t\n\r]/g, (each) => escapes[each] as string);

/** Formats rows as TSV; tabs, line endings and backslashes in values are escaped as in jq's @tsv. */
export const formatTsv = (rows: Rows) =>
  rows.map((row) => `${row.map((value) => escapeTsv(cellOf(value))).join('\t')}\n`).join('');
