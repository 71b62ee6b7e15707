import { asText } from '../../shared/json-values.ts';
import { guardCell } from './guard.ts';

export type TableFormat = 'csv' | 'tsv' | 'jsonl';

/** Returns the format that a file name stands for: by its extension, or else JSON lines. */
export const tableFormatOf = (path: string): TableFormat =>
  (/\.(csv|tsv)$/i.exec(path)?.[1]?.toLowerCase() as TableFormat | undefined) ?? 'jsonl';

/** Formats the text of a cell. Lists and objects are JSON. */
export const formatCell = (value: unknown): string =>
  value === null || value === undefined ? '' : (asText(value) ?? JSON.stringify(value));

export type TableRows = readonly (readonly unknown[])[];

/** Formats rows as CSV (RFC 4180). The lines end with LF, as is usual for shell tools, or as `lineEnd` says. */
export async function formatCsv(rows: TableRows, { delimiter = ',', lineEnd = '\n' } = {}): Promise<string> {
  const { stringify } = await import('csv-stringify/sync');
  // Without this, a value with another line end or with outer spaces is not quoted, which other programs misread.
  const quoted_match = /[\r\n]|^\s|\s$/;
  return stringify(
    rows.map((row) => row.map(formatCell)),
    { delimiter, record_delimiter: lineEnd, quoted_match },
  );
}

/** Encodes a table for a file, one part after the other. */
export type TableEncoder = {
  head(): Promise<string>;
  rows(records: readonly { [column: string]: unknown }[]): Promise<string>;
};

/**
 * Creates an encoder for spreadsheets: CSV or TSV in UTF-8 with a byte order mark and CRLF, in which the cells of the
 * columns `guarded` are protected (`guardCell`). JSON lines are for programs and not protected.
 */
export function createTableEncoder(
  format: TableFormat,
  columns: readonly string[],
  guarded: readonly string[],
): TableEncoder {
  if (format === 'jsonl')
    return {
      head: async () => '',
      rows: async (records) =>
        records
          .map((record) => `${JSON.stringify(Object.fromEntries(columns.map((column) => [column, record[column]])))}\n`)
          .join(''),
    };
  const style = { delimiter: format === 'tsv' ? '\t' : ',', lineEnd: '\r\n' };
  const cellOf = (column: string, value: unknown) =>
    guarded.includes(column) ? guardCell(formatCell(value)) : formatCell(value);
  return {
    head: async () => `\uFEFF${await formatCsv([columns], style)}`,
    rows: (records) =>
      formatCsv(
        records.map((record) => columns.map((column) => cellOf(column, record[column]))),
        style,
      ),
  };
}
