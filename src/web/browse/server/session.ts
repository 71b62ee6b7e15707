import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const secret = () => randomBytes(32).toString('base64url');
const digest = (text: string) => createHash('sha256').update(text).digest();

/** Maximum number of sessions. When it is exceeded, the oldest session is dropped. */
const maxSessions = 100;

/**
 * Authenticates browsers. A browser exchanges a one-time token for an HttpOnly, SameSite=Strict cookie. Cookies are
 * not bound to a port, so an unguessable path keeps the cookie from other services on this machine.
 */
export class BrowseSessions {
  /** Unguessable path prefix of every route. */
  readonly basePath = `/b/${randomBytes(12).toString('base64url')}/`;
  readonly #tokens = new Set<string>();
  readonly #cookies: Buffer[] = [];

  /** Creates a one-time token that `redeem` accepts. */
  createToken(): string {
    const token = secret();
    this.#tokens.add(digest(token).toString('hex'));
    return token;
  }

  /** Exchanges a token for a session cookie. Returns undefined if the token is unknown or already used. */
  redeem(token: string): string | undefined {
    if (!this.#tokens.delete(digest(token).toString('hex'))) return undefined;
    const value = secret();
    this.#cookies.push(digest(value));
    if (this.#cookies.length > maxSessions) this.#cookies.shift();
    return `${cookieName}=${value}; Path=${this.basePath}; HttpOnly; SameSite=Strict`;
  }

  /** Returns true if the request has a valid session cookie. Compares cookies in constant time. */
  isAuthenticated(request: Request): boolean {
    const values = (request.headers.get('cookie') ?? '')
      .split(';')
      .map((each) => each.trim().split('='))
      .flatMap(([name, value]) => (name === cookieName && value ? [digest(value)] : []));
    return values.some((value) => this.#cookies.some((each) => timingSafeEqual(each, value)));
  }
}

const cookieName = 'mediactl';

/**
 * Detects cross-site requests (CSRF) from the Sec-Fetch-Site and Origin headers. Requires an Origin header on every
 * request other than GET, because browsers send one.
 *
 * @returns the reason to reject the request; undefined if it is valid
 */
export function crossSiteReason(request: Request, origin: string): string | undefined {
  const { headers, method } = request;
  const site = headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none') return 'from another site';
  const originHeader = headers.get('origin');
  if (originHeader !== null && originHeader !== origin) return 'from another origin';
  if (originHeader === null && method !== 'GET') return 'no Origin header';
  return undefined;
}
