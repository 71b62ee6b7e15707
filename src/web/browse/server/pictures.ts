import { fieldsIn, timeIn } from '../../../contract/reading.ts';
import type { Asset, PlaybackInfo, PlayerData } from '../../../contract/types.ts';
import { imageTypeOf } from '../../shared/image-type.ts';
import { mediaUrl } from '../../shared/media-url.ts';
import { cuesOf } from '../../shared/sprites.ts';
import type { Frame } from '../protocol.ts';
import { thumbnailOf } from './card.ts';
import { Kept, Shared } from './kept.ts';
import type { Library } from './library.ts';

const mostPictureBytes = 5 * 1024 * 1024;
const mostCueBytes = 1024 * 1024;
const mostThumbnails = 20_000;
const mostPlaybacks = 200;
/** Time-to-live of cached signed URLs: some expire within minutes. */
const signedMs = 10 * 60_000;

/** An image that a browser may show. */
export type Picture = { bytes: Uint8Array; contentType: string };

/**
 * Proxies images and playback data, since the page's policy allows no other origin. Checks the magic number of
 * each image and ignores its declared type.
 */
export class Pictures {
  readonly #library: Library;
  readonly #now: () => number;
  readonly #thumbnails = new Kept<string, { url: string; since: number }>(mostThumbnails);
  readonly #playbacks: Shared<Playback>;
  readonly #sheets = new Kept<string, readonly URL[]>(mostPlaybacks);

  constructor(library: Library, now: () => number) {
    this.#library = library;
    this.#now = now;
    this.#playbacks = new Shared(mostPlaybacks, now, ({ info }) =>
      Math.min(now() + signedMs, expiryOf(info)),
    );
  }

  /** Caches the thumbnail URLs of asset records. */
  note(assets: readonly Asset[]): void {
    for (const asset of assets) {
      const url = thumbnailOf(asset, this.#library.baseUrl);
      if (url) this.#thumbnails.set(asset.uid, { url: url.href, since: this.#now() });
    }
  }

  /** Fetches a thumbnail. @returns undefined if it is no image. @throws if it cannot be fetched */
  async thumbnail(uid: string): Promise<Picture | undefined> {
    const known = this.#thumbnails.get(uid);
    const isNew = known && this.#now() - known.since < signedMs;
    const picture = known && this.#picture(new URL(known.url));
    if (isNew) return picture;
    const still = await picture?.catch(() => undefined);
    if (still) return still;
    // The signed URL may have expired: a new record has a new one.
    this.note([await this.#library.get(uid)]);
    const renewed = this.#thumbnails.get(uid);
    return renewed && this.#picture(new URL(renewed.url));
  }

  /** Returns the player data and playback info, cached; the same that an embedding page gets. */
  playback(uid: string): Promise<Playback> {
    return this.#playbacks.get(uid, () => this.#library.playback(uid));
  }

  /** Returns the sprite frames of a video in time order; empty if the service has none. */
  async frames(uid: string): Promise<Frame[]> {
    const { info } = await this.playback(uid);
    const cues = mediaUrl(info.preview_sprites_url, this.#library.baseUrl);
    if (!cues) return [];
    const bytes = await this.#library.media(new URL(cues.url), mostCueBytes);
    const sprites = cuesOf(new TextDecoder().decode(bytes), cues.url);
    const sheets = [...new Set(sprites.map((sprite) => sprite.url))];
    this.#sheets.set(
      uid,
      sheets.map((sheet) => new URL(sheet)),
    );
    return sprites.map(({ url: sheet, ...frame }) => ({ ...frame, sheet: sheets.indexOf(sheet) }));
  }

  /** Fetches one sprite sheet by its number in the frames. */
  async sheet(uid: string, number: number): Promise<Picture | undefined> {
    if (!this.#sheets.get(uid)) await this.frames(uid);
    const picture = async () => {
      const url = this.#sheets.get(uid)?.[number];
      return url && this.#picture(url);
    };
    return picture().catch(async () => {
      this.#playbacks.delete(uid); // its signed URL may have expired with the cached frames
      await this.frames(uid);
      return picture();
    });
  }

  async #picture(url: URL): Promise<Picture | undefined> {
    const bytes = await this.#library.media(url, mostPictureBytes);
    const contentType = imageTypeOf(bytes);
    return contentType === undefined ? undefined : { bytes, contentType };
  }
}

type Playback = { info: PlaybackInfo; player: PlayerData };

/** Returns the earliest expiry, in milliseconds since the epoch; 0 if blocked, as that may change soon. */
function expiryOf(info: PlaybackInfo): number {
  if (info.blocked) return 0;
  const ends = Object.values(info).flatMap((value) => timeIn(fieldsIn(value).expires_at) ?? []);
  return Math.min(Number.POSITIVE_INFINITY, ...ends);
}
