import { apiPrefix } from '../../contract/paths.ts';
import { usageError } from '../errors.ts';

/** Converts a path such as `/assets/`, or a URL with the account's origin, to a URL path with the API's prefix. */
export function resolveApiPath(path: string, baseUrl: URL): string {
  if (/^[a-z]+:\/\//i.test(path)) {
    if (!URL.canParse(path)) throw usageError(`${path} is not a valid URL`, 'use a path such as /assets/');
    const url = new URL(path);
    if (url.origin === baseUrl.origin) return url.pathname + url.search;
    throw usageError(
      `${url.origin} is not the service of this account`,
      `use a path below ${apiPrefix}`,
      'the API key is sent only to its own service',
    );
  }
  const absolute = path.startsWith('/') ? path : `/${path}`;
  return absolute.startsWith(`${apiPrefix}/`) ? absolute : `${apiPrefix}${absolute}`;
}
