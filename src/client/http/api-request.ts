import type { Scope } from '../../contract/scopes.ts';
import type { ErrorCode, Subcode } from '../error-table.ts';
import type { Remedy } from '../errors.ts';
import type { ResponseHeaders } from './rate-limit-headers.ts';

/** Error that represents an HTTP error status. */
export type StatusMeaning = {
  cause: ErrorCode | Subcode;
  problem: string;
  hint?: string;
  remedy?: Remedy;
  retryable?: boolean;
  /** Kind of server failure: `outage` if a gateway or the service reports that it is down. Reads are tried again. */
  failure?: 'internal' | 'outage';
};

/** Purpose of a request, as error messages describe it, and the scope that it requires (§5.7, assumption A17). */
export type Purpose = {
  /** Phrase that completes "this API key cannot …", for example "read assets". */
  action: string;
  scope?: Scope;
  /** Maps statuses to the error properties that differ for this request. */
  statuses?: Readonly<Record<number, Partial<StatusMeaning>>>;
};

export type ApiRequest = {
  method: string;
  /** Path from `paths`, or an absolute URL of signed media. */
  url: string | URL;
  purpose: Purpose;
  query?: Record<string, string | number | undefined>;
  headers?: Record<string, string>;
  /** Request body, sent as application/json. */
  json?: unknown;
  /** Binary request body of known length. `open` is called again for each retry. */
  body?: { lengthBytes: number; open(): AsyncIterable<Uint8Array> | Uint8Array };
  /** False to omit the API key, for POST /playback/info/ and signed URLs. The key is never sent to another origin. */
  authenticate?: boolean;
  /**
   * Retry policy. `reads`, for requests without side effects, retries 429 and 5xx responses and dropped
   * connections. `rate-limit` retries only 429. `none` returns every response.
   */
  retry?: 'reads' | 'rate-limit' | 'none';
  signal?: AbortSignal;
  /** Maximum time without a byte in either direction. */
  idleTimeoutMs?: number;
  /** Receives the body of a 2xx response in chunks, instead of `bytes`. Each promise is awaited (back-pressure). */
  sink?: (part: Uint8Array, answer: { status: number; headers: ResponseHeaders }) => Promise<void>;
  /** Maximum number of body bytes to read. The rest of the body is not read. */
  maxBodyBytes?: number;
  /** True to reject private addresses other than the service itself, including those reached by redirect or DNS. */
  isPublic?: boolean;
  /** Milliseconds for which a request that is under way may go on after an abort, so that its response is not lost. */
  abortGraceMs?: number;
  /** Decides if a GET or HEAD request may follow a redirect to `target`. If absent, every redirect is followed. */
  mayFollowRedirect?: ((target: URL) => boolean) | undefined;
};

/** Start of a response, before its body. */
export type ResponseHead = Pick<ReceivedResponse, 'status' | 'headers'>;

export type ReceivedResponse = {
  status: number;
  headers: ResponseHeaders;
  /** The body as text; empty if `encoding` is set. */
  text: string;
  bytes: Uint8Array;
  /** Content coding of a body that cannot be decoded. A gzip, deflate or Brotli body is decoded. */
  encoding?: string | undefined;
  /** Time at which the response was received, in milliseconds since the epoch. */
  receivedAt: number;
  /** URL of the response, after any redirects. */
  url: URL;
};
