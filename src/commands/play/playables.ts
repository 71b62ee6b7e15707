import { exitCodes, MediactlError } from '../../errors.ts';
import type { PlaybackInfo, SignedUrl } from '../../wire/types.ts';

/** One thing that can be fetched to play or show an asset. */
export type Playable = {
  kind: 'hls' | 'file' | 'image' | 'document' | 'embed';
  url: URL;
  /** ISO 8601. */
  expiresAt: string | undefined;
};

/** What the playback info offers, best first: "hls_url … for video; source_url fallback" (§2). */
export function playables(info: PlaybackInfo): Playable[] {
  const offered: [Playable['kind'], string | SignedUrl | null | undefined][] = [
    ['hls', info.hls_url],
    ['file', info.source_url],
    ['file', info.source],
    ...(info.variants ?? []).map(({ url }): [Playable['kind'], typeof url] => ['image', url]),
    ['document', info.url],
    ['embed', info.embed_url],
  ];
  return offered.flatMap(([kind, value]) => {
    const url = typeof value === 'string' ? value : value?.url; // A14, A15
    if (!url) return [];
    const expiresAt = typeof value === 'string' ? undefined : value?.expires_at;
    return [{ kind, url: parseUrl(url), expiresAt }];
  });
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return url;
  throw new MediactlError(`the service names a media URL that is none: ${text}`, {
    code: 'bad_media_url',
    exitCode: exitCodes.unplayable,
    hint: 'only absolute http and https URLs are played',
  });
}
