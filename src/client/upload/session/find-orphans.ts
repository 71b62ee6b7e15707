import { classifyStatus } from '../../../contract/assumptions.ts';
import { asNumber, asText, normalizeName, parseTimestamp } from '../../../contract/json-values.ts';
import type { UploadMetadata } from '../../../contract/tus.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Api } from '../../api/api.ts';
import { MediactlError } from '../../errors.ts';
import type { UploadJournal } from '../store/journal.ts';
import { assetOf, isCorrupt } from '../store/journal-entry.ts';
import { isGone } from './session-gone.ts';
import type { OrphanCandidates, UnconfirmedCreation } from './unconfirmed-creation.ts';
import type { UploadRun } from './upload-run.ts';

/** Tolerated difference between the clocks of this machine and the service. */
const clockSkewMs = 5 * 60_000;
/** Number of newest assets that are scanned whatever their creation time, since a clock might be wrong. */
const minScannedAssets = 300;
/** Maximum number of assets to scan, even if all of them are newer than the creation request. */
const maxScannedAssets = 5_000;

/**
 * Looks for the asset that an unconfirmed creation might have made. If one might exist, asks the user to confirm a
 * new asset, which could be a duplicate.
 *
 * @throws MediactlError `creation_unknown` (exit 2) if there is no terminal to ask on; `declined` if the user
 *   declines
 * @throws DeferredLookup in a batch, which looks up all unconfirmed creations together later
 */
export async function confirmPossibleDuplicate(run: UploadRun, creation: UnconfirmedCreation): Promise<void> {
  const { confirmNewAsset, findOrphans } = run.deps;
  const found = await findOrphans(creation);
  if (found.assets.length === 0 && found.isComplete) return;
  const assetUids = found.assets.map(({ uid }) => uid);
  await confirmNewAsset(creationUnknown(run.label, found, run.id), assetUids);
  for (const uid of assetUids) await run.recordOrphan(uid, true);
  if (found.assets.length > 0) run.notice(`left alone: ${assetUids.join(', ')}`);
}

/**
 * Finds orphans, i.e. assets that unconfirmed creations might have made. Candidates are among the newest assets,
 * have the upload's name and no bytes yet, and belong to no other upload from this machine. One scan serves all
 * creations. Full-text search is not used because it misses names without letters.
 *
 * @param isKnown returns true if this machine has uploaded the asset
 */
export async function findOrphans(
  api: Api,
  journal: Pick<UploadJournal, 'list'>,
  isKnown: (assetUid: string) => boolean,
  creations: readonly UnconfirmedCreation[],
): Promise<Map<UnconfirmedCreation, OrphanCandidates>> {
  const entries = await journal.list();
  const journaledAssets = new Set(entries.map((other) => !isCorrupt(other) && assetOf(other)));
  const found = new Map(creations.map((lost) => [lost, new Map<string, Asset>()]));
  const byName = new Map<string, UnconfirmedCreation[]>();
  for (const lost of creations) {
    for (const name of possibleNames(lost.metadata)) byName.set(name, [...(byName.get(name) ?? []), lost]);
    const named = lost.assetUid === undefined ? undefined : await findAsset(api, lost.assetUid);
    if (named) found.get(lost)?.set(named.uid, named);
  }
  const collect = (asset: Asset) => {
    if (journaledAssets.has(asset.uid) || isKnown(asset.uid)) return;
    const isInProgress = classifyStatus(asset.status) === 'in progress';
    const size = asNumber(asset.size);
    // Some services report the bytes received so far as `size`. An empty file is complete at once.
    for (const lost of byName.get(normalizeName(asText(asset.name) ?? '')) ?? [])
      if ((isInProgress || lost.sizeBytes === 0) && [undefined, 0, lost.sizeBytes].includes(size))
        found.get(lost)?.set(asset.uid, asset);
  };
  const isComplete = await scanNewestAssets(api, earliestSendTime(creations), collect);
  return new Map([...found].map(([lost, assets]) => [lost, { assets: [...assets.values()], isComplete }]));
}

/** Returns the earliest time (ms since the epoch) at which a creation was sent; undefined if one has no time. */
function earliestSendTime(creations: readonly UnconfirmedCreation[]): number | undefined {
  const times = creations.map(({ begunAt }) => (begunAt === undefined ? Number.NaN : Date.parse(begunAt)));
  const first = Math.min(...times);
  return Number.isNaN(first) ? undefined : first - clockSkewMs;
}

/**
 * Passes the newest assets to `visit`.
 *
 * @param since milliseconds since the epoch; undefined to visit a fixed number of assets
 * @returns false if too many assets were created after `since` to visit them all
 */
async function scanNewestAssets(api: Api, since: number | undefined, visit: (asset: Asset) => void): Promise<boolean> {
  const maxAssets = since === undefined ? minScannedAssets : maxScannedAssets;
  let count = 0;
  let isNewestFirst = true;
  let newest: number | undefined;
  let oldest: number | undefined;
  for await (const page of api.assets.list({ ordering: '-created_at' }, { limit: maxAssets })) {
    count += page.length;
    for (const asset of page) visit(asset);
    isNewestFirst &&= isSortedNewestFirst(page, oldest);
    newest ??= parseTimestamp(page[0]?.created_at);
    oldest = parseTimestamp(page.at(-1)?.created_at) ?? oldest;
    const isOlder = since !== undefined && !page.some(({ created_at }) => mayBeCreatedSince(created_at, since));
    // A service that ignores `ordering` might return new assets after a page of old ones, so keep scanning.
    const isOrdered = isNewestFirst && (newest ?? 0) > (oldest ?? 0);
    if (isOlder && isOrdered && count >= minScannedAssets) return true;
  }
  return since === undefined || count < maxAssets;
}

/** Returns the names that the asset might have: its given name, else the file name with or without extension. */
function possibleNames({ filename, asset_name }: UploadMetadata): Set<string> {
  const names = asset_name === undefined ? [filename, filename.replace(/\.[^.]+$/, '')] : [asset_name];
  return new Set(names.map(normalizeName));
}

/** Returns true if a page of assets, and the asset created at `before`, are in order, newest first. */
function isSortedNewestFirst(page: readonly Asset[], before: number | undefined): boolean {
  const times = [before, ...page.map(({ created_at }) => parseTimestamp(created_at))];
  return times.every((time, at) => {
    const [earlier] = times.slice(Math.max(0, at - 1), at);
    return time === undefined || earlier === undefined || time <= earlier;
  });
}

/** Returns false only if an asset has a creation time and it is earlier than `since`. */
const mayBeCreatedSince = (createdAt: unknown, since: number | undefined) =>
  since === undefined || (parseTimestamp(createdAt) ?? since) >= since;

const findAsset = (api: Api, uid: string): Promise<Asset | undefined> =>
  api.assets.get(uid).catch((error) => {
    if (isGone(error)) return undefined;
    throw error;
  });

/** Returns the error for an earlier attempt that might have made an asset, if the user cannot be asked. */
const creationUnknown = (path: string, { assets, isComplete }: OrphanCandidates, id: string) =>
  new MediactlError(`an earlier attempt to upload ${path} may already have made an asset`, {
    code: 'creation_unknown',
    reason: [
      'the answer to its creation was lost',
      assets.length > 0 ? `found: ${assets.map(({ uid }) => uid).join(', ')}` : undefined,
      isComplete ? undefined : 'more assets were made since than can be looked through',
    ]
      .filter(Boolean)
      .join('; '),
    hint: `--yes makes a new asset and leaves what was found; mediactl uploads forget ${id} does the same for good`,
    details: {
      asset_uids: assets.map(({ uid }) => uid),
      is_all: isComplete,
      may_be_whole: assets.some(({ status }) => classifyStatus(status) !== 'in progress'),
    },
  });
