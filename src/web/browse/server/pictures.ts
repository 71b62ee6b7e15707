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
/** Signed URLs live for hours, some for minutes; a page that stays open asks anew. */
const signedMs = 10 * 60_000;

/** A picture as a browser may show it. */
export type Picture = { bytes: Uint8Array; contentType: string };

/**
 * The pictures of a library, fetched by this process: the page itself reaches no other origin. What is
 * not an image by its first bytes is none, whatever it is called.
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

  /** Remembers where the pictures of records are. */
  note(assets: readonly Asset[]): void {
    for (const asset of assets) {
      const url = thumbnailOf(asset, this.#library.baseUrl);
      if (url) this.#thumbnails.set(asset.uid, { url: url.href, since: this.#now() });
    }
  }

  /** @throws what keeps it from being fetched */
  async thumbnail(uid: string): Promise<Picture | undefined> {
    const known = this.#thumbnails.get(uid);
    const isNew = known && this.#now() - known.since < signedMs;
    const picture = known && this.#picture(new URL(known.url));
    if (isNew) return picture;
    const still = await picture?.catch(() => undefined);
    if (still) return still;
    // What was signed long ago may have expired: a new record has a new URL.
    this.note([await this.#library.get(uid)]);
    const renewed = this.#thumbnails.get(uid);
    return renewed && this.#picture(new URL(renewed.url));
  }

  /** The player data and the playback info of an asset, as somebody who embeds it gets them. */
  playback(uid: string): Promise<Playback> {
    return this.#playbacks.get(uid, () => this.#library.playback(uid));
  }

  /** The frames of a video in their order; none where the service offers none. */
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

  /** One sheet of frames, once `frames` has told how many there are. */
  async sheet(uid: string, number: number): Promise<Picture | undefined> {
    if (!this.#sheets.get(uid)) await this.frames(uid);
    const picture = async () => {
      const url = this.#sheets.get(uid)?.[number];
      return url && this.#picture(url);
    };
    return picture().catch(async () => {
      this.#playbacks.delete(uid); // its URL was signed as long ago as the frames were told
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

/** When the first of its URLs ends, in milliseconds since the epoch; what is blocked may play in a moment. */
function expiryOf(info: PlaybackInfo): number {
  if (info.blocked) return 0;
  const ends = Object.values(info).flatMap((value) => timeIn(fieldsIn(value).expires_at) ?? []);
  return Math.min(Number.POSITIVE_INFINITY, ...ends);
}
