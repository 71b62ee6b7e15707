import { realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Api } from '../../../client/api/api.ts';
import { incompleteLists } from '../../../client/api/pagination.ts';
import { asCodedError, CodedError, ignoreNotFound, partialFailure, usageError } from '../../../client/errors.ts';
import { descendantsOf, isRootPath } from '../../../client/library/library-paths.ts';
import { fileExists, toSlashes } from '../../../client/local-path.ts';
import { findOwnReceipt } from '../../../client/upload/decide/by-receipt.ts';
import { isBelow, type MissingFiles } from '../../../client/upload/decide/missing-files.ts';
import type { FileChooser } from '../../../client/upload/sources/file-chooser.ts';
import type { MovedReceipt } from '../../../client/upload/store/receipt-moves.ts';
import { kindOf, type Receipt } from '../../../client/upload/store/receipt-row.ts';
import type { Receipts } from '../../../client/upload/store/receipts.ts';
import { parentOf } from '../../../contract/asset.ts';
import { classifyStatus } from '../../../contract/assumptions.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { isUid, normalizeUid } from '../../../contract/uid.ts';
import { startAge } from '../../../shared/clock.ts';
import { pluralize } from '../../../shared/figures.ts';
import { evidenceKinds } from '../../../shared/file-evidence.ts';
import { escapeControls, quoteForShell } from '../../../shared/sanitize.ts';
import type { Context } from '../../context.ts';
import { fetchFolderTree, resolveFolder } from '../../library/folders.ts';
import { LocationNames } from '../../library/name-cache.ts';
import { findLimitError, trashAssets, truncateLines, type WriteLimit } from '../confirm-many.ts';
import { contentKeyOf, findImportedCopy, findMissing, PlannedMoves } from './missing-receipts.ts';
import { type FoundFile, findNewFiles } from './new-files.ts';

export type PruneOptions = {
  directory: string;
  top: string;
  workspace: string;
  limit: WriteLimit;
  /** Chooses the files of the upload, and so those that may be missing. */
  chooser: FileChooser;
};

export type PrunableAsset = {
  assetUid: string;
  realPath: string;
  folder: string;
  sizeBytes: number;
  record?: AssetRecord | undefined;
};

/** Assets for --prune to move to the trash, according to the receipts, without an API request. */
export type PrunePlan = {
  candidates: PrunableAsset[];
  /** Number of assets that are kept until the new ones of their files are ready, or compared. */
  waiting: number;
  /** Number of assets that are kept because the filters leave out their missing or replaced files. */
  leftOut: number;
  /** Errors of the assets that are kept because their file may be there under another name. */
  doubtful: CodedError[];
  /** Error if a disk is probably not mounted. Then --yes alone is not enough. */
  safetyError: CodedError | undefined;
  /** Paths of the files that are missing, not replaced. */
  missing: ReadonlySet<string>;
  /** Returns true if a folder is the pruned folder or below it. */
  isInPrunedFolder(folder: string | null): boolean;
};

type ReceiptsAtStart = {
  receipts: Receipts;
  /**
   * Id of the newest receipt when the run started. If a disk is not mounted, the directory may contain only files
   * that this run uploaded. They have newer receipts and do not count as proof of the disk.
   */
  startMark: number;
  /** Receipts that a preview would move to the new paths of renamed files. */
  moved?: readonly MovedReceipt[];
  /** Receipts that a preview would save of files that another machine has uploaded; undefined after a run. */
  adopted?: readonly Receipt[];
};

/**
 * Returns the assets to prune: those that this machine uploaded from the directory to the folder, and whose file is
 * missing or was replaced by a newer version that is ready. Never includes other machines' assets, nor files that the
 * filters leave out of the upload.
 */
export async function planPrune(
  context: Context,
  { directory, top, workspace, chooser }: PruneOptions,
  { receipts, startMark, moved = [], adopted }: ReceiptsAtStart,
): Promise<PrunePlan> {
  const api = await context.api();
  const service = api.transport.baseUrl.origin;
  const folders = await listSubfolderUids(context, top);
  const isInPrunedFolder = (folder: string | null) =>
    folders === undefined || (folder !== null && folders.has(normalizeUid(folder)));
  const real = await realpath(directory);
  const selects = await chooser.createSelector(directory);
  const isSelected = ({ realPath }: PrunableAsset) => selects(toSlashes(relative(real, realPath)));
  const moves = new PlannedMoves(moved);
  const stored = receipts.listBelow(service, workspace, real);
  const found = await findMissing(stored, { real, startMark, moves, isSelected, isInPrunedFolder });
  const { missingNow, replacedNow, copies, counts } = found;
  let { leftOut } = found;
  let waiting = 0;
  const gone: PrunableAsset[] = [];
  const hasOtherFile = async ({ assetUid, realPath }: PrunableAsset) => {
    for (const path of await receipts.findOtherPaths(assetUid, realPath)) if (await fileExists(path)) return true;
    return false;
  };
  for (const receipt of missingNow) {
    // If the file was renamed, its old asset is pruned only after the new asset is ready. A file of its size that was
    // not compared with its asset might be the renamed one. So might one that is too new to be uploaded.
    const copy =
      copies.get(contentKeyOf(receipt)) ??
      (await findImportedCopy(receipts, receipt, { service, workspace, real, adopted: adopted ?? [] }));
    const canPrune = copy
      ? showsContent(copy) && (await isReady(api, receipts, copy))
      : !chooser.leftOutSizes.has(receipt.sizeBytes);
    if (!canPrune) waiting++;
    else if (!(await hasOtherFile(receipt))) gone.push(receipt);
  }
  for (const replaced of [...(await receipts.listReplacedBelow(service, workspace, real)), ...replacedNow]) {
    if (!isInPrunedFolder(replaced.folder) || moves.has(replaced.assetUid) || (await hasOtherFile(replaced))) continue;
    if (!isSelected(replaced)) {
      leftOut++;
      continue;
    }
    const taker = moves.takerOf(replaced);
    const key = { ...replaced, service, workspace };
    const now = await (taker ? receipts.findByAsset(taker) : findOwnReceipt(receipts, key, { path: key.realPath }));
    if (!now || (showsContent(now) && (await isReady(api, receipts, now)))) gone.push(replaced);
    else waiting++;
  }
  const displayPath = (path: string) => escapeControls(join(directory, relative(real, path)));
  const missing = new Set(missingNow.map(({ realPath }) => realPath));
  const { candidates, doubtful } = await splitDoubtful(gone, {
    ...{ real, chooser, displayPath, isPreview: adopted !== undefined },
    isMissing: ({ realPath }) => missing.has(realPath),
    isKnown: async (file) => isUploaded(file, await receipts.listOf(service, workspace, file.realPath)),
  });
  // Nothing is in danger while each old asset waits for the new one, and no number could confirm that.
  const doubt = candidates.length > 0 ? incompleteLists(context.listGaps) : undefined;
  const safetyError = candidates.length > 0 ? await findSafetyError(counts, candidates.length, displayPath) : undefined;
  return { candidates, waiting, leftOut, doubtful, safetyError: safetyError ?? doubt, missing, isInPrunedFolder };
}

/** Returns true if a receipt is of a file as it is now. */
const isUploaded = ({ sizeBytes, mtimeNs }: FoundFile, receipts: readonly Receipt[]) =>
  receipts.some((receipt) => receipt.sizeBytes === sizeBytes && receipt.mtimeNs === mtimeNs);

type DoubtOptions = {
  /** True if the run has not uploaded yet what it has chosen. */
  isPreview: boolean;
  real: string;
  chooser: FileChooser;
  isMissing(asset: PrunableAsset): boolean;
  isKnown(file: FoundFile): Promise<boolean>;
  displayPath(path: string): string;
};

/**
 * Splits assets whose file is not there by whether it may be there under another name: the run has seen it, or a file of its
 * size is in the directory that no receipt knows.
 */
async function splitDoubtful(
  gone: readonly PrunableAsset[],
  { real, chooser, isMissing, isKnown, isPreview, displayPath }: DoubtOptions,
): Promise<Pick<PrunePlan, 'candidates' | 'doubtful'>> {
  const sizes = new Set(gone.map(({ sizeBytes }) => sizeBytes));
  // The run would upload the files that a preview has chosen.
  const isNew = async (file: FoundFile) => !(isPreview && chooser.hasTaken(file.realPath)) && !(await isKnown(file));
  const unknown = sizes.size > 0 ? await findNewFiles(real, sizes, isNew) : new Map<number, string>();
  const [candidates, doubtful]: [PrunableAsset[], CodedError[]] = [[], []];
  for (const each of gone) {
    const other = unknown.get(each.sizeBytes);
    if (isMissing(each) && chooser.hasTaken(each.realPath) !== undefined)
      doubtful.push(keptError(displayPath(each.realPath), 'it was there when the run began'));
    else if (other) {
      const reason = `it may be ${displayPath(other)} now, which has its size and is not uploaded`;
      doubtful.push(keptError(displayPath(each.realPath), reason));
    } else candidates.push(each);
  }
  return { candidates, doubtful };
}

const keptError = (path: string, reason: string) =>
  new CodedError(`${path} was kept`, { code: 'changed_meanwhile', reason });

/** Returns an error that stops the prune if a disk is probably not mounted; otherwise undefined. */
async function findSafetyError(
  counts: MissingFiles,
  count: number,
  displayPath: (path: string) => string,
): Promise<CodedError | undefined> {
  const doubtful = await counts.findDoubtful();
  const highest = doubtful.filter(({ path }) => !doubtful.some((other) => isBelow(path, other.path)));
  const [first] = highest;
  if (!first) return undefined;
  const { path, known, missing } = first;
  const more = highest.length > 1 ? `, and files of ${highest.length - 1} more directories` : '';
  return usageError(
    `${missing} of ${known} files that were uploaded from ${displayPath(path)} ${missing === 1 ? 'is' : 'are'} missing${more}`,
    `if you deleted them, run the command again with --yes --max-changes ${count}`,
    'a disk may not be mounted; nothing was moved to the trash',
  );
}

/** Splits assets by whether the service still has them in the folder. Moved assets are not pruned. */
export async function splitByLocation(
  context: Context,
  { candidates, isInPrunedFolder }: PrunePlan,
): Promise<{ inside: PrunableAsset[]; elsewhere: PrunableAsset[] }> {
  const { assets } = (await context.api()).withObserver({ lane: 'bulk' });
  const places = new LocationNames(context);
  const inside: PrunableAsset[] = [];
  const elsewhere: PrunableAsset[] = [];
  const lines: string[] = [];
  for (const each of candidates) {
    const asset = await assets.get(each.assetUid).catch(ignoreNotFound);
    const parent = asset && parentOf(asset);
    const isUnknown = parent === undefined || (parent !== null && !isUid(parent));
    const isStill = asset && (isUnknown || isInPrunedFolder(parent));
    (isStill ? inside : elsewhere).push({ ...each, record: asset });
    if (isStill || !asset) continue;
    await places.load('folders', [parent ?? undefined]);
    const place = escapeControls(places.displayName(parent ?? undefined) || '/');
    lines.push(`${escapeControls(each.realPath)}; its asset is kept, because it was moved to ${place}`);
  }
  if (lines.length > 0) context.terminal.info(truncateLines(lines, lines.length).join('\n'));
  return { inside, elsewhere };
}

export function reportLeftOut({ terminal }: Context, { leftOut }: PrunePlan): void {
  if (leftOut > 0)
    terminal.info(`--prune keeps ${pluralize(leftOut, 'asset')} whose missing or replaced files the filters leave out`);
}

/** Returns an error that names the assets that were not moved to the trash; undefined if there are none. */
const keptFailure = (failures: readonly CodedError[], count: number): CodedError | undefined =>
  failures.length === 0
    ? undefined
    : partialFailure(
        `${failures.length} of ${pluralize(count, 'asset')} ${failures.length === 1 ? 'was' : 'were'} not moved to the trash`,
        failures,
        'run it again; mediactl rm ID, for the asset of a file that is gone',
      );

/** Returns an error if --yes is not enough. Without a mounted disk, --max-changes must be the exact number. */
export const pruneRefusal = ({ limit }: PruneOptions, { candidates, safetyError }: PrunePlan) =>
  (limit.isTyped && limit.count !== candidates.length ? safetyError : undefined) ??
  findLimitError({ count: candidates.length, noun: 'assets', limit, doubt: safetyError });

/** Returns true if the evidence for a receipt's asset shows that it has the content of its file. */
const showsContent = (receipt: Receipt) => evidenceKinds[kindOf(receipt)].content === 'same';

async function isReady(api: Api, receipts: Receipts, { assetUid, state }: Receipt) {
  if (state !== 'unchecked') return state === 'ready';
  const { status } = await api.assets.get(assetUid);
  if (classifyStatus(status) !== 'ready') return false;
  await receipts.saveProcessingResult(assetUid, 'ready');
  return true;
}

/**
 * @returns an error that names the assets which are kept because their file may be there; undefined if there are none
 * @throws the same errors as `confirmMany`; `partial_failure` (exit 11) if assets could not be moved
 */
export async function pruneMissing(
  context: Context,
  pruning: PruneOptions,
  atStart: ReceiptsAtStart,
): Promise<CodedError | undefined> {
  const { terminal, settings } = context;
  const { limit, top } = pruning;
  const prunable = await planPrune(context, pruning, atStart);
  reportLeftOut(context, prunable);
  if (prunable.waiting > 0)
    terminal.info(
      `${pluralize(prunable.waiting, 'old asset')} kept until the new ones are ready: run the same command again, or with --wait`,
    );
  const refusal = pruneRefusal(pruning, prunable);
  // Fail early, before one request per asset is sent.
  if (refusal && (settings.yes || !terminal.isInteractive)) throw refusal;
  const ageMs = startAge(context.clock);
  const { inside, elsewhere } = await splitByLocation(context, prunable);
  const count = inside.length;
  const gone = inside.map((each) => ({ ...each, label: each.realPath }));
  const what = `move ${pluralize(count, 'asset')} of ${top} to the trash`;
  const question = {
    ...{ command: 'sync --prune', limit, doubt: prunable.safetyError, what, ageMs },
    // Whether a file is still missing is decided again by the next run, so that a resume does not rely on this one.
    source: `mediactl sync ${quoteForShell(await realpath(pruning.directory))} ${quoteForShell(top)} --prune`,
    beforeItem: async ({ realPath, label }: PrunableAsset & { label: string }) => {
      if (!(prunable.missing.has(realPath) && (await fileExists(realPath)))) return undefined;
      throw keptError(label, 'the file is there again');
    },
  };
  let moved = 0;
  const { failures, stop, readBack } = await trashAssets(context, gone, question, async () => {
    moved++;
  }).catch((error) => {
    if (asCodedError(error).explanation.code !== 'declined') throw error;
    throw new CodedError('nothing was moved to the trash', { code: 'declined' });
  });
  for (const { assetUid } of elsewhere) await atStart.receipts.forgetAsset(assetUid);
  if (moved > 0) terminal.info(`moved ${pluralize(moved, 'asset')} to the trash${readBack}`);
  if (stop) throw stop;
  const failure = keptFailure([...prunable.doubtful, ...failures], prunable.doubtful.length + count);
  if (failures.length > 0) throw failure;
  return failure;
}

/** Returns the uids of a folder and its subfolders; undefined for the top level (all folders). */
async function listSubfolderUids(context: Context, top: string): Promise<Set<string> | undefined> {
  if (isRootPath(top)) return undefined;
  const { tree } = await fetchFolderTree(context, { isFresh: true });
  const node = await resolveFolder(context, tree, top).catch((error) => {
    // In a dry run, the folder might not exist yet.
    if (error instanceof CodedError && error.kind === 'notFound') return undefined;
    throw error;
  });
  return new Set((node ? [node, ...descendantsOf(node)] : []).map(({ folder }) => normalizeUid(folder.uid)));
}
