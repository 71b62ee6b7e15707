import { lstat, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { classifyStatus } from '../../../contract/assumptions.ts';
import { evidenceKinds } from '../../../shared/file-evidence.ts';
import type { Api } from '../../api/api.ts';
import { asCodedError, CodedError, ignoreNotFound, usageError } from '../../errors.ts';
import { fileExists, tryLstat } from '../../local-path.ts';
import { makeFolder, renameWithoutReplacing, syncFolder } from '../../state-files.ts';
import { findOwnReceipt } from '../decide/by-receipt.ts';
import { isBelow } from '../decide/missing-files.ts';
import { createOutcome, type FileOutcome, type Uploaded } from '../session/file-outcome.ts';
import type { SessionPorts } from '../session/session-ports.ts';
import { identityOf, matchesReceipt } from '../sources/file-identity.ts';
import { fileChanged, fileGone } from '../sources/source.ts';
import { type FolderResolver, receiptKeyOf, type UploadFile } from '../sources/upload-file.ts';
import { kindOf, type Receipt, receiptOfFinding } from '../store/receipt-row.ts';
import type { Receipts } from '../store/receipts.ts';
import { MovedFiles } from './moved-files.ts';
import { OpenFiles } from './open-files.ts';

type MoverDeps = {
  api: Api;
  workspace: string;
  folders: FolderResolver;
  receipts: Receipts;
  /** True to move only files whose assets are ready. */
  needsReady: boolean;
  /** Time in milliseconds for which a file must stand still before it is uploaded. Default: 0. */
  minAgeMs: number | undefined;
};

/**
 * Moves local files that are uploaded to another directory, with their subdirectories. A file is moved only if its receipt
 * is on disk and says that the checksums are equal, and if it has not changed since; never over another file. The receipt
 * records where the file was moved to, so that it does not count as deleted or renamed.
 */
export class FileMover {
  readonly #directory: string;
  readonly #deps: MoverDeps;
  readonly #openFiles = new OpenFiles();
  readonly #moved: MovedFiles;

  private constructor(directory: string, deps: MoverDeps) {
    this.#directory = directory;
    this.#deps = deps;
    const { api, receipts, workspace, minAgeMs = 0 } = deps;
    const { baseUrl, clock } = api.transport;
    this.#moved = new MovedFiles({ receipts, workspace, service: baseUrl.origin, clock, directory, minAgeMs });
  }

  /**
   * Looks at the files that were moved lately, and moves those back that a program went on writing to (`MovedFiles.look`).
   *
   * @param onEvent gets a warning for each file that is back; undefined if this run does not upload it again
   * @returns outcomes of the others
   */
  async lookAtMoved(onEvent?: SessionPorts['onEvent']): Promise<FileOutcome[]> {
    const outcomes: FileOutcome[] = [];
    for (const { file, error } of await this.#moved.look()) {
      const { code, reason } = error.explanation;
      const message = `${error.message}: ${reason}`;
      if (onEvent && code === 'file_changed') onEvent({ path: file.path, event: 'warning', message });
      else outcomes.push(createOutcome(file, { error }));
    }
    return outcomes;
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

  /** Moves the file of an outcome, and adds to that its new path, or the error of a file that stays where it is. */
  async move(outcome: FileOutcome): Promise<void> {
    try {
      outcome.movedTo = await this.#move(outcome);
    } catch (error) {
      outcome.error = asCodedError(error);
    }
  }

  /** @throws CodedError `unverified` or `file_changed` (exit 13), `already_exists` (exit 6), `write_failed` (exit 1) */
  async #move({ file, uploaded }: FileOutcome): Promise<string> {
    const { receipts } = this.#deps;
    const receipt = uploaded && (await this.#findReceipt(file, uploaded));
    const kind = receipt ? kindOf(receipt) : 'none';
    if (!uploaded || receipt?.verified !== true || evidenceKinds[kind].content !== 'same')
      throw this.#unverified(file, evidenceKinds[kind].meaning);
    const moved = (await fileExists(file.path)) ? null : await receipts.findMovedTo(receipt);
    if (moved !== null && (await fileExists(moved))) return moved; // by another run
    if (uploaded.how !== 'uploaded') await this.#assertThere(file, uploaded.assetUid);
    await this.#assertClosed(file);
    await assertUnchanged(file, receipt);
    if (uploaded.how === 'duplicate') await receipts.adopt([receipt]);
    const target = join(this.#directory, file.relativeDir, basename(file.path));
    await makeFolder(dirname(target), 'use another directory');
    await this.#moveTo(target, file, receipt);
    await syncFolder(dirname(target));
    await this.#moved.add(file, receipt, target);
    return target;
  }

  /** Returns the receipt of a file; of a duplicate, one that says which asset has its content. */
  async #findReceipt(file: UploadFile, uploaded: Uploaded): Promise<Receipt | undefined> {
    const { receipts, api } = this.#deps;
    const key = receiptKeyOf(file, this.#deps);
    const receipt = key && (await findOwnReceipt(receipts, key, file));
    if (!key || uploaded.how !== 'duplicate') return receipt?.assetUid === uploaded.assetUid ? receipt : undefined;
    const { sizeBytes, blake3, verified, assetUid, name, state } = uploaded;
    return receiptOfFinding(
      key,
      { ...file, sizeBytes },
      {
        ...{ blake3, verified, assetUid, name, state, evidence: 'same_content' },
        at: new Date(api.transport.clock.now()).toISOString(),
      },
    );
  }

  /** Returns the error for a file of which it is not known that its asset has its content. */
  #unverified(file: UploadFile, reason: string): CodedError {
    const folder = this.#deps.folders.pathOf?.(file) ?? this.#deps.folders.find(file) ?? '/';
    const remedy = ['compare_download', dirname(file.path), folder] as const;
    return staysWhereItIs(file, 'unverified', reason).with({ remedy });
  }

  /** Reads the asset of a file that an earlier run has uploaded. A file whose asset is gone is uploaded by the next run. */
  async #assertThere(file: UploadFile, assetUid: string): Promise<void> {
    const { api, receipts, needsReady } = this.#deps;
    const asset = await api.assets.get(assetUid).catch(ignoreNotFound);
    const state = asset && classifyStatus(asset.status);
    if (!asset) {
      await receipts.forgetAsset(assetUid);
      throw staysWhereItIs(file, 'unverified', `the service no longer has its asset ${assetUid}`);
    }
    if (state === 'failed')
      throw staysWhereItIs(file, 'unverified', `its asset ${assetUid} could not be processed`).with({
        remedy: ['show_asset', assetUid, 'to see why'],
      });
    if (needsReady && state !== 'ready')
      throw staysWhereItIs(file, 'unverified', `its asset ${assetUid} is not ready`).with({
        remedy: ['wait_then_repeat', assetUid],
      });
  }

  /** A program that has a file open may go on writing to it. */
  async #assertClosed(file: UploadFile): Promise<void> {
    const found = await tryLstat(file.path);
    const writer = found && (await this.#openFiles.findWriter(found));
    if (writer !== undefined) throw staysWhereItIs(file, 'file_changed', `${writer} has it open for writing`);
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
  if (!matchesReceipt(receipt, identityOf(found)))
    throw fileChanged(path, 'it is uploaded again by the next run', 'it was uploaded');
}

const moveHints = {
  file_changed: 'run the same command again once that program has closed it; a watch tries again by itself',
  unverified: 'run the same command again, which uploads it; a watch does so by itself',
  already_exists: 'move one of the two files by hand',
  write_failed: 'move it by hand, or fix the directory and run the same command again',
};

const staysWhereItIs = (
  { path }: Pick<UploadFile, 'path'>,
  code: keyof typeof moveHints,
  reason: string,
  underlying?: unknown,
) => new CodedError(`${path} is uploaded, but stays where it is`, { code, reason, hint: moveHints[code], underlying });
