import { createHash } from 'node:crypto';
import { parseHttpUrl } from '../../../shared/http-url.ts';
import { usageError } from '../../errors.ts';

/** A parsed http or https URL whose secrets are separated. */
export type SourceUrl = {
  /** URL to request, without user name and password. */
  url: URL;
  /** Basic authentication header, if the URL had a user name or password. */
  headers: Record<string, string>;
  /** URL shown to the user, without the query, since that might be a secret. */
  path: string;
  /** Stable identity of the URL: the path plus a hash of the query without its signature parameters. */
  realPath: string;
};

/** Matches the query parameters that sign URLs of object stores and CDNs. */
const signatureParams =
  /^(?:x-(?:amz|goog)-.*|signature|sig|token|expires|policy|key-pair-id|awsaccesskeyid|googleaccessid)$/i;
/** Query parameters of an Azure SAS URL. Their names are generic, so they count only together with `sig`. */
const azureSasParams = new Set(
  'se sp sr sv ss st si srt sip spr sdd skoid sktid skt ske sks skv saoid suoid scid'.split(' '),
);

/** Parses a URL and separates its secrets. @throws CodedError `usage` (exit 2) if it is not http or https */
export function parseSourceUrl(text: string): SourceUrl {
  const url = parseHttpUrl(text);
  if (!url) throw usageError('not an http or https URL');
  const { username, password } = url;
  url.username = url.password = url.hash = '';
  const path = url.origin + url.pathname;
  const names = [...url.searchParams.keys()];
  const isSigning = (name: string) => signatureParams.test(name) || (names.includes('sig') && azureSasParams.has(name));
  const stableParams = [...url.searchParams].filter(([name]) => !isSigning(name));
  const hash = createHash('sha256').update(JSON.stringify(stableParams)).digest('hex').slice(0, 16);
  return {
    url,
    headers: username || password ? basicAuth(decodeOrKeep(username), decodeOrKeep(password)) : {},
    path,
    realPath: stableParams.length > 0 ? `${path}#${hash}` : path,
  };
}

/** Returns true if a URL has a query, user name or password, any of which might be a credential. */
export function hasCredentials(address: string): boolean {
  const { search, username, password } = new URL(address);
  return [search, username, password].some((part) => part !== '');
}

export const basicAuth = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});

/** Returns the last part of a URL's path as a file name, or the host name if that part is missing or invalid. */
export function fileNameOf(url: URL): string {
  const last = url.pathname.split('/').filter(Boolean).at(-1) ?? '';
  return sanitizeFileName(decodeOrKeep(last)) ?? url.hostname;
}

/** Returns the sanitized file name from a Content-Disposition header (RFC 6266), or undefined if there is none. */
export function parseDispositionName(header = ''): string | undefined {
  const [, extended] = /;\s*filename\*\s*=\s*utf-8'[\w-]*'([\w!#$&+.^`|~%-]+)\s*(?:;|$)/i.exec(header) ?? [];
  const [, quoted, token] =
    /;\s*filename\s*=\s*(?:"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*)"|([\w!#$&'*+.^`|~%-]+))\s*(?:;|$)/i.exec(
      header,
    ) ?? [];
  const named = extended === undefined ? undefined : decodePercent(extended);
  return sanitizeFileName(named ?? quoted?.replace(/\\(.)/g, '$1') ?? token ?? '');
}

/** Sanitizes a file name against path traversal. Keeps only the last part; undefined if that part is invalid. */
function sanitizeFileName(text: string): string | undefined {
  const name = text.split(/[/\\]/).at(-1)?.trim() ?? '';
  const isName = name !== '' && name !== '.' && name !== '..' && !/\p{Cc}/u.test(name);
  return isName ? name : undefined;
}

const decodeOrKeep = (text: string) => decodePercent(text) ?? text;

/** Decodes percent escapes; undefined if they are not valid UTF-8. */
function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
