import { usageError } from '../../client/errors.ts';
import { apiPrefix } from '../../contract/paths.ts';

/** Parses the service's base URL from user input. Removes the API's path prefix, since users paste whole URLs. */
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
  if (url.username || url.password) throw usageError('a base URL cannot have a user name or password in it', hint);
  const path = url.pathname.replace(/\/+$/, '');
  if (path !== '' && path !== apiPrefix) throw usageError(`not a base URL: ${text}`, hint, `it has a path, ${path}`);
  return new URL(url.origin);
}

const loopbackHosts = new Set(['localhost', '127.0.0.1', '[::1]']);

export const isLoopback = (url: URL) => loopbackHosts.has(url.hostname);

/** Returns true for plain HTTP to another machine, where the key could be intercepted. Loopback is safe. */
export const isRemotePlaintext = (url: URL) => url.protocol === 'http:' && !isLoopback(url);
