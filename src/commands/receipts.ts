import { stat } from 'node:fs/promises';
import type { Context } from '../context.ts';
import { MediactlError } from '../errors.ts';
import type { MadeFolders } from '../library/folder-creation.ts';
import { ledgerPath } from '../upload/ledger.ts';
import type { Receipts } from '../upload/receipts.ts';

/** The system's own words for a place that cannot be written. */
const notWritable = new Set([
  ...['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOTDIR', 'ENOENT', 'EISDIR', 'EMFILE'],
  ...['SQLITE_CANTOPEN', 'SQLITE_READONLY', 'SQLITE_FULL', 'SQLITE_IOERR', 'SQLITE_PERM'],
]);

/**
 * What this machine has sent. Where nothing can be kept, that is said, and an upload runs without it.
 * What is there and cannot be read is an error: without it, everything would be sent again.
 *
 * @param isNeeded false where all is sent anyway
 * @throws MediactlError `receipts_unusable` (1)
 */
export async function openReceipts(
  context: Context,
  isNeeded: boolean,
): Promise<Receipts | undefined> {
  try {
    return await context.receipts();
  } catch (error) {
    if (!(error instanceof MediactlError) || !isNotWritable(error)) throw error;
    if (isNeeded && (await isThere(ledgerPath(context.stateDir)))) throw error;
    const { reason } = error.explanation;
    context.terminal.warn(
      `what is uploaded cannot be recorded (${reason ?? error.message}): another run would send it again`,
    );
    return undefined;
  }
}

const isThere = (path: string) =>
  stat(path).then(
    (found) => found.isFile() && found.size > 0,
    () => false,
  );

function isNotWritable({ explanation: { code, underlying } }: MediactlError): boolean {
  if (code === 'folder') return true;
  const cause = (underlying as NodeJS.ErrnoException | undefined)?.code ?? '';
  return [...notWritable].some((each) => cause.startsWith(each));
}

/** The folders that this machine has made at a service: its tree may be older. */
export function madeFolders(receipts: Receipts, service: string, workspace: string): MadeFolders {
  const mark = receipts.folderMark();
  return {
    find: (path) => receipts.madeFolder(service, workspace, path, mark),
    keep: (path, uid) => receipts.keepFolder(service, workspace, path, uid),
  };
}
