import { basename } from 'node:path';
import { type ListedAsset, parentOf, toListedAsset } from '../../../contract/asset.ts';
import type { AssetFilters } from '../../../contract/asset-filters.ts';
import { classifyStatus, isAwaitingUpload } from '../../../contract/assumptions.ts';
import { asNumber, asText, normalizeName, parseTimestamp } from '../../../contract/json-values.ts';
import { possibleNames } from '../../../contract/tus.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { isSameUid } from '../../../contract/uid.ts';
import type { Api } from '../../api/api.ts';
import { searchesFor } from '../../api/assets.ts';
import { itemsOf, maxPageSize } from '../../api/pagination.ts';
import { asCodedError, type CodedError, ignoreNotFound } from '../../errors.ts';
import type { WorkspaceFolderTree } from '../../library/folder-tree.ts';
import { fileExists } from '../../local-path.ts';
import { digestAndClose, digestIn } from '../sources/checksum.ts';
import type { UploadFile } from '../sources/upload-file.ts';
import type { Receipt } from '../store/receipt-row.ts';
import type { KnownAsset } from '../store/receipts.ts';
import { keep } from './by-receipt.ts';
import type { KeepDecision } from './decision.ts';
import type { FolderComparisonOptions, MatcherDeps } from './matcher.ts';

/** Number of concurrent searches. */
const lanes = 8;
const dayMs = 86_400_000;
const maxPagesWithoutNotice = 10;
/** Maximum number of assets of one name that a file is compared with, since each may cost a request. */
const maxNamesakes = 20;

/**
 * Compares files without a receipt with the assets that their folder already has, because another machine might have
 * uploaded them, or an older copy of the state folder was restored. See `FolderComparison`. Takes a request for 100
 * assets of a folder, or one for each file if that is less. Reads a file only if the checksum of its namesake is known.
 *
 * If a folder cannot be listed, notifies and decides nothing in it: outside the primary workspace (assumption A26), and
 * with a key that may not read. With `--existing name` that is an error.
 */
export async function inFolder(
  files: readonly UploadFile[],
  deps: MatcherDeps,
): Promise<ReadonlyMap<UploadFile, KeepDecision>> {
  const { comparison: options, folders, about } = deps;
  // Several files with one name are refused before anything is sent.
  if (!options || (about.name !== undefined && files.length > 1)) return new Map();
  const comparable = files.filter(
    (file) => folders.find(file) !== null && keyPathOf(file) !== undefined && file.sizeBytes !== undefined,
  );
  const byFolder = groupBy(comparable, (file) => folders.find(file) ?? '');
  const comparison = new FolderComparison(deps, options);
  let refusal: CodedError | undefined;
  for (const [folder, filesOfFolder] of byFolder)
    await comparison.compare(folder, filesOfFolder).catch((thrown) => {
      const error = asCodedError(thrown);
      if (!isListRefused(error) || deps.policy.existing === 'name') throw thrown;
      refusal ??= error;
    });
  const { found, sameName } = comparison;
  if (refusal) deps.notify({ notice: 'not_compared', error: refusal });
  if (sameName.length > 0) deps.notify({ notice: 'same_name', paths: sameName.map(({ path }) => path) });
  return found;
}

/** Returns true if the service, or the workspace, does not allow to list the folder. */
export const isListRefused = ({ kind }: CodedError) => ['usage', 'forbidden', 'rejected', 'notFound'].includes(kind);

/**
 * Compares files with the assets of their folder that this machine did not upload:
 *
 * - same checksum, shown by the service or in a receipt of `check --download` (assumption A28): the file is already uploaded
 * - same name and size, without a checksum to compare: `same_name_and_size`
 * - same name alone, or incomplete: collected in `sameName`; `exists` if it is complete and those are skipped
 */
class FolderComparison {
  readonly found = new Map<UploadFile, KeepDecision>();
  readonly sameName: UploadFile[] = [];
  readonly #deps: MatcherDeps;
  readonly #api: Api;
  readonly #options: FolderComparisonOptions;
  /** Records that this run has fetched, by uid. */
  readonly #records = new Map<string, AssetRecord>();
  /** Uids of assets that are already the match of a file. */
  readonly #matched = new Set<string>();
  #tree: WorkspaceFolderTree | undefined;
  /** True once it was found out that the service lists only what is directly in a folder. */
  #isFlat = false;

  constructor(deps: MatcherDeps, options: FolderComparisonOptions) {
    this.#deps = deps;
    this.#api = deps.api;
    this.#options = options;
  }

  /** @param folder uid, or empty for the top level */
  async compare(folder: string, files: readonly UploadFile[]): Promise<void> {
    const byName = groupBy(await this.#list(folder, files), ({ name }) => normalizeName(name));
    for (const file of files) {
      this.#deps.signal?.throwIfAborted();
      const named = [...this.#namesOf(file)].flatMap((name) => byName.get(name) ?? []).slice(0, maxNamesakes);
      const match = await this.#match(file, folder, named);
      if (match === 'same name') this.sameName.push(file);
      else if (match) this.found.set(file, match);
    }
  }

  #namesOf(file: UploadFile): Set<string> {
    return possibleNames({ filename: fileNameOf(file), asset_name: file.about?.name ?? this.#deps.about.name });
  }

  async #match(file: UploadFile, folder: string, named: readonly ListedAsset[]) {
    let digest: Promise<string | undefined> | undefined;
    const localDigest = () => {
      // An unreadable file fails later, when it is uploaded.
      const { path, realPath, stream } = file;
      digest ??= digestAndClose(this.#deps.openSource(stream?.spoolPath ?? path, realPath)).catch(() => undefined);
      return digest;
    };
    let [hasNamesake, hasComplete] = [false, undefined as ListedAsset | undefined];
    for (const asset of named) {
      const known = await this.#deps.receipts?.findAsset(asset.uid);
      if (known?.isOwn || this.#matched.has(asset.uid)) continue;
      // Another file, whose content was not compared either, might be this asset.
      const others = known?.uncomparedPaths.filter((path) => path !== keyPathOf(file)) ?? [];
      const isTaken = (await Promise.all(others.map(fileExists))).includes(true);
      const found = isTaken ? 'same name' : await this.#compareWith({ file, folder, localDigest }, asset, known);
      hasNamesake ||= found !== undefined;
      if (found === 'same name') hasComplete = asset;
      if (typeof found !== 'object') continue;
      this.#matched.add(asset.uid);
      return found;
    }
    if (hasComplete && this.#deps.policy.existing === 'name')
      return keep('exists', this.#receiptOf(file, folder, hasComplete));
    return hasNamesake ? 'same name' : undefined;
  }

  /** @returns undefined if the asset is another one, or no longer exists; `incomplete` if it may lack bytes */
  async #compareWith(
    { file, folder, localDigest }: { file: UploadFile; folder: string; localDigest: () => Promise<string | undefined> },
    listed: ListedAsset,
    known: KnownAsset | undefined,
  ) {
    const asset = await this.#fetch(listed.uid);
    if (!asset || !this.#isNamedLike(asset, file)) return undefined;
    const parent = parentOf(asset);
    if (parent !== undefined && !isSameUid(parent ?? '', folder)) return undefined;
    const { status } = asset;
    if (isAwaitingUpload(status) || classifyStatus(status) === 'failed') return 'incomplete';
    const shownDigest = digestIn(asset);
    const digest = shownDigest ?? known?.blake3;
    const size = asNumber(asset.size);
    if (digest !== undefined && (size === undefined || size === file.sizeBytes)) {
      const blake3 = await localDigest();
      this.#deps.signal?.throwIfAborted();
      if (blake3 !== digest) {
        const realPath = keyPathOf(file) ?? '';
        if (blake3 !== undefined && known?.uncomparedPaths.includes(realPath))
          this.#deps.note({ record: 'different', key: { ...this.#placeOf(folder), realPath } });
        return 'same name';
      }
      const verified = shownDigest === undefined ? null : true;
      return adopt('skipped', this.#receiptOf(file, folder, listed, { blake3, verified }));
    }
    if (size !== file.sizeBytes) return 'same name';
    if (!isStored(status)) return 'incomplete';
    return adopt('same_name_and_size', this.#receiptOf(file, folder, listed));
  }

  /** Returns true for the name of the file, and without its extension only if the record shows no other file name. */
  #isNamedLike({ name, filename }: AssetRecord, file: UploadFile): boolean {
    const shown = normalizeName(asText(name) ?? '');
    const [first] = this.#namesOf(file);
    const original = asText(filename);
    if (shown !== first && original !== undefined) return normalizeName(original) === normalizeName(fileNameOf(file));
    return this.#namesOf(file).has(shown);
  }

  /** Returns an asset's record, which a cached listing does not have. */
  async #fetch(uid: string): Promise<AssetRecord | undefined> {
    const asset = this.#records.get(uid) ?? (await this.#api.assets.get(uid).catch(ignoreNotFound));
    if (asset) this.#records.set(uid, asset);
    else this.#deps.note({ record: 'forgotten', assetUid: uid });
    return asset;
  }

  #placeOf(folder: string) {
    return { service: this.#api.transport.baseUrl.origin, workspace: this.#deps.workspace, folder };
  }

  get #clock() {
    return this.#api.transport.clock;
  }

  #receiptOf(
    file: UploadFile,
    folder: string,
    { uid: assetUid, name }: ListedAsset,
    { blake3 = null, verified = null }: Partial<Pick<Receipt, 'blake3' | 'verified'>> = {},
  ): Receipt {
    const { sizeBytes = 0, mtimeNs = '0', ctimeNs } = file;
    const realPath = keyPathOf(file) ?? '';
    const isReady = classifyStatus(this.#records.get(assetUid)?.status) === 'ready';
    return {
      ...{ ...this.#placeOf(folder), realPath, sizeBytes, mtimeNs },
      ctimeNs: ctimeNs ?? null,
      ...{ blake3, verified, assetUid, sessionUid: '', name },
      ...{ state: isReady ? 'ready' : 'unchecked', reason: null, about: null },
      at: new Date(this.#clock.now()).toISOString(),
    };
  }

  /**
   * Lists the assets of a folder that might have the name of a file. The first time, reads all pages, or searches for
   * each name if that takes fewer requests. Later, reads only what was created since.
   */
  async #list(folder: string, files: readonly UploadFile[]): Promise<ListedAsset[]> {
    const key = this.#placeOf(folder);
    const parent = folder || 'root';
    const cached = await this.#deps.receipts?.findListing(key);
    const searched = !cached && files.length === 1 ? await this.#search(parent, files) : undefined;
    if (searched) return searched;
    const listed: AssetRecord[] = [];
    let pages = 0;
    const onTotal = (total = 0) => {
      pages = Math.ceil(total / maxPageSize);
      if (pages > maxPagesWithoutNotice && (cached || pages <= files.length + 1))
        this.#deps.notify({ notice: 'listing', assets: total });
    };
    const created = cached && { created_after: cached.since };
    for await (const page of this.#api.assets.list({ parent, ...created }, { onTotal })) {
      const isFirst = listed.length === 0;
      listed.push(...page);
      if (!isFirst || cached || pages <= files.length + 1) continue;
      const byName = await this.#search(parent, files);
      if (byName) return byName;
    }
    const assets = await this.#checked(parent, listed);
    const since = sinceDay(listed, this.#clock.now()) ?? cached?.since;
    if (since !== undefined) this.#deps.note({ record: 'listing', key, listing: { since, assets } });
    return [...new Map([...(cached?.assets ?? []), ...assets].map((asset) => [asset.uid, asset])).values()];
  }

  /**
   * Searches for the name of each file, with one page for each.
   *
   * @returns undefined if that does not find all of them, because a name cannot be searched for or is too common
   */
  async #search(parent: string, files: readonly UploadFile[]): Promise<ListedAsset[] | undefined> {
    const names = new Set(files.flatMap((file) => [...this.#namesOf(file)]));
    const isNamed = ({ name }: AssetRecord) => names.has(normalizeName(asText(name) ?? ''));
    const searches = files.map((file) => this.#searchesFor(file));
    const queue = searches.flat();
    if (searches.some(({ length }) => length === 0)) return undefined;
    const found: AssetRecord[] = [];
    let isComplete = true;
    const searchNext = async () => {
      for (let filters = queue.pop(); filters; filters = queue.pop()) {
        const items = itemsOf<AssetRecord>(await this.#api.assets.page({ parent, ...filters }, maxPageSize, 0));
        const named = items.filter(isNamed);
        found.push(...named);
        if (items.length === maxPageSize && named.length === 0) isComplete = false;
      }
    };
    await Promise.all(Array.from({ length: lanes }, searchNext));
    return isComplete ? this.#checked(parent, found) : undefined;
  }

  /** Returns the searches for a file's name, without extension as the service might have removed it. */
  #searchesFor(file: UploadFile): AssetFilters[] {
    const searches = [...this.#namesOf(file)].reverse().map(searchesFor);
    return searches.find(({ length }) => length > 0) ?? [];
  }

  /**
   * Keeps the records of listed assets.
   *
   * @throws CodedError `filter_ignored` (exit 6) if the service lists assets of other folders too
   */
  async #checked(parent: string, assets: readonly AssetRecord[]): Promise<ListedAsset[]> {
    if (assets.length > 0 && !this.#isFlat) {
      const { assertFiltersApplied, assertFolderIsFlat } = await import('../../library/filter-checks.ts');
      const showsFolders = assets.every((asset) => parentOf(asset) !== undefined);
      if (!showsFolders) this.#tree ??= (await this.#options.library.folders()).tree;
      const below = this.#tree?.childrenOf(parent) ?? [];
      await assertFiltersApplied(this.#api.assets, { parent }, assets);
      await assertFolderIsFlat(this.#api.assets, { parent, findBelow: async () => below }, assets);
      this.#isFlat = below.length > 0;
    }
    for (const asset of assets) this.#records.set(asset.uid, asset);
    return assets.map(toListedAsset);
  }
}

/** Keeps an asset of another machine, and records it as the file's. */
const adopt = (outcome: 'skipped' | 'same_name_and_size', receipt: Receipt) =>
  keep(outcome, receipt, [{ record: 'adopted', receipt }]);

/** Returns the path by which receipts know a file; of a spooled stream, its checksum and size. */
const keyPathOf = ({ realPath, stream }: UploadFile) => realPath ?? stream?.identity;

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

const fileNameOf = ({ path, filename }: UploadFile) => filename ?? basename(path);

/** Returns true if a status shows that the service has all bytes. A `queued` asset might still wait for them. */
const isStored = (status: unknown) =>
  classifyStatus(status) === 'ready' || asText(status)?.toLowerCase() === 'processing';

/** Returns the day before the newest asset was created; undefined if one does not show when. */
function sinceDay(assets: readonly AssetRecord[], now: number): string | undefined {
  let newest = Number.NEGATIVE_INFINITY;
  for (const { created_at } of assets) {
    const time = parseTimestamp(created_at);
    if (time === undefined) return undefined;
    newest = Math.max(newest, Math.min(time, now)); // a date in the future would hide all that comes before it
  }
  return Number.isFinite(newest) ? new Date(newest - dayMs).toISOString().slice(0, 10) : undefined;
}
