import { setMaxListeners } from 'node:events';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../shared/clock.ts';
import { CodedError } from '../errors.ts';
import type { ApiRequest, ReceivedResponse, ResponseHead } from './api-request.ts';
import type { Connection } from './connection.ts';
import { unexpectedResponse } from './error-response.ts';
import { networkError } from './network-error.ts';
import type { ResponseHeaders } from './rate-limit-headers.ts';

/** Maximum size of a response body that is read into memory. API responses are far smaller. */
const maxResponseBytes = 256 * 1024 * 1024;
/** Maximum time of a request, as a multiple of the idle timeout, which misses a response that drips byte by byte. */
const responseTimeoutFactor = 10;
/** Time in which throughput is measured, as a multiple of the idle timeout. It lasts one minute by default. */
const throughputWindowFactor = 2;
/** Minimum throughput of a streamed body, in bytes per second. */
const minBytesPerSecond = 1024;

const decoder = new TextDecoder();

type OutgoingRequest = {
  call: ApiRequest;
  /** URL of the call with its query, or the target of a redirect. */
  url: URL;
  headers: Record<string, string>;
  idleTimeoutMs: number;
  signal: AbortSignal | undefined;
  clock: Clock;
};

/** Sends a request once and reads the response. @throws CodedError for a network failure */
export async function sendRequest(connection: Connection, request: OutgoingRequest): Promise<ReceivedResponse> {
  const { call, url, headers, idleTimeoutMs, clock } = request;
  const deadline = new Deadline(request);
  const convertError = (error: unknown) =>
    deadline.isPassed ? deadline.signal.reason : networkError(error, url, idleTimeoutMs, connection.proxyOf(url));
  connection.requestCount++;
  try {
    const pool = await connection.open(call.isPublic ? url : undefined);
    const answer = await pool
      .request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: call.method as Dispatcher.HttpMethod,
        headers,
        body: openBody(call, () => deadline.start()) as Dispatcher.RequestOptions['body'], // undici’s types omit iterables
        signal: deadline.signal,
        // undici restarts both timers at each byte, so they act as idle timeouts.
        headersTimeout: idleTimeoutMs,
        bodyTimeout: idleTimeoutMs,
      })
      .catch((error) => {
        throw convertError(error);
      });
    connection.hasConnected = true;
    const head = { status: answer.statusCode, headers: normalizeHeaders(answer.headers) };
    const parts = convertErrors(answer.body, convertError);
    const { sink } = call;
    let body: Pick<ReceivedResponse, 'bytes' | 'encoding'> = { bytes: Buffer.alloc(0) };
    if (sink && head.status < 300) {
      deadline.clear();
      await streamInto(parts, (part) => sink(part, head), { idleTimeoutMs, origin: url.origin });
    } else {
      deadline.start();
      body = await decode(await readBody(parts, call.maxBodyBytes), head, call);
    }
    // undici returns a connection to its pool one event loop turn after the response. A request sent before
    // that would open another connection.
    await new Promise((resolve) => setImmediate(resolve));
    return {
      ...head,
      ...body,
      receivedAt: clock.now(),
      get text() {
        return body.encoding === undefined ? decoder.decode(body.bytes) : '';
      },
      url,
    };
  } finally {
    deadline.close();
  }
}

/** Aborts a request with the signal of its caller, at once or after a grace, or when its response is not complete in time. */
class Deadline {
  // One controller with a listener, because `AbortSignal.any()` is slow.
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #abort: () => void;
  readonly #timeoutMs: number;
  readonly #origin: string;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({ call: { abortGraceMs }, signal, idleTimeoutMs, url }: OutgoingRequest) {
    this.#caller = signal;
    const abort = () => this.#controller.abort(signal?.reason);
    // The timer of a grace does not keep the process running.
    this.#abort =
      abortGraceMs === undefined
        ? abort
        : () => AbortSignal.timeout(abortGraceMs).addEventListener('abort', abort, { once: true });
    this.#timeoutMs = responseTimeoutFactor * idleTimeoutMs;
    this.#origin = url.origin;
    if (!signal) return;
    setMaxListeners(0, signal); // any number of requests may share it
    if (signal.aborted) this.#abort();
    signal.addEventListener('abort', this.#abort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True if the response took too long. */
  get isPassed(): boolean {
    return this.signal.aborted && !this.#caller?.aborted;
  }

  /** Starts the time, unless it runs already. The body of an aborted request may end after `close`. */
  start(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(
      () => this.#controller.abort(tooSlow(this.#origin, 'its response was not complete', this.#timeoutMs)),
      this.#timeoutMs,
    );
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  close(): void {
    this.#isClosed = true;
    this.clear();
    this.#caller?.removeEventListener('abort', this.#abort);
  }
}

/** Opens the body of a request. Calls `onSent` now, or for a stream once undici has passed all of it to the socket. */
function openBody({ json, body }: ApiRequest, onSent: () => void) {
  const opened = json === undefined ? (body?.open() ?? null) : JSON.stringify(json);
  if (opened !== null && typeof opened === 'object' && !(opened instanceof Uint8Array))
    return notifyWhenSent(opened, onSent);
  onSent();
  return opened;
}

async function* notifyWhenSent(body: AsyncIterable<Uint8Array>, then: () => void) {
  yield* body;
  then();
}

/** Yields the chunks of a body and converts errors of the connection, but not those of the consumer. */
async function* convertErrors(body: AsyncIterable<Buffer>, convert: (error: unknown) => unknown) {
  try {
    yield* body;
  } catch (error) {
    throw convert(error);
  }
}

/** Reads a whole response body, or only its first `maxBytes`, in which case the connection is closed instead of drained. */
async function readBody(body: AsyncIterable<Buffer>, maxBytes: number | undefined) {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    parts.push(part);
    size += part.length;
    if (maxBytes !== undefined && size >= maxBytes) break;
    if (size > maxResponseBytes)
      throw unexpectedResponse('the response is too large', { reason: `it is larger than ${maxResponseBytes} bytes` });
  }
  return Buffer.concat(parts).subarray(0, maxBytes);
}

/** Decodes a whole body. A part of a file stays as it is, since its offsets are those of the encoded bytes. */
async function decode(bytes: Buffer, { status, headers }: ResponseHead, { maxBodyBytes }: ApiRequest) {
  const encoding = headers['content-encoding'];
  if (!encoding || bytes.length === 0 || status === 206 || maxBodyBytes !== undefined) return { bytes };
  const decoded = await decodeBody(bytes, encoding, maxResponseBytes);
  return decoded ? { bytes: decoded } : { bytes, encoding };
}

/**
 * Streams a body of any length into a sink without buffering it. Rejects a body that is too slow, which an idle
 * timeout misses if a byte arrives now and then. Only the wait for the service counts, not the time of the sink.
 *
 * @throws CodedError `timeout` (exit 10) if the throughput is below the minimum
 */
export async function streamInto(
  body: AsyncIterable<Buffer>,
  sink: (part: Buffer) => Promise<void>,
  { idleTimeoutMs, origin }: { idleTimeoutMs: number; origin: string },
): Promise<void> {
  const windowMs = throughputWindowFactor * idleTimeoutMs;
  let waitedMs = 0;
  let received = 0;
  let waitingSince = performance.now();
  for await (const part of body) {
    waitedMs += performance.now() - waitingSince;
    received += part.length;
    if (waitedMs >= windowMs) {
      if (received < (minBytesPerSecond * waitedMs) / 1000)
        throw tooSlow(origin, `it sent only ${received} bytes`, waitedMs);
      [waitedMs, received] = [0, 0];
    }
    await sink(part);
    waitingSince = performance.now();
  }
}

const tooSlow = (origin: string, what: string, withinMs: number) =>
  new CodedError(`${origin} is too slow`, {
    code: 'timeout',
    reason: `${what} within ${Math.round(withinMs / 1000)} s`,
    retryable: true,
  });

/** Joins the values of repeated headers, whose names undici has converted to lower case. */
const normalizeHeaders = (headers: Record<string, string | string[] | undefined>): ResponseHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );

/** Decoders by content coding (RFC 9110 §8.4.1). */
const decoders = new Map([
  ['gzip', () => promisify(gunzip)],
  ['x-gzip', () => promisify(gunzip)],
  ['deflate', () => promisify(inflate)],
  ['br', () => promisify(brotliDecompress)],
]);

/**
 * Decodes a body that a proxy has compressed, which no request asks for.
 *
 * @param encoding value of the Content-Encoding header: the codings in the order in which they were applied
 * @param maxBytes maximum size of the decoded body, in bytes
 * @returns undefined if a coding is unknown, or if the body is not encoded so, is cut or is too large
 */
async function decodeBody(body: Buffer, encoding: string, maxBytes: number): Promise<Buffer | undefined> {
  const codings = encoding
    .toLowerCase()
    .split(',')
    .map((each) => each.trim());
  let decoded: Buffer | undefined = body;
  for (const coding of codings.reverse()) {
    if (coding === 'identity' || coding === '') continue;
    const decode = decoders.get(coding)?.();
    decoded = decoded && (await decode?.(decoded, { maxOutputLength: maxBytes }).catch(() => undefined));
  }
  return decoded;
}
