import { createHash } from 'node:crypto';
import { httpUrl } from '../../../contract/http-url.ts';
import { usageError } from '../../errors.ts';

/** An http or https address, without what is nobody else's business. */
export type SourceAddress = {
  /** To ask for: no name or password in it. */
  url: URL;
  /** What the name and password in it come to. */
  headers: Record<string, string>;
  /** To be shown: origin and path alone, since a query may be a secret. */
  path: string;
  /** What makes it the same address another day: a signature is no part of it. */
  realPath: string;
};

export const isAddress = (path: string) => /^https?:\/\//i.test(path);

/** Parts of a query that sign it, whichever store or delivery network made them. */
const signing =
  /^(?:x-(?:amz|goog)-.*|signature|sig|token|expires|policy|key-pair-id|awsaccesskeyid|googleaccessid)$/i;
/** Of Azure's, whose names are as short as anybody's: only beside its `sig`. */
const besideSig = new Set(
  'se sp sr sv ss st si srt sip spr sdd skoid sktid skt ske sks skv saoid suoid scid'.split(' '),
);

/** @throws MediactlError `usage` for what is no http or https address */
export function readAddress(text: string): SourceAddress {
  const url = httpUrl(text);
  if (!url) throw usageError('that is not an http or https address', 'mediactl upload https://…');
  const { username, password } = url;
  url.username = url.password = url.hash = '';
  const path = url.origin + url.pathname;
  const names = [...url.searchParams.keys()];
  const isSigning = (name: string) =>
    signing.test(name) || (names.includes('sig') && besideSig.has(name));
  const lasting = [...url.searchParams].filter(([name]) => !isSigning(name));
  return {
    url,
    headers: username || password ? basicAuth(decoded(username), decoded(password)) : {},
    path,
    realPath: lasting.length > 0 ? `${path}#${shortHash(JSON.stringify(lasting))}` : path,
  };
}

/** Whether an address holds what lets in whoever has it: a query, a user, a password. */
export function letsIn(address: string): boolean {
  const { search, username, password } = new URL(address);
  return [search, username, password].some((part) => part !== '');
}

/** RFC 7617. */
export const basicAuth = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});

/** What a file at an address is called: the last part of its path, else the host. */
export function fileNameOf(url: URL): string {
  const last = url.pathname.split('/').filter(Boolean).at(-1) ?? '';
  return nameIn(decoded(last)) ?? url.hostname;
}

/**
 * The file name of a Content-Disposition (RFC 6266), without the folders before it; undefined where
 * there is none, or none that is well formed.
 */
export function dispositionName(header = ''): string | undefined {
  const [, extended] =
    /;\s*filename\*\s*=\s*utf-8'[\w-]*'([\w!#$&+.^`|~%-]+)\s*(?:;|$)/i.exec(header) ?? [];
  const [, quoted, token] =
    /;\s*filename\s*=\s*(?:"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*)"|([\w!#$&'*+.^`|~%-]+))\s*(?:;|$)/i.exec(
      header,
    ) ?? [];
  const named = extended === undefined ? undefined : unescaped(extended);
  return nameIn(named ?? quoted?.replace(/\\(.)/g, '$1') ?? token ?? '');
}

/** A name that leads nowhere else: what is behind the last separator. */
function nameIn(text: string): string | undefined {
  const name = text.split(/[/\\]/).at(-1)?.trim() ?? '';
  const isName = name !== '' && name !== '.' && name !== '..' && !/\p{Cc}/u.test(name);
  return isName ? name : undefined;
}

const decoded = (text: string) => unescaped(text) ?? text;

/** Undefined where the escapes are of no UTF-8. */
function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);
