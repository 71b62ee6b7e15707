import { mediaPurpose } from '../api/playback.ts';
import { CodedError } from '../errors.ts';
import type { ResponseHead } from '../http/api-request.ts';
import { errorPageReason, isGenericType } from '../http/content-types.ts';
import { errorFrom, isRetryable } from '../http/error-response.ts';
import type { ResponseHeaders } from '../http/rate-limit-headers.ts';
import type { Transport } from '../http/transport.ts';

export type DownloadSink = {
  write(part: Uint8Array): Promise<void>;
  /** Discards what was written, because the download restarts. Undefined if the sink cannot restart. */
  restart?: (() => Promise<void>) | undefined;
  /** Called when a file can be resumed by a later process, with what that needs. */
  onStart?: (start: Omit<DownloadStart, 'received'>) => void;
  /** Called with the number of bytes received so far, and the total if it is known. */
  onProgress?: (received: number, total: number | undefined) => void;
};

/** Properties of the file according to its asset record. A response that does not match is another file or a rendition. */
export type ExpectedFile = {
  sizeBytes?: number | undefined;
  contentType?: string | undefined;
  /** True if the service might return a file derived from the original, with the same type but another length. */
  mayBeRendition?: boolean;
  /** True if the file can be text. Otherwise a text response is treated as an error message. */
  mayBeText?: boolean;
  /** True if the URL must be a public address or belong to the service. */
  isPublic?: boolean;
};

export type DownloadOutcome = ReturnType<ResumableDownload['finish']>;

/** State of an interrupted download, from which a later process resumes it. */
export type DownloadStart = {
  /** Number of bytes on disk. */
  received: number;
  /** Validator of the response that they are of, which proves that a later one is of the same file. */
  validator: Validator;
  total: number;
  contentType: string | undefined;
};

const maxAttemptsWithoutProgress = 4;

/**
 * Downloads a signed URL into a sink. Sends no API key, and follows redirects to any origin. After a dropped
 * connection, resumes with a range request (RFC 9110 §14) if both responses have the same validator, which proves
 * that they are of the same file, and otherwise restarts. Ends when the length announced by the first response is
 * received.
 *
 * @param start state of an earlier download whose bytes are in the sink
 * @throws CodedError for an error status or network failure, or `download_changed` or `download_incomplete`
 *   (exit 13) if the received data is not the complete file
 */
export async function download(
  transport: Transport,
  url: URL,
  sink: DownloadSink,
  expected: ExpectedFile = {},
  start?: DownloadStart,
) {
  const transfer = new ResumableDownload(url, sink, expected, start);
  let maxReceived = transfer.received;
  for (let failures = 0; ; failures++) {
    let failure: CodedError | undefined;
    try {
      if (await transfer.request(transport)) return transfer.finish();
      // The response was valid but shorter than requested, so request the rest next.
    } catch (error) {
      if (!isRetryable(error)) throw error;
      failure = error;
    }
    if (transfer.received > maxReceived) failures = 0;
    else if (failures + 1 >= maxAttemptsWithoutProgress)
      throw failure ?? transfer.rejection ?? incomplete(url, transfer.received);
    maxReceived = Math.max(maxReceived, transfer.received);
    if (failure) await transport.waitBeforeRetry(failures, failure);
  }
}

class ResumableDownload {
  received = 0;
  /** Error of the last range that the server rejected, after which the download has restarted. */
  rejection: CodedError | undefined;
  readonly #file: { url: URL; sink: DownloadSink; expected: ExpectedFile };
  /** Validator and type of the first response. Later responses must belong to the same file. */
  #validator: Validator | undefined;
  #contentType: string | undefined;
  #total: number | undefined;
  /** True if the last response shows where the file ends, even without a content length. */
  #isEndDelimited = false;
  #isPartial = false;
  /** True if a response has continued what was received. */
  #isResumed = false;
  /** Bytes at the start of the response that are received already, because its range starts before the requested one. */
  #overlap = 0;
  #isHeadAccepted = false;

  constructor(url: URL, sink: DownloadSink, expected: ExpectedFile, start: DownloadStart | undefined) {
    this.#file = { url, sink, expected };
    if (!start) return;
    this.received = start.received;
    this.#validator = start.validator;
    this.#total = start.total;
    this.#contentType = start.contentType;
  }

  /**
   * Requests the missing bytes of the same version of the file. Restarts if the first response had no validator,
   * because this response could not be proven to be of the same file, and after a range that the server rejects.
   *
   * @returns true if the file is complete
   */
  async request(transport: Transport): Promise<boolean> {
    this.#isHeadAccepted = false;
    if (this.received > 0 && !this.#validator) await this.#restart();
    const response = await transport.exchange({
      method: 'GET',
      url: this.#file.url,
      authenticate: false,
      isPublic: this.#file.expected.isPublic ?? false,
      retry: 'rate-limit',
      purpose: mediaPurpose,
      headers: {
        'accept-encoding': 'identity',
        ...(this.#validator &&
          this.received > 0 && { range: `bytes=${this.received}-`, 'if-range': this.#validator.value }),
      },
      sink: (part, head) => this.#write(part, head),
    });
    if (response.status === 416 && this.received > 0) {
      // The request started past the end of the file ("none of the ranges-specifier's values overlap", RFC 9110
      // §15.5.17). After a part of unknown total length, the download is complete.
      this.#isEndDelimited = this.#isPartial && this.#total === undefined;
      if (this.#isEndDelimited) return true;
      this.rejection = changed(this.#file.url, `it rejects the range from byte ${this.received} of ${this.#total}`);
      await this.#restart();
      return false;
    }
    if (response.status >= 300) throw errorFrom(response, mediaPurpose);
    await this.#acceptHead(response); // the sink is not called for an empty body
    return this.#total === undefined ? !this.#isPartial : this.received >= this.#total;
  }

  async #write(part: Uint8Array, head: ResponseHead): Promise<void> {
    await this.#acceptHead(head);
    const added = part.subarray(this.#overlap);
    this.#overlap = Math.max(0, this.#overlap - part.length);
    if (added.length === 0) return;
    await this.#file.sink.write(added);
    this.received += added.length;
    this.#file.sink.onProgress?.(this.received, this.#total);
  }

  /** Validates each response once. @throws CodedError `download_changed` (exit 13) if it is of another file */
  async #acceptHead({ status, headers }: ResponseHead): Promise<void> {
    if (this.#isHeadAccepted) return;
    this.#isHeadAccepted = true;
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity')
      throw changed(this.#file.url, `it sent the file encoded as ${encoding}, which was not requested`);
    this.#assertMediaType(headers['content-type'] ?? '');
    // A chunked body (RFC 9112 §7.1) marks its end. A body that ends with its connection does not.
    this.#isEndDelimited = status === 200 && /chunked/i.test(headers['transfer-encoding'] ?? '');
    this.#isPartial = status === 206 && this.received > 0;
    this.#overlap = 0;
    if (this.#isPartial) return this.#assertContinues(headers);
    if (status !== 200) throw changed(this.#file.url, `it returned ${status}`);
    if (this.received > 0) await this.#restart();
    this.#validator = validatorOf(headers);
    this.#contentType = headers['content-type'];
    this.#total = parseCount(headers['content-length']);
    if (this.#validator && this.#total !== undefined)
      this.#file.sink.onStart?.({ validator: this.#validator, total: this.#total, contentType: this.#contentType });
  }

  /** Rejects a web page or text in place of media, because it is an error message of the service or of a proxy. */
  #assertMediaType(type: string): void {
    const { mayBeText = false, contentType = '' } = this.#file.expected;
    const mayBeHtml = mayBeText && (contentType === '' || isGenericType(contentType) || /html/i.test(contentType));
    const reason = errorPageReason(type, { mayBeHtml, mayBeText });
    if (reason !== undefined) throw changed(this.#file.url, reason);
  }

  /** Asserts that a partial response continues the file, without a gap, and belongs to the same one. */
  #assertContinues(headers: ResponseHeaders): void {
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers['content-range'] ?? '') ?? [];
    if (start === undefined || Number(start) > this.received)
      throw changed(this.#file.url, 'it sent a different range than requested');
    if (this.#validator && headers[this.#validator.name] !== this.#validator.value)
      throw changed(this.#file.url, `its ${this.#validator.name} changed during the download`);
    const totalBytes = parseCount(total);
    if (this.#total !== undefined && totalBytes !== undefined && totalBytes !== this.#total)
      throw changed(this.#file.url, `its size changed from ${this.#total} to ${totalBytes} bytes`);
    this.#total ??= totalBytes;
    this.#overlap = this.received - Number(start);
    this.#isResumed = true;
  }

  async #restart(): Promise<void> {
    if (!this.#file.sink.restart) throw changed(this.#file.url, 'the download can be neither resumed nor restarted');
    await this.#file.sink.restart();
    this.received = 0;
    this.#isResumed = false;
  }

  finish() {
    const { sizeBytes, contentType: recorded, mayBeRendition = false } = this.#file.expected;
    const hasType = isSameType(this.#contentType, recorded);
    const hasSize = sizeBytes === undefined || this.received === sizeBytes;
    if (this.#total !== undefined && this.received > this.#total)
      throw changed(this.#file.url, `it sent ${this.received} bytes, but announced ${this.#total}`);
    if (!hasSize && hasType && !mayBeRendition)
      throw changed(this.#file.url, `it sent ${this.received} bytes, but the asset record says ${sizeBytes}`);
    if (this.received === 0) throw changed(this.#file.url, 'it sent no data');
    const isRecorded = sizeBytes !== undefined && hasSize && hasType;
    return {
      bytes: this.received,
      contentType: this.#contentType,
      /** False if the complete length is unknown, so the file might be truncated. */
      isLengthVerified: isRecorded || this.#total !== undefined || this.#isEndDelimited,
      /** True if the file is complete but is not the original of the asset record. */
      isRendition: !hasSize || !hasType,
      /** True if it was put together from the responses to several requests. */
      isResumed: this.#isResumed,
    };
  }
}

type Validator = { name: 'etag' | 'last-modified'; value: string };

/** Returns the strong validator, if any. Responses with the same one are of the same file (RFC 9110 §13.1.5). */
function validatorOf(headers: ResponseHeaders): Validator | undefined {
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

const changed = (url: URL, reason: string) =>
  new CodedError(`${url.host} sent a different file than requested`, { code: 'download_changed', reason });

const incomplete = (url: URL, received: number) =>
  new CodedError(`${url.host} stops sending after ${received} bytes of the file`, {
    code: 'download_incomplete',
    reason: 'its responses end before the file is complete',
  });
