/** Process exit codes, a public interface that scripts depend on. */
export const exitCodes = {
  ok: 0,
  unclassified: 1,
  usage: 2,
  notFound: 3,
  unauthenticated: 4,
  forbidden: 5,
  rejected: 6,
  quota: 7,
  stillProcessing: 8,
  rateLimited: 9,
  unreachable: 10,
  partial: 11,
  unplayable: 12,
  integrity: 13,
  state: 14,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Maps each exit code to a short description for help and documentation. */
export const exitCodeMeanings: Record<ExitCode, string> = {
  0: 'success, an empty list included',
  1: 'unclassified',
  2: 'usage; or input is missing where there is nobody to ask',
  3: 'not found (404)',
  4: 'no API key, or the key is not accepted (401)',
  5: 'the key lacks a scope (403)',
  6: 'the service refused the request (400, 409, 412, 413, 422)',
  7: 'credits (402) or storage (507) are used up',
  8: 'waited long enough: still processing',
  9: 'rate limit (429), and the wait would pass --max-wait; or --until stopped it',
  10: 'network, TLS, timeout, or a server error (5xx)',
  11: 'many items, some failed, each is named; or check found differences',
  12: 'the asset failed to process, or playback is blocked',
  13: 'integrity: the checksum differs, the file changed, or the server pointed to another origin',
  14: 'the state folder cannot keep what was uploaded: full, read-only, damaged or emptied',
  130: 'interrupted, or a prompt declined',
  143: 'terminated',
};

export type Explanation = {
  /** Stable error code for scripts, in `snake_case`. */
  code: string;
  exitCode: ExitCode;
  /** Cause of the error, as one sentence without a period. */
  reason?: string | undefined;
  /** More details, one per line, for example the available choices. */
  lines?: readonly string[] | undefined;
  /** Suggested next step, as a command or a sentence. */
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
  /**
   * True if the response was text/plain and not from a gateway. With 503, the service then refused to create the
   * upload session (§4).
   */
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
    this.explanation = explanation;
  }

  get exitCode(): ExitCode {
    return this.explanation.exitCode;
  }

  /** Rebuilds an error from its JSON form. Tolerates invalid fields, because another machine might have written it. */
  static from(record: { [Field in keyof ErrorRecord]?: unknown }): MediactlError {
    const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
    const number = (value: unknown) => (Number.isFinite(value) ? (value as number) : undefined);
    const isFailure = (code: unknown): code is ExitCode =>
      code !== exitCodes.ok && Object.values<unknown>(exitCodes).includes(code);
    return new MediactlError(text(record.message) ?? 'it failed', {
      code: text(record.code) ?? 'unclassified',
      exitCode: isFailure(record.exit_code) ? record.exit_code : exitCodes.unclassified,
      reason: text(record.cause),
      hint: text(record.hint),
      status: number(record.status),
      retryable: record.retryable === true,
      retryAfterSeconds: number(record.retry_after),
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
    const { code, exitCode, reason, lines, hint, status, retryable, retryAfterSeconds, details } = this.explanation;
    return {
      code,
      message: this.message,
      cause: reason ?? lines?.join('; ') ?? null,
      hint: hint ?? null,
      status: status ?? null,
      exit_code: exitCode,
      retryable: retryable ?? false,
      retry_after: retryAfterSeconds ?? null,
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
  status: number | null;
  exit_code: number;
  retryable: boolean;
  retry_after: number | null;
  details: unknown;
};

export const usageError = (problem: string, hint?: string, reason?: string) =>
  new MediactlError(problem, { code: 'usage', exitCode: exitCodes.usage, reason, hint });

/**
 * Creates an error with exit code 11 that lists the failures. If `hint` is undefined and all failures have the same
 * hint, the error has that hint.
 */
export function partialFailure(problem: string, failures: readonly MediactlError[], hint?: string): MediactlError {
  const lines = failures
    .slice(0, maxListedFailures)
    .map(({ message, explanation: { reason } }) => (reason ? `${message}: ${reason}` : message));
  if (failures.length > maxListedFailures) lines.push(`and ${failures.length - maxListedFailures} more`);
  const hints = new Set(failures.map(({ explanation }) => explanation.hint));
  return new MediactlError(problem, {
    code: 'some_failed',
    exitCode: exitCodes.partial,
    lines,
    hint: hint ?? (hints.size === 1 ? [...hints][0] : undefined),
    details: failures.map((failure) => failure.toJSON()),
  });
}

/**
 * Combines the failures of `count` processed items into one error. Returns undefined if no item failed, and the
 * failure itself if only one item was processed.
 */
export function combineFailures(
  count: number,
  problem: string,
  failures: readonly MediactlError[],
): MediactlError | undefined {
  return count > 1 && failures.length > 0 ? partialFailure(problem, failures) : failures[0];
}

/** Maximum number of failures listed in an error message. `details` contains all of them. */
const maxListedFailures = 10;

/** Exit codes that abort the whole run, because all remaining items would fail too. */
const runEndingExitCodes = new Set<number>([
  exitCodes.unauthenticated,
  exitCodes.forbidden,
  exitCodes.quota,
  exitCodes.rateLimited,
  exitCodes.state,
  exitCodes.interrupted,
  exitCodes.terminated,
]);

/** Error codes that abort the whole run, because all remaining items would fail too. */
const runEndingErrorCodes = new Set(['foreign_origin', 'refused', 'tls', 'proxy', 'reserve']);

export const endsTheRun = ({ exitCode, explanation }: MediactlError): boolean =>
  runEndingExitCodes.has(exitCode) || runEndingErrorCodes.has(explanation.code) || explanation.endsRun === true;

/** Creates the error for an item that was not attempted because an earlier failure aborted the run. */
export const notAttempted = (cause: MediactlError) =>
  new MediactlError('not tried', { ...cause.explanation, reason: cause.message });

/** Wraps a thrown value in an unclassified MediactlError. A MediactlError is returned unchanged. */
export function asMediactlError(thrown: unknown): MediactlError {
  if (thrown instanceof MediactlError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new MediactlError(message || 'something went wrong', {
    code: 'unclassified',
    exitCode: exitCodes.unclassified,
    hint: 'run again with --debug to see where, and report it',
    underlying: thrown,
  });
}
