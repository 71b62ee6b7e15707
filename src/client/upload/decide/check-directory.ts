import { toListedAsset } from '../../../contract/asset.ts';
import { classifyStatus, isUnusable } from '../../../contract/assumptions.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { isSameUid, normalizeUid } from '../../../contract/uid.ts';
import { type CheckOutcome, type Existing, evidenceKinds } from '../../../shared/file-evidence.ts';
import { asNumber, asText } from '../../../shared/json-values.ts';
import { findFolderUid } from '../../changes/folder-creation.ts';
import { asCodedError, endsTheRun, ignoreNotFound } from '../../errors.ts';
import { FolderReader } from '../../library/folder-reader.ts';
import type { FolderNode, WorkspaceFolderTree } from '../../library/folder-tree.ts';
import type { Library } from '../../library/library.ts';
import { descendantsOf } from '../../library/library-paths.ts';
import { processingFailed } from '../../library/wait-for-assets.ts';
import type { OwnFiles } from '../../own-files.ts';
import { digestAndClose, digestIn } from '../sources/checksum.ts';
import type { FileChooser } from '../sources/file-chooser.ts';
import { FileSource, findLocalFiles } from '../sources/source.ts';
import { receiptKeyOf, targetPathOf, type UploadFile } from '../sources/upload-file.ts';
import { type Receipt, receiptOfFinding } from '../store/receipt-row.ts';
import type { Receipts } from '../store/receipts.ts';
import type { ListableUploadStore } from '../store/upload-store.ts';
import { evidenceOfEntry } from './by-entry.ts';
import { findOwnReceipt } from './by-receipt.ts';
import { type Candidates, Decider } from './decide.ts';
import { type DecideNotice, type Decision, evidenceOf, type FileEvidence, hasChange, saveRecords } from './decision.ts';
import type { DecidePorts } from './matcher.ts';
import { defaultSettings } from './upload-settings.ts';

/** Result of `check` for a file, or for an asset that no file has. */
export type CheckedFile = {
  path: string;
  outcome: CheckOutcome;
  asset_uid: string | null;
  evidence: FileEvidence | undefined;
};

/** Content of an asset that was downloaded. @property isOriginal false if it is, or may be, a rendition */
export type ReadContent = { blake3: string; sizeBytes: number; isOriginal: boolean };

export type CheckDeps = {
  library: Pick<Library, 'api' | 'folders'>;
  /** Folder to compare; undefined for the top level. */
  top: FolderNode | undefined;
  receipts: Receipts | undefined;
  /** Unfinished uploads, which a sync would resume; undefined if there are none. */
  store: ListableUploadStore | undefined;
  own: OwnFiles;
  signal: AbortSignal;
  onDecideNotice?: ((notice: DecideNotice) => void) | undefined;
  /** Downloads an asset to compare its bytes; undefined to compare none. */
  readContent: ((asset: AssetRecord) => Promise<ReadContent>) | undefined;
  onNotCompared: (file: UploadFile, reason: string) => void;
};

export type CheckedDirectory = {
  /** Number of files of the directory. */
  fileCount: number;
  checked: CheckedFile[];
  /** Uids of failed assets that this machine has uploaded from a file that is there, and from no other. */
  ownFailed: ReadonlySet<string>;
};

/**
 * Compares the chosen files of a directory with a folder, subdirectories included: it decides what a sync would do with each
 * file, after this machine's records know what the folders have.
 */
export async function checkDirectory(
  directory: string,
  chooser: FileChooser,
  deps: CheckDeps,
): Promise<CheckedDirectory> {
  const walk = await findLocalFiles([directory], chooser);
  const folders = await ComparedFolders.read(deps);
  const comparison = new DirectoryComparison(directory, folders, deps);
  let decided = await comparison.decide(comparison.refreshed(walk.files()));
  while ((await comparison.refresh(decided)) || (await comparison.compareBytes(decided)))
    decided = await comparison.decide(decided.map(([file]) => file));
  const claimed = new Set<string>();
  const checked: CheckedFile[] = [];
  const ownFailed = new Set<string>();
  for (const [file, decision] of decided) {
    const { outcome, evidence } = comparison.answerTo(decision);
    const asset_uid = evidence?.assetUid ?? null;
    checked.push({ path: file.path, outcome, asset_uid, evidence });
    if (asset_uid === null) continue;
    claimed.add(normalizeUid(asset_uid));
    if (outcome === 'failed' && (await comparison.isOnlyOf(file, evidence))) ownFailed.add(asset_uid);
  }
  const isSelected = await chooser.createSelector(directory);
  for (const { path, asset } of folders.assets()) {
    const { uid, name } = asset;
    const inside = joinPath(path, asText(name) ?? uid);
    if (claimed.has(normalizeUid(uid)) || !isSelected(inside) || (await deps.receipts?.wasMovedAway(uid))) continue;
    const outcome = 'missing_locally';
    checked.push({ path: `${folders.top}/${inside}`, outcome, asset_uid: uid, evidence: undefined });
  }
  return { fileCount: decided.length, checked, ownFailed };
}

/** Decides what an upload of files would do, and saves what that tells of this machine's records. */
export async function decideToCheck(
  files: Candidates,
  existing: Existing,
  { own, ...ports }: Omit<DecidePorts, 'openSource'> & Pick<CheckDeps, 'own'>,
): Promise<[UploadFile, Decision][]> {
  const openSource: DecidePorts['openSource'] = (path, realPath) => FileSource.open(path, own, realPath);
  const decider = new Decider({ ...defaultSettings, existing }, { ...ports, openSource });
  const decided: [UploadFile, Decision][] = [];
  for await (const [file, decision] of decider.decideAll(files))
    decided.push([file, await decider.decideFinally(file, decision)]);
  await saveRecords({ receipts: ports.receipts }, decider.takeRecords());
  return decided;
}

/** Returns what shows which asset a file has; undefined if nothing does. */
export function evidenceIn(decision: Decision): FileEvidence | undefined {
  if (decision.action === 'keep') return evidenceOf(decision.receipt);
  if (decision.action === 'send') return decision.evidence;
  return 'session' in decision.entry ? evidenceOfEntry(decision.entry, 'incomplete') : undefined;
}

/** Returns why an asset could not be downloaded. @throws an error that ends the run */
function problemOf(thrown: unknown): string {
  const error = asCodedError(thrown);
  if (endsTheRun(error)) throw error;
  return error.message;
}

const joinPath = (...names: readonly string[]) => names.filter(Boolean).join('/');

/** A folder and those below it, with all that is in them. */
class ComparedFolders {
  readonly workspace: string;
  /** Path of the compared folder; empty for the top level. */
  readonly top: string;
  readonly #tree: WorkspaceFolderTree;
  /** Assets of each folder, by its uid; that of the top level is empty. */
  readonly listed = new Map<string, AssetRecord[]>();
  /** Assets by their uids, with their folders. */
  readonly #byUid = new Map<string, { asset: AssetRecord; folder: string }>();

  private constructor(workspace: string, tree: WorkspaceFolderTree, top: FolderNode | undefined) {
    this.workspace = workspace;
    this.#tree = tree;
    this.top = top?.path ?? '';
  }

  /** @throws CodedError `filter_ignored` (exit 6) if the service lists assets of other folders */
  static async read({ library, top }: CheckDeps): Promise<ComparedFolders> {
    const { tree, workspace } = await library.folders();
    const folders = new ComparedFolders(workspace, tree, top);
    const nodes = top ? [top, ...descendantsOf(top)] : tree.all;
    const uids = [...(top ? [] : ['root']), ...nodes.map(({ folder }) => folder.uid)];
    const reader = new FolderReader(library.api.withObserver({ lane: 'bulk' }), async () => tree);
    for (const uid of uids) folders.#add(uid, []); // in the order of the tree
    for await (const { parent, page } of reader.listEach(uids)) folders.#add(parent, page);
    return folders;
  }

  #add(parent: string, page: readonly AssetRecord[]): void {
    const folder = parent === 'root' ? '' : normalizeUid(parent);
    const assets = this.listed.get(folder) ?? [];
    assets.push(...page);
    this.listed.set(folder, assets);
    for (const asset of page) this.#byUid.set(normalizeUid(asset.uid), { asset, folder });
  }

  /** Returns the folder of a file as a sync finds it; undefined for the top level, null if there is none. */
  readonly find = (file: UploadFile) => findFolderUid(this.#tree, targetPathOf(file, this.top, true));

  /** Returns an asset, if it is in a folder or in any. */
  asset(uid: string, folder?: string): AssetRecord | undefined {
    const found = this.#byUid.get(normalizeUid(uid));
    return folder === undefined || found?.folder === normalizeUid(folder) ? found?.asset : undefined;
  }

  /** Yields each asset with its folder relative to the compared one. */
  *assets(): Generator<{ path: string; asset: AssetRecord }> {
    for (const [uid, assets] of this.listed) {
      const path = uid === '' ? '' : (this.#tree.find(uid)?.path.slice(this.top.length + 1) ?? '');
      for (const asset of assets) yield { path, asset };
    }
  }
}

/** Compares files with their folders, and records what is found out. */
class DirectoryComparison {
  readonly #directory: string;
  readonly #folders: ComparedFolders;
  readonly #deps: CheckDeps;
  /** Uids of assets that were uploaded to the compared folders, and are elsewhere now. */
  readonly #moved = new Set<string>();
  /** Uids of assets whose bytes could not be compared, although that was asked for. */
  readonly #uncompared = new Set<string>();
  /** Assets of which it is recorded what their folder shows. */
  readonly #refreshed = new Set<string>();
  /** Files and assets whose bytes were compared. */
  readonly #compared = new Set<string>();

  constructor(directory: string, folders: ComparedFolders, deps: CheckDeps) {
    this.#directory = directory;
    this.#folders = folders;
    this.#deps = deps;
  }

  get #api() {
    return this.#deps.library.api.withObserver({ lane: 'bulk' });
  }

  /** Records, before a file is decided, what its folder shows of its asset. */
  async *refreshed(files: AsyncIterable<UploadFile>): AsyncGenerator<UploadFile> {
    for await (const file of files) {
      const key = this.#keyOf(file);
      const receipt = key && (await findOwnReceipt(this.#deps.receipts, key, file));
      if (receipt) await this.#refresh(receipt);
      yield file;
    }
  }

  /** Records what the folders show of assets that renamed files have. @returns true if something was recorded */
  async refresh(decided: readonly (readonly [UploadFile, Decision])[]): Promise<boolean> {
    let hasRecorded = false;
    for (const [, decision] of decided)
      if (decision.action === 'keep' && (await this.#refresh(decision.receipt))) hasRecorded = true;
    return hasRecorded;
  }

  async #refresh({ assetUid, folder, state, blake3, verified, sizeBytes }: Receipt): Promise<boolean> {
    const { receipts } = this.#deps;
    const pair = `${folder} ${normalizeUid(assetUid)}`;
    if (this.#refreshed.has(pair)) return false;
    this.#refreshed.add(pair);
    const asset = this.#folders.asset(assetUid, folder);
    if (!asset) {
      // In the trash, it is not found either.
      const isElsewhere = await this.#api.assets.get(assetUid).catch(ignoreNotFound);
      if (isElsewhere) this.#moved.add(normalizeUid(assetUid));
      else await receipts?.forgetAsset(assetUid);
      return !isElsewhere;
    }
    const now = classifyStatus(asset.status);
    // The next sync names a file that has failed, or no longer does.
    const isOther = now !== 'in progress' && (now === 'failed') !== (state === 'failed');
    if (isOther) await receipts?.saveProcessingResult(assetUid, now === 'failed' ? processingFailed(asset) : asset);
    const shown = digestIn(asset);
    if (shown === undefined || blake3 === null || (shown === blake3 && verified === true)) return isOther;
    const content = { blake3: shown, sizeBytes: asNumber(asset.size) ?? sizeBytes };
    await receipts?.saveContent(assetUid, { ...content, evidence: 'checksum', foundAt: this.#now });
    return true;
  }

  /** Decides what a sync would do with each file. */
  decide(files: Candidates): Promise<[UploadFile, Decision][]> {
    const { library, onDecideNotice } = this.#deps;
    const { listed, workspace, find } = this.#folders;
    const onReading = (notice: DecideNotice) => (notice.notice === 'reading' ? onDecideNotice?.(notice) : undefined);
    return decideToCheck(files, 'file', {
      ...{ ...this.#deps, api: this.#api, workspace, mirror: this.#directory, onDecideNotice: onReading },
      folders: { find, findOrCreate: async (file) => find(file) ?? undefined },
      comparison: { library, listed },
    });
  }

  answerTo(decision: Decision): Pick<CheckedFile, 'outcome' | 'evidence'> {
    const evidence = evidenceIn(decision);
    if (!evidence || decision.action === 'resume') return { outcome: 'missing_remotely', evidence };
    const { check } = evidenceKinds[evidence.kind];
    if (decision.action === 'send') return { outcome: check, evidence };
    if (hasChange(decision)) return { outcome: 'renamed', evidence };
    const uid = normalizeUid(evidence.assetUid);
    if (this.#moved.has(uid)) return { outcome: 'moved', evidence };
    if (classifyStatus(this.#folders.asset(uid)?.status) === 'failed') return { outcome: 'failed', evidence };
    return { outcome: this.#uncompared.has(uid) ? 'unverified' : check, evidence };
  }

  /** Returns true if this machine uploaded an asset from a file, and from no other. */
  async isOnlyOf({ realPath = '' }: UploadFile, evidence: FileEvidence | undefined): Promise<boolean> {
    const others = evidence && (await this.#deps.receipts?.findOtherPaths(evidence.assetUid, realPath));
    return evidence?.isOwn === true && others?.length === 0;
  }

  /** Downloads the assets of files that are there, or may be, and records what they have. @returns true if it did */
  async compareBytes(decided: readonly (readonly [UploadFile, Decision])[]): Promise<boolean> {
    const { readContent } = this.#deps;
    let hasCompared = false;
    for (const [file, decision] of readContent ? decided : []) {
      const { outcome, evidence } = this.answerTo(decision);
      const asset = evidence && this.#folders.asset(evidence.assetUid);
      const isComparable = ['match', 'renamed', 'unverified', 'same_name'].includes(outcome);
      if (!asset || !isComparable || isUnusable(asset.status)) continue;
      const pair = `${file.path} ${normalizeUid(asset.uid)}`;
      if (this.#compared.has(pair)) continue;
      this.#compared.add(pair);
      const problem = await readContent?.(asset).then(
        (content) => this.#record(file, asset, content, { outcome, evidence }),
        problemOf,
      );
      if (problem === undefined) {
        hasCompared = true;
        continue;
      }
      this.#uncompared.add(normalizeUid(asset.uid));
      this.#deps.onNotCompared?.(file, problem);
    }
    return hasCompared;
  }

  /**
   * Records what was downloaded, so that the next decision knows it: equal files as uploaded and verified, the content of
   * another asset, and in the receipts of an asset that it has other bytes.
   *
   * @param before what was known: if the asset is to follow its file, the file's path gets no receipt
   * @returns why it shows nothing; undefined if it does
   */
  async #record(
    file: UploadFile,
    asset: AssetRecord,
    content: ReadContent,
    before: Pick<CheckedFile, 'outcome' | 'evidence'>,
  ): Promise<string | undefined> {
    const { receipts, own } = this.#deps;
    const { path, sizeBytes = 0 } = file;
    const blake3 = await digestAndClose(FileSource.open(path, own));
    const isSame = blake3 === content.blake3;
    // A file that may be a rendition itself is equal to one.
    const isShown = content.isOriginal || (isSame && before.evidence?.kind !== 'rendition');
    if (!isShown && [undefined, sizeBytes].includes(asNumber(asset.size)))
      return `the service returned a rendition of asset ${asset.uid}`;
    const found = { evidence: 'bytes', foundAt: this.#now } as const;
    if (isSame || content.isOriginal) await receipts?.saveContent(asset.uid, { ...content, ...found });
    const key = before.outcome === 'renamed' ? undefined : this.#keyOf(file);
    if (!key) return undefined;
    const listed = toListedAsset(asset);
    if (!isSame) {
      if (content.isOriginal) await receipts?.saveDigest(key, listed, content.blake3);
      await saveRecords({ receipts }, [{ record: 'different', key }]);
      return undefined;
    }
    const saved = await receipts?.find(key);
    if (saved?.blake3 === blake3 && isSameUid(saved.assetUid, asset.uid)) return undefined;
    const { uid: assetUid, name } = listed;
    const { evidence, foundAt: at } = found;
    await receipts?.adopt([
      receiptOfFinding(key, file, { blake3, verified: true, assetUid, name, state: 'ready', evidence, at }),
    ]);
    return undefined;
  }

  get #now(): string {
    return new Date(this.#deps.library.api.transport.clock.now()).toISOString();
  }

  #keyOf(file: UploadFile) {
    const { workspace } = this.#folders;
    return receiptKeyOf(file, { api: this.#deps.library.api, workspace, folders: this.#folders });
  }
}
