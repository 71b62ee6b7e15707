import { asText, isJsonObject } from '../../../contract/json-values.ts';
import { isSlug } from '../../../contract/slug.ts';
import { usageError } from '../../errors.ts';
import type { UserMetadata } from './upload-candidate.ts';

const columns = ['path', 'name', 'description', 'folder', 'tags', 'content_type'] as const;

/** Parses CSV with a header, or JSON Lines. @throws MediactlError `usage` (exit 2) with the number of the wrong line */
export async function parseManifest(text: string): Promise<{ path: string; about: UserMetadata }[]> {
  const rows = /^\s*\{/.test(text) ? parseJsonLines(text) : await parseCsv(text);
  return rows.map(({ line, fields }) => {
    assertColumns(line, Object.keys(fields));
    const path = asText(fields.path) ?? '';
    if (path === '') throw manifestError(line, 'the path is missing');
    const tags = parseTags(fields.tags);
    const wrongTag = tags?.find((tag) => !isSlug(tag));
    if (wrongTag !== undefined) throw manifestError(line, `'${wrongTag}' is not a valid tag: tags are slugs`);
    const text = (name: (typeof columns)[number]) => asText(fields[name]) || undefined;
    const [name, description, folder] = [text('name'), text('description'), text('folder')];
    return { path, about: { name, description, folder, contentType: text('content_type'), tags } };
  });
}

type ManifestRow = { line: number; fields: { [name: string]: unknown } };

function assertColumns(line: number, names: readonly string[]): void {
  const unknown = names.find((name) => !(columns as readonly string[]).includes(name));
  if (unknown !== undefined) throw manifestError(line, `unknown column ${unknown}`);
}

function parseTags(value: unknown): readonly string[] | undefined {
  const split = (text: string) => text.split(/[,;]/).flatMap((tag) => tag.trim() || []);
  const tags = Array.isArray(value) ? value.flatMap((each) => asText(each) ?? []) : split(asText(value) ?? '');
  return tags.length > 0 ? [...new Set(tags)] : undefined;
}

function parseJsonLines(text: string): ManifestRow[] {
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return [];
    let fields: unknown;
    try {
      fields = JSON.parse(line);
    } catch (error) {
      throw manifestError(at + 1, (error as Error).message);
    }
    if (!isJsonObject(fields)) throw manifestError(at + 1, 'it is not a JSON object');
    return [{ line: at + 1, fields }];
  });
}

async function parseCsv(text: string): Promise<ManifestRow[]> {
  const { parse } = await import('csv-parse/sync');
  let header: string[] = [];
  let records: { record: { [name: string]: string }; info: { lines: number } }[];
  try {
    records = parse(text, {
      columns: (found: string[]) => (header = found),
      info: true,
      skip_empty_lines: true,
      trim: true,
    });
  } catch (error) {
    throw usageError('cannot parse the manifest', manifestHint, (error as Error).message);
  }
  assertColumns(1, header);
  if (records.length > 0 && !header.includes('path')) throw manifestError(1, 'the header has no column path');
  return records.map(({ record, info }) => ({ line: info.lines, fields: record }));
}

const manifestHint =
  'use CSV with a header, or JSON Lines; columns: path, name, description, folder, tags, content_type';

const manifestError = (line: number, reason: string) =>
  usageError(`line ${line} of the manifest is invalid`, manifestHint, reason);
