import { mayLackBytes } from '../../../contract/assumptions.ts';
import { possibleNames } from '../../../contract/tus.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { asNumber, asText, normalizeName, parseTimestamp } from '../../../shared/json-values.ts';
import type { Api } from '../../api/api.ts';
import { asCodedError } from '../../errors.ts';
import type { Receipts } from '../store/receipts.ts';
import { assetOf, type Orphan } from '../store/upload-entry.ts';
import type { ListableUploadStore } from '../store/upload-store.ts';
import type { SessionPorts } from './session-ports.ts';

/** Tolerated difference between the clocks of this machine and the service. */
const clockSkewMs = 5 * 60_000;
/** Number of newest assets that are scanned whatever their creation time, since a clock might be wrong. */
const minScannedAssets = 300;
/** Maximum number of assets to scan, even if all of them are newer than the creation request. */
const maxScannedAssets = 5_000;

/**
 * Returns the creations whose response was lost, and whose assets have not been searched.
 *
 * @param workspaces uids of their workspaces; undefined for any
 */
export const listLostCreations = async (receipts: Receipts, service: string, workspaces?: readonly string[]) =>
  (await receipts.orphans(service)).filter(
    ({ assetUid, workspace }) => assetUid === null && workspaces?.includes(workspace) !== false,
  );

/**
 * Finds the empty assets that lost creations, whose response never arrived, might have made: among the newest assets,
 * those with the upload's name and no bytes yet that belong to no other upload from this machine. Records them for
 * `uploads cleanup`, in place of the creations, except those for which there are too many newer assets to scan all.
 * Full-text search is not used because it misses names without letters.
 */
export async function findEmptyAssets(
  { api, store, receipts }: { api: Api; store: { list: ListableUploadStore['list'] }; receipts: Receipts },
  workspaces?: readonly string[],
): Promise<Orphan[]> {
  const service = api.transport.baseUrl.origin;
  const creations = await listLostCreations(receipts, service, workspaces);
  if (creations.length === 0) return [];
  const sentAfter = ({ at }: Orphan) => Date.parse(at) - clockSkewMs;
  const { assets, scannedBackTo } = await scanNewestAssets(api, Math.min(...creations.map(sentAfter)));
  // Read after the scan, so that the assets of other processes that were created meanwhile are known.
  const known = new Set([
    ...(await store.list()).map(assetOf),
    ...(await receipts.orphans(service)).map(({ assetUid }) => assetUid),
  ]);
  const found: Orphan[] = [];
  for (const asset of assets) {
    const creation = creations.find((each) => isFrom(each, asset));
    if (!creation || known.has(asset.uid) || (await receipts.hasAsset(asset.uid))) continue;
    found.push({ ...creation, assetUid: asset.uid, isGuessed: true });
  }
  for (const orphan of found) await receipts.saveOrphan(service, orphan);
  for (const creation of creations)
    if (sentAfter(creation) >= scannedBackTo) await receipts.forgetOrphan(service, creation);
  return found;
}

/**
 * Finds the empty assets of creations whose response was lost, in this run or in a killed one, and warns of each.
 *
 * @param isOver returns true if the run has ended early, so that nothing is requested any more
 */
export async function nameEmptyAssets(
  { api, store, receipts, onEvent }: SessionPorts & { store: ListableUploadStore; receipts: Receipts },
  workspace: string,
  isOver: () => boolean,
): Promise<void> {
  const workspaces = [workspace];
  const listLost = () => listLostCreations(receipts, api.transport.baseUrl.origin, workspaces);
  if ((await listLost()).length === 0) return;
  const notice = (path: string, message: string) =>
    onEvent({ path, event: 'warning', message, remedy: ['list_orphans'] });
  if (!isOver()) {
    const search = findEmptyAssets({ api: api.withObserver({ lane: 'bulk' }), store, receipts }, workspaces);
    const found = await search.catch((error) => {
      if (asCodedError(error).kind === 'state') throw error;
      return []; // the files themselves are uploaded; `uploads cleanup` searches again, and reports the error
    });
    for (const { path, assetUid } of found)
      notice(path, `asset ${assetUid} may be empty, because the response to its creation was lost`);
  }
  for (const { path } of await listLost())
    notice(path, 'the response to a creation was lost, and may have left an empty asset');
}

/** Returns true if a creation might have made an asset: they have the same name, and the asset has no bytes yet. */
function isFrom({ name: filename, sizeBytes }: Orphan, { name, size, status }: AssetRecord): boolean {
  // An empty file is complete at once. Some services report the bytes received so far as `size`.
  const isPossible = mayLackBytes(status) || sizeBytes === 0;
  const isOfSize = [undefined, 0, sizeBytes].includes(asNumber(size));
  return isPossible && isOfSize && possibleNames({ filename }).has(normalizeName(asText(name) ?? ''));
}

/**
 * @param since milliseconds since the epoch
 * @property scannedBackTo time from which on all assets were scanned
 */
async function scanNewestAssets(api: Api, since: number): Promise<{ assets: AssetRecord[]; scannedBackTo: number }> {
  const assets: AssetRecord[] = [];
  const timeOf = ({ created_at }: AssetRecord) => parseTimestamp(created_at);
  for await (const page of api.assets.list({ ordering: '-created_at' }, { limit: maxScannedAssets })) {
    assets.push(...page);
    const isOlder = page.every((asset) => (timeOf(asset) ?? since) < since);
    if (!isOlder || assets.length < minScannedAssets) continue;
    const times = assets.map(timeOf).filter((time) => time !== undefined);
    // A service that ignores `ordering` might return new assets after a page of old ones, so keep scanning.
    const isSorted = times.every((time, at) => at === 0 || time <= (times[at - 1] as number));
    if (isSorted && times.at(0) !== times.at(-1)) return { assets, scannedBackTo: since };
  }
  if (assets.length < maxScannedAssets) return { assets, scannedBackTo: since };
  const oldest = Math.max(since, timeOf(assets.at(-1) as AssetRecord) ?? Number.POSITIVE_INFINITY);
  return { assets, scannedBackTo: oldest };
}
