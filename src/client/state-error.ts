import { randomUUID } from 'node:crypto';
import { accessSync, constants, rmSync, writeFileSync } from 'node:fs';
import type { ErrorCode } from './error-table.ts';
import { MediactlError } from './errors.ts';

const stateProblems = {
  state_full: 'not enough disk space to record uploads',
  state_read_only: 'cannot record uploads: no write permission',
  state_damaged: 'the upload history is damaged',
  state_emptied: 'the upload history is missing',
  state_locked: 'another program has locked the upload history',
  state_newer: 'the upload history was created by a newer mediactl',
  state_not_a_file: 'the upload history is not a file',
  state_file_system: 'the upload history cannot be stored on this file system',
  state_unusable: 'the upload history cannot be used',
} satisfies Partial<Record<ErrorCode, string>>;

type StateErrorKind = keyof typeof stateProblems;

const codes: readonly [StateErrorKind, RegExp][] = [
  ['state_full', /^(ENOSPC|EDQUOT|SQLITE_FULL)$/],
  ['state_read_only', /^(EROFS|EACCES|EPERM|SQLITE_READONLY.*|SQLITE_PERM)$/],
  ['state_damaged', /^SQLITE_(CORRUPT.*|NOTADB|SCHEMA|MISMATCH|CONSTRAINT.*)$/],
  ['state_locked', /^SQLITE_(BUSY|LOCKED)/],
  ['state_file_system', /^SQLITE_(IOERR_(LOCK|UNLOCK|SHMLOCK|SHMMAP)|PROTOCOL|NOLFS)$/],
];

/** Creates an error about the state folder. Its exit code is 14, which aborts the run. */
export const stateFailure = (kind: StateErrorKind, reason: string, underlying?: unknown) =>
  new MediactlError(stateProblems[kind], { code: kind, reason, retryable: kind === 'state_locked', underlying });

/** Converts an error of a state file to a `state_…` error. MediactlErrors other than `folder` are returned unchanged. */
export function stateError(error: unknown, path: string): MediactlError {
  const isFolder = error instanceof MediactlError && ['folder', 'folder_failed'].includes(error.explanation.code);
  if (error instanceof MediactlError && !isFolder) return error;
  const cause = (isFolder ? error.explanation.underlying : error) as NodeJS.ErrnoException;
  const kind = kindOf(cause);
  // SQLite does not report why it cannot open or extend a file, but the operating system does.
  const found = kind ? cause : (probeSystemError(path) ?? cause);
  const reason = found.message.replace(/, \w+( '.*)?$/, ''); // strips the system call and its path
  return stateFailure(kind ?? kindOf(found) ?? 'state_unusable', `${path}: ${reason}`, error);
}

export const isBusy = (error: unknown) => kindOf(error as Error) === 'state_locked';

function kindOf({ code = '', message }: NodeJS.ErrnoException): StateErrorKind | undefined {
  if (code === 'SQLITE_ERROR' && /^no such (table|column)|has no column/.test(message)) return 'state_damaged';
  return codes.find(([, pattern]) => pattern.test(code))?.[0];
}

/** Writes 64 KiB next to a path, then checks access to the path itself. @returns the first system error, if any */
function probeSystemError(path: string): NodeJS.ErrnoException | undefined {
  const probePath = `${path}.${randomUUID()}`;
  try {
    writeFileSync(probePath, Buffer.alloc(64 * 1024), { mode: 0o600, flag: 'wx' });
    accessSync(path, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    return error as NodeJS.ErrnoException;
  } finally {
    try {
      rmSync(probePath, { force: true });
    } catch {
      // the file was never created
    }
  }
}
