import type { PlaybackApi } from '../../../client/api/playback.ts';
import { asMediactlError } from '../../../client/errors.ts';
import type { ApiResponse } from '../../../client/http/api-request.ts';
import { parseHttpUrl } from '../../../contract/http-url.ts';
import type { Playable } from '../../library/playables.ts';

/** Link in the chain of requests from playback info to media bytes. */
export type PlaybackLink = {
  link: 'master playlist' | 'media playlist' | 'init segment' | 'first segment' | 'file';
  url: string;
  ok: boolean;
  status: number | null;
  content_type: string | null;
  bytes: number | null;
  problem: string | null;
};

/** Report of `play --check`. */
export type CheckReport = { kind: Playable['kind']; plays: boolean; links: PlaybackLink[] };

/** Number of bytes to fetch as proof that a file is readable. */
const sampleBytes = 64 * 1024;

/** Checks the chain link by link, until it reaches media bytes or a broken link. */
export async function checkPlayback(playback: PlaybackApi, { kind, url }: Playable): Promise<CheckReport> {
  const links: PlaybackLink[] = [];
  const follow = async (link: PlaybackLink['link'], at: URL, firstBytes?: number) => {
    const { checked, text } = await fetchLink(playback, link, at, firstBytes);
    links.push(checked);
    return checked.ok ? text : undefined;
  };
  if (kind !== 'hls') await follow('file', url, sampleBytes);
  else await followHls(url, links, follow);
  return { kind, plays: links.every(({ ok }) => ok), links };
}

type FollowLink = (link: PlaybackLink['link'], at: URL, firstBytes?: number) => Promise<string | undefined>;

async function followHls(url: URL, links: PlaybackLink[], follow: FollowLink): Promise<void> {
  let at = url;
  let playlist = await follow('master playlist', at);
  if (playlist === undefined) return;
  const [variant] = urisIn(playlist);
  if (/^#EXT-X-STREAM-INF/m.test(playlist)) {
    if (!variant) return markBroken(links, 'the master playlist lists no media playlist');
    const media = resolveUri(variant, at);
    if (!media) return markBroken(links, `the master playlist names ${variant}, which is not a URL`);
    at = media;
    playlist = await follow('media playlist', at);
    if (playlist === undefined) return;
  }
  const init = /^#EXT-X-MAP:.*\bURI="([^"]+)"/m.exec(playlist)?.[1];
  const [segment] = urisIn(playlist);
  if (!segment) return markBroken(links, 'the media playlist lists no segment');
  const parts = [...(init ? [['init segment', init] as const] : [])];
  for (const [link, uri] of [...parts, ['first segment', segment] as const]) {
    const part = resolveUri(uri, at);
    if (!part) return markBroken(links, `the media playlist names ${uri}, which is not a URL`);
    if ((await follow(link, part, sampleBytes)) === undefined) return;
  }
}

/** Resolves a URI against its playlist's URL. Returns undefined unless it is http or https. */
const resolveUri = (uri: string, playlist: URL): URL | undefined =>
  URL.canParse(uri, playlist.href) ? parseHttpUrl(new URL(uri, playlist).href) : undefined;

/** Returns a playlist's URIs: the lines that are not blank, a tag, or a comment (RFC 8216 §4.1). */
const urisIn = (playlist: string) =>
  playlist
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

function markBroken(links: PlaybackLink[], problem: string): void {
  const last = links.at(-1);
  if (last) Object.assign(last, { ok: false, problem });
}

async function fetchLink(
  playback: PlaybackApi,
  link: PlaybackLink['link'],
  url: URL,
  firstBytes: number | undefined,
): Promise<{ checked: PlaybackLink; text: string }> {
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
    const response = await playback.fetchMedia(url, firstBytes);
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

function problemOf(response: ApiResponse, link: PlaybackLink['link']): string | null {
  if (response.status >= 300) return `HTTP ${response.status}`;
  if (response.bytes.length === 0) return 'it is empty';
  if (link.endsWith('playlist') && !response.text.trimStart().startsWith('#EXTM3U')) return 'it is not an HLS playlist';
  return null;
}
