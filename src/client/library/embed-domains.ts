import { domainToASCII } from 'node:url';
import type { WorkspaceEmbedSettings } from '../api/embed-settings.ts';
import { usageError } from '../errors.ts';

/**
 * Normalizes a domain for the allow-list: lower case, in ASCII (IDNA). Also accepts any domain exactly as the
 * service lists it.
 *
 * @throws CodedError `usage` (exit 2) for a URL, a port, or a path, with the correct domain in the hint
 */
export function parseDomain(text: string, known?: WorkspaceEmbedSettings): string {
  const at = known?.spellings.indexOf(text.trim()) ?? -1;
  if (known && at >= 0) return known.domains[at] as string;
  const wrong = (reason: string, host?: string) =>
    usageError(
      `'${text}' is not a valid domain`,
      host ? `use ${host}` : 'use a host name, such as news.example.com',
      reason,
    );
  const trimmed = text.trim().replace(/\.$/, '');
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed))
    throw wrong('it is a URL', URL.canParse(trimmed) ? new URL(trimmed).hostname : undefined);
  const [host = '', path] = trimmed.split(/[/?#]/, 2);
  const bare = host.replace(/:\d*$/, '');
  if (path !== undefined || bare !== host)
    throw wrong(`it contains a ${path === undefined ? 'port' : 'path'}`, toAscii(bare));
  const domain = toAscii(host);
  if (!domain) throw wrong('it contains a character that is not allowed in a host name');
  if (/^\d+(\.\d+){3}$/.test(domain)) throw wrong('it is an IP address');
  if (!/^(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/.test(domain))
    throw wrong('it is not a host name');
  if (domain.length > 253) throw wrong('it is longer than 253 characters');
  return domain;
}

/** Converts a host name to ASCII, or to '' if it is invalid. Keeps a leading `*.`, which the service may accept. */
function toAscii(host: string): string {
  const [, wildcard = '', name = ''] = /^(\*\.)?(.*)$/.exec(host) ?? [];
  const domain = /[\s@\\*]/.test(name) ? '' : domainToASCII(name);
  return domain && (wildcard + domain).toLowerCase();
}
