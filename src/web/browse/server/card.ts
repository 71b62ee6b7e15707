import { createHash } from 'node:crypto';
import { parentOf, slugsOf } from '../../../contract/asset.ts';
import { classifyStatus } from '../../../contract/assumptions.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { parseHttpUrl } from '../../../shared/http-url.ts';
import { asNumber, asText, parseTimestamp } from '../../../shared/json-values.ts';
import type { Card } from '../protocol.ts';

const maxFieldChars = 2_000;

/** Converts an asset's API record to a card. Validates every field, because the service might send anything. */
export function toCard(asset: AssetRecord, baseUrl: URL, maxDescriptionChars: number): Card {
  const createdAt = parseTimestamp(asset.created_at);
  const picture = thumbnailUrlOf(asset, baseUrl);
  return {
    uid: asset.uid,
    name: clip(asset.name) || asset.uid,
    description: (asText(asset.description) ?? '').slice(0, maxDescriptionChars),
    type: clip(asset.type) || 'generic',
    status: clip(asset.status),
    means: classifyStatus(asset.status),
    reason: clip(asset.failure_reason ?? asset.error) || null,
    createdAt: createdAt === undefined ? null : new Date(createdAt).toISOString(),
    duration: nonNegativeOrNull(asset.duration),
    size: nonNegativeOrNull(asset.size),
    tags: slugsOf(asset)?.map(clip) ?? null,
    folder: parentOf(asset),
    thumbnail: picture ? thumbnailVersion(picture) : null,
  };
}

export const thumbnailUrlOf = (asset: AssetRecord, baseUrl: URL) => parseHttpUrl(asset.thumbnail_url, baseUrl);

/** Returns a cache key for the thumbnail. Ignores the query, which differs between signed URLs of the same image. */
const thumbnailVersion = ({ origin, pathname }: URL) =>
  createHash('sha256').update(origin).update(pathname).digest('base64url').slice(0, 10);

const clip = (value: unknown) => (asText(value) ?? '').slice(0, maxFieldChars);

function nonNegativeOrNull(value: unknown): number | null {
  const number = asNumber(value);
  return number === undefined || number < 0 ? null : number;
}
