import type { NameKey } from '../contract/assumptions.ts';
import { causeOf, type ErrorCode, type ErrorKind, isRunEnding, kindOf, type Subcode } from './error-table.ts';

/**
 * Next steps that only the program's interface can word, with their arguments. The command line names its commands
 * (`cli/error-hints.ts`).
 */
export type Remedies = {
  accept_rendition: [];
  check_base_url: [];
  compare_download: [directory?: string, folder?: string];
  confirm_new_asset: [assetUid: string];
  create_parents: [path: string];
  get_playback_token: [];
  pipe_download: [];
  pipe_remote: [remote: string];
  rename_folder: [path: string];
  list_orphans: [];
  list_pending_uploads: [];
  show_embed_restriction: [];
  name_encoding: string[];
  resume_upload: [id: string, how: 'by_id' | 'by_command' | 'as_new_asset' | 'from_start' | 'replaced'];
  retry_all: [];
  set_field_name: [key: NameKey, name: string, choice?: string];
  set_field_names: NameKey[];
  show_asset: [assetUid: string, purpose: string];
  show_playback: [assetUid: string];
  show_urls: [assetUid: string];
  wait_then_repeat: [assetUid: string];
  start_local_service: [];
  upload_directory: [path: string];
  upload_moved: [path: string, folder: string];
  upload_spooled: [path: string];
  use_smaller_chunks: [];
  use_uids: [command?: string | undefined];
};

export type Remedy = { [Name in keyof Remedies]: readonly [Name, ...Remedies[Name]] }[keyof Remedies];

export type Explanation = {
  code: ErrorCode;
  /** Distinguishes errors of this code. */
  subcode?: Subcode | undefined;
  /** Cause of the error, as one sentence without a period. */
  reason?: string | undefined;
  /** More details, one per line, for example the available choices. */
  lines?: readonly string[] | undefined;
  /** Suggested next step in the words of the interface that shows the error. */
  hint?: string | undefined;
  /** Suggested next step that the interface words. Wins over `hint`. */
  remedy?: Remedy | undefined;
  /** Failures of single items, of an error that stands for all of them. */
  failures?: readonly CodedError[] | undefined;
  /** HTTP status of the response that caused the error. */
  status?: number | undefined;
  /** True if the service had accepted a write, so that it may have changed something. */
  wasAccepted?: boolean | undefined;
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
  /** True if a gateway in front of the service may have answered: it says nothing of the API key or of an asset. */
  isUnattributed?: boolean | undefined;
  /** Original error, shown by --debug. */
  underlying?: unknown;
};

/** Explanation of a new error. A subcode has its code. */
type NewExplanation = Omit<Explanation, 'code' | 'subcode'> &
  (Pick<Explanation, 'code' | 'subcode'> | { subcode: Subcode });

/** An expected failure with a code, a message and a cause. */
export class CodedError extends Error {
  readonly explanation: Explanation;

  constructor(problem: string, explanation: NewExplanation) {
    super(problem, { cause: explanation.underlying });
    this.name = 'CodedError';
    this.explanation = 'code' in explanation ? explanation : { ...explanation, ...causeOf(explanation.subcode) };
  }

  get kind(): ErrorKind {
    return kindOf(this.explanation.code);
  }

  /** Rebuilds an error from its JSON form. Tolerates invalid fields, because another machine might have written it. */
  static from(record: { [Field in keyof StoredError]?: unknown }): CodedError {
    const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
    const number = (value: unknown) => (Number.isFinite(value) ? (value as number) : undefined);
    const isRemedy = Array.isArray(record.remedy) && record.remedy.every((each) => typeof each === 'string');
    return new CodedError(text(record.message) ?? 'unknown error', {
      code: (text(record.code) ?? 'unclassified') as ErrorCode,
      subcode: text(record.subcode) as Subcode | undefined,
      reason: text(record.cause),
      hint: text(record.hint),
      remedy: isRemedy ? (record.remedy as unknown as Remedy) : undefined,
      status: number(record.http_status),
      retryable: record.retryable === true,
      retryAfterSeconds: number(record.retry_after_seconds),
      details: record.details ?? undefined,
    });
  }

  /** Returns a copy of the error with some properties replaced. A new hint replaces the remedy. */
  with(more: Partial<Explanation>): CodedError {
    const remedy = more.hint === undefined ? this.explanation.remedy : undefined;
    return new CodedError(this.message, { ...this.explanation, remedy, ...more });
  }

  /** Returns a copy of the error whose message starts with the uid, path or name of the failed item. */
  withSubject(subject: string): CodedError {
    return new CodedError(`${subject}: ${this.message}`, this.explanation);
  }

  /** Returns what is stored of the error, to show it later or on another machine. */
  toJSON() {
    const { code, subcode, reason, lines, hint, remedy, status, retryable, retryAfterSeconds, details } =
      this.explanation;
    return {
      code,
      subcode: subcode ?? null,
      message: this.message,
      cause: reason ?? lines?.join('; ') ?? null,
      hint: hint ?? null,
      remedy: remedy ?? null,
      http_status: status ?? null,
      retryable: retryable ?? false,
      retry_after_seconds: retryAfterSeconds ?? null,
      details: details ?? null,
    };
  }
}

/** Error of a file or a result that cannot be written, after the work was done. */
export class OutputFailed extends CodedError {}

export type StoredError = ReturnType<CodedError['toJSON']>;

export const usageError = (problem: string, hint?: string, reason?: string) =>
  new CodedError(problem, { code: 'usage', reason, hint });

/** Creates an error that lists the failures. */
export function partialFailure(problem: string, failures: readonly CodedError[], hint?: string): CodedError {
  const lines = failures
    .slice(0, maxListedFailures)
    .map(({ message, explanation: { reason } }) => (reason ? `${message}: ${reason}` : message));
  if (failures.length > maxListedFailures) lines.push(`and ${failures.length - maxListedFailures} more`);
  const details = failures.length > 0 ? { lines, failures } : {};
  return new CodedError(problem, { code: 'partial_failure', hint, ...details });
}

/** Combines the failures of `count` items: none to undefined, and that of a single item to the failure itself. */
export const combineFailures = (count: number, problem: string, failures: readonly CodedError[]) =>
  count > 1 && failures.length > 0 ? partialFailure(problem, failures) : failures[0];

/** Maximum number of failures listed in an error message. `details` contains all of them. */
const maxListedFailures = 10;

export const endsTheRun = ({ explanation: { code, subcode, endsRun } }: CodedError): boolean =>
  isRunEnding(code, subcode) || endsRun === true;

/** Creates the error for an item that was not attempted because an earlier failure aborted the run. */
export const notAttempted = (cause: CodedError) =>
  new CodedError('not attempted', { ...cause.explanation, reason: cause.message });

/** Returns nothing for an error of what does not exist. @throws any other error, unchanged */
export function ignoreNotFound(thrown: unknown): undefined {
  if (asCodedError(thrown).kind !== 'notFound') throw thrown;
}

/** Wraps a thrown value in an unclassified CodedError. A CodedError is returned unchanged. */
export function asCodedError(thrown: unknown): CodedError {
  if (thrown instanceof CodedError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new CodedError(message || 'unknown error', { code: 'unclassified', underlying: thrown });
}
