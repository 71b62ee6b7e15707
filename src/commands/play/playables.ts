import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { httpUrl } from '../../wire/http-url.ts';
import type { PlaybackInfo, SignedUrl } from '../../wire/types.ts';

/** One thing that can be fetched to play or show an asset. */
export type Playable = {
  kind: 'hls' | 'file' | 'image' | 'document' | 'embed';
  url: URL;
  /** ISO 8601. */
  expiresAt: string | undefined;
  /** Pixels, of an image. */
  size?: Size | undefined;
};

export type Size = { width: number; height: number };

/** What the playback info offers, best first: "hls_url … for video; source_url fallback" (§2). */
export function playables(info: PlaybackInfo): Playable[] {
  const images = (info.variants ?? [])
    .map((variant) => ({ url: variant.url, size: sizeOf(variant) }))
    .sort((a, b) => area(b.size) - area(a.size));
  return [
    ...offered('hls', info.hls_url),
    ...offered('file', info.source_url),
    ...offered('file', info.source),
    ...images.flatMap(({ url, size }) => offered('image', url, size)),
    ...offered('document', info.url),
    ...offered('embed', info.embed_url),
  ];
}

/** The image nearest to a size: the smallest that covers it, else the largest there is. */
export function nearest(images: readonly Playable[], { width, height }: Size): Playable[] {
  const covering = images.filter(
    ({ size }) => size && size.width >= width && size.height >= height,
  );
  const [best = images[0]] = covering.sort((a, b) => area(a.size) - area(b.size));
  return best ? [best] : [];
}

/** `640x360`, or `640` for a width of any height. @throws MediactlError exit 2 */
export function parseSize(text: string): Size {
  const match = /^(\d{1,6})(?:x(\d{1,6}))?$/i.exec(text);
  if (match) return { width: Number(match[1]), height: Number(match[2] ?? 0) };
  throw usageError(`--size does not take '${text}'`, 'a size in pixels such as 640x360, or 640');
}

function offered(
  kind: Playable['kind'],
  value: string | SignedUrl | null | undefined,
  size?: Size,
): Playable[] {
  const url = typeof value === 'string' ? value : value?.url; // A14, A15
  if (!url) return [];
  const expiresAt = typeof value === 'string' ? undefined : value?.expires_at;
  return [{ kind, url: parseUrl(url), expiresAt, size }];
}

/** A15: dimensions, or a `size` such as `640x360` in their place. */
function sizeOf(variant: NonNullable<PlaybackInfo['variants']>[number]): Size | undefined {
  const { width, height, size, name } = variant;
  if (typeof width === 'number' && typeof height === 'number') return { width, height };
  const match = [size, name]
    .map((text) => /^(\d+)x(\d+)$/i.exec(String(text)))
    .find((found) => found !== null);
  return match ? { width: Number(match[1]), height: Number(match[2]) } : undefined;
}

const area = (size: Size | undefined) => (size ? size.width * size.height : 0);

function parseUrl(text: string): URL {
  const url = httpUrl(text);
  if (url) return url;
  throw new MediactlError(`the service names a media URL that is none: ${text}`, {
    code: 'bad_media_url',
    exitCode: exitCodes.unplayable,
    hint: 'only absolute http and https URLs are played',
  });
}
