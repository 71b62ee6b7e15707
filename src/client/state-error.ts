import { randomUUID } from 'node:crypto';
import { accessSync, closeSync, constants, openSync, rmSync, writeFileSync } from 'node:fs';
import { causeOf, type Subcode } from './error-table.ts';
import { CodedError } from './errors.ts';

const stateProblems = {
  state_full: 'not enough disk space to record uploads',
  state_read_only: 'cannot record uploads: no write permission',
  state_damaged: 'the upload history is damaged',
  state_missing: 'the upload history is missing',
  state_locked: 'another program has locked the upload history',
  state_newer: 'the upload history was created by a newer mediactl',
  state_file_system: 'the upload history cannot be stored on this file system',
  state_unusable: 'the upload history cannot be used',
} satisfies Partial<Record<Subcode | 'state_unusable', string>>;

type StateErrorKind = keyof typeof stateProblems;

const codes: readonly [StateErrorKind, RegExp][] = [
  ['state_full', /^(ENOSPC|EDQUOT|SQLITE_FULL)$/],
  ['state_read_only', /^(EROFS|EACCES|EPERM|SQLITE_READONLY.*|SQLITE_PERM)$/],
  ['state_damaged', /^SQLITE_(CORRUPT.*|NOTADB|SCHEMA|MISMATCH|CONSTRAINT.*)$/],
  ['state_locked', /^SQLITE_(BUSY|LOCKED)/],
  ['state_file_system', /^SQLITE_(IOERR_(LOCK|UNLOCK|SHMLOCK|SHMMAP)|PROTOCOL|NOLFS)$/],
];

/** Files that SQLite opens at the same time: a database, its write-ahead log, shared memory, a journal and its folder. */
const sqliteFiles = 5;

/** Hints for limits of the process, which no permission of the state folder would lift. */
const limitHints: Record<string, string | undefined> = {
  EMFILE: 'raise the limit of open files: ulimit -n 1024',
  ENFILE: 'close other programs: the system has too many open files',
  EFBIG: 'raise the limit of the size of files: ulimit -f unlimited',
};

/** Creates an error about the state folder. Its exit code is 14, which aborts the run. */
export const stateFailure = (kind: StateErrorKind, reason: string, underlying?: unknown, hint?: string) =>
  new CodedError(stateProblems[kind], {
    ...causeOf(kind),
    reason,
    retryable: kind === 'state_locked',
    underlying,
    hint,
  });

/** Converts an error of a state file to the error `state_unusable`. MediactlErrors other than `folder` are returned unchanged. */
export function stateError(error: unknown, path: string): CodedError {
  const isFolder =
    error instanceof CodedError &&
    (error.explanation.code === 'invalid_folder' || error.explanation.subcode === 'mkdir_failed');
  if (error instanceof CodedError && !isFolder) return error;
  const cause = (isFolder ? error.explanation.underlying : error) as NodeJS.ErrnoException;
  const kind = kindOf(cause);
  // SQLite does not report why it cannot open or extend a file, but the operating system does.
  const isKnown = kind !== undefined || limitHints[cause.code ?? ''] !== undefined;
  const found = isKnown ? cause : (probeSystemError(path) ?? cause);
  const reason = found.message.replace(/, \w+( '.*)?$/, ''); // strips the system call and its path
  return stateFailure(
    kind ?? kindOf(found) ?? 'state_unusable',
    `${path}: ${reason}`,
    error,
    limitHints[found.code ?? ''],
  );
}

export const isBusy = (error: unknown) => kindOf(error as Error) === 'state_locked';

function kindOf({ code = '', message }: NodeJS.ErrnoException): StateErrorKind | undefined {
  if (code === 'SQLITE_ERROR' && /^no such (table|column)|has no column/.test(message)) return 'state_damaged';
  return codes.find(([, pattern]) => pattern.test(code))?.[0];
}

/**
 * Writes 64 KiB next to a path and opens it as often as SQLite opens files, then checks access to the path itself.
 *
 * @returns the first system error, if any
 */
function probeSystemError(path: string): NodeJS.ErrnoException | undefined {
  const probePath = `${path}.${randomUUID()}`;
  const opened: number[] = [];
  try {
    writeFileSync(probePath, Buffer.alloc(64 * 1024), { mode: 0o600, flag: 'wx' });
    while (opened.length < sqliteFiles) opened.push(openSync(probePath, 'r'));
    accessSync(path, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    return error as NodeJS.ErrnoException;
  } finally {
    for (const file of opened) closeSync(file);
    try {
      rmSync(probePath, { force: true });
    } catch {
      // the file was never created
    }
  }
}
