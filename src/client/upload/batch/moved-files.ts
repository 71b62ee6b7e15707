import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { type Clock, startAge } from '../../../shared/clock.ts';
import { CodedError } from '../../errors.ts';
import { inodeOf, tryLstat } from '../../local-path.ts';
import { renameWithoutReplacing } from '../../state-files.ts';
import { hasSameSizeAndTime, identityOf, wasCreatedAfter } from '../sources/file-identity.ts';
import { fileChanged } from '../sources/source.ts';
import { fileAt, type UploadFile } from '../sources/upload-file.ts';
import type { Receipt } from '../store/receipt-row.ts';
import type { Receipts } from '../store/receipts.ts';

/** A file that was moved away. @property inode undefined if an earlier process has moved it */
type FollowedMove = { file: UploadFile; receipt: Receipt; target: string; inode?: string; ageMs: () => number };

type MovedFilesOptions = {
  receipts: Receipts;
  service: string;
  workspace: string;
  clock: Clock;
  /** Directory that files are moved to. */
  directory: string;
  /** Time in milliseconds for which a file must stand still before it is uploaded. */
  minAgeMs: number;
};

/** A moved file that a program went on writing to. */
type ChangedFile = { file: UploadFile; error: CodedError };

/** Shortest time for which a moved file is looked at, in milliseconds. */
const minLookMs = 600_000;
/** Age of the uploads whose moved files are looked at when a process starts, in milliseconds. */
const lookBackMs = 86_400_000;

/**
 * The files that were moved away lately. A program that has one open goes on writing to it wherever it is, so that a part
 * of it would not be in the library. Such a file is moved back to where it is uploaded again.
 */
export class MovedFiles {
  readonly #options: MovedFilesOptions;
  #files: FollowedMove[] = [];
  #hasLookedBack = false;

  constructor(options: MovedFilesOptions) {
    this.#options = options;
  }

  /**
   * Follows a file that was moved right now.
   *
   * @throws CodedError as `look` returns it, if a program has written to the file in the moment before
   */
  async add(file: UploadFile, receipt: Receipt, target: string): Promise<void> {
    const found = await lstat(target, { bigint: true });
    const moved = { file, receipt, target, inode: inodeOf(found), ageMs: startAge(this.#options.clock) };
    if (!hasSameSizeAndTime(receipt, identityOf(found))) throw await this.#moveBack(moved);
    this.#files.push(moved);
  }

  /**
   * Looks at the files that were moved in the last ten minutes, or ten times the minimum age if that is longer; the first
   * time, also at those that earlier processes have uploaded within a day.
   *
   * @returns those that a program went on writing to. The error `file_changed` says that the file is back at its path, any
   *   other that it stays where it is
   */
  async look(): Promise<ChangedFile[]> {
    if (!this.#hasLookedBack) await this.#lookBack();
    const maxAgeMs = Math.max(minLookMs, 10 * this.#options.minAgeMs);
    const files = this.#files.splice(0);
    const changed: ChangedFile[] = [];
    for (const each of files) {
      const found = await tryLstat(each.target);
      if (!found || isAnotherFile(each, found)) continue; // others have removed or replaced it
      if (!hasSameSizeAndTime(each.receipt, identityOf(found)))
        changed.push({ file: each.file, error: await this.#moveBack(each) });
      else if (each.ageMs() < maxAgeMs) this.#files.push(each);
    }
    return changed;
  }

  async #lookBack(): Promise<void> {
    this.#hasLookedBack = true;
    const { receipts, clock, directory } = this.#options;
    const since = new Date(clock.now() - lookBackMs).toISOString();
    const ageMs = startAge(clock);
    for (const { movedTo, ...receipt } of await receipts.listMoved(this.#options, directory, since))
      this.#files.push({ file: fileAt(receipt.realPath), receipt, target: movedTo, ageMs });
  }

  /** @returns what is to be said of it */
  async #moveBack({ file, receipt, target }: FollowedMove): Promise<CodedError> {
    try {
      await renameWithoutReplacing(target, file.path);
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EEXIST';
      return new CodedError(`${target} changed after it was uploaded and moved there`, {
        code: isTaken ? 'already_exists' : 'write_failed',
        reason: isTaken ? `another file is at ${file.path}, where it was` : (error as Error).message,
        remedy: ['upload_moved', target, receipt.folder],
        underlying: error,
      });
    }
    await this.#options.receipts.saveMovedTo(receipt, null);
    return fileChanged(
      file.path,
      `it was moved to ${target}, and is back since a program went on writing to it`,
      'it was uploaded',
    );
  }
}

/** Returns true if another file has taken the place of a moved one, as far as the system tells. */
function isAnotherFile({ inode, receipt }: FollowedMove, found: BigIntStats): boolean {
  if (!found.isFile()) return true;
  if (inode !== undefined) return inode !== inodeOf(found);
  return wasCreatedAfter(found, receipt.ctimeNs) === true;
}
