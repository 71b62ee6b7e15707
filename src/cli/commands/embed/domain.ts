import { domainToASCII } from 'node:url';
import type { WorkspaceEmbedSettings } from '../../../client/api/embed-settings.ts';
import { asMediactlError, usageError } from '../../../client/errors.ts';

const hint = 'a host name alone, such as news.example.com';

/**
 * Normalizes a domain for the allow-list: lower case, in ASCII (IDNA). Also accepts any domain exactly as the
 * service lists it.
 *
 * @throws MediactlError `usage` (exit 2) for a URL, a port, or a path, with the correct domain in the hint
 */
export function parseDomain(text: string, known?: WorkspaceEmbedSettings): string {
  const at = known?.spellings.indexOf(text.trim()) ?? -1;
  if (known && at >= 0) return known.domains[at] as string;
  const wrong = (reason: string, host?: string) =>
    usageError(`'${text}' is not a domain`, host ? `give ${host}` : hint, reason);
  const trimmed = text.trim().replace(/\.$/, '');
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed))
    throw wrong('it is a URL', URL.canParse(trimmed) ? new URL(trimmed).hostname : undefined);
  const [host = '', path] = trimmed.split(/[/?#]/, 2);
  const bare = host.replace(/:\d*$/, '');
  if (path !== undefined || bare !== host)
    throw wrong(`it has a ${path === undefined ? 'port' : 'path'}`, toAscii(bare));
  const domain = toAscii(host);
  if (!domain) throw wrong('it has a character that host names cannot have');
  if (/^\d+(\.\d+){3}$/.test(domain)) throw wrong('it is an address');
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

/** Parses domains, one a line, with # comments. @throws MediactlError `usage` (exit 2) with the line number */
export function parseDomains(text: string, path: string, known: WorkspaceEmbedSettings): string[] {
  const domains = text.split(/\r?\n/).flatMap((line, at) => {
    const word = line.replace(/#.*$/, '').trim();
    if (word === '') return [];
    try {
      return [parseDomain(word, known)];
    } catch (error) {
      const { message, explanation } = asMediactlError(error);
      throw usageError(`${path}, line ${at + 1}: ${message}`, explanation.hint);
    }
  });
  return [...new Set(domains)];
}
