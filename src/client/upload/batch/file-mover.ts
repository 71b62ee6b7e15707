import { lstat, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { asCodedError, CodedError, usageError } from '../../errors.ts';
import { makeFolder, renameWithoutReplacing, syncFolder } from '../../state-files.ts';
import { isUnchanged } from '../decide/by-receipt.ts';
import { isBelow } from '../decide/missing-files.ts';
import type { FileOutcome } from '../session/file-outcome.ts';
import { fileChanged } from '../sources/source.ts';
import { type FolderResolver, receiptKeyOf, type UploadFile } from '../sources/upload-file.ts';
import type { Receipt } from '../store/receipt-row.ts';
import type { Receipts } from '../store/receipts.ts';

type MoverDeps = { service: string; workspace: string; folders: FolderResolver; receipts: Receipts };

/**
 * Moves local files that are uploaded to another directory, with their subdirectories. A file is moved only if its receipt
 * is on disk and says that the checksums are equal, and if it has not changed since; never over another file. The receipt
 * records where the file was moved to, so that it does not count as deleted or renamed.
 */
export class FileMover {
  readonly #directory: string;
  readonly #deps: MoverDeps;

  private constructor(directory: string, deps: MoverDeps) {
    this.#directory = directory;
    this.#deps = deps;
  }

  /**
   * Opens the target directory, and creates it if it does not exist.
   *
   * @param sources directories whose files are uploaded
   * @throws CodedError `usage` (exit 2) if the directory and a source contain one another, or are on two file systems
   */
  static async open(typed: string, sources: readonly string[], deps: MoverDeps): Promise<FileMover> {
    await makeFolder(typed, 'use another directory');
    const directory = await realpath(typed);
    const { dev } = await stat(directory);
    for (const source of sources) {
      const real = await realpath(source);
      if (real === directory || isBelow(directory, real) || isBelow(real, directory))
        throw usageError('uploaded files cannot be moved within the directory that is uploaded', 'use one beside it');
      if ((await stat(real)).dev !== dev)
        throw usageError(
          `uploaded files cannot be moved to ${typed}: it is on another file system than ${source}`,
          'use a directory on the same disk',
          'a move between file systems is a copy, which could be incomplete',
        );
    }
    return new FileMover(directory, deps);
  }

  /**
   * Moves the file of an outcome. A file that is not moved stays where it is.
   *
   * @returns its new path
   * @throws CodedError `unverified` or `file_changed` (exit 13), `already_exists` (exit 6), `write_failed` (exit 1)
   */
  async move({ file, uploaded }: FileOutcome): Promise<string> {
    const key = receiptKeyOf(file, this.#deps);
    const receipt = key && (await this.#deps.receipts.find(key));
    if (!receipt || receipt.assetUid !== uploaded?.assetUid || receipt.verified !== true)
      throw staysWhereItIs(file, 'unverified', 'no checksum shows that the service has this file');
    await assertUnchanged(file, receipt);
    const target = join(this.#directory, file.relativeDir, basename(file.path));
    await makeFolder(dirname(target), 'use another directory');
    await this.#moveTo(target, file, receipt);
    await syncFolder(dirname(target));
    await this.#assertSameContent(target, file, receipt);
    return target;
  }

  async #moveTo(target: string, file: UploadFile, receipt: Receipt): Promise<void> {
    const { receipts } = this.#deps;
    if (!(await receipts.saveMovedTo(receipt, target))) throw staysWhereItIs(file, 'unverified', 'its receipt is gone');
    await renameWithoutReplacing(file.path, target).catch(async (error: NodeJS.ErrnoException) => {
      await receipts.saveMovedTo(receipt, null);
      throw error.code === 'EEXIST'
        ? staysWhereItIs(file, 'already_exists', `there is another file at ${target}`)
        : staysWhereItIs(file, 'write_failed', error.message, error);
    });
  }

  /** Moves the file back if a program has written to it in the moment before it was moved. */
  async #assertSameContent(target: string, file: UploadFile, receipt: Receipt): Promise<void> {
    const { size, mtimeNs } = await lstat(target, { bigint: true });
    if (Number(size) === receipt.sizeBytes && String(mtimeNs) === receipt.mtimeNs) return;
    await renameWithoutReplacing(target, file.path).catch((error) => {
      throw asCodedError(error).with({ reason: `it changed when it was moved, and is at ${target}` });
    });
    await this.#deps.receipts.saveMovedTo(receipt, null);
    throw fileChanged(file.path, 'a program wrote to it when it was moved', 'it was uploaded');
  }
}

/** @throws CodedError `file_changed` (exit 13) if a file is not the one that was uploaded, or is a link to it */
async function assertUnchanged({ path }: UploadFile, receipt: Receipt): Promise<void> {
  const found = await lstat(path, { bigint: true });
  if (found.isSymbolicLink()) throw staysWhereItIs({ path }, 'write_failed', 'it is a link, not a file');
  const { size, mtimeNs, ctimeNs } = found;
  const identity = { sizeBytes: Number(size), mtimeNs: String(mtimeNs), ctimeNs: String(ctimeNs) };
  if (!isUnchanged(receipt, identity))
    throw fileChanged(path, 'it is uploaded again by the next run', 'it was uploaded');
}

const staysWhereItIs = (
  { path }: Pick<UploadFile, 'path'>,
  code: 'unverified' | 'already_exists' | 'write_failed',
  reason: string,
  underlying?: unknown,
) => new CodedError(`${path} is uploaded, but stays where it is`, { code, reason, underlying });
