import type { PlaybackApi } from '../../../client/api/playback.ts';
import { asMediactlError } from '../../../client/errors.ts';
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

export type ProbeReport = { kind: Playable['kind']; plays: boolean; links: PlaybackLink[] };

const sampleBytes = 64 * 1024;

/** Fetches a link of the chain and records it. Returns its text; undefined if it is broken. */
type FollowLink = (link: PlaybackLink['link'], at: URL) => Promise<string | undefined>;

/** Requests the chain link by link, until it reaches media bytes or a broken link. */
export async function probePlayback(playback: PlaybackApi, { kind, url }: Playable): Promise<ProbeReport> {
  const links: PlaybackLink[] = [];
  const follow: FollowLink = async (link, at) => {
    const { text, ...fetched } = await fetchLink(playback, link, at);
    links.push({ link, url: at.href, ...fetched });
    return fetched.ok ? text : undefined;
  };
  let problem: string | undefined;
  if (kind === 'hls') problem = await followHls(url, follow);
  else await follow('file', url);
  const last = links.at(-1);
  if (last && problem !== undefined) Object.assign(last, { ok: false, problem });
  return { kind, plays: links.every(({ ok }) => ok), links };
}

/** Follows an HLS stream to its first segment. Returns the problem if a playlist names no next link. */
async function followHls(url: URL, follow: FollowLink): Promise<string | undefined> {
  let at = url;
  let playlist = await follow('master playlist', at);
  if (playlist === undefined) return undefined;
  if (/^#EXT-X-STREAM-INF/m.test(playlist)) {
    const [variant] = urisIn(playlist);
    if (!variant) return 'the master playlist lists no media playlists';
    const media = resolveUri(variant, at);
    if (!media) return `the master playlist contains ${variant}, which is not a URL`;
    at = media;
    playlist = await follow('media playlist', at);
    if (playlist === undefined) return undefined;
  }
  const init = /^#EXT-X-MAP:.*\bURI="([^"]+)"/m.exec(playlist)?.[1];
  const [segment] = urisIn(playlist);
  if (!segment) return 'the media playlist lists no segments';
  const parts = { ...(init && { 'init segment': init }), 'first segment': segment };
  for (const [link, uri] of Object.entries(parts)) {
    const part = resolveUri(uri, at);
    if (!part) return `the media playlist contains ${uri}, which is not a URL`;
    if ((await follow(link as keyof typeof parts, part)) === undefined) return undefined;
  }
  return undefined;
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

async function fetchLink(playback: PlaybackApi, link: PlaybackLink['link'], url: URL) {
  const isPlaylist = link.endsWith('playlist');
  try {
    const { status, headers, bytes, text } = await playback.fetchMedia(url, isPlaylist ? undefined : sampleBytes);
    const problem = problemOf(status, bytes.length, isPlaylist ? text : undefined);
    const content_type = headers['content-type'] ?? null;
    return { ok: problem === null, status, content_type, bytes: bytes.length, problem, text };
  } catch (error) {
    const { message, explanation } = asMediactlError(error);
    const problem = [message, explanation.reason].filter(Boolean).join(': ');
    return { ok: false, status: null, content_type: null, bytes: null, problem, text: '' };
  }
}

function problemOf(status: number, length: number, playlist: string | undefined): string | null {
  if (status >= 300) return `HTTP ${status}`;
  if (length === 0) return 'the response is empty';
  if (playlist !== undefined && !playlist.trimStart().startsWith('#EXTM3U'))
    return 'the response is not an HLS playlist';
  return null;
}
