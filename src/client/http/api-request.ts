import type { Scope } from '../../contract/scopes.ts';
import type { ExitCode } from '../errors.ts';
import type { ResponseHeaders } from './rate-limit-headers.ts';

/** Meaning of an error status. */
export type StatusMeaning = {
  code: string;
  exitCode: ExitCode;
  problem: string;
  hint?: string;
  retryable?: boolean;
};

/** Purpose of a request, as error messages describe it, and the required scope (§5.7, A17). */
export type Purpose = {
  /** Phrase that completes "this key may not …", for example "read assets". */
  action: string;
  scope?: Scope;
  /** Meanings of statuses that differ for this request. */
  statuses?: Readonly<Record<number, Partial<StatusMeaning>>>;
};

export type ApiRequest = {
  method: string;
  /** A path of `paths`, or an absolute URL (signed media). */
  url: string | URL;
  purpose: Purpose;
  query?: Record<string, string | number | undefined>;
  headers?: Record<string, string>;
  /** Sent as application/json. */
  json?: unknown;
  /** Opened again for each retry. The length must be known. */
  body?: { lengthBytes: number; open(): AsyncIterable<Uint8Array> | Uint8Array };
  /** False for POST /playback/info/ and signed URLs. The API key is only ever sent to its own origin. */
  authenticate?: boolean;
  /**
   * Retry policy. `reads` retries 5xx responses and dropped connections, for requests without side effects.
   * `rate-limit` waits only for the rate limit (429). `none` returns every response.
   */
  retry?: 'reads' | 'rate-limit' | 'none';
  signal?: AbortSignal;
  /** Idle timeout: milliseconds without a byte in either direction. */
  idleTimeoutMs?: number;
  /** Receives the body of a 2xx response in chunks, instead of `bytes`. Each promise is awaited (back-pressure). */
  sink?: (part: Uint8Array, answer: { status: number; headers: ResponseHeaders }) => Promise<void>;
  /** Maximum number of bytes to read. The rest of the body is not read. */
  maxBodyBytes?: number;
  /** Rejects private addresses other than the service itself, also after a redirect or DNS resolution. */
  isPublic?: boolean;
  /** Returns true if a read may follow a redirect to this URL. Every redirect is allowed by default. */
  mayFollowRedirect?: ((target: URL) => boolean) | undefined;
};

export type ApiResponse = {
  status: number;
  headers: ResponseHeaders;
  text: string;
  bytes: Uint8Array;
  /** Milliseconds since the epoch. */
  receivedAt: number;
  /** Final URL, after redirects of a read. */
  url: URL;
};
