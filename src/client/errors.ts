import { type ErrorCode, type ExitCode, errorRow, exitCodes } from './error-table.ts';

export type Explanation = {
  code: ErrorCode;
  /** Exit code of an error that another mediactl wrote, whose table might differ. */
  exitCode?: ExitCode | undefined;
  /** Cause of the error, as one sentence without a period. */
  reason?: string | undefined;
  /** More details, one per line, for example the available choices. */
  lines?: readonly string[] | undefined;
  /** Suggested next step, as a command or a sentence. By default, that of the error's code. */
  hint?: string | undefined;
  /** HTTP status of the response that caused the error. */
  status?: number | undefined;
  /** True if every remaining item would fail in the same way, so the run is aborted. */
  endsRun?: boolean | undefined;
  /** True if a retry of the same call might succeed. */
  retryable?: boolean | undefined;
  /** Delay before a retry, as requested by the service. */
  retryAfterSeconds?: number | undefined;
  details?: unknown;
  /** Fields that the service reported as missing or invalid. */
  fields?: readonly string[] | undefined;
  /** True for text/plain, not from a gateway. With 503, the service refused to create the upload session (§4). */
  isPlainText?: boolean | undefined;
  /** Original error, shown by --debug. */
  underlying?: unknown;
};

/** An expected failure with a message, a cause, a suggested next step and an exit code. */
export class MediactlError extends Error {
  readonly explanation: Explanation;

  constructor(problem: string, explanation: Explanation) {
    super(problem, { cause: explanation.underlying });
    this.name = 'MediactlError';
    const { hint } = errorRow(explanation.code);
    this.explanation = { ...explanation, hint: explanation.hint ?? hint };
  }

  get exitCode(): ExitCode {
    const { code, exitCode } = this.explanation;
    return exitCode ?? exitCodes[errorRow(code).exit];
  }

  /** Rebuilds an error from its JSON form. Tolerates invalid fields, because another machine might have written it. */
  static from(record: { [Field in keyof ErrorRecord]?: unknown }): MediactlError {
    const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
    const number = (value: unknown) => (Number.isFinite(value) ? (value as number) : undefined);
    const isFailure = (code: unknown): code is ExitCode =>
      code !== exitCodes.ok && Object.values<unknown>(exitCodes).includes(code);
    return new MediactlError(text(record.message) ?? 'unknown error', {
      code: (text(record.code) ?? 'unclassified') as ErrorCode,
      exitCode: isFailure(record.exit_code) ? record.exit_code : exitCodes.unclassified,
      reason: text(record.cause),
      hint: text(record.hint),
      status: number(record.http_status),
      retryable: record.retryable === true,
      retryAfterSeconds: number(record.retry_after_seconds),
      details: record.details ?? undefined,
    });
  }

  /** Returns a copy of the error with some properties replaced, for example with a more specific hint. */
  with(more: Partial<Explanation>): MediactlError {
    return new MediactlError(this.message, { ...this.explanation, ...more });
  }

  /** Returns a copy of the error whose message starts with the uid, path or name of the failed item. */
  withSubject(subject: string): MediactlError {
    return new MediactlError(`${subject}: ${this.message}`, this.explanation);
  }

  /** Returns the `error` object of the machine-readable output. */
  toJSON(): ErrorRecord {
    const { code, reason, lines, hint, status, retryable, retryAfterSeconds, details } = this.explanation;
    return {
      code,
      message: this.message,
      cause: reason ?? lines?.join('; ') ?? null,
      hint: hint ?? null,
      http_status: status ?? null,
      exit_code: this.exitCode,
      retryable: retryable ?? false,
      retry_after_seconds: retryAfterSeconds ?? null,
      details: details ?? null,
    };
  }
}

/** JSON form of an error. `--json` prints it on stderr under `error`, and `upload --json` next to each failed file. */
export type ErrorRecord = {
  code: string;
  message: string;
  cause: string | null;
  hint: string | null;
  http_status: number | null;
  exit_code: number;
  retryable: boolean;
  retry_after_seconds: number | null;
  details: unknown;
};

export const usageError = (problem: string, hint?: string, reason?: string) =>
  new MediactlError(problem, { code: 'usage', reason, hint });

/** Creates an error with exit code 11 that lists the failures. Without `hint`, it has the hint that they share. */
export function partialFailure(problem: string, failures: readonly MediactlError[], hint?: string): MediactlError {
  const lines = failures
    .slice(0, maxListedFailures)
    .map(({ message, explanation: { reason } }) => (reason ? `${message}: ${reason}` : message));
  if (failures.length > maxListedFailures) lines.push(`and ${failures.length - maxListedFailures} more`);
  const hints = new Set(failures.map(({ explanation }) => explanation.hint));
  return new MediactlError(problem, {
    code: 'partial_failure',
    lines,
    hint: hint ?? (hints.size === 1 ? [...hints][0] : undefined),
    details: failures.map((failure) => failure.toJSON()),
  });
}

/** Combines the failures of `count` items: none to undefined, and that of a single item to the failure itself. */
export const combineFailures = (count: number, problem: string, failures: readonly MediactlError[]) =>
  count > 1 && failures.length > 0 ? partialFailure(problem, failures) : failures[0];

/** Maximum number of failures listed in an error message. `details` contains all of them. */
const maxListedFailures = 10;

const { unauthenticated, forbidden, quota, rateLimited, state, interrupted, terminated } = exitCodes;
/** Exit codes that abort the whole run, because all remaining items would fail too. */
const runEndingExitCodes = [unauthenticated, forbidden, quota, rateLimited, state, interrupted, terminated] as number[];

export const endsTheRun = ({ exitCode, explanation }: MediactlError): boolean =>
  runEndingExitCodes.includes(exitCode) || errorRow(explanation.code).endsRun === true || explanation.endsRun === true;

/** Creates the error for an item that was not attempted because an earlier failure aborted the run. */
export const notAttempted = (cause: MediactlError) =>
  new MediactlError('not attempted', { ...cause.explanation, reason: cause.message });

/** Wraps a thrown value in an unclassified MediactlError. A MediactlError is returned unchanged. */
export function asMediactlError(thrown: unknown): MediactlError {
  if (thrown instanceof MediactlError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new MediactlError(message || 'unknown error', { code: 'unclassified', underlying: thrown });
}
