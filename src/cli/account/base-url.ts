import { usageError } from '../../client/errors.ts';
import { apiPrefix } from '../../contract/paths.ts';

/** The service host from what a person typed: the API's own prefix may be pasted along. */
export function parseBaseUrl(text: string): URL {
  const hint = 'give the service host, such as https://media.example.com';
  let url: URL;
  try {
    url = new URL(/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`);
  } catch {
    throw usageError(`not a base URL: ${text}`, hint);
  }
  if (!['http:', 'https:'].includes(url.protocol))
    throw usageError(`not a base URL: ${text}`, hint, 'only http and https are supported');
  if (url.username || url.password)
    throw usageError('a base URL cannot have a user name or password in it', hint);
  const path = url.pathname.replace(/\/+$/, '');
  if (path !== '' && path !== apiPrefix)
    throw usageError(`not a base URL: ${text}`, hint, `it has a path, ${path}`);
  return new URL(url.origin);
}

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

export const isLoopback = (url: URL) => loopback.has(url.hostname);

/** A key over plain http can be read on the way; only this machine itself is exempt. */
export const isPlaintextElsewhere = (url: URL) => url.protocol === 'http:' && !isLoopback(url);
