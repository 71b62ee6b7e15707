import { basename } from 'node:path';
import type { Api } from '../../../client/api/api.ts';
import { type AssetFilters, searchFor } from '../../../client/api/assets.ts';
import { maxPageSize } from '../../../client/api/pagination.ts';
import { exitCodes } from '../../../client/error-table.ts';
import { asMediactlError, type MediactlError } from '../../../client/errors.ts';
import type { FindUploaded, FoundUpload } from '../../../client/upload/batch/plan.ts';
import { digestAndClose } from '../../../client/upload/session/receipt-lookup.ts';
import { parseDigest } from '../../../client/upload/sources/checksum.ts';
import type { FolderResolver, UploadCandidate } from '../../../client/upload/sources/upload-candidate.ts';
import type { ListedAsset, Receipt, Receipts } from '../../../client/upload/store/receipts.ts';
import { parentOf } from '../../../contract/asset.ts';
import { classifyStatus, isAwaitingUpload } from '../../../contract/assumptions.ts';
import { asNumber, asText, normalizeName, parseTimestamp } from '../../../contract/json-values.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { possibleNames } from '../../../contract/tus.ts';
import type { Asset } from '../../../contract/types.ts';
import { isSameUid } from '../../../contract/uid.ts';
import type { Context } from '../../context.ts';
import { fetchFolderTree } from '../../library/folders.ts';
import type { UploadSources } from '../../uploading/sources.ts';
import { ignoreNotFound } from '../confirm-many.ts';

type CompareOptions = Pick<UploadSources, 'open'> & {
  folders: FolderResolver;
  workspace: string;
  /** Name for the only file (`--name`). */
  name: string | undefined;
  /** True to skip each file whose name the folder has (`--ignore-existing`). */
  ignoresExisting: boolean;
  /** True to leave the receipts unchanged. */
  isDryRun: boolean;
};

/** Number of concurrent searches. */
const lanes = 8;
const dayMs = 86_400_000;
const maxNamesInWarning = 10;
const maxPagesWithoutNotice = 10;

/**
 * Creates a function that compares files without a receipt with the assets that their folder already has, because
 * another machine might have uploaded them, or an older copy of the state folder was restored. See `FolderComparison`.
 *
 * If the folders cannot be listed, says so and finds nothing: outside the primary workspace (assumption A26), and with
 * a key that may not read.
 */
export function createExistingAssetFinder(
  context: Context,
  options: CompareOptions,
  receipts: Receipts | undefined,
): FindUploaded {
  const { terminal } = context;
  return async (files) => {
    let requests = 0;
    const api = (await context.api()).withObserver({
      lane: files.length > 1 ? 'bulk' : 'interactive',
      onRequest: () => {
        requests++;
      },
    });
    const comparison = new FolderComparison(context, api, options, receipts);
    const byFolder = new Map<string, UploadCandidate[]>();
    for (const file of files) {
      const folder = options.folders.find(file);
      if (folder === null || file.sourceId === undefined || file.sizeBytes === undefined) continue;
      const key = folder ?? '';
      byFolder.set(key, [...(byFolder.get(key) ?? []), file]);
    }
    try {
      for (const [folder, inFolder] of byFolder) await comparison.compare(folder, inFolder);
    } catch (thrown) {
      const error = asMediactlError(thrown);
      if (!isListRefused(error)) throw thrown;
      const reason = error.explanation.reason ?? error.message;
      terminal.info(`files that this machine has not uploaded are not compared with the folder: ${reason}`);
    }
    const { found, sameName } = comparison;
    if (!options.isDryRun)
      await receipts?.adopt([...found.values()].flatMap(({ kind, receipt }) => (kind === 'exists' ? [] : [receipt])));
    if (sameName.length > 0) terminal.warn(formatSameName(sameName));
    return { found, requests };
  };
}

/** Returns true if the service, or the workspace, does not allow to list the folder. */
const isListRefused = ({ exitCode }: MediactlError) =>
  ([exitCodes.usage, exitCodes.forbidden, exitCodes.rejected, exitCodes.notFound] as number[]).includes(exitCode);

function formatSameName(files: readonly UploadCandidate[]): string {
  const names = files.slice(0, maxNamesInWarning).map(({ path }) => escapeControls(path));
  const others = files.length > names.length ? ', …' : '';
  const have = files.length === 1 ? 'file has' : 'files have';
  return `${files.length} ${have} the name of another asset in the folder, and will be uploaded beside it: ${names.join(', ')}${others}; --ignore-existing skips such files`;
}

/**
 * Compares files with the assets of their folder that this machine did not upload:
 *
 * - same checksum, shown by the service or in an imported receipt (assumption A28): the file is already uploaded
 * - same name and size, without a checksum to compare: `not_compared`
 * - same name alone: collected in `sameName`, or `exists` if those are skipped
 */
class FolderComparison {
  readonly found = new Map<UploadCandidate, FoundUpload>();
  readonly sameName: UploadCandidate[] = [];
  readonly #context: Context;
  readonly #api: Api;
  readonly #options: CompareOptions;
  readonly #receipts: Receipts | undefined;
  readonly #service: string;
  /** Records that this run has fetched, by uid. */
  readonly #records = new Map<string, Asset>();
  /** Uids of assets that are already the match of a file. */
  readonly #matched = new Set<string>();

  constructor(context: Context, api: Api, options: CompareOptions, receipts: Receipts | undefined) {
    this.#context = context;
    this.#api = api;
    this.#options = options;
    this.#receipts = receipts;
    this.#service = api.transport.baseUrl.origin;
  }

  /** @param folder uid, or empty for the top level */
  async compare(folder: string, files: readonly UploadCandidate[]): Promise<void> {
    const byName = new Map<string, ListedAsset[]>();
    for (const asset of await this.#list(folder, files)) {
      const name = normalizeName(asset.name);
      byName.set(name, [...(byName.get(name) ?? []), asset]);
    }
    for (const file of files) {
      this.#context.signal.throwIfAborted();
      const named = [...this.#namesOf(file)].flatMap((name) => byName.get(name) ?? []);
      const match = await this.#match(file, folder, named);
      if (match === 'same name') this.sameName.push(file);
      else if (match) this.found.set(file, match);
    }
  }

  #namesOf({ path, filename, about }: UploadCandidate): Set<string> {
    return possibleNames({ filename: filename ?? basename(path), asset_name: about?.name ?? this.#options.name });
  }

  async #match(file: UploadCandidate, folder: string, named: readonly ListedAsset[]) {
    let other: ListedAsset | undefined;
    for (const asset of named) {
      const known = await this.#receipts?.findAsset(asset.uid);
      if (known?.isOwn || this.#matched.has(asset.uid)) continue;
      const found = await this.#compareWith(file, folder, asset, known?.blake3 ?? undefined);
      if (found === 'same name') other = asset;
      if (typeof found !== 'object') continue;
      this.#matched.add(asset.uid);
      return found;
    }
    if (!other) return undefined;
    return this.#options.ignoresExisting
      ? { kind: 'exists' as const, receipt: this.#receiptOf(file, folder, other) }
      : 'same name';
  }

  /** @returns undefined if the asset no longer exists, failed, or is incomplete */
  async #compareWith(file: UploadCandidate, folder: string, listed: ListedAsset, importedDigest: string | undefined) {
    const isOtherSize = listed.sizeBytes !== null && listed.sizeBytes !== file.sizeBytes;
    if (isOtherSize) return 'same name';
    const asset = await this.#fetch(listed.uid);
    if (!asset || isAwaitingUpload(asset.status) || classifyStatus(asset.status) === 'failed') return undefined;
    const parent = parentOf(asset);
    if (parent !== undefined && !isSameUid(parent ?? '', folder)) return undefined;
    if (!this.#namesOf(file).has(normalizeName(asText(asset.name) ?? ''))) return undefined;
    const shownDigest = digestIn(asset);
    const digest = shownDigest ?? importedDigest;
    const size = asNumber(asset.size);
    if (digest !== undefined && (size === undefined || size === file.sizeBytes)) {
      // An unreadable file fails later, when it is uploaded.
      const blake3 = await digestAndClose(this.#options.open(file.path, file.sourceId)).catch(() => undefined);
      if (blake3 !== digest) return 'same name';
      const verified = shownDigest === undefined ? null : true;
      return { kind: 'there' as const, receipt: this.#receiptOf(file, folder, listed, { blake3, verified }) };
    }
    if (size !== file.sizeBytes) return 'same name';
    return { kind: 'not_compared' as const, receipt: this.#receiptOf(file, folder, listed) };
  }

  /** Returns an asset's record, which a cached listing does not have. */
  async #fetch(uid: string): Promise<Asset | undefined> {
    const asset = this.#records.get(uid) ?? (await this.#api.assets.get(uid).catch(ignoreNotFound));
    if (asset) this.#records.set(uid, asset);
    else await this.#receipts?.forgetAsset(uid);
    return asset;
  }

  #receiptOf(
    { sourceId: path = '', sizeBytes = 0, mtimeNs = '0', ctimeNs }: UploadCandidate,
    folder: string,
    { uid: assetUid, name }: ListedAsset,
    { blake3 = null, verified = null }: Partial<Pick<Receipt, 'blake3' | 'verified'>> = {},
  ): Receipt {
    const isReady = classifyStatus(this.#records.get(assetUid)?.status) === 'ready';
    return {
      ...{ service: this.#service, workspace: this.#options.workspace, folder, path, sizeBytes, mtimeNs },
      ctimeNs: ctimeNs ?? null,
      ...{ blake3, verified, assetUid, sessionUid: '', name, state: isReady ? 'ready' : 'pending', reason: null },
      at: new Date(this.#context.clock.now()).toISOString(),
    };
  }

  /**
   * Lists the assets of a folder that might have the name of a file. The first time, reads all pages, or searches for
   * each name if that takes fewer requests. Later, reads only what was created since.
   */
  async #list(folder: string, files: readonly UploadCandidate[]): Promise<ListedAsset[]> {
    const { workspace, isDryRun } = this.#options;
    const key = { service: this.#service, workspace, folder };
    const parent = folder || 'root';
    const cached = await this.#receipts?.findListing(key);
    const [only] = files;
    if (!cached && only && files.length === 1 && this.#searchFor(only)) return this.#search(parent, files);
    let pages = 0;
    const onTotal = (total = 0) => {
      pages = Math.ceil(total / maxPageSize);
      if (pages > maxPagesWithoutNotice && pages <= files.length + 1)
        this.#context.terminal.info(`comparing the files with ${total} assets in their folder`);
    };
    const created = cached && { created_after: cached.since };
    const listed: Asset[] = [];
    for await (const page of this.#api.assets.list({ parent, ...created }, { onTotal })) {
      listed.push(...page);
      if (!cached && pages > files.length + 1) return this.#search(parent, files);
    }
    const assets = [...(cached?.assets ?? []), ...(await this.#checked(parent, listed))];
    const since = sinceDay(listed) ?? cached?.since;
    if (since !== undefined && !isDryRun)
      await this.#receipts?.saveListing(key, { since, assets: listed.map(toListedAsset) });
    return [...new Map(assets.map((asset) => [asset.uid, asset])).values()];
  }

  async #search(parent: string, files: readonly UploadCandidate[]): Promise<ListedAsset[]> {
    const found: Asset[] = [];
    const queue = files.flatMap((file) => this.#searchFor(file) ?? []);
    const searchNext = async () => {
      for (let filters = queue.pop(); filters; filters = queue.pop())
        for await (const page of this.#api.assets.list({ parent, ...filters }, {})) found.push(...page);
    };
    await Promise.all(Array.from({ length: lanes }, searchNext));
    const names = new Set(files.flatMap((file) => [...this.#namesOf(file)]));
    return this.#checked(
      parent,
      found.filter(({ name }) => names.has(normalizeName(asText(name) ?? ''))),
    );
  }

  /** Returns the search for a file's name, without extension as the service might have removed it. */
  #searchFor(file: UploadCandidate): AssetFilters | undefined {
    const filters = [...this.#namesOf(file)].reverse().map(searchFor);
    return filters.find(({ search }) => search !== undefined);
  }

  /** @throws MediactlError `filter_ignored` (exit 6) if the service lists assets of other folders too */
  async #checked(parent: string, assets: readonly Asset[]): Promise<ListedAsset[]> {
    if (assets.length === 0) return [];
    const { assertFiltersApplied, assertFolderIsFlat } = await import('../../library/filter-checks.ts');
    const findBelow = async () => (await fetchFolderTree(this.#context)).tree.childrenOf(parent);
    await assertFiltersApplied(this.#api.assets, { parent }, assets);
    await assertFolderIsFlat(this.#api.assets, { parent, findBelow }, assets);
    for (const asset of assets) this.#records.set(asset.uid, asset);
    return assets.map(toListedAsset);
  }
}

const toListedAsset = ({ uid, name, size }: Asset): ListedAsset => ({
  uid,
  name: asText(name) ?? '',
  sizeBytes: asNumber(size) ?? null,
});

/** Returns the BLAKE3 checksum that a record shows (assumption A28). */
const digestIn = (asset: Asset): string | undefined =>
  Object.entries(asset).flatMap(([field, value]) =>
    /blake3/i.test(field) ? (parseDigest(asText(value)) ?? []) : [],
  )[0];

/** Returns the day before the newest asset was created; undefined if none shows when. The service sets these times. */
function sinceDay(assets: readonly Asset[]): string | undefined {
  const times = assets.map(({ created_at }) => parseTimestamp(created_at));
  const newest = Math.max(...times.map((time) => time ?? Number.NaN));
  return Number.isFinite(newest) ? new Date(newest - dayMs).toISOString().slice(0, 10) : undefined;
}
