import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const secret = () => randomBytes(32).toString('base64url');
const digest = (text: string) => createHash('sha256').update(text).digest();

/** A page forgets who came first once so many have. */
const mostSessions = 100;

/**
 * Who may see the page. An address with a one-time token lets one browser in; from then on a cookie
 * does, HttpOnly and SameSite=Strict. Cookies know no ports: its path, which nobody can guess, keeps it
 * from other services of this machine.
 */
export class Sessions {
  /** Path below which everything of the page is. */
  readonly base = `/b/${randomBytes(12).toString('base64url')}/`;
  readonly #tokens = new Set<string>();
  readonly #cookies: Buffer[] = [];

  /** A token for one browser to enter with. */
  mint(): string {
    const token = secret();
    this.#tokens.add(digest(token).toString('hex'));
    return token;
  }

  /** The cookie of whoever comes with a token; undefined where it was used, or is none. */
  enter(token: string): string | undefined {
    if (!this.#tokens.delete(digest(token).toString('hex'))) return undefined;
    const value = secret();
    this.#cookies.push(digest(value));
    if (this.#cookies.length > mostSessions) this.#cookies.shift();
    return `${cookieName}=${value}; Path=${this.base}; HttpOnly; SameSite=Strict`;
  }

  /** Whether a request carries the cookie of somebody who entered. */
  knows(request: Request): boolean {
    const values = (request.headers.get('cookie') ?? '')
      .split(';')
      .map((each) => each.trim().split('='))
      .flatMap(([name, value]) => (name === cookieName && value ? [digest(value)] : []));
    return values.some((value) => this.#cookies.some((each) => timingSafeEqual(each, value)));
  }
}

const cookieName = 'mediactl';

/**
 * Why a request is not of our own page, judged by what browsers say themselves; undefined where it may
 * be. What writes must say so: browsers name the origin of every such request.
 */
export function strangeness(request: Request, origin: string): string | undefined {
  const { headers, method } = request;
  const site = headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none') return 'from another site';
  const named = headers.get('origin');
  if (named !== null && named !== origin) return 'from another origin';
  if (named === null && method !== 'GET') return 'from nowhere';
  return undefined;
}
