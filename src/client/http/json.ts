import { parseJsonOrUndefined } from '../../shared/json-values.ts';
import type { ReceivedResponse } from './api-request.ts';
import { isHtml, pageTitle } from './error-reason.ts';
import { unexpectedResponse } from './error-response.ts';

/** Maximum nesting depth of a response. Deeper JSON would overflow the stack of code that traverses it. */
const maxJsonDepth = 2_000;

/**
 * Parses a JSON response, which must be an object or an array.
 *
 * @throws CodedError `invalid_response` (exit 10) if the body is anything else or is nested too deeply
 */
export function parseJsonResponse(response: ReceivedResponse): object {
  const { text, url, headers, status, encoding } = response;
  const unreadable = (reason: string) =>
    unexpectedResponse('the response is not JSON from the API', { reason, status, remedy: ['check_base_url'] });
  if (encoding !== undefined)
    throw unreadable(`it is encoded as ${encoding}, which was not asked for; a proxy may do that`);
  if (isHtml(response))
    throw unreadable(`${url.host}, or a proxy or sign-in page in front of it, sent a web page: "${pageTitle(text)}"`);
  const value = parseJsonOrUndefined(text);
  if (typeof value !== 'object' || value === null)
    throw unreadable(`${url.host} sent ${describeBody(text, value, headers['content-type'])}`);
  if (exceedsDepth(value, maxJsonDepth)) throw unreadable(`it is nested more than ${maxJsonDepth} levels deep`);
  return value;
}

/** Describes a body that is no object and no array. */
function describeBody(text: string, value: unknown, type = 'no Content-Type'): string {
  if (text.trim() === '') return 'an empty body';
  return value === undefined ? type : `${JSON.stringify(value).slice(0, 40)}, which is no object and no array`;
}

/** Returns true if a value nests objects and arrays deeper than `levels`. Walks level by level, not by recursion. */
function exceedsDepth(value: object, levels: number): boolean {
  let level: object[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= levels) return true;
    level = level.flatMap((each) => Object.values(each).filter((child) => typeof child === 'object' && child !== null));
  }
  return false;
}
