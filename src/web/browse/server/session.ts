import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const secret = () => randomBytes(32).toString('base64url');
const digest = (text: string) => createHash('sha256').update(text).digest();

const maxSessions = 100;

/**
 * Authenticates browsers. A browser exchanges a one-time token for an HttpOnly, SameSite=Strict cookie. Cookies are
 * not bound to a port, so an unguessable path keeps the cookie from other services on this machine.
 */
export class BrowseSessions {
  readonly basePath = `/b/${randomBytes(12).toString('base64url')}/`;
  readonly #tokens = new Set<string>();
  readonly #cookies: Buffer[] = [];

  createToken(): string {
    const token = secret();
    this.#tokens.add(digest(token).toString('hex'));
    return token;
  }

  /**
   * Exchanges a token for the value of a session cookie. Returns undefined if it is unknown or already used.
   *
   * @param isReusable true to keep the token
   */
  redeem(token: string, isReusable = false): string | undefined {
    const hash = digest(token).toString('hex');
    if (!(isReusable ? this.#tokens.has(hash) : this.#tokens.delete(hash))) return undefined;
    const cookie = secret();
    this.#cookies.push(digest(cookie));
    if (this.#cookies.length > maxSessions) this.#cookies.shift();
    return cookie;
  }

  /** Returns true if a cookie belongs to a session. Compares cookies in constant time. */
  isAuthenticated(cookie = ''): boolean {
    return this.#cookies.some((each) => timingSafeEqual(each, digest(cookie)));
  }
}

/**
 * Detects cross-site requests (CSRF) from the Sec-Fetch-Site and Origin headers. hono/csrf would be weaker: it checks
 * only writes that a form can send, and one valid header is enough for it. Here both must be valid, also for a read,
 * and a request other than GET needs an Origin header, because browsers send one.
 */
export function isCrossSite({ headers, method }: Request, origin: string): boolean {
  const site = headers.get('sec-fetch-site') ?? 'none';
  const from = headers.get('origin') ?? (method === 'GET' ? origin : undefined);
  return !['same-origin', 'none'].includes(site) || from !== origin;
}
