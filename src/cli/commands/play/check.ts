import type { PlaybackApi } from '../../../client/api/playback.ts';
import { asMediactlError } from '../../../client/errors.ts';
import type { ApiResponse } from '../../../client/http/messages.ts';
import { httpUrl } from '../../../contract/http-url.ts';
import type { Playable } from '../../library/playables.ts';

/** A link of the chain from playback info to media bytes. */
export type Link = {
  link: 'master playlist' | 'media playlist' | 'init segment' | 'first segment' | 'file';
  url: string;
  ok: boolean;
  status: number | null;
  content_type: string | null;
  bytes: number | null;
  problem: string | null;
};

/** Report of `play --check`. */
export type CheckReport = { kind: Playable['kind']; plays: boolean; links: Link[] };

/** Number of bytes to fetch as proof that a file is readable. */
const sampleBytes = 64 * 1024;

/** Checks the chain link by link, and stops at the first broken one. */
export async function checkPlayback(
  playback: PlaybackApi,
  { kind, url }: Playable,
): Promise<CheckReport> {
  const links: Link[] = [];
  const follow = async (link: Link['link'], at: URL, firstBytes?: number) => {
    const { checked, text } = await fetchLink(playback, link, at, firstBytes);
    links.push(checked);
    return checked.ok ? text : undefined;
  };
  if (kind !== 'hls') await follow('file', url, sampleBytes);
  else await followHls(url, links, follow);
  return { kind, plays: links.every(({ ok }) => ok), links };
}

type Follow = (link: Link['link'], at: URL, firstBytes?: number) => Promise<string | undefined>;

async function followHls(url: URL, links: Link[], follow: Follow): Promise<void> {
  let at = url;
  let playlist = await follow('master playlist', at);
  if (playlist === undefined) return;
  const [variant] = uris(playlist);
  if (/^#EXT-X-STREAM-INF/m.test(playlist)) {
    if (!variant) return broken(links, 'the master playlist lists no media playlist');
    const media = resolved(variant, at);
    if (!media) return broken(links, `the master playlist names ${variant}, which is not a URL`);
    at = media;
    playlist = await follow('media playlist', at);
    if (playlist === undefined) return;
  }
  const init = /^#EXT-X-MAP:.*\bURI="([^"]+)"/m.exec(playlist)?.[1];
  const [segment] = uris(playlist);
  if (!segment) return broken(links, 'the media playlist lists no segment');
  const parts = [...(init ? [['init segment', init] as const] : [])];
  for (const [link, uri] of [...parts, ['first segment', segment] as const]) {
    const part = resolved(uri, at);
    if (!part) return broken(links, `the media playlist names ${uri}, which is not a URL`);
    if ((await follow(link, part, sampleBytes)) === undefined) return;
  }
}

/** Resolves a URI against its playlist; undefined unless it is http or https. */
const resolved = (uri: string, playlist: URL): URL | undefined =>
  URL.canParse(uri, playlist.href) ? httpUrl(new URL(uri, playlist).href) : undefined;

/** Returns the URIs of a playlist: lines that are neither blank, tag nor comment (RFC 8216 §4.1). */
const uris = (playlist: string) =>
  playlist
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

function broken(links: Link[], problem: string): void {
  const last = links.at(-1);
  if (last) Object.assign(last, { ok: false, problem });
}

async function fetchLink(
  playback: PlaybackApi,
  link: Link['link'],
  url: URL,
  firstBytes: number | undefined,
): Promise<{ checked: Link; text: string }> {
  const checked = {
    link,
    url: url.href,
    ok: false,
    status: null,
    content_type: null,
    bytes: null,
    problem: null,
  };
  try {
    const response = await playback.media(url, firstBytes);
    const problem = problemOf(response, link);
    const text = problem === null && link.endsWith('playlist') ? response.text : '';
    return {
      text,
      checked: {
        ...checked,
        ok: problem === null,
        status: response.status,
        content_type: response.headers['content-type'] ?? null,
        bytes: response.bytes.length,
        problem,
      },
    };
  } catch (error) {
    const { message, explanation } = asMediactlError(error);
    const problem = [message, explanation.reason].filter(Boolean).join(': ');
    return { text: '', checked: { ...checked, problem } };
  }
}

function problemOf(response: ApiResponse, link: Link['link']): string | null {
  if (response.status >= 300) return `HTTP ${response.status}`;
  if (response.bytes.length === 0) return 'it is empty';
  if (link.endsWith('playlist') && !response.text.trimStart().startsWith('#EXTM3U'))
    return 'it is not an HLS playlist';
  return null;
}
