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

/** §2 `thumbnail_url` (absolute URL): a frame of a video, the smallest variant of an image. */
export function thumbnailUrl(service: Service, asset: AssetRow): string | null {
  const { thumbnail, variants } = parseExtras(asset.extras);
  const file = thumbnail ?? variants.at(-1)?.file;
  return file === undefined ? null : signedUrl(service, asset, `extras/${file}`).url;
}
