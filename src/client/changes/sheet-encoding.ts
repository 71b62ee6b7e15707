import { pluralize } from '../../shared/figures.ts';
import { asObject, parseJsonOrUndefined } from '../../shared/json-values.ts';
import { CodedError } from '../errors.ts';
import { readTable, type Table, type TableRow } from '../table/read-table.ts';
import { codePages, encodingError, isUnicode, linesOf, loadDecoder, withoutUtf8Mark } from '../table/text-encoding.ts';
import { editableColumns, hashCell } from './sheet.ts';
import { readSheetRow } from './sheet-row.ts';

/**
 * Reads a table to apply. The hashes in its column `was` show the encoding of a file that is not Unicode, because cells
 * that were not edited equal them.
 *
 * @param name name of the file, for errors
 * @param encoding name of its encoding; undefined for UTF-8, or UTF-16 with a byte order mark
 * @throws CodedError `usage` (exit 2) if the file is not in that encoding, or if more cells equal their hashes in
 *   another one, which the error names
 */
export async function readSheet(bytes: Buffer, name: string, encoding: string | undefined): Promise<Table> {
  const samples = encoding === undefined && isUnicode(bytes) ? [] : await sampleRows(withoutUtf8Mark(bytes), name);
  if (samples.length === 0) return readTable(bytes, name, encoding);
  const named = encoding ?? 'UTF-8';
  const count = async (each: string) => countHashes(samples, await loadDecoder(each));
  const counts = await Promise.all(['utf-8', ...codePages].map(async (each) => ({ each, cells: await count(each) })));
  const [most, cells] = [Math.max(...counts.map((each) => each.cells)), await count(named)];
  if (most > cells) {
    const fitting = counts.filter((each) => each.cells === most).map(({ each }) => each);
    const fit = `${fitting[0]} fits the hashes of ${pluralize(most, 'cell')} (column was), and ${named} of ${cells}`;
    throw encodingError(name, named, { reason: fit, remedy: ['name_encoding', ...fitting] });
  }
  if (most === 0 && encoding === undefined)
    throw encodingError(name, named, {
      reason: 'no known encoding fits the hashes in its column was',
      remedy: ['name_encoding'],
    });
  return readTable(bytes, name, encoding);
}

/** A row with other letters than those of ASCII. @param decode decodes a text whose letters are bytes */
type Sample = (decode: (text: string) => string) => { cells: TableRow['cells']; isJson: boolean };

const isAscii = (text: unknown) => typeof text !== 'string' || /^\p{ASCII}*$/u.test(text);

/** Number of rows that are compared, at least, if the table has so many. */
const minSamples = 300;

/** Returns rows of all parts of a table. None if it is not an exported one. */
async function sampleRows(bytes: Buffer, name: string): Promise<readonly Sample[]> {
  let samples: Sample[] = [];
  let [seen, step] = [0, 1];
  try {
    for await (const sample of findSamples(bytes, name)) {
      if (seen++ % step === 0) samples.push(sample);
      if (samples.length < 2 * minSamples) continue;
      samples = samples.filter((_, at) => at % 2 === 0);
      step *= 2;
    }
  } catch (error) {
    // readTable reports what cannot be parsed. The rows before it show the encoding.
    if (!(error instanceof CodedError)) throw error;
  }
  return samples;
}

async function* findSamples(bytes: Buffer, name: string): AsyncGenerator<Sample> {
  // In all these encodings, a byte that is a delimiter, a quote or a line end in ASCII is no part of another letter.
  const { columns, rows } = await readTable(bytes, name, 'iso-8859-1');
  if (columns === undefined)
    for (const line of linesOf([bytes])) {
      const text = line.toString('latin1');
      if (!isAscii(text) && text.includes('"was"'))
        yield (decode) => ({ cells: asObject(parseJsonOrUndefined(decode(text))), isJson: true });
    }
  else if (columns.includes('was'))
    for await (const { cells } of rows)
      if (editableColumns.some((column) => !isAscii(cells[column])))
        yield (decode) => {
          const decoded = editableColumns.map((column) => [column, cells[column] && decode(cells[column] as string)]);
          return { cells: { ...cells, ...Object.fromEntries(decoded) }, isJson: false };
        };
}

/** Returns how many cells with other letters than those of ASCII equal their hashes in an encoding. */
function countHashes(samples: readonly Sample[], decode: (bytes: Buffer) => string): number {
  let count = 0;
  for (const sample of samples) {
    const { cells, isJson } = sample((text) => (isAscii(text) ? text : decode(Buffer.from(text, 'latin1'))));
    const row = readSheetRow({ line: 0, cells }, { isJson, clearWith: undefined });
    if ('outcome' in row) continue;
    for (const column of editableColumns) {
      const text = row.cells[column];
      if (text === undefined || isAscii(text)) continue;
      if (row.hashes?.columns[column]?.includes(hashCell(row.uid, column, text))) count++;
    }
  }
  return count;
}
