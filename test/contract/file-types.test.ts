import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { imageSize } from 'image-size';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ffmpeg, makeMedia, runFfprobe, secondsOfAudio, secondsOfVideo } from '../support/ffmpeg.ts';
import { pdfOf } from '../support/pdf.ts';
import { pdftoppm } from '../support/pdftoppm.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// Detected type and playback info of every kind of file.
let withoutTools: TestSandbox;
let withTools: TestSandbox;
beforeAll(async () => {
  withoutTools = await startSandbox();
  withTools = await startSandbox({ ffmpeg, pdftoppm });
});
afterAll(async () => {
  await withoutTools.end();
  await withTools.end();
});

/** Uploads a file and waits until it is processed. @returns the asset, its playback info and its player's thumbnail */
async function uploadAndProcess(sandbox: TestSandbox, path: string, metadata = {}) {
  const { fetchPlaybackInfo, fetchPlayer, upload } = rawHttp(() => sandbox);
  const asset = await upload(path, metadata);
  const [item] = (await fetchPlayer(asset.uid)).items;
  return { asset, info: await fetchPlaybackInfo(asset.uid), poster: item.asset.thumbnail_url };
}

const writeTemporaryFile = (name: string, content: string | Uint8Array) => {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, content);
  return path;
};

const fileNameIn = (url: string) => new URL(url).pathname.split('/').at(-1);

const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="48"><script/></svg>';
const emptyZip = Buffer.from(`504b0506${'00'.repeat(18)}`, 'hex');
const noise = Buffer.alloc(1000, '\u0007noise');

describe.concurrent('without media tools', () => {
  it.each([
    ['a.zip', emptyZip, 'generic', 'application/zip'],
    ['a.bin', noise, 'generic', 'application/octet-stream'],
    ['list.ffconcat', 'ffconcat version 1.0\n', 'generic', 'application/octet-stream'],
    ['a.vtt', 'WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n', 'document', 'text/vtt'],
    ['a.srt', '1\n00:00:00,000 --> 00:00:01,000\nHello\n', 'document', 'text/plain'],
    ['a.xml', '<?xml version="1.0"?><a/>', 'document', 'text/plain'],
    ['a.avi', 'RIFF\x00\x10\x00\x00AVI LIST', 'video', 'video/vnd.avi'],
    ['a.flv', 'FLV\x01\x05\x00\x00\x00\x09', 'video', 'video/x-flv'],
    ['a.aiff', 'FORM\x00\x00\x10\x00AIFFCOMM', 'audio', 'audio/aiff'],
    ['a.caf', 'caff\x00\x01\x00\x00desc', 'audio', 'audio/x-caf'],
  ])('%s is ready and served unchanged when no media tool is installed', async (name, content, type, content_type) => {
    const bytes = typeof content === 'string' ? Buffer.from(content, 'latin1') : content;
    const { asset, info } = await uploadAndProcess(withoutTools, writeTemporaryFile(name, bytes));
    expect(asset).toMatchObject({ status: 'ready', type, content_type, failure_reason: null });
    // §2 has five playback types; `generic` is not one of them.
    const playbackType = type === 'generic' ? 'document' : type;
    expect(info).toMatchObject({ type: playbackType, blocked: false });
    const servedUrl = info.url ?? info.source?.url ?? info.source_url.url;
    expect(Buffer.from(await (await fetch(servedUrl)).arrayBuffer()).equals(bytes)).toBe(true);
  });

  it.each([
    ['by its name', 'a.mp4', {}],
    ['by its name', 'a.png', {}],
    ['by its name', 'a.pdf', {}],
    ['by its content_type', 'a', { content_type: 'audio/mpeg' }],
  ])('a file that claims to be media %s but is not fails processing: %s', async (_how, name, metadata) => {
    const { asset } = await uploadAndProcess(withoutTools, writeTemporaryFile(name, noise), metadata);
    expect(asset).toMatchObject({ status: 'failed', failure_reason: expect.stringContaining('unsupported') });
  });

  it('a JPEG with large metadata is ready as an image, and a truncated JPEG fails', async () => {
    const bytes = readFileSync(fixturePath('still.jpg'));
    const note = Buffer.concat([Buffer.from('ffefffff', 'hex'), Buffer.alloc(0xffff - 2, 32)]);
    const notes = Array.from({ length: 12 }, () => note);
    const large = Buffer.concat([bytes.subarray(0, 2), ...notes, bytes.subarray(2)]);
    const { asset } = await uploadAndProcess(withoutTools, writeTemporaryFile('large.jpg', large));
    expect(asset).toMatchObject({ status: 'ready', type: 'image', width: 320, height: 180 });
    const { asset: broken } = await uploadAndProcess(
      withoutTools,
      writeTemporaryFile('cut.jpg', large.subarray(0, 99)),
    );
    expect(broken).toMatchObject({ status: 'failed', failure_reason: expect.stringContaining('cannot be read') });
  });

  it('an SVG is an image and is served with a Content-Security-Policy that sandboxes it', async () => {
    const { asset, info, poster } = await uploadAndProcess(withoutTools, writeTemporaryFile('a.svg', svg));
    expect(asset).toMatchObject({ type: 'image', content_type: 'image/svg+xml', width: 64 });
    const [{ url }] = info.variants;
    const headers = (await fetch(url.url)).headers;
    expect(headers.get('content-type')).toBe('image/svg+xml');
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*; sandbox$/);
    expect(fileNameIn(poster)).toBe('source');
  });

  it.each([
    ['a.xhtml', '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>', true],
    ['a.txt', 'words', true],
    ['a.zip', emptyZip, true],
    ['a.pdf', pdfOf('a page'), false],
  ])(
    'a source that a browser could execute is served sandboxed, and a PDF is not: %s',
    async (name, content, isSandboxed) => {
      const { info } = await uploadAndProcess(withoutTools, writeTemporaryFile(name, content));
      for (const range of ['', 'bytes=0-1']) {
        const response = await fetch(info.url, { headers: { range } });
        const policy = response.headers.get('content-security-policy') ?? '';
        expect([response.ok, policy.endsWith('; sandbox')]).toEqual([true, isSandboxed]);
        expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      }
    },
  );

  it('a song with a cover is audio', { tags: 'ffmpeg' }, async () => {
    const song = await makeMedia('a.mp3', ...secondsOfAudio(1), '-c:a', 'libmp3lame');
    const cover = await makeMedia('a.png', ...secondsOfVideo(1, '200x100'), '-frames:v', '1');
    const songWithCover = ['-i', song, '-i', cover, '-map', '0', '-map', '1', '-c', 'copy'];
    const path = await makeMedia('cover.mp3', ...songWithCover, '-disposition:v', 'attached_pic');
    for (const sandbox of [withoutTools, withTools]) {
      const { asset } = await uploadAndProcess(sandbox, path);
      expect(asset).toMatchObject({ status: 'ready', type: 'audio', content_type: 'audio/mpeg' });
    }
  });

  it('an MPEG transport stream with MPEG-2 video is a video without HLS', { tags: 'ffmpeg' }, async () => {
    const mpeg2 = ['-c:v', 'mpeg2video', '-c:a', 'mp2'];
    const path = await makeMedia('a.ts', ...secondsOfVideo(1, '64x36'), ...secondsOfAudio(1), ...mpeg2);
    const { asset, info } = await uploadAndProcess(withoutTools, path);
    expect(asset).toMatchObject({ status: 'ready', type: 'video' });
    expect(info.hls_url).toBeNull();
  });
});

describe.concurrent('with ffmpeg', { tags: 'ffmpeg' }, () => {
  it.each([
    ['MPEG-2 in a transport stream', 'a.ts', ['-c:v', 'mpeg2video', '-c:a', 'mp2']],
    ['AVI', 'a.avi', ['-c:v', 'mpeg4', '-c:a', 'libmp3lame']],
  ])('%s is processed as a video with duration, dimensions and HLS', async (_what, name, codecs) => {
    const path = await makeMedia(name, ...secondsOfVideo(2, '320x180'), ...secondsOfAudio(2), ...codecs);
    const { asset, info } = await uploadAndProcess(withTools, path);
    expect(asset).toMatchObject({ status: 'ready', type: 'video', width: 320, height: 180 });
    expect(asset.duration).toBeCloseTo(2, 0);
    const { streams } = await runFfprobe(info.hls_url.url);
    expect(new Set(streams.map(({ codec_name }) => codec_name))).toEqual(new Set(['h264', 'aac']));
  });

  it.each([
    ['packaged', ['-c:a', 'aac']],
    ['encoded, since not all browsers play AC-3', ['-c:a', 'ac3', '-mpegts_m2ts_mode', '1']],
  ])('interlaced H.264 of a camcorder keeps its full height when it is %s', async (_how, container) => {
    const interlaced = ['-c:v', 'libx264', '-flags', '+ildct+ilme', '-pix_fmt', 'yuv420p'];
    const path = await makeMedia(
      'a.mts',
      ...secondsOfVideo(1, '320x180'),
      ...secondsOfAudio(1),
      ...interlaced,
      ...container,
      ...['-f', 'mpegts'],
    );
    const { asset, info } = await uploadAndProcess(withTools, path);
    expect(asset).toMatchObject({ width: 320, height: 180 });
    const master = await (await fetch(info.hls_url.url)).text();
    expect(master.match(/RESOLUTION=\d+x\d+/g)).toEqual(['RESOLUTION=320x180']);
    expect(master).toContain(',mp4a.40.2"'); // AAC
  });

  it.each([
    ['ALAC', 'a.m4a', ['-c:a', 'alac']],
    ['AIFF', 'a.aiff', []],
    ['Matroska', 'a.mka', ['-c:a', 'aac']],
  ])('%s, which browsers do not play, gets an AAC source that they play', async (_what, name, codec) => {
    const { asset, info } = await uploadAndProcess(withTools, await makeMedia(name, ...secondsOfAudio(1), ...codec));
    expect(asset).toMatchObject({ status: 'ready', type: 'audio' });
    expect(Math.abs(asset.duration - 1)).toBeLessThan(0.1);
    const { headers } = await fetch(info.source.url);
    expect(headers.get('content-type')).toBe('audio/mp4');
    const { streams, format } = await runFfprobe(info.source.url);
    expect(streams.map(({ codec_name }) => codec_name)).toEqual(['aac']);
    expect(Math.abs(Number(format.duration) - 1)).toBeLessThan(0.1);
    expect(info.waveform_url).not.toBeNull();
  });

  it('a TIFF image gets JPEG variants, and a corrupt TIFF fails', async () => {
    const still = [...secondsOfVideo(1, '700x350'), '-frames:v', '1'];
    const path = await makeMedia('a.tiff', ...still);
    const { asset, info } = await uploadAndProcess(withTools, path);
    expect(asset).toMatchObject({ status: 'ready', type: 'image', width: 700, height: 350 });
    expect(info.variants.map(({ url, width }: Variant) => [fileNameIn(url.url), width])).toEqual([
      ['variant-700.jpg', 700],
      ['variant-640.jpg', 640],
      ['variant-320.jpg', 320],
    ]);
    const broken = Buffer.from(readFileSync(path)).fill(0xff, 8);
    const { asset: failed } = await uploadAndProcess(withTools, writeTemporaryFile('broken.tiff', broken));
    expect(failed).toMatchObject({ status: 'failed', failure_reason: expect.stringContaining('cannot be read') });
  });

  it('a GIF stays animated, also as its thumbnail', async () => {
    const { asset, info } = await uploadAndProcess(withTools, await makeMedia('a.gif', ...secondsOfVideo(1, '64x36')));
    expect(fileNameIn(asset.thumbnail_url)).toBe('source');
    expect(info.variants.map(({ url }: Variant) => fileNameIn(url.url))).toEqual(['source']);
  });

  it('a corrupt AVI fails with a reason that does not reveal its path', async () => {
    const { asset } = await uploadAndProcess(withTools, writeTemporaryFile('a.avi', 'RIFF\x00\x10\x00\x00AVI LIST'));
    expect(asset).toMatchObject({ status: 'failed', failure_reason: expect.stringContaining('ffmpeg: ') });
    expect(asset.failure_reason).not.toContain(withTools.dataDir);
  });

  /** Makes a file with subtitles in two tracks and a chapter. */
  const makeMatroska = (media: string[], codec: string[] = []) => {
    const srt = writeTemporaryFile('a.srt', '1\n00:00:00,200 --> 00:00:00,900\nGuten Tag\n');
    const chapter = '[CHAPTER]\nTIMEBASE=1/1000\nSTART=500\nEND=1000\ntitle=On\\; \\= off\n';
    const inputs = ['-i', srt, '-i', writeTemporaryFile('tags.txt', `;FFMETADATA1\n${chapter}`), '-map_metadata', '2'];
    const tracks = ['-map', '0', '-map', '1', '-map', '1', '-c:s', 'srt'];
    const tags = ['-metadata:s:s:0', 'language=ger', '-metadata:s:s:1', 'title=Signs; = songs'];
    return makeMedia('a.mkv', ...media, ...inputs, ...tracks, ...tags, ...codec);
  };
  const chapters = [{ title: 'On; = off', start_time: 0.5 }];

  it('the playback info of audio in Matroska contains its chapters, and its subtitles as signed WebVTT tracks', async () => {
    const { info } = await uploadAndProcess(withTools, await makeMatroska(secondsOfAudio(1), ['-c:a', 'flac']));
    const { subtitle_tracks } = info;
    expect(info).toMatchObject({ type: 'audio', chapters });
    expect(subtitle_tracks).toEqual([
      { label: 'German', language: 'de', url: expect.any(String), expires_at: expect.any(String) },
      { label: 'Signs; = songs', language: 'und', url: expect.any(String), expires_at: expect.any(String) },
    ]);
    const [{ url }] = subtitle_tracks;
    const response = await fetch(url);
    expect(response.headers.get('content-type')).toBe('text/vtt; charset=utf-8');
    expect(await response.text()).toMatch(/^WEBVTT\n\n00:00\.200 --> 00:00\.900\nGuten Tag\n/);
    expect((await fetch(url.replace('subtitles-0', 'subtitles-1'))).status).toBe(403);
  });

  it('the playback info of a video in Matroska contains its chapters, and no subtitles, as in §2', async () => {
    const { info } = await uploadAndProcess(withTools, await makeMatroska(secondsOfVideo(1, '64x36')));
    expect(info).toMatchObject({ type: 'video', chapters });
    expect(info).not.toHaveProperty('subtitle_tracks');
  });

  it('each subtitle track costs a credit, and is not generated if the balance is too low (§1)', async () => {
    const path = await makeMatroska(secondsOfAudio(1), ['-c:a', 'flac']);
    const countTracks = async (credits: number) => {
      const limited = await startSandbox({ ffmpeg, credits });
      try {
        const { call, fetchPlaybackInfo, upload } = rawHttp(() => limited);
        const { uid } = await upload(path);
        const { subtitle_tracks } = await fetchPlaybackInfo(uid);
        return [subtitle_tracks.length, (await call('GET', `/assets/${uid}/player/`)).status];
      } finally {
        await limited.end();
      }
    };
    // one for the storage, two for the tracks, and one for the player data
    expect(await countTracks(4)).toEqual([2, 402]);
    expect(await countTracks(2)).toEqual([0, 402]);
  });

  it('subtitles without a title and a language are numbered', async () => {
    const srt = writeTemporaryFile('a.srt', '1\n00:00:00,200 --> 00:00:00,900\nHello\n');
    const tracks = ['-i', srt, '-map', '0', '-map', '1', '-c:a', 'flac', '-c:s', 'srt'];
    const { info } = await uploadAndProcess(withTools, await makeMedia('a.mkv', ...secondsOfAudio(1), ...tracks));
    expect(info).toMatchObject({ type: 'audio', subtitle_tracks: [{ label: 'Subtitles 1', language: 'und' }] });
  });

  type Variant = { url: { url: string }; width: number };
});

describe.concurrent('with pdftoppm', { tags: 'pdftoppm' }, () => {
  it('a PDF gets an image of each page, and the first one is its thumbnail', async () => {
    const pages = Array.from({ length: 11 }, (_, at) => `Page ${at + 1}`);
    const { asset, info, poster } = await uploadAndProcess(withTools, writeTemporaryFile('a.pdf', pdfOf(...pages)));
    expect(asset).toMatchObject({ status: 'ready', type: 'document' });
    expect(info.thumbnails.map(({ page }: { page: number }) => page)).toEqual(pages.map((_, at) => at + 1));
    expect(new URL(info.thumbnails[0].url).pathname).toBe(new URL(poster).pathname);
    const bytes = Buffer.from(await (await fetch(info.thumbnails[10].url)).arrayBuffer());
    expect(imageSize(bytes)).toMatchObject({ type: 'jpg', width: 640, height: 427 });
  });

  it('a corrupt PDF is ready as a document without page images', async () => {
    const { asset, info } = await uploadAndProcess(withTools, writeTemporaryFile('a.pdf', '%PDF-1.7\nnonsense'));
    expect(asset).toMatchObject({ status: 'ready', type: 'document', thumbnail_url: null });
    expect(info.thumbnails).toEqual([]);
  });
});
