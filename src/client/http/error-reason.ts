import { asArray, asObject, asText, isJsonObject, type JsonObject } from '../../contract/json-values.ts';
import type { ApiResponse } from './api-request.ts';

/** Description of an error, as sent by the service. */
export type ErrorReason = {
  message: string | undefined;
  /** Error code assigned by the service. */
  code?: string | undefined;
  /** Error details exactly as the service sent them. */
  details?: unknown;
  /** Names of missing or invalid fields. */
  fields: readonly string[];
};

/** Extracts the error description from a response in any format (assumption A13). */
export function extractReason(response: ApiResponse): ErrorReason {
  const text = response.text.trim();
  if (isHtml(response)) {
    const title = /<title[^>]*>([^<]*)</i.exec(text)?.[1] ?? text.replace(/<[^>]*>/g, ' ');
    return { message: `a web page instead of the API: "${truncate(title)}"`, fields: [] };
  }
  if (!/json/i.test(response.headers['content-type'] ?? ''))
    return { message: truncate(text) || undefined, fields: [] };
  try {
    return extractJsonReason(JSON.parse(text), text);
  } catch {
    return { message: truncate(text) || undefined, fields: [] }; // invalid or truncated JSON
  }
}

/** Names of fields that can contain an error message, most specific first. */
const messageKeys = ['message', 'detail', 'title', 'msg', 'description', 'error_description', 'reason'];
/** Names of fields that can contain a list of errors, one for each invalid field. */
const fieldErrorKeys = ['errors', 'details', 'fields', 'invalid_params', 'violations', 'issues'];

function extractJsonReason(body: unknown, text: string): ErrorReason {
  const found: { words: string[]; fields: string[] } = { words: [], fields: [] };
  collectMessages(body, found, 0);
  const error = asObject(asObject(body).error);
  const detail = asObject(body).detail;
  const words = [...new Set(found.words.map(truncate).filter(Boolean))];
  return {
    message: words.join('; ') || (text === '{}' ? undefined : truncate(text)),
    code: asText(error.code) ?? asText(asObject(body).code),
    details: error.details ?? asObject(body).details ?? (Array.isArray(detail) ? detail : undefined),
    fields: [...new Set(found.fields)],
  };
}

/** Maximum nesting depth that is searched for messages. */
const maxReasonDepth = 6;

function collectMessages(value: unknown, found: { words: string[]; fields: string[] }, depth: number): void {
  if (depth > maxReasonDepth) return;
  if (typeof value === 'string') found.words.push(value);
  else if (Array.isArray(value)) for (const entry of value) collectEntry(entry, found, depth);
  else if (isJsonObject(value)) {
    const before = found.words.length;
    if (value.error !== true) collectMessages(value.error, found, depth + 1);
    for (const key of messageKeys) collectMessages(value[key], found, depth + 1);
    for (const key of fieldErrorKeys) collectMessages(value[key], found, depth + 1);
    if (found.words.length === before) collectByField(value, found);
  }
}

/**
 * Adds the message and field name of one list entry to `found`. The entry is `{loc, msg, ctx}` (Pydantic), `{field,
 * message}` or a string.
 */
function collectEntry(entry: unknown, found: { words: string[]; fields: string[] }, depth: number): void {
  if (!isJsonObject(entry)) {
    collectMessages(entry, found, depth + 1);
    return;
  }
  const { loc, field, name, param, msg, message, ctx } = entry;
  const path = (Array.isArray(loc) ? loc : [loc ?? field ?? param ?? name]).flatMap((step) => asText(step) ?? []);
  const text = asText(msg) ?? asText(message);
  if (text === undefined) {
    collectMessages(entry, found, depth + 1);
    return;
  }
  const expected = asText(asObject(ctx).expected);
  found.words.push(
    `${path.length > 0 ? `${path.join('.')}: ` : ''}${text}${expected ? ` (expected ${expected})` : ''}`,
  );
  const last = path.at(-1);
  if (last !== undefined && /^\w+$/.test(last)) found.fields.push(last);
}

/** Keys that services use in place of a field name for errors that do not concern a single field. */
const nonFieldKeys = new Set(['non_field_errors', '__all__', 'messages', 'errors', 'body']);

/**
 * Adds errors that are keyed by field name to `found`, for example `{"name": ["This field is required."]}` (Django
 * REST framework).
 */
function collectByField(value: JsonObject, found: { words: string[]; fields: string[] }): void {
  for (const [field, messages] of Object.entries(value)) {
    const isField = /^\w+$/.test(field) && !nonFieldKeys.has(field);
    const texts = asArray(messages).filter((each) => typeof each === 'string');
    if (texts.length === 0 || texts.length !== asArray(messages).length) continue;
    found.words.push(isField ? `${field}: ${texts.join(' ')}` : texts.join(' '));
    if (isField) found.fields.push(field);
  }
}

const truncate = (text: string) => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
};

export const isHtml = (response: ApiResponse) =>
  /html/i.test(response.headers['content-type'] ?? '') || /^\s*<(!doctype|html)/i.test(response.text);
