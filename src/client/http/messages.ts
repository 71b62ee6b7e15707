import type { Scope } from '../../contract/scopes.ts';
import type { ExitCode } from '../errors.ts';
import type { Headers } from './rate-limit.ts';

/** What a status means, in words. */
export type StatusMeaning = {
  code: string;
  exitCode: ExitCode;
  problem: string;
  hint?: string;
  retryable?: boolean;
};

/** What a request is for, in the words an error uses, and the scope that it needs (§5.7, A17). */
export type Purpose = {
  /** "read assets": completes "this key may not …". */
  action: string;
  scope?: Scope;
  /** What statuses mean here, where that is something else than elsewhere. */
  statuses?: Readonly<Record<number, Partial<StatusMeaning>>>;
};

export type ApiRequest = {
  method: string;
  /** A path of wire/paths, or an absolute URL (signed media). */
  url: string | URL;
  purpose: Purpose;
  query?: Record<string, string | number | undefined>;
  headers?: Record<string, string>;
  /** Sent as application/json. */
  json?: unknown;
  /** Made anew for each try, so that it can be sent again; the length must be known. */
  body?: { lengthBytes: number; open(): AsyncIterable<Uint8Array> | Uint8Array };
  /** False for POST /playback/info/ and signed URLs. The key goes to its own origin in any case. */
  authenticate?: boolean;
  /**
   * `reads`: answers 5xx and broken connections are tried again; for calls that change nothing.
   * `pacing`: only a 429 is waited out. `none`: every answer is returned.
   */
  retry?: 'reads' | 'pacing' | 'none';
  signal?: AbortSignal;
  /** Milliseconds without a byte in either direction. */
  idleTimeoutMs?: number;
  /** Takes the body of a 2xx answer as it comes, in place of `bytes`. Waits for each promise. */
  sink?: (part: Uint8Array, answer: { status: number; headers: Headers }) => Promise<void>;
  /** Bytes of the answer that are wanted; the rest is not read. */
  maxBodyBytes?: number;
  /** Refuses private addresses that are not the service's own, also after a redirect or as what a name resolves to. */
  isPublic?: boolean;
  /** Whether a redirect of a read may be followed there; to anywhere where it is left out. */
  mayFollow?: ((target: URL) => boolean) | undefined;
};

export type ApiResponse = {
  status: number;
  headers: Headers;
  text: string;
  bytes: Uint8Array;
  /** Milliseconds since the epoch. */
  receivedAt: number;
  /** Where it came from, after redirects of a read. */
  url: URL;
};
