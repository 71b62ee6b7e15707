import { MediactlError, usageError } from '../../client/errors.ts';
import { parseHttpUrl } from '../../contract/http-url.ts';
import { asArray, asNumber, asObject, asText, isJsonObject, type JsonObject } from '../../contract/json-values.ts';
import type { PlaybackInfo } from '../../contract/types.ts';

export type Playable = {
  kind: 'hls' | 'file' | 'image' | 'document' | 'embed';
  url: URL;
  /** Expiry time as the service reports it, in ISO 8601. */
  expiresAt: unknown;
  extent?: ImageExtent | undefined;
};

/** Size in pixels; a height of 0 means that the height is unknown. */
export type PixelSize = { width: number; height: number };

/** Size of an image variant in pixels, or the rank of its size name. */
export type ImageExtent = PixelSize | { rank: number };

export type Playables = {
  /** URLs with the best first ("hls_url … for video; source_url fallback", §2), and the largest image first. */
  urls: Playable[];
  /** True if the images are sorted by size; false if their sizes cannot be compared. */
  isSorted: boolean;
  unusable: string[];
};

export function parsePlayables(info: PlaybackInfo, baseUrl: URL): Playables {
  const unusable: string[] = [];
  const parsePlayable = (kind: Playable['kind'], value: unknown, extent?: ImageExtent): Playable[] => {
    const reference = isJsonObject(value) ? value.url : value; // assumptions A14 and A15
    if (reference === undefined || reference === null || reference === '') return [];
    const url = parseHttpUrl(reference, baseUrl);
    if (!url) unusable.push(asText(reference) ?? typeof reference);
    return url ? [{ kind, url, expiresAt: asObject(value).expires_at, extent }] : [];
  };
  const images = asArray(info.variants).map((variant) => {
    return { url: isJsonObject(variant) ? variant.url : variant, extent: parseExtent(asObject(variant)) };
  });
  const isSorted = images.length < 2 || areComparable(images.map(({ extent }) => extent));
  if (isSorted) images.sort((a, b) => compareExtents(b.extent, a.extent));
  const urls = [
    ...parsePlayable('hls', info.hls_url),
    ...parsePlayable('file', info.source_url),
    ...parsePlayable('file', info.source),
    ...images.flatMap(({ url, extent }) => parsePlayable('image', url, extent)),
    ...parsePlayable('document', info.url),
    ...parsePlayable('embed', info.embed_url),
  ];
  return { urls, isSorted, unusable };
}

/** Returns the smallest image that covers the given size, otherwise the largest; empty if there are no images. */
export function findNearestImage(images: readonly Playable[], { width, height }: PixelSize): Playable[] {
  const covering = images.filter(
    ({ extent }) => isPixelSize(extent) && extent.width >= width && (extent.height || height) >= height,
  );
  const [best = images[0]] = covering.sort((a, b) => compareExtents(a.extent, b.extent));
  return best ? [best] : [];
}

/** Parses a size such as `640x360`, or `640` for any height. @throws MediactlError `usage` (exit 2) */
export function parseDimensions(text: string): PixelSize {
  const match = /^(\d{1,6})(?:x(\d{1,6}))?$/i.exec(text);
  if (match) return { width: Number(match[1]), height: Number(match[2] ?? 0) };
  throw usageError(`--size does not accept '${text}'`, 'a size in pixels such as 640x360, or 640');
}

/** Names of image sizes with their abbreviations, smallest first. */
const sizeNames = [
  ...[['icon'], ['tiny', 'xs'], ['thumbnail', 'thumb'], ['small', 's', 'sm'], ['preview'], ['medium', 'm', 'md']],
  ...[['large', 'l', 'lg'], ['huge', 'xl', 'xlarge'], ['full'], ['original', 'orig'], ['source']],
];

/** Parses the size of an image variant (A15) from `width` and `height`, `size`, or a size name. */
function parseExtent(variant: JsonObject): ImageExtent | undefined {
  const { size, name, label } = variant;
  for (const { width, height } of [variant, asObject(size), { width: size, height: 0 }]) {
    const w = asNumber(width) ?? 0;
    if (w > 0) return { width: w, height: asNumber(height) ?? 0 };
  }
  const texts = [size, name, label].flatMap((text) => asText(text)?.toLowerCase() ?? []);
  for (const text of texts) {
    const [, w, h] = /^(\d+)\s*[x×]\s*(\d+)$/.exec(text) ?? [];
    if (w !== undefined) return { width: Number(w), height: Number(h) };
  }
  const rank = texts.map((text) => sizeNames.findIndex((names) => names.includes(text))).find((each) => each >= 0);
  return rank === undefined ? undefined : { rank };
}

export const isPixelSize = (extent: ImageExtent | undefined): extent is PixelSize =>
  extent !== undefined && 'width' in extent;

const areComparable = (extents: readonly (ImageExtent | undefined)[]) =>
  extents.every(isPixelSize) || extents.every((extent) => extent !== undefined && 'rank' in extent);

/** Compares two sizes by number of pixels, by width if a height is unknown, or by rank. */
function compareExtents(a: ImageExtent | undefined, b: ImageExtent | undefined): number {
  const rankOf = (extent: ImageExtent | undefined) => (extent && 'rank' in extent ? extent.rank : 0);
  if (!isPixelSize(a) || !isPixelSize(b)) return rankOf(a) - rankOf(b);
  if (a.height === 0 || b.height === 0) return a.width - b.width;
  return a.width * a.height - b.width * b.height;
}

export const sizesUnknownError = (uid: string) =>
  new MediactlError(`the service does not report the sizes of the images of asset ${uid}`, {
    code: 'usage',
    reason: 'there are several, without known dimensions or size names',
    hint: `mediactl play ${uid} shows their URLs; download the one that you want`,
  });
