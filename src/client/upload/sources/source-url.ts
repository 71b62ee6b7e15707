import { createHash } from 'node:crypto';
import { parseHttpUrl } from '../../../contract/http-url.ts';
import { usageError } from '../../errors.ts';

/** A parsed http or https URL with its secrets separated. */
export type SourceUrl = {
  /** URL to request, without user name and password. */
  url: URL;
  /** Basic authentication header, if the URL had a user name or password. */
  headers: Record<string, string>;
  /** Text to show the user: origin and path only, since the query may be a secret. */
  path: string;
  /** Stable identity of the URL: the path plus a hash of the query without its signature parameters. */
  realPath: string;
};

/** Returns true for an http or https URL. */
export const isHttpUrl = (path: string) => /^https?:\/\//i.test(path);

/** Query parameters of signed URLs, of any object store or CDN. */
const signatureParams =
  /^(?:x-(?:amz|goog)-.*|signature|sig|token|expires|policy|key-pair-id|awsaccesskeyid|googleaccessid)$/i;
/** Parameters of an Azure SAS URL. Their names are generic, so they count only together with `sig`. */
const azureSasParams = new Set(
  'se sp sr sv ss st si srt sip spr sdd skoid sktid skt ske sks skv saoid suoid scid'.split(' '),
);

/** Parses a URL and separates its secrets. @throws MediactlError `usage` if it is not http or https */
export function parseSourceUrl(text: string): SourceUrl {
  const url = parseHttpUrl(text);
  if (!url) throw usageError('that is not an http or https address', 'mediactl upload https://…');
  const { username, password } = url;
  url.username = url.password = url.hash = '';
  const path = url.origin + url.pathname;
  const names = [...url.searchParams.keys()];
  const isSigning = (name: string) =>
    signatureParams.test(name) || (names.includes('sig') && azureSasParams.has(name));
  const stableParams = [...url.searchParams].filter(([name]) => !isSigning(name));
  return {
    url,
    headers: username || password ? basicAuth(decodeOrKeep(username), decodeOrKeep(password)) : {},
    path,
    realPath: stableParams.length > 0 ? `${path}#${shortHash(JSON.stringify(stableParams))}` : path,
  };
}

/** Returns true if a URL may contain credentials: a query, a user name or a password. */
export function hasCredentials(address: string): boolean {
  const { search, username, password } = new URL(address);
  return [search, username, password].some((part) => part !== '');
}

/** Returns the header of HTTP Basic authentication (RFC 7617). */
export const basicAuth = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});

/** Returns the file name of a URL: the last part of its path, else the host. */
export function fileNameOf(url: URL): string {
  const last = url.pathname.split('/').filter(Boolean).at(-1) ?? '';
  return sanitizeFileName(decodeOrKeep(last)) ?? url.hostname;
}

/** Returns the file name in a Content-Disposition header (RFC 6266), sanitized; undefined if missing or malformed. */
export function parseDispositionName(header = ''): string | undefined {
  const [, extended] =
    /;\s*filename\*\s*=\s*utf-8'[\w-]*'([\w!#$&+.^`|~%-]+)\s*(?:;|$)/i.exec(header) ?? [];
  const [, quoted, token] =
    /;\s*filename\s*=\s*(?:"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*)"|([\w!#$&'*+.^`|~%-]+))\s*(?:;|$)/i.exec(
      header,
    ) ?? [];
  const named = extended === undefined ? undefined : decodePercent(extended);
  return sanitizeFileName(named ?? quoted?.replace(/\\(.)/g, '$1') ?? token ?? '');
}

/** Sanitizes a file name against path traversal: keeps the part after the last separator; undefined if that is invalid. */
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

const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);
