import { Readable } from 'node:stream';
import { asText, isJsonObject } from '../../shared/json-values.ts';
import { usageError } from '../errors.ts';
import { linesOf, toUtf8, type Utf8Parts } from './text-encoding.ts';

/** A row of a table: its line in the file, from 1, and its values by column. Those of CSV and TSV are texts. */
export type TableRow = { line: number; cells: { readonly [column: string]: unknown } };

export type Table = {
  /** Column names of the header, in lower case; undefined for JSON lines, which have none. */
  columns: readonly string[] | undefined;
  /** Reads the rows, one at a time. @throws CodedError `usage` (exit 2) with the line that cannot be parsed */
  rows: AsyncIterable<TableRow>;
};

/** First line by which Excel learns the delimiter. */
const separatorLine = /^sep=.\r?\n/;

/** First bytes of a ZIP file, as which Excel and LibreOffice save workbooks. */
const zipMark = Buffer.from('PK\x03\x04', 'latin1');

/**
 * Reads a table: JSON lines, or CSV with a header whose delimiter is a comma, a semicolon or a tab.
 *
 * @param name name of the file, for errors
 * @param encoding name of its encoding; undefined for UTF-8, or UTF-16 with a byte order mark (`toUtf8`)
 * @throws CodedError `usage` (exit 2) if it is not in that encoding, or if the header cannot be parsed
 */
export async function readTable(bytes: Buffer, name: string, encoding: string | undefined): Promise<Table> {
  if (bytes.subarray(0, 4).equals(zipMark))
    throw usageError(`${name} is a workbook, not a table`, 'save it as CSV; in Excel, as "CSV UTF-8"');
  const parts = await toUtf8(bytes, name, encoding);
  const beginning = parts().next().value?.toString() ?? '';
  const start = beginning.replace(separatorLine, '');
  if (/^\s*\{/.test(start)) return { columns: undefined, rows: readJsonLines(parts, name) };
  const [head = ''] = start.trimStart().split(/\r?\n/, 1);
  const count = (delimiter: string) => head.split(delimiter).length;
  const [delimiter = ','] = [',', ';', '\t'].sort((one, other) => count(other) - count(one));
  const skipped = Buffer.byteLength(beginning) - Buffer.byteLength(start);
  const records = parseDelimited(parts, { name, delimiter, skipped });
  const header = (await records.next()).value?.record.map((column) => column.trim().toLowerCase()) ?? [];
  const twice = header.find((column, at) => column !== '' && header.indexOf(column) !== at);
  if (twice !== undefined) throw tableError(name, 1, `column ${twice} occurs twice`);
  const rows = async function* () {
    for await (const { record, line } of records) {
      if (record.slice(header.length).some((cell) => cell !== ''))
        throw tableError(name, line, `it has ${record.length} cells, and the header has ${header.length}`).with({
          hint: `put a cell that contains "${delimiter}" in quotes`,
        });
      yield { line, cells: Object.fromEntries(header.map((column, at) => [column, record[at]])) };
    }
  };
  return { columns: header, rows: rows() };
}

async function* readJsonLines(parts: Utf8Parts, name: string): AsyncGenerator<TableRow> {
  let line = 0;
  for (const bytes of linesOf(parts())) {
    const json = bytes.toString().trim();
    line++;
    if (json === '') continue;
    let cells: unknown;
    try {
      cells = JSON.parse(json);
    } catch (error) {
      throw tableError(name, line, (error as Error).message);
    }
    if (!isJsonObject(cells)) throw tableError(name, line, 'it is not a JSON object');
    yield { line, cells };
  }
}

type DelimitedRecord = { record: string[]; line: number };

/** @param skipped number of bytes to leave out at the start */
async function* parseDelimited(
  parts: Utf8Parts,
  { name, delimiter, skipped }: { name: string; delimiter: string; skipped: number },
): AsyncGenerator<DelimitedRecord, undefined> {
  const { parse } = await import('csv-parse');
  const chunks = function* () {
    let at = skipped;
    for (const part of parts()) {
      yield part.subarray(at);
      at = 0;
    }
  };
  const parser = parse({
    delimiter,
    info: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
    relax_column_count: true, // spreadsheet programs leave out empty cells at the end of a row, or add some
    trim: true,
  });
  try {
    for await (const { record, info } of Readable.from(chunks()).pipe(parser)) yield { record, line: info.lines };
  } catch (error) {
    throw tableError(name, undefined, (error as Error).message);
  }
}

/** Returns the text of a cell, or '' for an object or a list. */
export const cellText = (value: unknown): string => asText(value) ?? '';

/** Next step of an error that has no better one. */
export const tableHint = 'use CSV with a header, or JSON lines';

export const tableError = (name: string, line: number | undefined, reason: string) =>
  usageError(line === undefined ? `cannot parse ${name}` : `line ${line} of ${name} is invalid`, tableHint, reason);
