import { asText } from '../../../contract/json-values.ts';
import { describeWrongTag, parseTags } from '../../../contract/slug.ts';
import { asCodedError } from '../../errors.ts';
import { readTable, type TableRow, tableError } from '../../table/read-table.ts';
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
  if (header) assertColumns(1, header);
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
  throw asCodedError(error).with({ hint: manifestHint });
}

function parseRow({ line, cells }: TableRow): { path: string; about: UserMetadata } {
  assertColumns(line, Object.keys(cells));
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
  const unknown = names.find((name) => !(columns as readonly string[]).includes(name));
  if (unknown !== undefined) throw manifestError(line, `unknown column ${unknown}`);
}

const manifestHint =
  'use CSV with a header, or JSON Lines; columns: path, name, description, folder, tags, content_type';

const manifestError = (line: number, reason: string) => tableError('the manifest', line, reason);
