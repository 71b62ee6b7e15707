import type { AssetRecord, PlaybackInfo } from '../../../contract/types.ts';
import { systemClock } from '../../../shared/clock.ts';
import { asObject, parseTimestamp } from '../../../shared/json-values.ts';
import { detectImageType } from '../../shared/image-type.ts';
import { parseMediaUrl } from '../../shared/media-url.ts';
import { parseSprites } from '../../shared/sprites.ts';
import type { SpriteFrame } from '../protocol.ts';
import type { AssetPlayback, BrowseBackend } from './backend.ts';
import { fetchCached, TtlCache } from './caches.ts';
import { thumbnailUrlOf } from './card.ts';

const maxImageBytes = 5 * 1024 * 1024;
const maxCueBytes = 1024 * 1024;
const maxThumbnails = 20_000;
const maxPlaybacks = 200;
/** Time-to-live of cached signed URLs, some of which expire within minutes. */
const signedUrlTtlMs = 10 * 60_000;

export type ProxiedImage = { bytes: Uint8Array; contentType: string };

/**
 * Proxies images and caches playback data, because the page's Content-Security-Policy allows no other origin.
 * Detects the type of an image by its magic number, and ignores its declared type.
 */
export class MediaProxy {
  readonly #library: BrowseBackend;
  readonly #thumbnails = new TtlCache<{ url: URL; since: number }>(maxThumbnails);
  readonly #playbacks = new TtlCache<Promise<AssetPlayback>>(maxPlaybacks);
  readonly #sheets = new TtlCache<readonly string[]>(maxPlaybacks);

  constructor(library: BrowseBackend) {
    this.#library = library;
  }

  cacheThumbnails(assets: readonly AssetRecord[]): void {
    for (const asset of assets) {
      const url = thumbnailUrlOf(asset, this.#library.baseUrl);
      if (url) this.#thumbnails.set(asset.uid, { url, since: systemClock.now() });
    }
  }

  /** Returns undefined if there is no thumbnail, or it is not an image. @throws Error if it cannot be fetched */
  async fetchThumbnail(uid: string): Promise<ProxiedImage | undefined> {
    const cached = this.#thumbnails.get(uid);
    const image = cached && this.#fetchImage(cached.url);
    if (cached && systemClock.now() - cached.since < signedUrlTtlMs) return image;
    const cachedImage = await image?.catch(() => undefined);
    if (cachedImage) return cachedImage;
    // The signed URL might have expired. Fetching the asset again returns a new URL.
    this.cacheThumbnails([await this.#library.get(uid)]);
    const renewed = this.#thumbnails.get(uid);
    return renewed && this.#fetchImage(renewed.url);
  }

  /** Returns the cached player data and playback info of an asset, which are the same as for an embedding page. */
  fetchPlayback(uid: string): Promise<AssetPlayback> {
    const expiryOf = ({ info }: AssetPlayback) => Math.min(systemClock.now() + signedUrlTtlMs, earliestExpiry(info));
    return fetchCached(this.#playbacks, uid, () => this.#library.fetchPlayback(uid), expiryOf);
  }

  /** Returns the preview frames of a video; none as long as the service has not made them. */
  async fetchFrames(uid: string): Promise<SpriteFrame[]> {
    const { info } = await this.fetchPlayback(uid);
    const cues = parseMediaUrl(info.preview_sprites_url, this.#library.baseUrl);
    if (!cues) {
      this.#playbacks.delete(uid); // read again when they are asked for again
      return [];
    }
    const bytes = await this.#library.fetchMedia(new URL(cues.url), maxCueBytes);
    const sprites = parseSprites(new TextDecoder().decode(bytes), cues.url);
    const sheets = [...new Set(sprites.map(({ url }) => url))];
    this.#sheets.set(uid, sheets);
    return sprites.map(({ url, ...frame }) => ({ ...frame, sheet: sheets.indexOf(url) }));
  }

  /** Fetches a sprite sheet by its index in the frames; undefined if there is no such sheet or it is not an image. */
  async fetchSheet(uid: string, index: number): Promise<ProxiedImage | undefined> {
    if (!this.#sheets.get(uid)) await this.fetchFrames(uid);
    const fetchCachedUrl = async () => {
      const url = this.#sheets.get(uid)?.[index];
      return url === undefined ? undefined : this.#fetchImage(new URL(url));
    };
    return fetchCachedUrl().catch(async () => {
      this.#playbacks.delete(uid); // the signed URLs might have expired
      await this.fetchFrames(uid);
      return fetchCachedUrl();
    });
  }

  async #fetchImage(url: URL): Promise<ProxiedImage | undefined> {
    const bytes = await this.#library.fetchMedia(url, maxImageBytes);
    const contentType = detectImageType(bytes);
    return contentType === undefined ? undefined : { bytes, contentType };
  }
}

/** Returns the earliest expiry time of the URLs in the playback info, in milliseconds since the Unix epoch. */
function earliestExpiry(info: PlaybackInfo): number {
  if (info.blocked) return 0; // it might soon be unblocked
  return Math.min(...Object.values(info).flatMap((value) => parseTimestamp(asObject(value).expires_at) ?? []));
}
