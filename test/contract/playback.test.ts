import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { imageSize } from 'image-size';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runFfprobe } from '../support/ffmpeg.ts';
import { readPage } from '../support/manual.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
const { call, createUploadOfSize, upload } = rawHttp(() => sandbox);
const uids: Record<string, string> = {};

beforeAll(async () => {
  sandbox = await startSandbox();
  for (const name of ['clip.mp4', 'tone.mp3', 'still.jpg']) uids[name] = (await upload(fixturePath(name))).uid;
});
afterAll(() => sandbox.end());

const fetchPlayer = async (uid: string) => (await call('GET', `/assets/${uid}/player/`)).json();
const requestPlaybackInfo = (asset_id: string, playback_token: string) =>
  call('POST', '/playback/info/', {
    key: '',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ asset_id, playback_token }),
  });
const playbackInfoOf = async (name: string) => {
  const uid = uids[name] as string;
  return (await requestPlaybackInfo(uid, (await fetchPlayer(uid)).playback_token)).json();
};

it('the script of the embed recipe plays an asset with its token, and without hls.js plays the playlist itself', async () => {
  const [, script = ''] = /<script type="module">\n(.*?)<\/script>/s.exec(readPage('docs/recipes.md')) ?? [];
  const uid = uids['clip.mp4'] as string;
  const filled = script
    .replace('https://media.example.com', sandbox.url)
    .replace('UID', uid)
    .replace('TOKEN', (await fetchPlayer(uid)).playback_token);
  const runWith = async (window: object) => {
    const video = { src: '' };
    const document = { querySelector: () => video };
    await runInNewContext(`(async () => {${filled}})()`, { fetch, document, window, ...window });
    return video.src;
  };
  let loaded = '';
  class Hls {
    static isSupported = () => true;
    loadSource = (url: string) => {
      loaded = url;
    };
    attachMedia = () => {};
  }
  expect([await runWith({ Hls }), await (await fetch(loaded)).text()]).toEqual(['', expect.stringMatching(/^#EXTM3U/)]);
  expect(await (await fetch(await runWith({}))).text()).toMatch(/^#EXTM3U/);
});

describe('§4 player', () => {
  it('the player endpoint returns a token, a config and the items', async () => {
    expect(await fetchPlayer(uids['clip.mp4'] as string)).toEqual({
      uid: uids['clip.mp4'],
      playback_token: expect.stringMatching(/^[\w-]+\.[\w-]+$/),
      player_config: { auto_play: false, theme: 'dark' },
      items: [{ asset: { uid: uids['clip.mp4'], thumbnail_url: expect.any(String) } }],
    });
    expect((await call('GET', `/videos/${uids['clip.mp4']}/player/`)).status).toBe(200);
    expect((await call('GET', `/videos/${uids['tone.mp3']}/player/`)).status).toBe(404);
  });
});

describe('§2 items[].asset.thumbnail_url (absolute URL)', () => {
  const posterOf = async (uid: string) => {
    const url = (await fetchPlayer(uid)).items[0].asset.thumbnail_url as string;
    const response = await fetch(url);
    expect(response.status).toBe(200);
    return { url, type: response.headers.get('content-type'), response };
  };

  it('thumbnail_url is the image itself when no smaller variant exists', async () => {
    const uid = uids['still.jpg'] as string;
    const { url, type } = await posterOf(uid);
    expect([new URL(url).pathname, type]).toEqual([`/media/${uid}/source`, 'image/jpeg']);
    const { thumbnail_url } = await (await call('GET', `/assets/${uid}/`)).json();
    expect(new URL(thumbnail_url).pathname).toBe(`/media/${uid}/source`);
  });

  it('thumbnail_url of the player data is a signed placeholder when there is no thumbnail, and that of the record is the same for audio and null otherwise', async () => {
    const unfinishedUpload = await (await createUploadOfSize(10, { content_type: 'audio/mpeg' })).json();
    const pictures = new Set<string>();
    for (const uid of [uids['clip.mp4'], uids['tone.mp3'], unfinishedUpload.asset_uid]) {
      const { url, type, response } = await posterOf(uid);
      expect(type).toBe('image/png');
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(imageSize(bytes)).toMatchObject({ type: 'png', width: 640, height: 360 });
      pictures.add(bytes.toString('base64'));
      expect((await fetch(url.replace(/.$/, '*'))).status).toBe(403);
      const { type: assetType, thumbnail_url } = await (await call('GET', `/assets/${uid}/`)).json();
      // Audio never gets a picture. Other records have null, so that clients can use their own placeholder.
      if (assetType === 'audio') expect(new URL(thumbnail_url).pathname).toBe(new URL(url).pathname);
      else expect(thumbnail_url).toBeNull();
    }
    expect(pictures.size).toBe(2); // one placeholder for videos, one for audio
  });
});

describe('§4 POST /playback/info/, without an API key', () => {
  it('the playback info of a video has HLS, the source as fallback and the chapters', async () => {
    const signed = (file: string) => ({
      url: expect.stringContaining(`/media/${uids['clip.mp4']}/${file}?expires=`),
      expires_at: expect.any(String),
    });
    const video = await playbackInfoOf('clip.mp4');
    expect(video).toEqual({
      type: 'video',
      blocked: false,
      hls_url: signed('hls/master.m3u8'),
      source_url: signed('source'),
      preview_sprites_url: null,
      chapters: [
        { title: 'Arrival', start_time: 0 },
        { title: 'The crane', start_time: 4 },
        { title: 'Departure', start_time: 7 },
      ],
      resume_position_seconds: null,
    });
    // Playback tokens and media URLs expire after 4 hours (§8).
    expect((Date.parse(video.hls_url.expires_at) - Date.now()) / 3_600_000).toBeCloseTo(4, 1);
  });

  it('the playback info of audio and images has the fields of their type', async () => {
    expect(await playbackInfoOf('tone.mp3')).toMatchObject({
      type: 'audio',
      source: { url: expect.any(String) },
      subtitle_tracks: [],
    });
    expect(await playbackInfoOf('still.jpg')).toMatchObject({
      type: 'image',
      variants: [{ url: { url: expect.any(String) }, width: 320, height: 180 }],
    });
  });

  it('the playback info of an asset that is not ready is blocked', async () => {
    const { asset_uid } = await (await createUploadOfSize(10)).json();
    const { playback_token } = await fetchPlayer(asset_uid);
    expect(await (await requestPlaybackInfo(asset_uid, playback_token)).json()).toMatchObject({ blocked: true });
  });

  it('a forged token returns 401, a token of another asset 403, and a missing field 422', async () => {
    const [clip, tone] = [uids['clip.mp4'] as string, uids['tone.mp3'] as string];
    const { playback_token } = await fetchPlayer(clip);
    expect((await requestPlaybackInfo(clip, `${playback_token.slice(0, -2)}xx`)).status).toBe(401);
    expect((await requestPlaybackInfo(clip, 'rubbish')).status).toBe(401);
    expect((await requestPlaybackInfo(tone, playback_token)).status).toBe(403);
    const incomplete = await call('POST', '/playback/info/', {
      key: '',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ asset_id: clip }),
    });
    expect(incomplete.status).toBe(422);
  });

  it('invalid JSON returns 400, and a non-ASCII token or signature is refused like any invalid one', async () => {
    const malformed = await call('POST', '/playback/info/', {
      key: '',
      headers: { 'content-type': 'application/json' },
      body: '{"asset_id": ',
    });
    expect(malformed.status).toBe(400);
    expect(await malformed.json()).toMatchObject({ error: { code: 'bad_request' } });
    const clip = uids['clip.mp4'] as string;
    const { playback_token } = await fetchPlayer(clip);
    const withNonAsciiEnd = (text: string) => text.replace(/.$/, 'é');
    expect((await requestPlaybackInfo(clip, withNonAsciiEnd(playback_token))).status).toBe(401);
    const { source_url } = await playbackInfoOf('clip.mp4');
    expect((await fetch(withNonAsciiEnd(source_url.url))).status).toBe(403);
  });

  it('an expired playback token returns 401, and an expired media URL returns 403', async () => {
    let now = Date.now();
    const shortLivedSandbox = await startSandbox({ playbackSeconds: 60, now: () => now });
    const raw = rawHttp(() => shortLivedSandbox);
    try {
      const asset = await raw.upload(fixturePath('still.jpg'));
      const { playback_token } = await (await raw.call('GET', `/assets/${asset.uid}/player/`)).json();
      const requestInfo = () =>
        raw.call('POST', '/playback/info/', {
          key: '',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ asset_id: asset.uid, playback_token }),
        });
      const { variants } = await (await requestInfo()).json();
      now += 60_001; // a millisecond after the 60 seconds
      expect((await requestInfo()).status).toBe(401);
      expect((await fetch(variants[0].url.url)).status).toBe(403);
    } finally {
      await shortLivedSandbox.end();
    }
  });
});

describe('signed media', () => {
  it('every URL of an HLS stream is signed, and a changed signature, expiry or path returns 403', async () => {
    const { hls_url } = await playbackInfoOf('clip.mp4');
    const master = await fetch(hls_url.url);
    expect(master.headers.get('Content-Type')).toBe('application/vnd.apple.mpegurl');
    expect(master.headers.get('Access-Control-Allow-Origin')).toBe('*');
    const [playlistName] = (await master.text()).split('\n').filter((each) => /^playlist/.test(each));
    const playlistUrl = new URL(playlistName as string, hls_url.url);
    const playlist = await (await fetch(playlistUrl)).text();
    const [segment] = playlist.split('\n').filter((each) => /^segment/.test(each));
    const segmentUrl = new URL(segment as string, playlistUrl);
    const init = /URI="([^"]+)"/.exec(playlist)?.[1] as string;
    for (const url of [segmentUrl, new URL(init, playlistUrl)])
      expect((await fetch(url)).headers.get('Content-Type')).toBe('video/mp4');

    const statusWithChange = async (change: (url: URL) => void) => {
      const url = new URL(segmentUrl);
      change(url);
      return (await fetch(url)).status;
    };
    expect(await statusWithChange((url) => url.searchParams.set('signature', 'x'.repeat(43)))).toBe(403);
    expect(await statusWithChange((url) => url.searchParams.set('expires', '4102444800'))).toBe(403);
    expect(await statusWithChange((url) => url.searchParams.delete('signature'))).toBe(403);
    expect(
      await statusWithChange((url) => {
        url.pathname = url.pathname.replace('segment-1-1', 'segment-1-2');
      }),
    ).toBe(403);
  });

  it('the source URL of an asset supports range requests', async () => {
    const { source_url } = await playbackInfoOf('clip.mp4');
    const bytes = readFileSync(fixturePath('clip.mp4'));
    const fetchRange = async (range: string) => {
      const response = await fetch(source_url.url, { headers: { range } });
      const body = Buffer.from(await response.arrayBuffer());
      return { status: response.status, range: response.headers.get('Content-Range'), body };
    };
    expect(await fetchRange('bytes=10-19')).toEqual({
      status: 206,
      range: 'bytes 10-19/431943',
      body: bytes.subarray(10, 20),
    });
    expect((await fetchRange('bytes=-5')).body).toEqual(bytes.subarray(-5));
    expect((await fetchRange('bytes=431940-')).body).toEqual(bytes.subarray(431940));
    expect(await fetchRange('bytes=431943-')).toMatchObject({ status: 416, range: 'bytes */431943' });
    const wholeFile = await fetch(source_url.url);
    expect(Buffer.from(await wholeFile.arrayBuffer()).equals(bytes)).toBe(true);
  });

  it('ffprobe reads the expected duration and codecs from the HLS stream', { tags: 'ffmpeg' }, async () => {
    const { hls_url } = await playbackInfoOf('clip.mp4');
    const { format, streams } = await runFfprobe(hls_url.url);
    expect(Number(format.duration)).toBeCloseTo(10, 0);
    expect(streams.map(({ codec_name }) => codec_name)).toEqual(['h264', 'aac']);
  });
});
