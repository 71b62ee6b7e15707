import { describeWrongTag, parseTags } from '../../../contract/slug.ts';
import { asText } from '../../../shared/json-values.ts';
import { asCodedError } from '../../errors.ts';
import { closestSpellings } from '../../spelling.ts';
import { readTable, type TableRow, tableError, tableHint } from '../../table/read-table.ts';
import type { UserMetadata } from './upload-file.ts';

const columns = ['path', 'name', 'description', 'folder', 'tags', 'content_type'] as const;

/**
 * Parses CSV or TSV with a header, or JSON lines (`readTable`).
 *
 * @param encoding name of its encoding; undefined for UTF-8 or UTF-16
 * @throws CodedError `usage` (exit 2) with the number of the wrong line
 */
export async function parseManifest(bytes: Buffer, encoding: string | undefined) {
  const { columns: header, rows } = await readTable(bytes, 'the manifest', encoding);
  if (header) assertColumns(1, header.filter(Boolean)); // spreadsheet programs add columns without a name
  const files: { path: string; about: UserMetadata }[] = [];
  try {
    for await (const row of rows) {
      if (header && !header.includes('path')) throw manifestError(1, 'the header has no column path');
      files.push(parseRow(row));
    }
  } catch (error) {
    addHint(error);
  }
  return files;
}

function addHint(error: unknown): never {
  const coded = asCodedError(error);
  throw coded.explanation.hint === tableHint ? coded.with({ hint: manifestHint }) : coded;
}

function parseRow({ line, cells }: TableRow): { path: string; about: UserMetadata } {
  assertColumns(
    line,
    Object.keys(cells).filter((name) => name !== '' || asText(cells[name])),
  );
  const path = asText(cells.path) ?? '';
  if (path === '') throw manifestError(line, 'the path is missing');
  const tags = parseTags(cells.tags ?? '');
  const wrongTag = tags ? describeWrongTag(tags) : 'its tags are neither a text nor a list of texts';
  if (wrongTag !== undefined) throw manifestError(line, wrongTag);
  const text = (name: (typeof columns)[number]) => asText(cells[name]) || undefined;
  const [name, description, folder] = [text('name'), text('description'), text('folder')];
  return {
    path,
    about: { name, description, folder, contentType: text('content_type'), tags: tags?.length ? tags : undefined },
  };
}

function assertColumns(line: number, names: readonly string[]): void {
  const unknown = names.filter((name) => !(columns as readonly string[]).includes(name));
  if (unknown.length === 0) return;
  const meant = unknown.flatMap((name) => {
    const [closest = Object.hasOwn(synonyms, name) ? synonyms[name] : undefined] = closestSpellings(name, columns);
    return closest ?? [];
  });
  const hint = `${meant.length > 0 ? `did you mean ${meant.join(', ')}? ` : ''}columns: ${columns.join(', ')}`;
  const named = unknown.filter((name) => name !== '');
  const problem = `unknown ${named.length === 1 ? 'column' : 'columns'} ${named.join(', ')}`;
  throw manifestError(line, named.length === 0 ? 'a cell has no column' : problem).with({ hint });
}

/** Columns of other tables. */
const synonyms: Partial<Record<string, (typeof columns)[number]>> = {
  ...{ file: 'path', filename: 'path', file_name: 'path', filepath: 'path', source: 'path', url: 'path' },
  ...{ title: 'name', label: 'tags', labels: 'tags', tag: 'tags', keywords: 'tags', caption: 'description' },
  ...{ directory: 'folder', collection: 'folder', target: 'folder', mime: 'content_type', type: 'content_type' },
};

const manifestHint =
  'use CSV with a header, or JSON Lines; columns: path, name, description, folder, tags, content_type';

const manifestError = (line: number, reason: string) => tableError('the manifest', line, reason);
