import { browserImageTypes } from '../media/recognize/image-types.ts';
import type { Service } from '../service.ts';
import type { AssetRow } from '../store/assets.ts';
import { parseDerivedFiles } from '../store/derived-files.ts';
import type { ResponseBody } from './response-schemas.ts';

type ListItem = ResponseBody<'listItem'>;
type Detail = ResponseBody<'detail'>;

export function toListItem(service: Service, asset: AssetRow): ListItem {
  const { uid, name, description, status, created_at, updated_at, size, parent_uid: parent } = asset;
  const { type, duration, width, height } = asset;
  const thumbnail_url = thumbnailUrl(service, asset);
  const tags: string[] = JSON.parse(asset.tags);
  const common = { uid, name, description, status, created_at, updated_at, thumbnail_url, tags, size, parent };
  switch (type) {
    case 'video':
      return { ...common, type, duration, width, height };
    case 'audio':
      return { ...common, type, duration };
    case 'image':
      return { ...common, type, duration: null, width, height };
    case 'document':
    case 'third_party':
    case 'generic':
      return { ...common, type, duration: null };
  }
}

export const toDetail = (service: Service, asset: AssetRow): Detail => ({
  ...toListItem(service, asset),
  workspace: asset.workspace_uid,
  filename: asset.filename,
  content_type: asset.content_type,
  failure_reason: asset.failure_reason,
});

/** Signed URL for one of an asset's files, and its expiry in ISO 8601. */
export type SignedUrl = { url: string; expires_at: string };

export function signedUrl(service: Service, { uid }: AssetRow, file: string): SignedUrl {
  const expiresAt = service.now() + service.playbackLifetimeMs;
  return {
    url: service.origin + service.signer.signPath(`/media/${uid}/${file}`, expiresAt),
    // Signatures have a resolution of one second.
    expires_at: new Date(Math.floor(expiresAt / 1000) * 1000).toISOString(),
  };
}

/** Returns the `thumbnail_url` (§2, absolute URL); for audio that of a placeholder. Null if there is no picture. */
export function thumbnailUrl(service: Service, asset: AssetRow): string | null {
  const { thumbnail, variants, pages } = parseDerivedFiles(asset.extras);
  const derivedFile = thumbnail ?? pages[0] ?? variants.at(-1)?.file;
  if (derivedFile !== undefined) return signedUrl(service, asset, `extras/${derivedFile}`).url;
  if (isOwnThumbnail(asset)) return signedUrl(service, asset, 'source').url;
  return asset.type === 'audio' && asset.is_made_up === 0 ? placeholderUrl(service, asset) : null;
}

const placeholderUrl = (service: Service, asset: AssetRow) => signedUrl(service, asset, 'placeholder.png').url;

const isOwnThumbnail = ({ type, status, is_made_up, content_type }: AssetRow) =>
  type === 'image' && status === 'ready' && is_made_up === 0 && browserImageTypes.has(content_type ?? '');

/** Returns the thumbnail URL for a player, or that of a placeholder for the asset type if there is no picture. */
export const posterUrl = (service: Service, asset: AssetRow): string =>
  thumbnailUrl(service, asset) ?? placeholderUrl(service, asset);
