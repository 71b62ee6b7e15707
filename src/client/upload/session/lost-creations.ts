import { classifyStatus } from '../../../contract/assumptions.ts';
import { asNumber, asText, normalizeName, parseTimestamp } from '../../../contract/json-values.ts';
import { possibleNames } from '../../../contract/tus.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Api } from '../../api/api.ts';
import type { Orphan, Receipts } from '../store/receipts.ts';
import { assetOf } from '../store/upload-entry.ts';
import type { ListableUploadStore } from '../store/upload-store.ts';

/** Tolerated difference between the clocks of this machine and the service. */
const clockSkewMs = 5 * 60_000;
/** Number of newest assets that are scanned whatever their creation time, since a clock might be wrong. */
const minScannedAssets = 300;
/** Maximum number of assets to scan, even if all of them are newer than the creation request. */
const maxScannedAssets = 5_000;

/** Returns the creations whose response was lost, and whose assets have not been searched. */
export const listLostCreations = async (receipts: Receipts, service: string) =>
  (await receipts.orphans(service)).filter(({ assetUid }) => assetUid === null);

/**
 * Finds the empty assets that lost creations, whose response never arrived, might have made: among the newest assets,
 * those with the upload's name and no bytes yet that belong to no other upload from this machine. Records them for
 * `uploads gc`, in place of the creations, unless there are too many newer assets to scan all.
 * Full-text search is not used because it misses names without letters.
 */
export async function findEmptyAssets({
  api,
  store,
  receipts,
}: {
  api: Api;
  store: Pick<ListableUploadStore, 'list'>;
  receipts: Receipts;
}): Promise<Orphan[]> {
  const service = api.transport.baseUrl.origin;
  const creations = await listLostCreations(receipts, service);
  if (creations.length === 0) return [];
  const started = new Set((await store.list()).map(assetOf));
  const since = Math.min(...creations.map(({ at }) => Date.parse(at))) - clockSkewMs;
  const { assets, isComplete } = await scanNewestAssets(api, since);
  const unknown: Asset[] = [];
  for (const asset of assets) if (!started.has(asset.uid) && !(await receipts.hasAsset(asset.uid))) unknown.push(asset);
  const found = unknown.flatMap((asset) => {
    const creation = creations.find((each) => isFrom(each, asset));
    return creation ? { ...creation, assetUid: asset.uid, isGuessed: true } : [];
  });
  for (const orphan of found) await receipts.saveOrphan(service, orphan);
  if (isComplete) for (const creation of creations) await receipts.forgetOrphan(service, creation);
  return found;
}

/** Returns true if a creation might have made an asset: they have the same name, and the asset has no bytes yet. */
function isFrom({ name: filename, sizeBytes }: Orphan, { name, size, status }: Asset): boolean {
  // An empty file is complete at once. Some services report the bytes received so far as `size`.
  const isPossible = classifyStatus(status) === 'in progress' || sizeBytes === 0;
  const isOfSize = [undefined, 0, sizeBytes].includes(asNumber(size));
  return isPossible && isOfSize && possibleNames({ filename }).has(normalizeName(asText(name) ?? ''));
}

/** @param since milliseconds since the epoch */
async function scanNewestAssets(api: Api, since: number): Promise<{ assets: Asset[]; isComplete: boolean }> {
  const assets: Asset[] = [];
  const timeOf = ({ created_at }: Asset) => parseTimestamp(created_at);
  for await (const page of api.assets.list({ ordering: '-created_at' }, { limit: maxScannedAssets })) {
    assets.push(...page);
    const isOlder = page.every((asset) => (timeOf(asset) ?? since) < since);
    if (!isOlder || assets.length < minScannedAssets) continue;
    const times = assets.map(timeOf).filter((time) => time !== undefined);
    // A service that ignores `ordering` might return new assets after a page of old ones, so keep scanning.
    const isSorted = times.every((time, at) => at === 0 || time <= (times[at - 1] as number));
    if (isSorted && times.at(0) !== times.at(-1)) return { assets, isComplete: true };
  }
  return { assets, isComplete: assets.length < maxScannedAssets };
}
