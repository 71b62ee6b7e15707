import { type Fields, fieldsIn, isFields, listIn, textIn } from '../../contract/reading.ts';
import type { ApiResponse } from './messages.ts';

/** Error description sent by a service. */
export type Reason = {
  message: string | undefined;
  /** Error code of the service. */
  code?: string | undefined;
  /** Unmodified details of the service. */
  details?: unknown;
  /** Names of missing or invalid fields. */
  fields: readonly string[];
};

/** Extracts the error message from a response of any format (A13). */
export function reasonIn(response: ApiResponse): Reason {
  const text = response.text.trim();
  if (isHtml(response)) {
    const title = /<title[^>]*>([^<]*)</i.exec(text)?.[1] ?? text.replace(/<[^>]*>/g, ' ');
    return { message: `a web page instead of the API: "${cut(title)}"`, fields: [] };
  }
  if (!/json/i.test(response.headers['content-type'] ?? ''))
    return { message: cut(text) || undefined, fields: [] };
  try {
    return inJson(JSON.parse(text), text);
  } catch {
    return { message: cut(text) || undefined, fields: [] }; // invalid or truncated JSON
  }
}

/** Fields that contain an error message, most specific first. */
const wordKeys = [
  'message',
  'detail',
  'title',
  'msg',
  'description',
  'error_description',
  'reason',
];
/** Fields that contain a list of errors per field. */
const listKeys = ['errors', 'details', 'fields', 'invalid_params', 'violations', 'issues'];

function inJson(body: unknown, text: string): Reason {
  const found: { words: string[]; fields: string[] } = { words: [], fields: [] };
  collect(body, found, 0);
  const error = fieldsIn(fieldsIn(body).error);
  const detail = fieldsIn(body).detail;
  const words = [...new Set(found.words.map(cut).filter(Boolean))];
  return {
    message: words.join('; ') || (text === '{}' ? undefined : cut(text)),
    code: textIn(error.code) ?? textIn(fieldsIn(body).code),
    details:
      error.details ?? fieldsIn(body).details ?? (Array.isArray(detail) ? detail : undefined),
    fields: [...new Set(found.fields)],
  };
}

/** Maximum nesting depth that is searched for messages. */
const deepest = 6;

function collect(
  value: unknown,
  found: { words: string[]; fields: string[] },
  depth: number,
): void {
  if (depth > deepest) return;
  if (typeof value === 'string') found.words.push(value);
  else if (Array.isArray(value)) for (const entry of value) collectEntry(entry, found, depth);
  else if (isFields(value)) {
    const before = found.words.length;
    if (value.error !== true) collect(value.error, found, depth + 1);
    for (const key of wordKeys) collect(value[key], found, depth + 1);
    for (const key of listKeys) collect(value[key], found, depth + 1);
    if (found.words.length === before) collectByField(value, found);
  }
}

/** Collects one list entry: `{loc, msg, ctx}` of Pydantic, `{field, message}`, or a string. */
function collectEntry(
  entry: unknown,
  found: { words: string[]; fields: string[] },
  depth: number,
): void {
  if (!isFields(entry)) {
    collect(entry, found, depth + 1);
    return;
  }
  const { loc, field, name, param, msg, message, ctx } = entry;
  const path = (Array.isArray(loc) ? loc : [loc ?? field ?? param ?? name]).flatMap(
    (step) => textIn(step) ?? [],
  );
  const said = textIn(msg) ?? textIn(message);
  if (said === undefined) {
    collect(entry, found, depth + 1);
    return;
  }
  const expected = textIn(fieldsIn(ctx).expected);
  found.words.push(
    `${path.length > 0 ? `${path.join('.')}: ` : ''}${said}${expected ? ` (expected ${expected})` : ''}`,
  );
  const last = path.at(-1);
  if (last !== undefined && /^\w+$/.test(last)) found.fields.push(last);
}

/** Keys used in place of a field name for errors of no single field. */
const notOneField = new Set(['non_field_errors', '__all__', 'messages', 'errors', 'body']);

/** Collects errors by field name as sent by Django REST framework: `{"name": ["This field is required."]}`. */
function collectByField(value: Fields, found: { words: string[]; fields: string[] }): void {
  for (const [field, said] of Object.entries(value)) {
    const isField = /^\w+$/.test(field) && !notOneField.has(field);
    const texts = listIn(said).filter((each) => typeof each === 'string');
    if (texts.length === 0 || texts.length !== listIn(said).length) continue;
    found.words.push(isField ? `${field}: ${texts.join(' ')}` : texts.join(' '));
    if (isField) found.fields.push(field);
  }
}

const cut = (text: string) => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
};

export const isHtml = (response: ApiResponse) =>
  /html/i.test(response.headers['content-type'] ?? '') ||
  /^\s*<(!doctype|html)/i.test(response.text);
