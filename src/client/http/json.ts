import { asText, ExactNumber } from '../../contract/json-values.ts';
import type { ApiResponse } from './api-request.ts';
import { isHtml } from './error-reason.ts';
import { unexpectedResponse } from './unexpected-response.ts';

/** Maximum nesting depth of a response. Deeper JSON would overflow the stack of code that traverses it. */
const maxJsonDepth = 2_000;

/**
 * Parses a JSON response, which must be an object or an array. Numbers that JavaScript cannot represent exactly
 * become an `ExactNumber` with their original digits.
 *
 * @throws MediactlError `unexpected_answer` (exit 10) if the body is anything else or is nested too deeply
 */
export async function parseJsonResponse(response: ApiResponse): Promise<object> {
  const { text, url, headers, status } = response;
  const unreadable = (underlying: unknown, reason: string) =>
    unexpectedResponse('the answer is not the JSON of the API', {
      reason,
      hint: 'check the base URL and any proxy on the way: mediactl auth status',
      status,
      underlying,
    });
  if (isHtml(response))
    throw unreadable(undefined, `${url.host} sent a web page: "${text.replace(/\s+/g, ' ').slice(0, 120)}"`);
  if (exceedsDepth(text, maxJsonDepth)) throw unreadable(undefined, `it is nested past ${maxJsonDepth} levels`);
  try {
    const value: unknown = await parseExact(text);
    if (typeof value === 'object' && value !== null) return value;
    throw new Error(`it is ${asText(value) ?? 'null'}`); // caught below
  } catch (error) {
    throw unreadable(error, `${url.host} sent ${headers['content-type'] ?? 'no Content-Type'}`);
  }
}

/** Matches numbers that a double might not represent exactly, because they have many digits or a large exponent. */
const longNumber = /(?:^|[-:[,\s])(?:\d{16}|\d[\d.]{16}|[\d.]+[eE][+-]?\d{3})/;

/**
 * Parses JSON. Each number that a double cannot represent exactly becomes an `ExactNumber`.
 *
 * @throws SyntaxError if the text is not valid JSON
 */
export async function parseExact(text: string): Promise<unknown> {
  if (!longNumber.test(text)) return JSON.parse(text);
  const { isSafeNumber, parse } = await import('lossless-json');
  return parse(text, undefined, (digits) =>
    isSafeNumber(digits, { approx: false }) ? Number(digits) : new ExactNumber(digits),
  );
}

/** Returns true if JSON text nests objects and arrays deeper than `levels`. */
function exceedsDepth(text: string, levels: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      do at = text.indexOf('"', at + 1);
      while (at > 0 && isEscaped(text, at));
      if (at < 0) return false; // invalid JSON: the parser reports it
    } else if (code === openBrace || code === openBracket) {
      if (++depth > levels) return true;
    } else if (code === closeBrace || code === closeBracket) depth--;
  }
  return false;
}

const [quote, backslash, openBrace, openBracket, closeBrace, closeBracket] = [...'"\\{[}]'].map((character) =>
  character.charCodeAt(0),
);

/** Returns true if the character at index `at` is preceded by an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let count = 0;
  while (text.charCodeAt(at - count - 1) === backslash) count++;
  return count % 2 === 1;
}
