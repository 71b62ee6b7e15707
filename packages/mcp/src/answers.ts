import { MediactlError } from 'mediactl';

/* What the tools answer. Names and descriptions are data that others wrote: escaped, cut, and without addresses. */

/** Maximum size of the structured content in bytes. An answer has it twice, once as text, and is at most 60 KB. */
const maxContentBytes = 22_000;

/** Maximum length of a text in an answer. */
const maxTextLength = 500;

/** An error of this server, with what the agent can do about it. */
export class ToolError extends Error {
  readonly code: string;
  readonly next: string | undefined;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: string, message: string, next?: string, details?: Record<string, unknown>) {
    super(message);
    this.code = code;
    this.next = next;
    this.details = details;
  }
}

/** Escapes characters that are not shown, or that change how others are shown: control, format and private ones. */
export function cleanText(text: string): string {
  const shown = text.replace(
    /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`,
  );
  return shown.length > maxTextLength ? `${shown.slice(0, maxTextLength)}…` : shown;
}

/** Returns a text as an answer may have it; null for any other value. */
export const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? cleanText(value) : null);

const secretField = /token|secret|signature|password|api_?key|credential/i;

/** Cleans a record of the service. Addresses, which may be signed, and secrets are left out. */
export function cleanRecord(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return /[a-z][a-z0-9+.-]*:\/\//i.test(value) ? '(address left out)' : cleanText(value);
  if (value === null || typeof value !== 'object') return value;
  if (depth >= 6) return '(left out)';
  if (Array.isArray(value)) return value.slice(0, 100).map((each) => cleanRecord(each, depth + 1));
  const fields = Object.entries(value).filter(([name]) => !secretField.test(name));
  return Object.fromEntries(
    fields.slice(0, 100).map(([name, each]) => [cleanText(name), cleanRecord(each, depth + 1)]),
  );
}

const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value) ?? '');

/** Returns as many items as fit an answer beside other content. */
export function fitting<T>(items: readonly T[], others: unknown = {}): T[] {
  let left = maxContentBytes - sizeOf(others);
  const end = items.findIndex((item) => {
    left -= sizeOf(item) + 1;
    return left < 0;
  });
  return items.slice(0, end < 0 ? items.length : end);
}

export type Answer = {
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
};

export function answer(content: Record<string, unknown>): Answer {
  if (sizeOf(content) > maxContentBytes * 1.1)
    return failure(new ToolError('too_large', 'the answer is too large', 'ask for less'));
  return { content: [{ type: 'text', text: JSON.stringify(content) }], structuredContent: content };
}

/** Returns the answer for an error: its code, and whether and when the same call may succeed. */
export function failure(error: unknown): Answer {
  const content = { error: describeError(error) };
  return { isError: true, content: [{ type: 'text', text: JSON.stringify(content) }], structuredContent: content };
}

const nextSteps: Record<string, string> = {
  rate_limited: 'call again after retry_after_seconds',
  unauthenticated: 'the person has to log in again: mediactl login',
  not_logged_in: 'the person has to log in: mediactl login',
  forbidden: 'the person has to use a key that may do this',
};

export function describeError(error: unknown): Record<string, unknown> {
  if (error instanceof ToolError)
    return { code: error.code, message: cleanText(error.message), next: error.next ?? null, ...error.details };
  if (error instanceof MediactlError) {
    const { code, status = null, retryable, retryAfterSeconds = null } = error;
    return {
      ...{ code, message: cleanText(withoutAddresses(error.message)), http_status: status, retryable },
      ...{ retry_after_seconds: retryAfterSeconds, next: nextSteps[code] ?? null },
    };
  }
  if (error instanceof DOMException)
    return { code: 'timeout', message: 'there was no answer within 45 s', retryable: true, next: 'call again' };
  return { code: 'unclassified', message: cleanText(withoutAddresses(String(error))), retryable: false, next: null };
}

const withoutAddresses = (text: string) => text.replace(/(https?:\/\/[^\s?#]*)[?#]\S*/gi, '$1');

/** Describes an asset in a list. */
export const toAsset = ({ uid, ...asset }: { readonly uid: string; readonly [field: string]: unknown }) => ({
  ...{ uid, name: textOrNull(asset.name), type: textOrNull(asset.type), status: textOrNull(asset.status) },
  tags: tagsOf(asset),
  folder: textOrNull(asset.parent ?? asset.parent_uid ?? asset.folder),
  created_at: textOrNull(asset.created_at),
  duration: typeof asset.duration === 'number' ? asset.duration : null,
});

/** Returns the slugs of an asset's tags; null if its record does not show them. */
export function tagsOf({ tags }: { readonly [field: string]: unknown }): string[] | null {
  if (!Array.isArray(tags)) return null;
  return tags
    .slice(0, 50)
    .map((tag) => cleanText(String(typeof tag === 'object' && tag ? (tag.slug ?? tag.name) : tag)));
}
