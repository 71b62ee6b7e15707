import { statusMeans } from '../../../contract/assumptions.ts';
import { comparableName, numberIn, textIn, timeIn } from '../../../contract/reading.ts';
import type { UploadMetadata } from '../../../contract/tus.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Api } from '../../api/api.ts';
import { exitCodes, MediactlError } from '../../errors.ts';
import type { UploadJournal } from '../store/journal.ts';
import { assetOf, isCorrupt } from '../store/journal-entry.ts';
import type { FoundAssets, LostCreation } from './lost.ts';
import { isSessionGone } from './session-gone.ts';
import type { UploadRun } from './upload-run.ts';

/** Clocks of this machine and the service may differ. */
const clockSkewMs = 5 * 60_000;
/** So many of the newest assets are looked at whatever they say of when they were made: a clock may be wrong. */
const fewAssets = 300;
/** So many at most, where they were all made since. */
const manyAssets = 5_000;

/**
 * Looks for what a creation may have made whose answer was lost, and asks whether a new asset may be
 * made all the same.
 *
 * @throws MediactlError `creation_unknown` (2) where nobody can be asked, `declined`
 * @throws Deferred
 */
export async function confirmAfterLostCreation(run: UploadRun, lost: LostCreation): Promise<void> {
  const { confirmNewAsset, findLost } = run.tools;
  const found = await findLost(lost);
  if (found.assets.length === 0 && found.isAll) return;
  const assetUids = found.assets.map(({ uid }) => uid);
  await confirmNewAsset(creationUnknown(run.label, found, run.id), assetUids);
  for (const uid of assetUids) await run.leaveBehind(uid, true);
  if (found.assets.length > 0) run.notice(`left alone: ${assetUids.join(', ')}`);
}

/**
 * What creations whose answers were lost may have made: among the newest assets, those of their names,
 * still without their bytes, and not those of other uploads of this machine. One look for all of
 * them. Full-text search would miss names without letters. The caller says what was found and asks.
 *
 * @param isKnown whether an asset is one that this machine has sent
 */
export async function findLost(
  api: Api,
  journal: Pick<UploadJournal, 'list'>,
  isKnown: (assetUid: string) => boolean,
  losts: readonly LostCreation[],
): Promise<Map<LostCreation, FoundAssets>> {
  const others = await journal.list();
  const underWay = new Set(others.map((other) => !isCorrupt(other) && assetOf(other)));
  const found = new Map(losts.map((lost) => [lost, new Map<string, Asset>()]));
  const byName = new Map<string, LostCreation[]>();
  for (const lost of losts) {
    for (const name of namesOf(lost.metadata))
      byName.set(name, [...(byName.get(name) ?? []), lost]);
    const named = lost.assetUid === undefined ? undefined : await there(api, lost.assetUid);
    if (named) found.get(lost)?.set(named.uid, named);
  }
  const take = (asset: Asset) => {
    if (underWay.has(asset.uid) || isKnown(asset.uid)) return;
    const isInProgress = statusMeans(asset.status) === 'in progress';
    const size = numberIn(asset.size);
    // Some services give the bytes that came as the size. An empty file is whole at once.
    for (const lost of byName.get(comparableName(textIn(asset.name) ?? '')) ?? [])
      if ((isInProgress || lost.sizeBytes === 0) && [undefined, 0, lost.sizeBytes].includes(size))
        found.get(lost)?.set(asset.uid, asset);
  };
  const isAll = await newestSeen(api, sinceOf(losts), take);
  return new Map(
    [...found].map(([lost, assets]) => [lost, { assets: [...assets.values()], isAll }]),
  );
}

/** Milliseconds since the epoch before which none of them was sent; undefined where one does not tell. */
function sinceOf(losts: readonly LostCreation[]): number | undefined {
  const times = losts.map(({ begunAt }) =>
    begunAt === undefined ? Number.NaN : Date.parse(begunAt),
  );
  const first = Math.min(...times);
  return Number.isNaN(first) ? undefined : first - clockSkewMs;
}

/** Hands on the newest assets. @returns whether all since then were among them */
async function newestSeen(
  api: Api,
  since: number | undefined,
  take: (asset: Asset) => void,
): Promise<boolean> {
  const most = since === undefined ? fewAssets : manyAssets;
  let count = 0;
  let newestFirst = true;
  let newest: number | undefined;
  let oldest: number | undefined;
  for await (const page of api.assets.list({ ordering: '-created_at' }, { limit: most })) {
    count += page.length;
    for (const asset of page) take(asset);
    newestFirst &&= isFalling(page, oldest);
    newest ??= timeIn(page[0]?.created_at);
    oldest = timeIn(page.at(-1)?.created_at) ?? oldest;
    const isPast =
      since !== undefined && !page.some(({ created_at }) => isSince(created_at, since));
    // A service that passes over the order lists what is new anywhere: nothing is past then.
    const isOrdered = newestFirst && (newest ?? 0) > (oldest ?? 0);
    if (isPast && isOrdered && count >= fewAssets) return true;
  }
  return since === undefined || count < most;
}

/** What an asset of this upload may be called: its name, or the file's with or without its ending. */
function namesOf({ filename, asset_name }: UploadMetadata): Set<string> {
  const names =
    asset_name === undefined ? [filename, filename.replace(/\.[^.]+$/, '')] : [asset_name];
  return new Set(names.map(comparableName));
}

/** Whether no asset was made after the one before it. */
function isFalling(page: readonly Asset[], before: number | undefined): boolean {
  const times = [before, ...page.map(({ created_at }) => timeIn(created_at))];
  return times.every((time, at) => {
    const [earlier] = times.slice(Math.max(0, at - 1), at);
    return time === undefined || earlier === undefined || time <= earlier;
  });
}

/** An asset that does not tell when it was made may have been made since. */
const isSince = (createdAt: unknown, since: number | undefined) =>
  since === undefined || (timeIn(createdAt) ?? since) >= since;

const there = (api: Api, uid: string): Promise<Asset | undefined> =>
  api.assets.get(uid).catch((error) => {
    if (isSessionGone(error)) return undefined;
    throw error;
  });

/** Said when an earlier attempt may have made an asset and nobody can be asked. */
const creationUnknown = (path: string, { assets, isAll }: FoundAssets, id: string) =>
  new MediactlError(`an earlier attempt to upload ${path} may already have made an asset`, {
    code: 'creation_unknown',
    exitCode: exitCodes.usage,
    reason: [
      'the answer to its creation was lost',
      assets.length > 0 ? `found: ${assets.map(({ uid }) => uid).join(', ')}` : undefined,
      isAll ? undefined : 'more assets were made since than can be looked through',
    ]
      .filter(Boolean)
      .join('; '),
    hint: `--yes makes a new asset and leaves what was found; mediactl uploads forget ${id} does the same for good`,
    details: {
      asset_uids: assets.map(({ uid }) => uid),
      is_all: isAll,
      may_be_whole: assets.some(({ status }) => statusMeans(status) !== 'in progress'),
    },
  });
