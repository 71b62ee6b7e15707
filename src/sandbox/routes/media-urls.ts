import { shownByBrowsers } from '../media/recognize/images.ts';
import type { Service } from '../service.ts';
import type { AssetRow } from '../store/assets.ts';
import { parseExtras } from '../store/extras.ts';

/** A signed address of an asset's file, and until when it is good. */
export type SignedUrl = { url: string; expires_at: string };

export function signedUrl(service: Service, { uid }: AssetRow, file: string): SignedUrl {
  const expiresAt = service.now() + service.playbackLifetimeMs;
  return {
    url: service.publicUrl() + service.signer.signPath(`/media/${uid}/${file}`, expiresAt),
    // Signatures count whole seconds.
    expires_at: new Date(Math.floor(expiresAt / 1000) * 1000).toISOString(),
  };
}

/**
 * §2 `thumbnail_url` (absolute URL), where there is a real picture: a frame, a cover, a waveform, the
 * first page, the smallest variant of an image, or an image that has none itself.
 */
export function thumbnailUrl(service: Service, asset: AssetRow): string | null {
  const { thumbnail, variants, pages } = parseExtras(asset.extras);
  const made = thumbnail ?? pages[0] ?? variants.at(-1)?.file;
  if (made !== undefined) return signedUrl(service, asset, `extras/${made}`).url;
  return showsItself(asset) ? signedUrl(service, asset, 'source').url : null;
}

const showsItself = ({ type, status, is_made_up, content_type }: AssetRow) =>
  type === 'image' &&
  status === 'ready' &&
  is_made_up === 0 &&
  shownByBrowsers.has(content_type ?? '');

/** The thumbnail for a player, which always has something to show: without a picture, one of its type. */
export const posterUrl = (service: Service, asset: AssetRow): string =>
  thumbnailUrl(service, asset) ?? signedUrl(service, asset, 'placeholder.png').url;
