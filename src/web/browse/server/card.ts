import { createHash } from 'node:crypto';
import { parentOf, slugsOf } from '../../../contract/asset.ts';
import { statusMeans } from '../../../contract/assumptions.ts';
import { httpUrl } from '../../../contract/http-url.ts';
import { numberIn, textIn, timeIn } from '../../../contract/reading.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Card } from '../protocol.ts';

/** No longer name, tag or reason is of use on a page. */
const mostWords = 2_000;

/**
 * An asset as the page has it: whatever the service sent, each field is of its type, or not there.
 *
 * @param mostText characters of the description
 */
export function cardOf(asset: Asset, baseUrl: URL, mostText: number): Card {
  const createdAt = timeIn(asset.created_at);
  const picture = thumbnailOf(asset, baseUrl);
  return {
    uid: asset.uid,
    name: said(asset.name) || asset.uid,
    description: (textIn(asset.description) ?? '').slice(0, mostText),
    type: said(asset.type) || 'generic',
    status: said(asset.status),
    means: statusMeans(asset.status),
    reason: said(asset.failure_reason ?? asset.error) || null,
    createdAt: createdAt === undefined ? null : new Date(createdAt).toISOString(),
    duration: positive(asset.duration),
    size: positive(asset.size),
    tags: slugsOf(asset)?.map(said) ?? null,
    folder: parentOf(asset),
    thumbnail: picture ? versionOf(picture) : null,
  };
}

export const thumbnailOf = (asset: Asset, baseUrl: URL) => httpUrl(asset.thumbnail_url, baseUrl);

/** A signed URL is another one each time, and of the same picture. */
const versionOf = ({ origin, pathname }: URL) =>
  createHash('sha256').update(origin).update(pathname).digest('base64url').slice(0, 10);

const said = (value: unknown) => (textIn(value) ?? '').slice(0, mostWords);

function positive(value: unknown): number | null {
  const number = numberIn(value);
  return number === undefined || number < 0 ? null : number;
}
