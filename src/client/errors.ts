/** The exit codes, part of the interface: scripts live by them. */
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

/** One line a code, for help and documentation. */
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
  /** Stable, for scripts: `snake_case`. */
  code: string;
  exitCode: ExitCode;
  /** Why it happened, one sentence without a full stop. */
  reason?: string | undefined;
  /** More of it, a line each: what there is to choose from. */
  lines?: readonly string[] | undefined;
  /** What to do next: a command or a sentence. */
  hint?: string | undefined;
  /** HTTP status, where an answer of the service is the cause. */
  status?: number | undefined;
  /** Every other item of a run would fail in the same way: it ends the run. */
  endsRun?: boolean | undefined;
  /** Whether the same call may succeed later. */
  retryable?: boolean | undefined;
  /** Seconds that the service asked to wait. */
  retryAfterSeconds?: number | undefined;
  details?: unknown;
  /** Names of fields that the service found missing or wrong. */
  fields?: readonly string[] | undefined;
  /** The answer was text/plain, and not of a gateway: the service's own refusal of a creation (§4). */
  isPlainText?: boolean | undefined;
  /** The error underneath, shown by --debug. */
  underlying?: unknown;
};

/** Every failure that mediactl foresees: problem (the message), cause, next step and exit code. */
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

  /** One that was told as a record, by another machine. */
  static from(told: { [Field in keyof ErrorRecord]?: unknown }): MediactlError {
    const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
    const number = (value: unknown) => (Number.isFinite(value) ? (value as number) : undefined);
    const isFailure = (code: unknown): code is ExitCode =>
      code !== exitCodes.ok && Object.values<unknown>(exitCodes).includes(code);
    return new MediactlError(text(told.message) ?? 'it failed', {
      code: text(told.code) ?? 'unclassified',
      exitCode: isFailure(told.exit_code) ? told.exit_code : exitCodes.unclassified,
      reason: text(told.cause),
      hint: text(told.hint),
      status: number(told.status),
      retryable: told.retryable === true,
      retryAfterSeconds: number(told.retry_after),
      details: told.details ?? undefined,
    });
  }

  /** The same failure with a better next step, for a caller who knows more. */
  with(more: Partial<Explanation>): MediactlError {
    return new MediactlError(this.message, { ...this.explanation, ...more });
  }

  /** The same failure, said of one among many: its uid, path or name comes first. */
  of(which: string): MediactlError {
    return new MediactlError(`${which}: ${this.message}`, this.explanation);
  }

  /** The `error` object of the machine modes. */
  toJSON(): ErrorRecord {
    const { code, exitCode, reason, lines, hint, status, retryable, retryAfterSeconds, details } =
      this.explanation;
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

/** What `--json` prints on stderr, under `error`, and what `upload --json` puts beside a failed file. */
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

/** Returns an error with exit code 11 that names each failure and its reason, and a next step that all share. */
export function someFailed(
  problem: string,
  failures: readonly MediactlError[],
  hint?: string,
): MediactlError {
  const lines = failures
    .slice(0, maxNamed)
    .map(({ message, explanation: { reason } }) => (reason ? `${message}: ${reason}` : message));
  if (failures.length > maxNamed) lines.push(`and ${failures.length - maxNamed} more`);
  const hints = new Set(failures.map(({ explanation }) => explanation.hint));
  return new MediactlError(problem, {
    code: 'some_failed',
    exitCode: exitCodes.partial,
    lines,
    hint: hint ?? (hints.size === 1 ? [...hints][0] : undefined),
    details: failures.map((failure) => failure.toJSON()),
  });
}

/** Of `count` that were tried: undefined where all went well, the only one's own error, or that which names them. */
export function failureAmong(
  count: number,
  problem: string,
  failures: readonly MediactlError[],
): MediactlError | undefined {
  return count > 1 && failures.length > 0 ? someFailed(problem, failures) : failures[0];
}

/** Failures listed for people; machines get all of them in `details`. */
const maxNamed = 10;

/** What would fail for every other item of a run alike: the account, the budget, a person's stop. */
const forAllAlike = new Set<number>([
  exitCodes.unauthenticated,
  exitCodes.forbidden,
  exitCodes.quota,
  exitCodes.rateLimited,
  exitCodes.state,
  exitCodes.interrupted,
  exitCodes.terminated,
]);

/** A service that points elsewhere, or is not there at all, is so for every item. */
const ofTheService = new Set(['foreign_origin', 'refused', 'tls', 'proxy', 'reserve']);

export const endsTheRun = ({ exitCode, explanation }: MediactlError): boolean =>
  forAllAlike.has(exitCode) || ofTheService.has(explanation.code) || explanation.endsRun === true;

/** Of the items after one that ends the run. */
export const notTried = (cause: MediactlError) =>
  new MediactlError('not tried', { ...cause.explanation, reason: cause.message });

/** Any thrown value as a MediactlError: the foreseen ones untouched, the others unclassified. */
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
