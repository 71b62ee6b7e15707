import { lstat, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { classifyStatus } from '../../../contract/assumptions.ts';
import type { Api } from '../../api/api.ts';
import { asCodedError, CodedError, ignoreNotFound, usageError } from '../../errors.ts';
import { fileExists } from '../../local-path.ts';
import { makeFolder, renameWithoutReplacing, syncFolder } from '../../state-files.ts';
import { isUnchanged } from '../decide/by-receipt.ts';
import { isBelow } from '../decide/missing-files.ts';
import type { FileOutcome } from '../session/file-outcome.ts';
import { fileChanged, fileGone } from '../sources/source.ts';
import { type FolderResolver, receiptKeyOf, type UploadFile } from '../sources/upload-file.ts';
import type { Receipt } from '../store/receipt-row.ts';
import type { Receipts } from '../store/receipts.ts';

type MoverDeps = {
  api: Api;
  workspace: string;
  folders: FolderResolver;
  receipts: Receipts;
  /** True to move only files whose assets are ready. */
  needsReady: boolean;
};

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
   * @throws CodedError `usage` (exit 2) as `assertUsable` does
   */
  static async open(typed: string, sources: readonly string[], deps: MoverDeps): Promise<FileMover> {
    await FileMover.assertUsable(typed, sources);
    await makeFolder(typed, 'use another directory');
    await FileMover.assertUsable(typed, sources); // a link on the way may lead elsewhere
    return new FileMover(await realpath(typed), deps);
  }

  /**
   * Checks a target directory, which may not exist yet, and creates nothing.
   *
   * @throws CodedError `usage` (exit 2) if the directory and a source contain one another, or are on two file systems
   */
  static async assertUsable(typed: string, sources: readonly string[]): Promise<void> {
    const { existing, path } = await resolveMissing(resolve(typed));
    const { dev } = await stat(existing);
    for (const source of sources) {
      const real = await realpath(source);
      if (real === path || isBelow(path, real) || isBelow(real, path))
        throw usageError('uploaded files cannot be moved within the directory that is uploaded', 'use one beside it');
      if ((await stat(real)).dev !== dev)
        throw usageError(
          `uploaded files cannot be moved to ${typed}: it is on another file system than ${source}`,
          'use a directory on the same disk',
          'a move between file systems is a copy, which could be incomplete',
        );
    }
  }

  /**
   * Moves the file of an outcome. A file that is not moved stays where it is.
   *
   * @returns its new path
   * @throws CodedError `unverified` or `file_changed` (exit 13), `already_exists` (exit 6), `write_failed` (exit 1)
   */
  async move({ file, uploaded }: FileOutcome): Promise<string> {
    const { receipts, api } = this.#deps;
    const key = receiptKeyOf(file, { ...this.#deps, service: api.transport.baseUrl.origin });
    const receipt = key && (await receipts.find(key));
    if (!receipt || receipt.assetUid !== uploaded?.assetUid || receipt.verified !== true)
      throw staysWhereItIs(file, 'unverified', 'no checksum shows that the service has this file');
    const moved = (await fileExists(file.path)) ? null : await receipts.findMovedTo(receipt);
    if (moved !== null && (await fileExists(moved))) return moved; // by another run
    if (uploaded.how !== 'uploaded') await this.#assertThere(file, uploaded.assetUid);
    await assertUnchanged(file, receipt);
    const target = join(this.#directory, file.relativeDir, basename(file.path));
    await makeFolder(dirname(target), 'use another directory');
    await this.#moveTo(target, file, receipt);
    await syncFolder(dirname(target));
    await this.#assertSameContent(target, file, receipt);
    return target;
  }

  /** Reads the asset of a file that an earlier run has uploaded, since it may be gone. */
  async #assertThere(file: UploadFile, assetUid: string): Promise<void> {
    const asset = await this.#deps.api.assets.get(assetUid).catch(ignoreNotFound);
    const state = asset && classifyStatus(asset.status);
    if (!asset) throw staysWhereItIs(file, 'unverified', `the service no longer has its asset ${assetUid}`);
    if (state === 'failed' || (this.#deps.needsReady && state !== 'ready'))
      throw staysWhereItIs(file, 'unverified', `its asset ${assetUid} is not ready`);
  }

  async #moveTo(target: string, file: UploadFile, receipt: Receipt): Promise<void> {
    const { receipts } = this.#deps;
    const before = await receipts.findMovedTo(receipt);
    if (!(await receipts.saveMovedTo(receipt, target))) throw staysWhereItIs(file, 'unverified', 'its receipt is gone');
    await renameWithoutReplacing(file.path, target).catch(async (error: NodeJS.ErrnoException) => {
      // Another run may have moved it meanwhile, whose record stays.
      if (await fileExists(file.path)) await receipts.saveMovedTo(receipt, before);
      throw error.code === 'EEXIST'
        ? staysWhereItIs(file, 'already_exists', `there is a file at ${target}`)
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

/** Returns the real path that a directory will have, and its part that exists. */
async function resolveMissing(path: string): Promise<{ existing: string; path: string }> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined || dirname(path) === path) return { existing: real ?? path, path: real ?? path };
  const above = await resolveMissing(dirname(path));
  return { existing: above.existing, path: join(above.path, basename(path)) };
}

/** @throws CodedError `file_changed` (exit 13) if a file is not the one that was uploaded, or is a link to it */
async function assertUnchanged({ path }: UploadFile, receipt: Receipt): Promise<void> {
  const found = await lstat(path, { bigint: true }).catch(() => {
    throw fileGone(path);
  });
  if (found.isSymbolicLink()) throw staysWhereItIs({ path }, 'write_failed', 'it is a link, not a file');
  const { size, mtimeNs, ctimeNs } = found;
  const identity = { sizeBytes: Number(size), mtimeNs: String(mtimeNs), ctimeNs: String(ctimeNs) };
  if (!isUnchanged(receipt, identity))
    throw fileChanged(path, 'it is uploaded again by the next run', 'it was uploaded');
}

const moveHints = {
  unverified: 'compare the directory with the folder, then move it by hand',
  already_exists: 'move one of the two files by hand',
  write_failed: 'move it by hand, or fix the directory and run the same command again',
};

const staysWhereItIs = (
  { path }: Pick<UploadFile, 'path'>,
  code: keyof typeof moveHints,
  reason: string,
  underlying?: unknown,
) => new CodedError(`${path} is uploaded, but stays where it is`, { code, reason, hint: moveHints[code], underlying });
