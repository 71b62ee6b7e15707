import type { Api } from '../api/api.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import { statusMeans } from '../wire/assumptions.ts';
import { numberIn, textIn, timeIn } from '../wire/reading.ts';
import type { UploadMetadata } from '../wire/tus.ts';
import type { Asset } from '../wire/types.ts';
import type { Journal } from './journal.ts';
import { assetOf, isCorrupt } from './journal-entry.ts';
import { isSessionGone } from './session-gone.ts';

/** Clocks of this machine and the service may differ. */
const clockSkewMs = 5 * 60_000;
/** So many of the newest assets are looked at whatever they say of when they were made: a clock may be wrong. */
const fewAssets = 300;
/** So many at most, where they were all made since. */
const manyAssets = 5_000;

/** What is known of a creation whose answer was lost. */
export type LostCreation = {
  metadata: UploadMetadata;
  sizeBytes: number;
  /** ISO 8601: not sent before. */
  begunAt?: string | undefined;
  /** What it made, where a damaged page still tells. */
  assetUid?: string | undefined;
};

/** Assets that a lost creation may have made. `isAll` is false where there were too many to look at. */
export type Found = { assets: Asset[]; isAll: boolean };

/**
 * What a creation whose answer was lost may have made: among the newest assets, those of that name,
 * still without their bytes, and not those of other uploads under way here. Full-text search would
 * miss names without letters. The caller says what was found and asks.
 */
export async function findLost(
  api: Api,
  journal: Journal,
  { metadata, sizeBytes, begunAt, assetUid }: LostCreation,
): Promise<Found> {
  const others = await journal.list();
  const known = new Set(others.map((other) => !isCorrupt(other) && assetOf(other)));
  const since = begunAt === undefined ? undefined : Date.parse(begunAt) - clockSkewMs;
  const isMeant = ({ uid, name, status, size }: Asset) =>
    uid === assetUid ||
    (!known.has(uid) &&
      namesOf(metadata).has(comparable(textIn(name) ?? '')) &&
      statusMeans(status) === 'in progress' &&
      // Some services count the bytes that came.
      [undefined, 0, sizeBytes].includes(numberIn(size)));
  const found = new Map<string, Asset>();
  const named = assetUid === undefined ? undefined : await there(api, assetUid);
  if (named) found.set(named.uid, named);
  const most = since === undefined ? fewAssets : manyAssets;
  let count = 0;
  for await (const page of api.assets.list({ ordering: '-created_at' }, { limit: most })) {
    count += page.length;
    for (const asset of page.filter(isMeant)) found.set(asset.uid, asset);
    const isPast =
      since !== undefined && !page.some(({ created_at }) => isSince(created_at, since));
    if (isPast && count >= fewAssets) return { assets: [...found.values()], isAll: true };
  }
  return { assets: [...found.values()], isAll: since === undefined || count < most };
}

/** What an asset of this upload may be called: its name, or the file's with or without its ending. */
function namesOf({ filename, asset_name }: UploadMetadata): Set<string> {
  const names =
    asset_name === undefined ? [filename, filename.replace(/\.[^.]+$/, '')] : [asset_name];
  return new Set(names.map(comparable));
}

/** Services trim names, and may compose their accents. */
const comparable = (name: string) => name.trim().normalize('NFC');

/** An asset that does not tell when it was made may have been made since. */
const isSince = (createdAt: unknown, since: number | undefined) =>
  since === undefined || (timeIn(createdAt) ?? since) >= since;

const there = (api: Api, uid: string): Promise<Asset | undefined> =>
  api.assets.get(uid).catch((error) => {
    if (isSessionGone(error)) return undefined;
    throw error;
  });

/** Said when an earlier attempt may have made an asset and nobody can be asked. */
export const creationUnknown = (path: string, { assets, isAll }: Found, id: string) =>
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
    details: { asset_uids: assets.map(({ uid }) => uid) },
  });
