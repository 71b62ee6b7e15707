import { asObject, parseTimestamp } from '../../../contract/json-values.ts';
import type { Asset, PlaybackInfo, PlayerData } from '../../../contract/types.ts';
import { detectImageType } from '../../shared/image-type.ts';
import { parseMediaUrl } from '../../shared/media-url.ts';
import { parseSprites } from '../../shared/sprites.ts';
import type { SpriteFrame } from '../protocol.ts';
import type { BrowseBackend } from './backend.ts';
import { BoundedCache, InFlightCache } from './caches.ts';
import { thumbnailUrlOf } from './card.ts';

const maxImageBytes = 5 * 1024 * 1024;
const maxCueBytes = 1024 * 1024;
const maxThumbnails = 20_000;
const maxPlaybacks = 200;
/** Time-to-live of cached signed URLs: some expire within minutes. */
const signedUrlTtlMs = 10 * 60_000;

/** An image that a browser may show. */
export type ProxiedImage = { bytes: Uint8Array; contentType: string };

/**
 * Proxies images and playback data, since the page's policy allows no other origin. Checks the magic number of
 * each image and ignores its declared type.
 */
export class MediaProxy {
  readonly #library: BrowseBackend;
  readonly #now: () => number;
  readonly #thumbnails = new BoundedCache<string, { url: string; since: number }>(maxThumbnails);
  readonly #playbacks: InFlightCache<AssetPlayback>;
  readonly #sheets = new BoundedCache<string, readonly URL[]>(maxPlaybacks);

  constructor(library: BrowseBackend, now: () => number) {
    this.#library = library;
    this.#now = now;
    this.#playbacks = new InFlightCache(maxPlaybacks, now, ({ info }) =>
      Math.min(now() + signedUrlTtlMs, earliestExpiry(info)),
    );
  }

  /** Caches the thumbnail URLs of asset records. */
  cacheThumbnails(assets: readonly Asset[]): void {
    for (const asset of assets) {
      const url = thumbnailUrlOf(asset, this.#library.baseUrl);
      if (url) this.#thumbnails.set(asset.uid, { url: url.href, since: this.#now() });
    }
  }

  /** Fetches a thumbnail. @returns undefined if it is no image. @throws if it cannot be fetched */
  async fetchThumbnail(uid: string): Promise<ProxiedImage | undefined> {
    const cached = this.#thumbnails.get(uid);
    const isNew = cached && this.#now() - cached.since < signedUrlTtlMs;
    const picture = cached && this.#fetchImage(new URL(cached.url));
    if (isNew) return picture;
    const cachedImage = await picture?.catch(() => undefined);
    if (cachedImage) return cachedImage;
    // The signed URL may have expired: a new record has a new one.
    this.cacheThumbnails([await this.#library.get(uid)]);
    const renewed = this.#thumbnails.get(uid);
    return renewed && this.#fetchImage(new URL(renewed.url));
  }

  /** Returns the player data and playback info, cached; the same that an embedding page gets. */
  fetchPlayback(uid: string): Promise<AssetPlayback> {
    return this.#playbacks.get(uid, () => this.#library.fetchPlayback(uid));
  }

  /** Returns the sprite frames of a video in time order; empty if the service has none. */
  async fetchFrames(uid: string): Promise<SpriteFrame[]> {
    const { info } = await this.fetchPlayback(uid);
    const cues = parseMediaUrl(info.preview_sprites_url, this.#library.baseUrl);
    if (!cues) return [];
    const bytes = await this.#library.fetchMedia(new URL(cues.url), maxCueBytes);
    const sprites = parseSprites(new TextDecoder().decode(bytes), cues.url);
    const sheets = [...new Set(sprites.map((sprite) => sprite.url))];
    this.#sheets.set(
      uid,
      sheets.map((sheet) => new URL(sheet)),
    );
    return sprites.map(({ url: sheet, ...frame }) => ({ ...frame, sheet: sheets.indexOf(sheet) }));
  }

  /** Fetches one sprite sheet by its number in the frames. */
  async sheet(uid: string, number: number): Promise<ProxiedImage | undefined> {
    if (!this.#sheets.get(uid)) await this.fetchFrames(uid);
    const picture = async () => {
      const url = this.#sheets.get(uid)?.[number];
      return url && this.#fetchImage(url);
    };
    return picture().catch(async () => {
      this.#playbacks.delete(uid); // its signed URL may have expired with the cached frames
      await this.fetchFrames(uid);
      return picture();
    });
  }

  async #fetchImage(url: URL): Promise<ProxiedImage | undefined> {
    const bytes = await this.#library.fetchMedia(url, maxImageBytes);
    const contentType = detectImageType(bytes);
    return contentType === undefined ? undefined : { bytes, contentType };
  }
}

type AssetPlayback = { info: PlaybackInfo; player: PlayerData };

/** Returns the earliest expiry, in milliseconds since the epoch; 0 if blocked, as that may change soon. */
function earliestExpiry(info: PlaybackInfo): number {
  if (info.blocked) return 0;
  const ends = Object.values(info).flatMap(
    (value) => parseTimestamp(asObject(value).expires_at) ?? [],
  );
  return Math.min(Number.POSITIVE_INFINITY, ...ends);
}
