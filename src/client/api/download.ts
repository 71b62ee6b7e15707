import { exitCodes, MediactlError } from '../errors.ts';
import { errorFrom } from '../http/error-response.ts';
import type { Headers } from '../http/rate-limit.ts';
import type { Transport } from '../http/transport.ts';

/** Where a download goes. */
export type Sink = {
  write(part: Uint8Array): Promise<void>;
  /** The download begins anew: what was written is void. Undefined where it cannot be taken back. */
  restart?: (() => Promise<void>) | undefined;
  /** Bytes so far, of how many where that is known. */
  onProgress?: (received: number, total: number | undefined) => void;
};

/** What the record says of the file: an answer that differs is another file, or a rendition. */
export type Expected = {
  sizeBytes?: number | undefined;
  /** Media type. */
  contentType?: string | undefined;
  /** The service may offer something made from the file, of the same type and another length. */
  mayBeRendition?: boolean;
  /** The file may be text: JSON, XML, or words. A service's or a proxy's refusal is as well. */
  mayBeText?: boolean;
  /** A web page may be what is meant. */
  mayBeHtml?: boolean;
  /** Comes from a public address, or from the service itself. */
  isPublic?: boolean;
};

export type Downloaded = {
  bytes: number;
  contentType: string | undefined;
  /** False where nothing told how many bytes there should be. */
  isMeasured: boolean;
  /** Whole, and not the file of the record. */
  isRendition: boolean;
};

const triesWithoutProgress = 4;
const purpose = { action: 'fetch this media' };

/**
 * Fetches a signed URL into a sink, without the key, wherever it points. A line that breaks is taken
 * up where it broke (RFC 9110 §14) if both answers say by an equal validator that they are of one
 * file; else it begins anew. It ends when as many bytes are there as the first answer promised.
 *
 * @throws MediactlError by status or network failure; `download_changed`, `download_incomplete` (13)
 *   where what came is not the file
 */
export async function download(
  transport: Transport,
  url: URL,
  sink: Sink,
  expected: Expected = {},
): Promise<Downloaded> {
  const fetching = new Fetching(url, sink, expected);
  let most = 0;
  for (let tries = 0; ; tries++) {
    try {
      const response = await transport.exchange({
        method: 'GET',
        url,
        authenticate: false,
        isPublic: expected.isPublic ?? false,
        retry: 'pacing',
        purpose,
        headers: { 'accept-encoding': 'identity', ...fetching.range() },
        sink: (part, answer) => fetching.take(part, answer),
      });
      const { status, headers } = response;
      if (fetching.endsHere(status)) return fetching.conclude();
      if (status === 416 && fetching.received > 0) throw fetching.refused();
      if (status >= 300) throw errorFrom(response, purpose);
      await fetching.begin({ status, headers }); // where no byte came, nothing has looked yet
      if (fetching.isWhole) return fetching.conclude();
      // Less than was asked for, though properly told: the rest is asked for next.
    } catch (error) {
      if (!(error instanceof MediactlError)) throw error; // the sink's own
      if (!error.explanation.retryable || tries + 1 >= triesWithoutProgress) throw error;
      await transport.waitBeforeRetry(tries, error);
    }
    if (fetching.received > most) tries = -1;
    else if (tries + 1 >= triesWithoutProgress) throw incomplete(url, fetching.received);
    most = Math.max(most, fetching.received);
    await fetching.next();
  }
}

type Answer = { status: number; headers: Headers };

/** One download over as many answers as it takes. */
class Fetching {
  received = 0;
  readonly #url: URL;
  readonly #sink: Sink;
  readonly #expected: Expected;
  /** Of the first answer; the others must be of the same file. */
  #first: Headers | undefined;
  #total: number | undefined;
  /** Whether the answer that came last says itself where the file ends. */
  #isEnded = false;
  /** The answer that came last is a part of the file. */
  #isPart = false;
  #hasBegun = false;

  constructor(url: URL, sink: Sink, expected: Expected) {
    this.#url = url;
    this.#sink = sink;
    this.#expected = expected;
  }

  /** Headers that ask for what is missing, of the file as it was. */
  range(): Record<string, string> {
    if (this.received === 0) return {};
    const validator = this.#first && validatorOf(this.#first);
    return {
      range: `bytes=${this.received}-`,
      ...(validator && { 'if-range': validator.value }),
    };
  }

  async take(part: Uint8Array, answer: Answer): Promise<void> {
    await this.begin(answer);
    await this.#sink.write(part);
    this.received += part.length;
    this.#sink.onProgress?.(this.received, this.#total);
  }

  /** Looks at an answer's head, once. @throws MediactlError where it is of something else */
  async begin({ status, headers }: Answer): Promise<void> {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity')
      throw changed(this.#url, `it sent the file encoded as ${encoding}, which was not asked for`);
    this.#assertKind(headers['content-type'] ?? '');
    // A body in chunks (RFC 9112 §7.1) says where it ends; one that ends with its line does not.
    this.#isEnded = status === 200 && /chunked/i.test(headers['transfer-encoding'] ?? '');
    if (status === 206 && this.received > 0) return this.#assertGoesOn(headers);
    if (status !== 200) throw changed(this.#url, `it answered ${status}`);
    if (this.received > 0) await this.#restart();
    this.#isPart = false;
    this.#first = headers;
    this.#total = countIn(headers['content-length']);
  }

  /** What a service or a proxy says in words is no media. */
  #assertKind(type: string): void {
    const { mayBeHtml = false, mayBeText = false } = this.#expected;
    if (/^text\/html\b|xhtml/i.test(type) && !mayBeHtml)
      throw changed(this.#url, 'it sent a web page');
    if (isTextType(type) && !mayBeText && !mayBeHtml)
      throw changed(this.#url, `it sent text: ${type}`);
  }

  /** A partial answer must begin where we are, and be of the same file. */
  #assertGoesOn(headers: Headers): void {
    const [, start, total] =
      /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers['content-range'] ?? '') ?? [];
    if (start === undefined || Number(start) !== this.received)
      throw changed(this.#url, 'it sent another part than the one that was asked for');
    const validator = validatorOf(this.#first ?? {});
    if (validator && headers[validator.name] !== validator.value)
      throw changed(this.#url, `its ${validator.name} changed meanwhile`);
    const whole = countIn(total);
    if (this.#total !== undefined && whole !== undefined && whole !== this.#total)
      throw changed(this.#url, `the file went from ${this.#total} to ${whole} bytes`);
    this.#total ??= whole;
    this.#isPart = true;
  }

  /** Before the next answer: without a validator nothing vouches for the two being one file. */
  async next(): Promise<void> {
    this.#hasBegun = false;
    if (this.received > 0 && !validatorOf(this.#first ?? {})) await this.#restart();
  }

  async #restart(): Promise<void> {
    if (!this.#sink.restart) throw changed(this.#url, 'it cannot continue where it broke off');
    await this.#sink.restart();
    this.received = 0;
  }

  /** Whether there is no more to ask for. A part of a file whose length is not told is asked on. */
  get isWhole(): boolean {
    return this.#total === undefined ? !this.#isPart : this.received >= this.#total;
  }

  /** "416: none of the ranges-specifier's values overlap" (RFC 9110 §15.5.17): past the last byte. */
  endsHere(status: number): boolean {
    const isPast = status === 416 && this.#isPart && this.#total === undefined;
    this.#isEnded ||= isPast;
    return isPast;
  }

  /** Returns the error for a server that promised more bytes, and refuses to send them. */
  refused(): MediactlError {
    return changed(this.#url, `it refuses what follows byte ${this.received}, of ${this.#total}`);
  }

  conclude(): Downloaded {
    const contentType = this.#first?.['content-type'];
    const { sizeBytes, contentType: recorded, mayBeRendition = false } = this.#expected;
    const hasType = isSameType(contentType, recorded);
    const hasSize = sizeBytes === undefined || this.received === sizeBytes;
    if (this.#total !== undefined && this.received > this.#total)
      throw changed(this.#url, `it sent ${this.received} bytes of a file of ${this.#total}`);
    if (!hasSize && hasType && !mayBeRendition)
      throw changed(this.#url, `it sent ${this.received} bytes, and the record says ${sizeBytes}`);
    if (this.received === 0) throw changed(this.#url, 'it sent nothing');
    const isRecorded = sizeBytes !== undefined && hasSize && hasType;
    return {
      bytes: this.received,
      contentType,
      isMeasured: isRecorded || this.#total !== undefined || this.#isEnded,
      isRendition: !hasSize || !hasType,
    };
  }
}

/** What vouches that two answers are of one file, byte for byte (RFC 9110 §13.1.5): no weak one. */
function validatorOf(headers: Headers): { name: string; value: string } | undefined {
  const { etag, 'last-modified': modified, date } = headers;
  if (etag !== undefined) return etag.startsWith('W/') ? undefined : { name: 'etag', value: etag };
  // One of the same second may be of either of two versions (RFC 9110 §8.8.2.2).
  const isOld = Date.parse(date ?? '') - Date.parse(modified ?? '') >= 1000;
  return isOld ? { name: 'last-modified', value: modified as string } : undefined;
}

const countIn = (text: string | undefined) =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;

const isSameType = (one: string | undefined, other: string | undefined) => {
  const [a, b] = [one, other].map((type) => type?.split(';')[0]?.trim().toLowerCase());
  return !a || !b || a === b || isAnyType(a) || isAnyType(b);
};

/** "Bytes", which says nothing of them. */
export const isAnyType = (type: string) => /^(?:application|binary)\/octet-stream\b/i.test(type);

/** Text, JSON and XML, whatever it is of. */
export const isTextType = (type: string) =>
  /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml)\b)/i.test(type);

const changed = (url: URL, reason: string) =>
  new MediactlError(`${url.host} sends another file than the one requested`, {
    code: 'download_changed',
    exitCode: exitCodes.integrity,
    reason,
    hint: 'run it again; if it repeats, mediactl play ID --info shows what the service offers',
  });

const incomplete = (url: URL, received: number) =>
  new MediactlError(`${url.host} sends no more than ${received} bytes of the file`, {
    code: 'download_incomplete',
    exitCode: exitCodes.integrity,
    reason: 'its answers end before the file does',
    hint: 'run it again',
  });
