import type { ListGap } from '../client/api/pagination.ts';
import { asCodedError, CodedError, usageError } from '../client/errors.ts';
import type { TransportNotice } from '../client/http/rate-limiter.ts';
import { isApiKey } from '../client/http/transport.ts';
import type { LocalState } from '../client/open/local-state.ts';
import type { OpenedLibrary } from '../client/open/open-library.ts';
import type { OwnFiles } from '../client/own-files.ts';
import { SecretRedactor } from '../client/redactor.ts';
import { type ArgumentSchema, assertArgument, callOptions, clientOptions } from './arguments.ts';
import type { CallOptions, ClientOptions, Notice } from './public-types.ts';
import { MediactlError } from './public-types.ts';

/** Parts of a client that its modules share. */
export type ClientParts = {
  options: ClientOptions;
  state: LocalState;
  errors: ErrorConverter;
  /** Files of mediactl itself, which are neither uploaded nor replaced. */
  ownFiles: OwnFiles;
  signalOf(call?: CallOptions): AbortSignal;
  notify(call?: CallOptions): (notice: Notice) => void;
  warn(call: CallOptions | undefined, message: string): void;
  /** Returns what the history says of a change. */
  labelOf(summary: string): { command: string; summary: string };
  /** Opens the library for one call. @param onGap called with each list that lacks items of its own total */
  openFor(call?: CallOptions, onGap?: (gap: ListGap) => void): OpenedLibrary;
  /** Keeps the client open until work is done that no call may be waiting for. */
  track(work: Promise<unknown>): void;
  /**
   * Runs a call whose options have a schema, by default that of `CallOptions`. An aborted call rejects with the reason
   * of its signal, and any other with a MediactlError.
   */
  run<T>(
    call: CallOptions | undefined,
    work: (opened: OpenedLibrary) => Promise<T>,
    schema?: ArgumentSchema,
  ): Promise<T>;
  iterate<T>(
    call: CallOptions | undefined,
    work: (opened: OpenedLibrary) => AsyncIterable<T>,
    schema?: ArgumentSchema,
  ): AsyncIterableIterator<T>;
};

/** Creates `run` and `iterate` of a client, and `ended`, which resolves when no call is under way. */
export function createRunner(
  errors: ErrorConverter,
  signalOf: ClientParts['signalOf'],
  openFor: ClientParts['openFor'],
): Pick<ClientParts, 'run' | 'iterate' | 'track'> & { ended(): Promise<unknown> } {
  const running = new Set<Promise<unknown>>();
  const track = (work: Promise<unknown>) => {
    running.add(work);
    const forget = () => running.delete(work);
    work.then(forget, forget);
  };
  const assertCall = (call: unknown, schema: ArgumentSchema = callOptions) => {
    try {
      if (call !== undefined) assertArgument('options', schema, call);
    } catch (error) {
      throw errors.toPublic(error);
    }
  };
  const guarded = async <T>(call: CallOptions | undefined, opened: OpenedLibrary, work: () => Promise<T>) => {
    const signal = signalOf(call);
    signal.throwIfAborted();
    opened.api.transport.connection.rateLimiter.renewWaitBudget();
    const result = work();
    track(result);
    try {
      return await result;
    } catch (error) {
      signal.throwIfAborted();
      throw errors.callbackError(error) ?? errors.toPublic(error);
    }
  };
  return {
    track,
    ended: () => Promise.allSettled(running),
    run: async (call, work, schema) => {
      assertCall(call, schema);
      const opened = openFor(call);
      return guarded(call, opened, () => work(opened));
    },
    iterate: async function* (call, work, schema) {
      assertCall(call, schema);
      const opened = openFor(call);
      const iterator = work(opened)[Symbol.asyncIterator]();
      try {
        for (;;) {
          const { done, value } = await guarded(call, opened, () => iterator.next());
          if (done) return;
          yield value;
        }
      } finally {
        await iterator.return?.();
      }
    },
  };
}

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
    const origin = error instanceof CodedError ? error.explanation.underlying : error;
    return typeof origin === 'object' && origin !== null && this.#thrown.has(origin) ? origin : undefined;
  }

  toPublic(thrown: unknown): MediactlError {
    if (thrown instanceof MediactlError) return thrown;
    const { message, explanation } = asCodedError(thrown);
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

/** @throws CodedError `usage` if the client cannot send requests with the options */
export function assertOptions(options: ClientOptions): void {
  assertArgument('options', clientOptions, options);
  const { baseUrl, apiKey, stateDir, history } = options;
  if (!/^https?:$/.test(URL.canParse(String(baseUrl)) ? new URL(String(baseUrl)).protocol : ''))
    throw usageError('baseUrl is not an http or https URL');
  if (!isApiKey(apiKey))
    throw usageError(
      'apiKey is not valid',
      undefined,
      'an API key contains only printable ASCII characters, without spaces',
    );
  if (history && stateDir === undefined) throw usageError('history needs stateDir, where it is kept');
}
