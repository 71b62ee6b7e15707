import { basename } from 'node:path';
import type { Api } from '../../../client/api/api.ts';
import { searchFor } from '../../../client/api/assets.ts';
import { itemsOf, maxPageSize } from '../../../client/api/pagination.ts';
import { asCodedError, type CodedError } from '../../../client/errors.ts';
import type { WorkspaceFolderTree } from '../../../client/library/folder-tree.ts';
import type { FindUploaded } from '../../../client/upload/batch/plan.ts';
import { digestAndClose, type FoundUpload } from '../../../client/upload/session/receipt-lookup.ts';
import { parseDigest } from '../../../client/upload/sources/checksum.ts';
import type { FolderResolver, UploadFile } from '../../../client/upload/sources/upload-file.ts';
import type { Receipt, Receipts } from '../../../client/upload/store/receipts.ts';
import { type ListedAsset, parentOf, toListedAsset } from '../../../contract/asset.ts';
import type { AssetFilters } from '../../../contract/asset-filters.ts';
import { classifyStatus, isAwaitingUpload } from '../../../contract/assumptions.ts';
import { asNumber, asText, normalizeName, parseTimestamp } from '../../../contract/json-values.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { possibleNames } from '../../../contract/tus.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { isSameUid } from '../../../contract/uid.ts';
import type { Context } from '../../context.ts';
import { fetchFolderTree } from '../../library/folders.ts';
import type { UploadSources } from '../../uploading/sources.ts';
import { ignoreNotFound } from '../confirm-many.ts';
import { pathExists } from './prune.ts';

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
/** Maximum number of assets of one name that a file is compared with, since each may cost a request. */
const maxNamesakes = 20;

/**
 * Creates a function that compares files without a receipt with the assets that their folder already has, because
 * another machine might have uploaded them, or an older copy of the state folder was restored. See `FolderComparison`.
 *
 * If a folder cannot be listed, warns and finds nothing in it: outside the primary workspace (assumption A26), and with
 * a key that may not read. With `--ignore-existing` that is an error.
 */
export function createExistingAssetFinder(
  context: Context,
  options: CompareOptions,
  receipts: Receipts | undefined,
): FindUploaded {
  const { terminal } = context;
  return async (files) => {
    // Several files with one name are refused before anything is sent.
    if (options.name !== undefined && files.length > 1) return { found: new Map(), requests: 0, adopted: [] };
    let requests = 0;
    const api = (await context.api()).withObserver({
      lane: files.length > 1 ? 'bulk' : 'interactive',
      onRequest: () => {
        requests++;
      },
    });
    const comparable = files.filter(
      (file) => options.folders.find(file) !== null && file.realPath !== undefined && file.sizeBytes !== undefined,
    );
    const byFolder = groupBy(comparable, (file) => options.folders.find(file) ?? '');
    const comparison = new FolderComparison(context, api, options, receipts);
    let refusal: CodedError | undefined;
    for (const [folder, inFolder] of byFolder)
      await comparison.compare(folder, inFolder).catch((thrown) => {
        const error = asCodedError(thrown);
        if (!isListRefused(error) || options.ignoresExisting) throw thrown;
        refusal ??= error;
      });
    const { found, sameName } = comparison;
    if (refusal)
      terminal.warn(
        `files that this machine has not uploaded are not compared with the folder: ${refusal.explanation.reason ?? refusal.message}`,
      );
    if (sameName.length > 0) terminal.warn(formatSameName(sameName));
    const adopted = [...found.values()].flatMap(({ kind, receipt }) => (kind === 'exists' ? [] : [receipt]));
    return { found, requests, adopted };
  };
}

/** Returns true if the service, or the workspace, does not allow to list the folder. */
const isListRefused = ({ kind }: CodedError) => ['usage', 'forbidden', 'rejected', 'notFound'].includes(kind);

function formatSameName(files: readonly UploadFile[]): string {
  const names = files.slice(0, maxNamesInWarning).map(({ path }) => escapeControls(path));
  const others = files.length > names.length ? ', …' : '';
  const have = files.length === 1 ? 'file has' : 'files have';
  return `${files.length} ${have} the name of another asset in the folder, and will be uploaded beside it: ${names.join(', ')}${others}; --ignore-existing skips such files`;
}

/**
 * Compares files with the assets of their folder that this machine did not upload:
 *
 * - same checksum, shown by the service or in a receipt of `check --download` (assumption A28): the file is already uploaded
 * - same name and size, without a checksum to compare: `same_name_and_size`
 * - same name alone, or incomplete: collected in `sameName`; `exists` if it is complete and those are skipped
 */
class FolderComparison {
  readonly found = new Map<UploadFile, FoundUpload>();
  readonly sameName: UploadFile[] = [];
  readonly #context: Context;
  readonly #api: Api;
  readonly #options: CompareOptions;
  readonly #receipts: Receipts | undefined;
  readonly #service: string;
  /** Records that this run has fetched, by uid. */
  readonly #records = new Map<string, AssetRecord>();
  /** Uids of assets that are already the match of a file. */
  readonly #matched = new Set<string>();
  #tree: WorkspaceFolderTree | undefined;
  /** True once it was found out that the service lists only what is directly in a folder. */
  #isFlat = false;

  constructor(context: Context, api: Api, options: CompareOptions, receipts: Receipts | undefined) {
    this.#context = context;
    this.#api = api;
    this.#options = options;
    this.#receipts = receipts;
    this.#service = api.transport.baseUrl.origin;
  }

  /** @param folder uid, or empty for the top level */
  async compare(folder: string, files: readonly UploadFile[]): Promise<void> {
    const byName = groupBy(await this.#list(folder, files), ({ name }) => normalizeName(name));
    for (const file of files) {
      this.#context.signal.throwIfAborted();
      const named = [...this.#namesOf(file)].flatMap((name) => byName.get(name) ?? []).slice(0, maxNamesakes);
      const match = await this.#match(file, folder, named);
      if (match === 'same name') this.sameName.push(file);
      else if (match) this.found.set(file, match);
    }
  }

  #namesOf(file: UploadFile): Set<string> {
    return possibleNames({ filename: fileNameOf(file), asset_name: file.about?.name ?? this.#options.name });
  }

  async #match(file: UploadFile, folder: string, named: readonly ListedAsset[]) {
    let digest: Promise<string | undefined> | undefined;
    const localDigest = () => {
      // An unreadable file fails later, when it is uploaded.
      digest ??= digestAndClose(this.#options.open(file.path, file.realPath)).catch(() => undefined);
      return digest;
    };
    let [hasNamesake, hasComplete] = [false, undefined as ListedAsset | undefined];
    for (const asset of named) {
      const known = await this.#receipts?.findAsset(asset.uid);
      if (known?.isOwn || this.#matched.has(asset.uid)) continue;
      // Another file, whose content was not compared either, might be this asset.
      const others = known?.uncomparedPaths.filter((path) => path !== file.realPath) ?? [];
      const isTaken = (await Promise.all(others.map(pathExists))).includes(true);
      const found = isTaken
        ? 'same name'
        : await this.#compareWith({ file, folder, localDigest }, asset, known?.blake3);
      hasNamesake ||= found !== undefined;
      if (found === 'same name') hasComplete = asset;
      if (typeof found !== 'object') continue;
      this.#matched.add(asset.uid);
      return found;
    }
    if (hasComplete && this.#options.ignoresExisting)
      return { kind: 'exists' as const, receipt: this.#receiptOf(file, folder, hasComplete) };
    return hasNamesake ? 'same name' : undefined;
  }

  /** @returns undefined if the asset is another one, or no longer exists; `incomplete` if it may lack bytes */
  async #compareWith(
    { file, folder, localDigest }: { file: UploadFile; folder: string; localDigest: () => Promise<string | undefined> },
    listed: ListedAsset,
    knownDigest: string | undefined,
  ) {
    const asset = await this.#fetch(listed.uid);
    if (!asset || !this.#isNamedLike(asset, file)) return undefined;
    const parent = parentOf(asset);
    if (parent !== undefined && !isSameUid(parent ?? '', folder)) return undefined;
    const { status } = asset;
    if (isAwaitingUpload(status) || classifyStatus(status) === 'failed') return 'incomplete';
    const shownDigest = digestIn(asset);
    const digest = shownDigest ?? knownDigest;
    const size = asNumber(asset.size);
    if (digest !== undefined && (size === undefined || size === file.sizeBytes)) {
      const blake3 = await localDigest();
      this.#context.signal.throwIfAborted();
      if (blake3 !== digest) return 'same name';
      const verified = shownDigest === undefined ? null : true;
      return { kind: 'skipped' as const, receipt: this.#receiptOf(file, folder, listed, { blake3, verified }) };
    }
    if (size !== file.sizeBytes) return 'same name';
    if (!isStored(status)) return 'incomplete';
    return { kind: 'same_name_and_size' as const, receipt: this.#receiptOf(file, folder, listed) };
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
    else if (!this.#options.isDryRun) await this.#receipts?.forgetAsset(uid);
    return asset;
  }

  #receiptOf(
    { realPath = '', sizeBytes = 0, mtimeNs = '0', ctimeNs }: UploadFile,
    folder: string,
    { uid: assetUid, name }: ListedAsset,
    { blake3 = null, verified = null }: Partial<Pick<Receipt, 'blake3' | 'verified'>> = {},
  ): Receipt {
    const isReady = classifyStatus(this.#records.get(assetUid)?.status) === 'ready';
    return {
      ...{ service: this.#service, workspace: this.#options.workspace, folder, realPath, sizeBytes, mtimeNs },
      ctimeNs: ctimeNs ?? null,
      ...{ blake3, verified, assetUid, sessionUid: '', name, state: isReady ? 'ready' : 'unchecked', reason: null },
      at: new Date(this.#context.clock.now()).toISOString(),
    };
  }

  /**
   * Lists the assets of a folder that might have the name of a file. The first time, reads all pages, or searches for
   * each name if that takes fewer requests. Later, reads only what was created since.
   */
  async #list(folder: string, files: readonly UploadFile[]): Promise<ListedAsset[]> {
    const key = { service: this.#service, workspace: this.#options.workspace, folder };
    const parent = folder || 'root';
    const cached = await this.#receipts?.findListing(key);
    const searched = !cached && files.length === 1 ? await this.#search(parent, files) : undefined;
    if (searched) return searched;
    const listed: AssetRecord[] = [];
    let pages = 0;
    const onTotal = (total = 0) => {
      pages = Math.ceil(total / maxPageSize);
      if (pages > maxPagesWithoutNotice && (cached || pages <= files.length + 1))
        this.#context.terminal.info(`comparing the files with ${total} assets in their folder`);
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
    const since = sinceDay(listed, this.#context.clock.now()) ?? cached?.since;
    if (since !== undefined && !this.#options.isDryRun) await this.#receipts?.saveListing(key, { since, assets });
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
    const name = [...this.#namesOf(file)].reverse().find((each) => searchFor(each).search !== undefined) ?? '';
    // The service might have stored accents in their other form.
    return [...new Set([name, name.normalize('NFD')])].map(searchFor).filter(({ search }) => search !== undefined);
  }

  /**
   * Keeps the records of listed assets.
   *
   * @throws CodedError `filter_ignored` (exit 6) if the service lists assets of other folders too
   */
  async #checked(parent: string, assets: readonly AssetRecord[]): Promise<ListedAsset[]> {
    if (assets.length > 0 && !this.#isFlat) {
      const { assertFiltersApplied, assertFolderIsFlat } = await import('../../../client/library/filter-checks.ts');
      const showsFolders = assets.every((asset) => parentOf(asset) !== undefined);
      if (!showsFolders) this.#tree ??= (await fetchFolderTree(this.#context)).tree;
      const below = this.#tree?.childrenOf(parent) ?? [];
      await assertFiltersApplied(this.#api.assets, { parent }, assets);
      await assertFolderIsFlat(this.#api.assets, { parent, findBelow: async () => below }, assets);
      this.#isFlat = below.length > 0;
    }
    for (const asset of assets) this.#records.set(asset.uid, asset);
    return assets.map(toListedAsset);
  }
}

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

/** Returns the BLAKE3 checksum that a record shows (assumption A28). */
const digestIn = (asset: AssetRecord): string | undefined =>
  Object.entries(asset).flatMap(([field, value]) =>
    /blake3/i.test(field) ? (parseDigest(asText(value)) ?? []) : [],
  )[0];

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
