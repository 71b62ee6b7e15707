import type { Collection } from '../../contract/paths.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { isSameUid, normalizeUid } from '../../contract/uid.ts';
import { asText } from '../../shared/json-values.ts';
import { maxPageSize } from '../api/pagination.ts';
import { CodedError, ignoreNotFound } from '../errors.ts';
import type { FolderNode } from '../library/folder-tree.ts';
import type { Library } from '../library/library.ts';
import { type ItemResult, runEach, sampleOf } from '../run-each.ts';
import type { StoredItem } from './change-item.ts';
import { findRemainingFolders } from './folder-writes.ts';
import type { FolderAccess } from './present-values.ts';

/** Result of the write of an item: the asset or folder afterwards, and fields that the service does not show. */
export type Written = {
  asset?: AssetRecord | undefined;
  folder?: FolderNode | undefined;
  unverifiable?: readonly string[];
  /** True if the library has shown that a deleted asset is gone. */
  isReadBack?: boolean;
};

export type WriteResult = ItemResult<StoredItem, Written>;

type ReadBackDeps = { library: Library; folders: FolderAccess; collection?: Collection | undefined };

/** Number of requests by which deletions of assets are read back: one for each, of many a sample. */
const maxReads = 20;

/** Times after which a service that shows a change late is asked again, in ms after the time before. */
const patienceMs = [1_000, 2_000];

/**
 * Reads back what no response of a write proves: that deleted folders and assets are gone, and that moved assets are listed
 * in their folder, where records do not show it.
 *
 * @returns the results, with the error `write_ignored` (exit 6) for what the library still shows as it was
 */
export async function readBack(deps: ReadBackDeps, results: readonly WriteResult[]): Promise<WriteResult[]> {
  const written = await readMoves(deps, await readDeletedFolders(deps, results));
  return readDeletions(deps, written);
}

const isDeletion = (kind: StoredItem['kind'], { item, error }: WriteResult) =>
  item.kind === kind && item.after === null && !error;

const failed = (result: WriteResult, error: CodedError): WriteResult => ({
  ...result,
  value: undefined,
  error: error.with({ wasAccepted: true }),
});

/** Verifies in the folder tree that deleted folders are gone, because no response shows it (assumption A04). */
async function readDeletedFolders(
  { library: { api }, folders }: ReadBackDeps,
  results: readonly WriteResult[],
): Promise<WriteResult[]> {
  const uids = results.filter((result) => isDeletion('folder', result)).map(({ item }) => item.uid);
  if (uids.length === 0) return [...results];
  const remaining = await findRemainingFolders(api, await folders.workspace(), uids);
  return results.map((result) => {
    const error = isDeletion('folder', result) ? remaining.get(result.item.uid) : undefined;
    return error ? { ...result, value: undefined, error } : result;
  });
}

/** Looks for moved assets in the list of their folder, if their records do not show it. One that lists late is asked again. */
async function readMoves({ library }: ReadBackDeps, results: readonly WriteResult[]): Promise<WriteResult[]> {
  const { assets, transport } = library.api;
  const folderField = ({ value }: WriteResult) =>
    value?.unverifiable?.find((field) => assets.folderIn({ [field]: null }) === null);
  const targetOf = ({ item }: WriteResult) => assets.folderIn(item.after ?? {}) ?? 'root';
  const left = new Set(results.filter((result) => !result.error && folderField(result) !== undefined));
  const unlistable = new Set<string>();
  for (const delayMs of [0, ...patienceMs]) {
    if (left.size === 0) break;
    if (delayMs > 0) await transport.sleep(delayMs);
    for (const folder of new Set([...left].map(targetOf))) {
      const moved = [...left].filter((result) => targetOf(result) === folder);
      const uids = moved.map(({ item }) => item.uid);
      const listed = await library.folderReader.findListed(folder, uids);
      if (!listed) unlistable.add(folder);
      for (const result of moved) if (!listed || listed.has(normalizeUid(result.item.uid))) left.delete(result);
    }
  }
  return results.map((result) => {
    const field = result.error ? undefined : folderField(result);
    if (field === undefined || unlistable.has(targetOf(result))) return result;
    const unverifiable = result.value?.unverifiable?.filter((each) => each !== field) ?? [];
    return left.has(result)
      ? failed(result, notMoved(result.item))
      : { ...result, value: { ...result.value, unverifiable } };
  });
}

const notMoved = ({ name, uid }: StoredItem) =>
  new CodedError(`the service did not move ${name ?? uid}`, {
    code: 'write_ignored',
    reason: 'it accepted the request, but does not list the asset in the new folder',
    remedy: ['set_field_names', 'asset_parent'],
  });

/**
 * Reads deleted assets back: each, or of many a sample. If one of the sample is still there, all are read. Does not wait
 * for the rate limit, and leaves out what the key may not read.
 */
async function readDeletions(deps: ReadBackDeps, results: readonly WriteResult[]): Promise<WriteResult[]> {
  const deleted = results.filter((result) => isDeletion('asset', result) && !result.value?.isReadBack);
  const sample = sampleOf(deleted, maxReads);
  const reader = new DeletionReader(deps);
  await reader.read(sample, maxReads);
  if (reader.remaining.size > 0)
    await reader.read(
      deleted.filter((result) => !sample.includes(result)),
      Number.POSITIVE_INFINITY,
    );
  return results.map((result) => {
    if (reader.remaining.has(result)) return failed(result, notDeleted(result.item));
    return reader.gone.has(result) ? { ...result, value: { ...result.value, isReadBack: true } } : result;
  });
}

const notDeleted = ({ name, uid }: StoredItem) =>
  new CodedError(`the service did not move ${name ?? uid} to the trash`, {
    code: 'write_ignored',
    reason: 'it accepted the request, but still lists the asset',
    remedy: ['show_asset', uid, 'to see it'],
    details: { uid },
  });

/**
 * Finds out which deleted assets are gone. A 404 or 410 proves it. The specification does not say what a GET of an asset in
 * the trash answers (assumption A31), so after another answer only an asset that is still listed is still there.
 */
class DeletionReader {
  readonly gone = new Set<WriteResult>();
  readonly remaining = new Set<WriteResult>();
  readonly #deps: ReadBackDeps;
  /** True once a GET has shown an asset that is deleted, or may be. */
  #mustList = false;

  constructor(deps: ReadBackDeps) {
    this.#deps = deps;
  }

  /** @param maxRequests maximum number of requests; what they do not reach is not read back */
  async read(results: readonly WriteResult[], maxRequests: number): Promise<void> {
    const { library } = this.#deps;
    const { rateLimit } = library.api.transport.connection;
    let left = Math.min(maxRequests, rateLimit?.remaining ?? maxRequests);
    const listed = new Map<WriteResult, string>();
    const readOne = async (result: WriteResult) => {
      if (!this.#mustList && left-- > 0) {
        const name = await this.#get(result.item);
        if (name === undefined) {
          this.gone.add(result);
          return;
        }
        this.#mustList = true;
        listed.set(result, name);
      }
      if (this.#mustList && left-- > 0 && (await this.#isListed(result.item, listed.get(result))))
        this.remaining.add(result);
      else if (this.#mustList && left >= 0) this.gone.add(result);
    };
    const [first, ...others] = results;
    // The first tells the others whether a GET proves anything.
    if (first) await runEach([first], readOne, library);
    await runEach(others, readOne, library);
    for (const delayMs of patienceMs) {
      if (this.remaining.size === 0) return;
      await library.api.transport.sleep(delayMs);
      const check = async (result: WriteResult) => {
        if (await this.#isListed(result.item, listed.get(result))) return;
        this.remaining.delete(result);
        this.gone.add(result);
      };
      await runEach([...this.remaining], check, library);
    }
  }

  /** Returns the name of an asset that the service still shows; undefined if it is gone. */
  async #get({ uid, name }: StoredItem): Promise<string | undefined> {
    const { library, collection = 'assets' } = this.#deps;
    const asset = await library.api[collection].get(uid).catch(ignoreNotFound);
    return asset && (asText(asset.name) ?? name ?? '');
  }

  /** Returns true if a search for the name of an asset, or the newest assets, list it. */
  async #isListed({ uid, name }: StoredItem, shownName = name ?? ''): Promise<boolean> {
    const { library, collection = 'assets' } = this.#deps;
    for await (const page of library.api[collection].listNamed(shownName, {}, { limit: maxPageSize }))
      if (page.some((asset) => isSameUid(asset.uid, uid))) return true;
    return false;
  }
}
