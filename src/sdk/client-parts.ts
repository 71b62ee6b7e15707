import { asMediactlError, MediactlError as ClientError, usageError } from '../client/errors.ts';
import type { TransportNotice } from '../client/http/rate-limiter.ts';
import { isApiKey } from '../client/http/transport.ts';
import type { LocalState } from '../client/open/local-state.ts';
import type { OpenedLibrary } from '../client/open/open-library.ts';
import { SecretRedactor } from '../client/redactor.ts';
import type { CallOptions, ClientOptions, Notice } from './public-types.ts';
import { MediactlError } from './public-types.ts';

/** What the modules of a client share. */
export type ClientParts = {
  options: ClientOptions;
  state: LocalState;
  errors: ErrorConverter;
  signalOf(call?: CallOptions): AbortSignal;
  notify(call?: CallOptions): (notice: Notice) => void;
  /** Opens the library for one call. */
  openFor(call?: CallOptions): OpenedLibrary;
  /** Runs a call. An aborted one rejects with the reason of its signal, and any other with a MediactlError. */
  run<T>(call: CallOptions | undefined, work: (opened: OpenedLibrary) => Promise<T>): Promise<T>;
  iterate<T>(
    call: CallOptions | undefined,
    work: (opened: OpenedLibrary) => AsyncIterable<T>,
  ): AsyncIterableIterator<T>;
};

/** Converts errors of the client to those of the package, without secrets that a service may have echoed. */
export class ErrorConverter {
  readonly #redactor = new SecretRedactor();
  /** Exceptions thrown by the callbacks of the program. */
  readonly #thrown = new WeakSet<object>();

  constructor(apiKey: string) {
    this.#redactor.add(apiKey);
  }

  /** Wraps a callback of the program, whose exception is to be rethrown as it is. */
  guard<Args extends unknown[]>(callback: ((...args: Args) => void) | undefined): (...args: Args) => void {
    return (...args) => {
      try {
        callback?.(...args);
      } catch (error) {
        if (typeof error === 'object' && error !== null) this.#thrown.add(error);
        throw error;
      }
    };
  }

  /** Returns what a callback of the program has thrown, if that caused the error; otherwise undefined. */
  callbackError(error: unknown): object | undefined {
    const origin = error instanceof ClientError ? error.explanation.underlying : error;
    return typeof origin === 'object' && origin !== null && this.#thrown.has(origin) ? origin : undefined;
  }

  toPublic(thrown: unknown): MediactlError {
    if (thrown instanceof MediactlError) return thrown;
    const { message, explanation } = asMediactlError(thrown);
    const { code, reason, lines, status, retryable = false, retryAfterSeconds, details, underlying } = explanation;
    const shown = { message, reason: reason ?? lines?.join('; '), details };
    const { message: problem, ...redacted } = this.#redactor.redactRecord(shown);
    return new MediactlError(problem, {
      ...{ code, status, retryable, retryAfterSeconds, cause: underlying },
      ...{ reason: redacted.reason, details: redacted.details },
    });
  }
}

export const toNotice = (notice: TransportNotice): Notice =>
  notice.kind === 'rate-limited' ? { kind: 'rate_limited', untilMs: notice.untilMs } : notice;

/** @throws MediactlError `usage` if a number is not in the range; undefined is in each */
export function assertNumber(
  name: string,
  value: number | undefined,
  min: number,
  max = Number.POSITIVE_INFINITY,
): void {
  if (value === undefined || (typeof value === 'number' && value >= min && value <= max)) return;
  throw usageError(`${name} is ${value}`, undefined, `it must be a number from ${min} to ${max}`);
}

/** @throws MediactlError `usage` if a number is not an integer in the range */
export function assertInteger(name: string, value: number | undefined, max = Number.MAX_SAFE_INTEGER): void {
  assertNumber(name, value, 1, max);
  if (value !== undefined && !Number.isInteger(value)) throw usageError(`${name} is ${value}, not an integer`);
}

/** @throws MediactlError `usage` if the client cannot send requests with the options */
export function assertOptions({ baseUrl, apiKey, userAgent = '', requestTimeoutMs, maxWaitMs }: ClientOptions): void {
  if (!/^https?:$/.test(URL.canParse(String(baseUrl)) ? new URL(String(baseUrl)).protocol : ''))
    throw usageError('baseUrl is not an http or https URL');
  if (!isApiKey(apiKey))
    throw usageError(
      'apiKey is not valid',
      undefined,
      'an API key contains only printable ASCII characters, without spaces',
    );
  if (!/^[\x20-\x7e]*$/.test(userAgent)) throw usageError('userAgent contains characters other than printable ASCII');
  assertNumber('requestTimeoutMs', requestTimeoutMs, 1, 2 ** 31 - 1);
  assertNumber('maxWaitMs', maxWaitMs, 0);
}
