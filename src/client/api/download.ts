import { MediactlError } from '../errors.ts';
import { errorFrom } from '../http/error-response.ts';
import type { ResponseHeaders } from '../http/rate-limit-headers.ts';
import type { Transport } from '../http/transport.ts';

/** Destination of a download. */
export type DownloadSink = {
  write(part: Uint8Array): Promise<void>;
  /** Discards what was written, because the download restarts. Undefined if the sink cannot restart. */
  restart?: (() => Promise<void>) | undefined;
  /** Called with the number of bytes received so far, and the total if it is known. */
  onProgress?: (received: number, total: number | undefined) => void;
};

/** Properties of the file according to its asset record. A response that does not match is another file or a rendition. */
export type ExpectedFile = {
  sizeBytes?: number | undefined;
  /** Media type. */
  contentType?: string | undefined;
  /** True if the service might return a file derived from the original, with the same type but another length. */
  mayBeRendition?: boolean;
  /** True if the file can be text, JSON or XML. Otherwise a text response is treated as an error page. */
  mayBeText?: boolean;
  /** True if the file can be HTML. */
  mayBeHtml?: boolean;
  /** True if the URL must be a public address or belong to the service. */
  isPublic?: boolean;
};

export type DownloadOutcome = {
  bytes: number;
  contentType: string | undefined;
  /** False if the complete length is unknown, so the file might be truncated. */
  isLengthVerified: boolean;
  /** True if the file is complete but is not the original of the asset record. */
  isRendition: boolean;
};

const maxAttemptsWithoutProgress = 4;
const purpose = { action: 'fetch this media' };

/**
 * Downloads a signed URL into a sink. Sends no API key, and follows redirects to any origin. After a dropped
 * connection, resumes with a range request (RFC 9110 §14) if both responses have the same validator, which proves
 * that they are of the same file, and otherwise restarts. Ends when the length announced by the first response is
 * received.
 *
 * @throws MediactlError for an error status or network failure, or `download_changed` or `download_incomplete`
 *   (exit 13) if the received data is not the complete file
 */
export async function download(
  transport: Transport,
  url: URL,
  sink: DownloadSink,
  expected: ExpectedFile = {},
): Promise<DownloadOutcome> {
  const transfer = new ResumableDownload(url, sink, expected);
  let maxReceived = 0;
  for (let tries = 0; ; tries++) {
    try {
      const response = await transport.exchange({
        method: 'GET',
        url,
        authenticate: false,
        isPublic: expected.isPublic ?? false,
        retry: 'rate-limit',
        purpose,
        headers: { 'accept-encoding': 'identity', ...transfer.rangeHeaders() },
        sink: (part, answer) => transfer.writeChunk(part, answer),
      });
      const { status, headers } = response;
      if (transfer.checkPastEnd(status)) return transfer.finish();
      if (status === 416 && transfer.received > 0) throw transfer.rangeRefusedError();
      if (status >= 300) throw errorFrom(response, purpose);
      await transfer.acceptHead({ status, headers }); // the sink is not called for an empty body
      if (transfer.isComplete) return transfer.finish();
      // The response was valid but shorter than requested, so request the rest next.
    } catch (error) {
      if (!(error instanceof MediactlError)) throw error; // an error of the sink
      if (!error.explanation.retryable || tries + 1 >= maxAttemptsWithoutProgress) throw error;
      await transport.waitBeforeRetry(tries, error);
    }
    if (transfer.received > maxReceived) tries = -1;
    else if (tries + 1 >= maxAttemptsWithoutProgress) throw incomplete(url, transfer.received);
    maxReceived = Math.max(maxReceived, transfer.received);
    await transfer.prepareNextRequest();
  }
}

type ResponseHead = { status: number; headers: ResponseHeaders };

/** State of one download across several requests. */
class ResumableDownload {
  received = 0;
  readonly #url: URL;
  readonly #sink: DownloadSink;
  readonly #expected: ExpectedFile;
  /** Headers of the first response. Later responses must belong to the same file. */
  #first: ResponseHeaders | undefined;
  #total: number | undefined;
  /** True if the last response shows where the file ends, even without a content length. */
  #isEndDelimited = false;
  /** True if the last response was partial (206). */
  #isPartial = false;
  #isHeadAccepted = false;

  constructor(url: URL, sink: DownloadSink, expected: ExpectedFile) {
    this.#url = url;
    this.#sink = sink;
    this.#expected = expected;
  }

  /**
   * Returns the Range and If-Range headers that request the missing bytes of the same version of the file, or no
   * headers at the start.
   */
  rangeHeaders(): Record<string, string> {
    if (this.received === 0) return {};
    const validator = this.#first && validatorOf(this.#first);
    return {
      range: `bytes=${this.received}-`,
      ...(validator && { 'if-range': validator.value }),
    };
  }

  async writeChunk(part: Uint8Array, answer: ResponseHead): Promise<void> {
    await this.acceptHead(answer);
    await this.#sink.write(part);
    this.received += part.length;
    this.#sink.onProgress?.(this.received, this.#total);
  }

  /**
   * Validates the status and headers of each response once. @throws MediactlError `download_changed` (exit 13) if
   * the response is not for the expected file
   */
  async acceptHead({ status, headers }: ResponseHead): Promise<void> {
    if (this.#isHeadAccepted) return;
    this.#isHeadAccepted = true;
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity')
      throw changed(this.#url, `it sent the file encoded as ${encoding}, which was not asked for`);
    this.#assertMediaType(headers['content-type'] ?? '');
    // A chunked body (RFC 9112 §7.1) marks its end. A body that ends with its connection does not.
    this.#isEndDelimited = status === 200 && /chunked/i.test(headers['transfer-encoding'] ?? '');
    if (status === 206 && this.received > 0) return this.#assertContinues(headers);
    if (status !== 200) throw changed(this.#url, `it answered ${status}`);
    if (this.received > 0) await this.#restart();
    this.#isPartial = false;
    this.#first = headers;
    this.#total = parseCount(headers['content-length']);
  }

  /** Rejects a web page or text in place of media, because it is an error message of the service or of a proxy. */
  #assertMediaType(type: string): void {
    const { mayBeHtml = false, mayBeText = false } = this.#expected;
    if (/^text\/html\b|xhtml/i.test(type) && !mayBeHtml) throw changed(this.#url, 'it sent a web page');
    if (isTextType(type) && !mayBeText && !mayBeHtml) throw changed(this.#url, `it sent text: ${type}`);
  }

  /** Asserts that a partial response starts at the requested offset and belongs to the same file. */
  #assertContinues(headers: ResponseHeaders): void {
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers['content-range'] ?? '') ?? [];
    if (start === undefined || Number(start) !== this.received)
      throw changed(this.#url, 'it sent another part than the one that was asked for');
    const validator = validatorOf(this.#first ?? {});
    if (validator && headers[validator.name] !== validator.value)
      throw changed(this.#url, `its ${validator.name} changed meanwhile`);
    const totalBytes = parseCount(total);
    if (this.#total !== undefined && totalBytes !== undefined && totalBytes !== this.#total)
      throw changed(this.#url, `the file went from ${this.#total} to ${totalBytes} bytes`);
    this.#total ??= totalBytes;
    this.#isPartial = true;
  }

  /**
   * Prepares the next request. Restarts the download if the first response has no validator, because the next
   * response could not be proven to be of the same file.
   */
  async prepareNextRequest(): Promise<void> {
    this.#isHeadAccepted = false;
    if (this.received > 0 && !validatorOf(this.#first ?? {})) await this.#restart();
  }

  async #restart(): Promise<void> {
    if (!this.#sink.restart) throw changed(this.#url, 'it cannot continue where it broke off');
    await this.#sink.restart();
    this.received = 0;
  }

  /** True if the download is complete. After a partial response of unknown total length, another request must find out. */
  get isComplete(): boolean {
    return this.#total === undefined ? !this.#isPartial : this.received >= this.#total;
  }

  /**
   * Returns true if a 416 means that the last request started past the end of the file ("none of the
   * ranges-specifier's values overlap", RFC 9110 §15.5.17), so that the download is complete.
   */
  checkPastEnd(status: number): boolean {
    const isPast = status === 416 && this.#isPartial && this.#total === undefined;
    this.#isEndDelimited ||= isPast;
    return isPast;
  }

  /** Creates the error for a server that promised more bytes but refuses to send them. */
  rangeRefusedError(): MediactlError {
    return changed(this.#url, `it refuses what follows byte ${this.received}, of ${this.#total}`);
  }

  finish(): DownloadOutcome {
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
      isLengthVerified: isRecorded || this.#total !== undefined || this.#isEndDelimited,
      isRendition: !hasSize || !hasType,
    };
  }
}

/**
 * Returns the strong validator of a response, or undefined if it has none. Responses with the same validator are of
 * the same file (RFC 9110 §13.1.5).
 */
function validatorOf(headers: ResponseHeaders): { name: string; value: string } | undefined {
  const { etag, 'last-modified': modified, date } = headers;
  if (etag !== undefined) return etag.startsWith('W/') ? undefined : { name: 'etag', value: etag };
  // A Last-Modified in the same second as Date might belong to either of two versions (RFC 9110 §8.8.2.2).
  const isOld = Date.parse(date ?? '') - Date.parse(modified ?? '') >= 1000;
  return isOld ? { name: 'last-modified', value: modified as string } : undefined;
}

const parseCount = (text: string | undefined) =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;

const isSameType = (one: string | undefined, other: string | undefined) => {
  const [a, b] = [one, other].map((type) => type?.split(';')[0]?.trim().toLowerCase());
  return !a || !b || a === b || isGenericType(a) || isGenericType(b);
};

/** Returns true for octet-stream, the generic media type of binary data. */
export const isGenericType = (type: string) => /^(?:application|binary)\/octet-stream\b/i.test(type);

/** Returns true for media types of text, JSON and XML. */
export const isTextType = (type: string) => /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml)\b)/i.test(type);

const changed = (url: URL, reason: string) =>
  new MediactlError(`${url.host} sends another file than the one requested`, {
    code: 'download_changed',
    reason,
  });

const incomplete = (url: URL, received: number) =>
  new MediactlError(`${url.host} sends no more than ${received} bytes of the file`, {
    code: 'download_incomplete',
    reason: 'its answers end before the file does',
  });
