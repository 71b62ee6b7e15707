import {
  asArray,
  asObject,
  asText,
  isJsonObject,
  type JsonObject,
  parseJsonOrUndefined,
} from '../../shared/json-values.ts';
import type { ReceivedResponse } from './api-request.ts';

/** Description of an error, as sent by the service. */
export type ErrorReason = {
  message: string | undefined;
  code?: string | undefined;
  /** Error details exactly as the service sent them. */
  details?: unknown;
  /** Names of missing or invalid fields. */
  fields: readonly string[];
};

/** Extracts the error description from a response in any format (assumption A13). */
export function extractReason(response: ReceivedResponse): ErrorReason {
  if (response.encoding !== undefined) return { message: `its answer is encoded as ${response.encoding}`, fields: [] };
  const text = response.text.trim();
  if (isHtml(response)) return { message: `it sent a web page instead of JSON: "${pageTitle(text)}"`, fields: [] };
  const body = isJson(response) ? parseJsonOrUndefined(text) : undefined;
  return body === undefined ? { message: truncate(text) || undefined, fields: [] } : extractJsonReason(body, text);
}

/** Names of fields that can contain an error message or a list of errors, most specific first. */
const messageKeys = [
  ...['message', 'detail', 'title', 'msg', 'description', 'error_description', 'reason'],
  ...['errors', 'details', 'fields', 'invalid_params', 'violations', 'issues'],
];

const maxReasonDepth = 6;

function extractJsonReason(body: unknown, text: string): ErrorReason {
  const messages = messagesIn(body);
  const hasFields = messages.some(({ path }) => path.length > 0);
  const words = messages
    .filter(({ path, text }) => !hasFields || path.length > 0 || !genericMessage.test(text))
    .map(({ path, text }) => truncate([...fieldNameOf(path), shortenChoices(text)].join(': ')));
  const error = asObject(asObject(body).error);
  const { code, details, detail } = asObject(body);
  return {
    message: [...new Set(words.filter(Boolean))].join('; ') || (text === '{}' ? undefined : truncate(text)),
    code: asText(error.code) ?? asText(code),
    details: error.details ?? details ?? (Array.isArray(detail) ? detail : undefined),
    fields: [...new Set(messages.flatMap(({ path }) => path.slice(-1)).filter((field) => /^\w+$/.test(field)))],
  };
}

/** Matches messages that say no more than the status, if messages about fields follow. */
const genericMessage =
  /^(?:(?:invalid|unprocessable) (?:parameters or body|request|input|data|entity)|validation (?:failed|error))\.?$/i;

/** Part of the request in which a field is, which validators put before its name. */
const requestParts = new Set(['body', 'query', 'path', 'header', 'cookie']);

/** Returns the dotted name of a field, without the part of the request. Returns an empty array if there is no field. */
const fieldNameOf = (path: readonly string[]): string[] => {
  const [part = '', ...rest] = path;
  const names = requestParts.has(part) && rest.length > 0 ? rest : path;
  return names.length > 0 ? [names.join('.')] : [];
};

const maxChoices = 5;

/** Shortens the list of accepted values in a validator's message, such as `expected one of "a"|"b"|"c"`. */
const shortenChoices = (text: string) =>
  text
    .replace(/^Invalid (?:option|input): (?=expected )/, '')
    .replace(/(["'])[^"']*\1(?:(?:\||, (?:or )?| or )(["'])[^"']*\2)+/g, (list) => {
      const choices = list.match(/(["'])[^"']*\1/g) ?? [];
      const more = choices.length - maxChoices;
      if (more > 0) return `${choices.slice(0, maxChoices).join(', ')} and ${more} more`;
      return list.replaceAll('|', ', ');
    });

/** A message and the path of the field that it is about; empty if it is about none. */
type FieldMessage = { path: string[]; text: string };

function messagesIn(value: unknown, depth = 0): FieldMessage[] {
  if (depth > maxReasonDepth) return [];
  if (typeof value === 'string') return [{ path: [], text: value }];
  if (Array.isArray(value)) return value.flatMap((entry) => entryMessage(entry) ?? messagesIn(entry, depth + 1));
  if (!isJsonObject(value)) return [];
  const nested = [value.error === true ? undefined : value.error, ...messageKeys.map((key) => value[key])];
  const found = nested.flatMap((each) => messagesIn(each, depth + 1));
  return found.length > 0 ? found : messagesByField(value);
}

/** Reads a list entry such as `{loc, msg, ctx}` (Pydantic) or `{field, message}`. Returns undefined for any other. */
function entryMessage(entry: unknown): FieldMessage | undefined {
  const { loc, field, name, param, msg, message, ctx } = asObject(entry);
  const text = asText(msg) ?? asText(message);
  if (text === undefined) return undefined;
  const expected = asText(asObject(ctx).expected);
  return {
    path: (Array.isArray(loc) ? loc : [loc ?? field ?? param ?? name]).flatMap((step) => asText(step) ?? []),
    text: expected ? `${text} (expected ${expected})` : text,
  };
}

/** Keys that services use in place of a field name for errors that do not concern a single field. */
const nonFieldKeys = new Set(['non_field_errors', '__all__', 'messages', 'errors', 'body']);

/** Reads errors keyed by field name, for example `{"name": ["This field is required."]}` (Django REST framework). */
function messagesByField(value: JsonObject): FieldMessage[] {
  return Object.entries(value).flatMap(([field, messages]) => {
    const texts = asArray(messages);
    if (texts.length === 0 || !texts.every((each) => typeof each === 'string')) return [];
    const isField = /^\w+$/.test(field) && !nonFieldKeys.has(field);
    return [{ path: isField ? [field] : [], text: texts.join(' ') }];
  });
}

const truncate = (text: string) => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
};

/** Returns the title of a web page, or else the beginning of its text. */
export const pageTitle = (html: string) =>
  truncate(/<title[^>]*>([^<]*)</i.exec(html)?.[1] ?? html.replace(/<[^>]*>/g, ' '));

export const isHtml = (response: ReceivedResponse) =>
  /html/i.test(response.headers['content-type'] ?? '') || /^\s*<(!doctype|html)/i.test(response.text);

export const isJson = ({ headers }: Pick<ReceivedResponse, 'headers'>) => /json/i.test(headers['content-type'] ?? '');
