import type { PlaybackInfo } from '../../contract/types.ts';
import { parseHttpUrl } from '../../shared/http-url.ts';
import { asArray, asNumber, asObject, asText, isJsonObject, type JsonObject } from '../../shared/json-values.ts';
import { CodedError } from '../errors.ts';

export type PlayableUrl = {
  kind: 'hls' | 'file' | 'image' | 'document' | 'embed';
  url: URL;
  /** Expiry time as the service reports it, in ISO 8601. */
  expiresAt: unknown;
  /** Size of an image; undefined if it is unknown. */
  size?: PixelSize | undefined;
};

/** Size in pixels; a height of 0 means that the height is unknown. */
type PixelSize = { width: number; height: number };

export type Playables = {
  /** URLs with the best first ("hls_url … for video; source_url fallback", §2), and the largest image first. */
  urls: PlayableUrl[];
  /** True if the images are sorted by size; false if their sizes cannot be compared. */
  isSorted: boolean;
  unusable: string[];
};

export function parsePlayables(info: PlaybackInfo, baseUrl: URL): Playables {
  const unusable: string[] = [];
  const parsePlayable = (kind: PlayableUrl['kind'], value: unknown, size?: PixelSize): PlayableUrl[] => {
    const reference = isJsonObject(value) ? value.url : value; // assumptions A14 and A15
    if (reference === undefined || reference === null || reference === '') return [];
    const url = parseHttpUrl(reference, baseUrl);
    if (!url) unusable.push(asText(reference) ?? typeof reference);
    return url ? [{ kind, url, expiresAt: asObject(value).expires_at, size }] : [];
  };
  const images = asArray(info.variants).map((variant) => {
    return { url: isJsonObject(variant) ? variant.url : variant, size: parseSize(asObject(variant)) };
  });
  const isSorted = images.length < 2 || images.every(({ size }) => size !== undefined);
  if (isSorted) images.sort((a, b) => compareSizes(b.size, a.size));
  const urls = [
    ...parsePlayable('hls', info.hls_url),
    ...parsePlayable('file', info.source_url),
    ...parsePlayable('file', info.source),
    ...images.flatMap(({ url, size }) => parsePlayable('image', url, size)),
    ...parsePlayable('document', info.url),
    ...parsePlayable('embed', info.embed_url),
  ];
  return { urls, isSorted, unusable };
}

/** Parses the size of an image variant (A15) from `width` and `height`, or from `size`. */
function parseSize(variant: JsonObject): PixelSize | undefined {
  const { size } = variant;
  for (const { width, height } of [variant, asObject(size), { width: size, height: 0 }]) {
    const w = asNumber(width) ?? 0;
    if (w > 0) return { width: w, height: asNumber(height) ?? 0 };
  }
  const [, w, h] = /^(\d+)\s*[x\u00d7]\s*(\d+)$/.exec(asText(size) ?? '') ?? [];
  return w === undefined ? undefined : { width: Number(w), height: Number(h) };
}

/** Compares two sizes by number of pixels, or by width if a height is unknown. */
function compareSizes(a: PixelSize | undefined, b: PixelSize | undefined): number {
  if (!a || !b) return 0;
  return a.height === 0 || b.height === 0 ? a.width - b.width : a.width * a.height - b.width * b.height;
}

export const sizesUnknownError = (uid: string) =>
  new CodedError(`the service does not report the sizes of the images of asset ${uid}`, {
    code: 'usage',
    reason: 'there are several, without known dimensions',
    remedy: ['show_urls', uid],
  });
