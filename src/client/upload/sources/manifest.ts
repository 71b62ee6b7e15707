import { asText, isJsonObject } from '../../../contract/json-values.ts';
import { isSlug } from '../../../contract/slug.ts';
import { usageError } from '../../errors.ts';
import type { About } from './wanted.ts';

/** A file listed in a manifest, with its metadata. */
export type Entry = { path: string; about: About };

const columns = ['path', 'name', 'description', 'folder', 'tags', 'content_type'] as const;

/**
 * Parses a manifest: CSV with a header, or JSON lines. The columns are path (required), name, description,
 * folder, tags (in CSV separated by commas or semicolons, in JSON an array) and content_type.
 *
 * @throws MediactlError exit 2 with the line number
 */
export async function entriesIn(text: string): Promise<Entry[]> {
  const isJson = /^\s*\{/.test(text);
  const rows = isJson ? linesOf(text) : await rowsOf(text);
  return rows.map(({ line, fields }) => {
    const unknown = Object.keys(fields).find((name) => !isColumn(name));
    if (unknown !== undefined) throw wrong(line, `unknown column ${unknown}`);
    const path = asText(fields.path) ?? '';
    if (path === '') throw wrong(line, 'it has no path');
    const text = (name: (typeof columns)[number]) => asText(fields[name]) || undefined;
    const tags = tagsIn(fields.tags);
    const wrongTag = tags?.find((tag) => !isSlug(tag));
    if (wrongTag !== undefined) throw wrong(line, `'${wrongTag}' is not a tag: tags are slugs`);
    return {
      path,
      about: {
        name: text('name'),
        description: text('description'),
        folder: text('folder'),
        contentType: text('content_type'),
        tags,
      },
    };
  });
}

type Row = { line: number; fields: { [name: string]: unknown } };

const isColumn = (name: string) => (columns as readonly string[]).includes(name);

function tagsIn(value: unknown): readonly string[] | undefined {
  const tags = Array.isArray(value) ? value.flatMap((each) => asText(each) ?? []) : split(value);
  return tags.length > 0 ? [...new Set(tags)] : undefined;
}

const split = (value: unknown) =>
  (asText(value) ?? '')
    .split(/[,;]/)
    .map((tag) => tag.trim())
    .filter(Boolean);

function linesOf(text: string): Row[] {
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return [];
    let fields: unknown;
    try {
      fields = JSON.parse(line);
    } catch (error) {
      throw wrong(at + 1, (error as Error).message);
    }
    if (!isJsonObject(fields)) throw wrong(at + 1, 'it is not a JSON object');
    return [{ line: at + 1, fields }];
  });
}

async function rowsOf(text: string): Promise<Row[]> {
  const { parse } = await import('csv-parse/sync');
  let header: string[] = [];
  let records: { record: { [name: string]: string }; info: { lines: number } }[];
  try {
    records = parse(text, {
      columns: (found: string[]) => {
        header = found;
        return found;
      },
      info: true,
      skip_empty_lines: true,
      trim: true,
    });
  } catch (error) {
    throw usageError('the manifest cannot be read', manifestHint, (error as Error).message);
  }
  const unknown = header.find((name) => !isColumn(name));
  if (unknown !== undefined) throw wrong(1, `unknown column ${unknown}`);
  if (records.length > 0 && !header.includes('path'))
    throw wrong(1, 'its header has no column path');
  return records.map(({ record, info }) => ({ line: info.lines, fields: record }));
}

const manifestHint =
  'CSV with a header, or JSON lines: path, name, description, folder, tags, content_type';

const wrong = (line: number, reason: string) =>
  usageError(`line ${line} of the manifest cannot be used`, manifestHint, reason);
