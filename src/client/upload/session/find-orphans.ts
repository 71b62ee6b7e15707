import { classifyStatus } from '../../../contract/assumptions.ts';
import { asNumber, asObject, asText, normalizeName, parseTimestamp } from '../../../contract/json-values.ts';
import { possibleNames } from '../../../contract/tus.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Api } from '../../api/api.ts';
import { MediactlError } from '../../errors.ts';
import { isGone } from '../../http/error-response.ts';
import { assetOf } from '../store/upload-entry.ts';
import type { OrphanCandidates, UnconfirmedCreation, UploadDeps } from './upload-job.ts';
import type { UploadRun } from './upload-run.ts';

/** Tolerated difference between the clocks of this machine and the service. */
const clockSkewMs = 5 * 60_000;
/** Number of newest assets that are scanned whatever their creation time, since a clock might be wrong. */
const minScannedAssets = 300;
/** Maximum number of assets to scan, even if all of them are newer than the creation request. */
const maxScannedAssets = 5_000;

/**
 * Asks the user to confirm a new asset, unless certainly no earlier creation made one.
 *
 * @throws MediactlError `creation_unknown` (exit 2) if there is no terminal; `declined`; any error of `findOrphans`
 */
export async function confirmPossibleDuplicate(run: UploadRun, creation: UnconfirmedCreation): Promise<void> {
  const { deps } = run;
  const found = await (deps.findOrphans?.(creation) ?? scanForOrphans(deps, [creation]).then((find) => find(creation)));
  if (found.assets.length === 0 && found.isComplete) return;
  const assetUids = found.assets.map(({ uid }) => uid);
  await deps.confirmNewAsset(creationUnknown(run.label, found, run.id), assetUids);
  for (const uid of assetUids) await run.recordOrphan(uid, true);
  if (found.assets.length > 0) run.notice(`existing assets kept: ${assetUids.join(', ')}`);
}

/**
 * Scans the newest assets, and returns a function that finds the orphans of a creation among them, i.e. the assets
 * that it might have made. They have the upload's name and no bytes yet (unless `mayBeWhole`), and belong to no other
 * upload from this machine. Full-text search is not used because it misses names without letters.
 */
export async function scanForOrphans(
  { api, store, receipts }: Pick<UploadDeps, 'api' | 'store' | 'receipts'>,
  creations: readonly Pick<UnconfirmedCreation, 'begunAt'>[],
): Promise<NonNullable<UploadDeps['findOrphans']>> {
  const entries = await store.list();
  const started = new Set(entries.map(assetOf));
  const firstSentAt = Math.min(...creations.map(({ begunAt = '' }) => Date.parse(begunAt)));
  const since = Number.isNaN(firstSentAt) ? undefined : firstSentAt - clockSkewMs;
  const { assets, isComplete } = await scanNewestAssets(api, since);
  const unknown: Asset[] = [];
  for (const asset of assets)
    if (!started.has(asset.uid) && !(await receipts?.hasAsset(asset.uid))) unknown.push(asset);
  return async ({ metadata, sizeBytes, assetUid, mayBeWhole }) => {
    const names = possibleNames(metadata);
    const found = unknown.filter(({ name, size, status }) => {
      // An empty file is complete at once. Some services report the bytes received so far as `size`.
      const isPossible = mayBeWhole || classifyStatus(status) === 'in progress' || sizeBytes === 0;
      const isOfSize = [undefined, 0, sizeBytes].includes(asNumber(size));
      return isPossible && isOfSize && names.has(normalizeName(asText(name) ?? ''));
    });
    const get = (uid: string) =>
      api.assets.get(uid).catch((error) => {
        if (!isGone(error)) throw error;
      });
    const named = assetUid === undefined ? undefined : await get(assetUid);
    if (named) found.unshift(named);
    return { assets: [...new Map(found.map((asset) => [asset.uid, asset])).values()], isComplete };
  };
}

/** @param since milliseconds since the epoch; undefined for a fixed number of assets */
async function scanNewestAssets(api: Api, since: number | undefined): Promise<OrphanCandidates> {
  const limit = since === undefined ? minScannedAssets : maxScannedAssets;
  const assets: Asset[] = [];
  const timeOf = ({ created_at }: Asset) => parseTimestamp(created_at);
  for await (const page of api.assets.list({ ordering: '-created_at' }, { limit })) {
    assets.push(...page);
    const isOlder = since !== undefined && page.every((asset) => (timeOf(asset) ?? since) < since);
    if (!isOlder || assets.length < minScannedAssets) continue;
    const times = assets.map(timeOf).filter((time) => time !== undefined);
    // A service that ignores `ordering` might return new assets after a page of old ones, so keep scanning.
    const isSorted = times.every((time, at) => at === 0 || time <= (times[at - 1] as number));
    if (isSorted && times.at(0) !== times.at(-1)) return { assets, isComplete: true };
  }
  return { assets, isComplete: since === undefined || assets.length < limit };
}

function creationUnknown(path: string, { assets, isComplete }: OrphanCandidates, id: string): MediactlError {
  const uids = assets.map(({ uid }) => uid);
  const found = uids.length > 0 ? `; found: ${uids.join(', ')}` : '';
  const rest = isComplete ? '' : '; too many newer assets to search all of them';
  const mayBeWhole = assets.some(({ status }) => classifyStatus(status) !== 'in progress');
  return new MediactlError(`an earlier attempt to upload ${path} may have created an asset`, {
    code: 'creation_unknown',
    reason: `the response to its creation was lost${found}${rest}`,
    hint: `use --yes to create a new asset and keep those that were found, or run mediactl uploads forget ${id}`,
    details: { asset_uids: uids, is_all: isComplete, may_be_whole: mayBeWhole },
  });
}

/** Returns true if the search was complete and found only empty assets, so that creating a new asset is safe. */
export function isNewAssetSafe({ explanation: { code, details } }: MediactlError): boolean {
  const { is_all: isAll, may_be_whole: mayBeWhole } = asObject(details);
  return code === 'creation_unknown' && isAll === true && mayBeWhole === false;
}
