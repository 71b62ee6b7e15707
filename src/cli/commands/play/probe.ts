import type { PlaybackApi } from '../../../client/api/playback.ts';
import { asCodedError } from '../../../client/errors.ts';
import type { PlayableUrl } from '../../../client/library/playables.ts';
import { parseHttpUrl } from '../../../shared/http-url.ts';
import type { OutputRecord } from '../../reference/schemas.ts';

export type ProbeReport = Omit<OutputRecord<'probe'>, 'asset_uid'>;

/** Step in the chain of requests from playback info to media bytes. */
export type ProbeStep = ProbeReport['steps'][number];

const sampleBytes = 64 * 1024;

/** Fetches the next file of the chain and records the step. Returns its text; undefined if it failed. */
type FetchStep = (step: ProbeStep['step'], at: URL) => Promise<string | undefined>;

/** Requests the chain step by step, until it reaches media bytes or a step fails. */
export async function probePlayback(playback: PlaybackApi, { kind, url }: PlayableUrl): Promise<ProbeReport> {
  const steps: ProbeStep[] = [];
  const follow: FetchStep = async (step, at) => {
    const { text, ...fetched } = await fetchStep(playback, step, at);
    steps.push({ step, url: at.href, ...fetched });
    return fetched.ok ? text : undefined;
  };
  let problem: string | undefined;
  if (kind === 'hls') problem = await followHls(url, follow);
  else await follow('file', url);
  const last = steps.at(-1);
  if (last && problem !== undefined) Object.assign(last, { ok: false, error: problem });
  return { kind, playable: steps.every(({ ok }) => ok), steps };
}

/** Follows an HLS stream to its first segment. Returns the problem if a playlist names no next file. */
async function followHls(url: URL, follow: FetchStep): Promise<string | undefined> {
  let at = url;
  let playlist = await follow('master_playlist', at);
  if (playlist === undefined) return undefined;
  if (/^#EXT-X-STREAM-INF/m.test(playlist)) {
    const [variant] = urisIn(playlist);
    if (!variant) return 'the master playlist lists no media playlists';
    const media = resolveUri(variant, at);
    if (!media) return `the master playlist contains ${variant}, which is not a URL`;
    at = media;
    playlist = await follow('media_playlist', at);
    if (playlist === undefined) return undefined;
  }
  const init = /^#EXT-X-MAP:.*\bURI="([^"]+)"/m.exec(playlist)?.[1];
  const [segment] = urisIn(playlist);
  if (!segment) return 'the media playlist lists no segments';
  const parts = { ...(init && { init_segment: init }), first_segment: segment };
  for (const [step, uri] of Object.entries(parts)) {
    const part = resolveUri(uri, at);
    if (!part) return `the media playlist contains ${uri}, which is not a URL`;
    if ((await follow(step as keyof typeof parts, part)) === undefined) return undefined;
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

async function fetchStep(playback: PlaybackApi, step: ProbeStep['step'], url: URL) {
  const isPlaylist = step.endsWith('playlist');
  try {
    const {
      status: http_status,
      headers,
      bytes,
      text,
    } = await playback.fetchMedia(url, isPlaylist ? undefined : sampleBytes);
    const problem = problemOf(http_status, bytes.length, isPlaylist ? text : undefined);
    const content_type = headers['content-type'] ?? null;
    return { ok: problem === null, http_status, content_type, size_bytes: bytes.length, error: problem, text };
  } catch (error) {
    const { message, explanation } = asCodedError(error);
    const problem = [message, explanation.reason].filter(Boolean).join(': ');
    return { ok: false, http_status: null, content_type: null, size_bytes: null, error: problem, text: '' };
  }
}

function problemOf(status: number, length: number, playlist: string | undefined): string | null {
  if (status >= 300) return `HTTP ${status}`;
  if (length === 0) return 'the response is empty';
  if (playlist !== undefined && !playlist.trimStart().startsWith('#EXTM3U'))
    return 'the response is not an HLS playlist';
  return null;
}
