import type { ReceivedResponse } from './api-request.ts';

/** Thrown instead of sending a write whose last look is outdated. Nothing was changed. */
export class OutdatedLook extends Error {
  override readonly name = 'OutdatedLook';
}

/**
 * The read that a write depends on. A wait between the two outdates it, as others may change the library meanwhile, and so
 * does the answer 412. Then the write is not sent, or not sent again, and the caller reads once more.
 */
export class LastLook {
  #isOutdated = false;
  readonly #etags = new Map<string, string>();
  readonly #onWait: () => void;
  readonly #refused: Set<string>;

  /**
   * @param onWait called before each wait
   * @param refused entity tags that the service has refused, which are not sent again
   */
  constructor(onWait: () => void, refused: Set<string>) {
    this.#onWait = onWait;
    this.#refused = refused;
  }

  beforeWait(): void {
    this.#isOutdated = true;
    this.#onWait();
  }

  /** @throws OutdatedLook */
  assertCurrent(): void {
    if (this.#isOutdated) throw new OutdatedLook('read again after a wait');
  }

  /** Returns the header that lets the service refuse a write of another version than the one that was read. */
  precondition(method: string, { pathname }: URL): Record<string, string> {
    const etag = method === 'PATCH' || method === 'DELETE' ? this.#etags.get(pathname) : undefined;
    return etag === undefined || this.#refused.has(etag) ? {} : { 'if-match': etag };
  }

  /** @param sent headers of the request @throws OutdatedLook if the service refused the version that was read */
  onResponse({ pathname }: URL, sent: Record<string, string>, { status, headers }: ReceivedResponse): void {
    const { 'if-match': refused } = sent;
    if (status === 412 && refused !== undefined) {
      this.#refused.add(refused);
      throw new OutdatedLook('read again after a change by others');
    }
    // A weak entity tag matches nothing (RFC 9110, 13.1.1).
    if (status === 200 && headers.etag?.startsWith('"')) this.#etags.set(pathname, headers.etag);
  }
}
