import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { imageSize } from 'image-size';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ffmpeg,
  makeMedia,
  measureBrightness,
  rotateMp4,
  runFfprobe,
  secondsOfAudio,
  secondsOfVideo,
} from '../support/ffmpeg.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let sandbox: TestSandbox;
const log: string[] = [];
const { call, fetchPlaybackInfo, upload } = rawHttp(() => sandbox);

beforeAll(async () => {
  sandbox = await startSandbox({ ffmpeg, log: (line) => log.push(line) });
});
afterAll(() => sandbox.end());

/** Uploads a file and expects status `ready`. @returns the asset and its playback info */
const uploadUntilReady = async (path: string) => {
  const asset = await upload(path);
  expect(asset).toMatchObject({ status: 'ready', failure_reason: null });
  return { asset, info: await fetchPlaybackInfo(asset.uid) };
};

/** Returns the only rendition of a master playlist, as listed and as ffprobe reports it. */
const fetchRendition = async (masterUrl: string) => {
  const master = await (await fetch(masterUrl)).text();
  const entries = [...master.matchAll(/^#EXT-X-STREAM-INF:(.*)\n(\S+)/gm)];
  expect(entries).toHaveLength(1);
  const [, attributes = '', uri = ''] = entries[0] as RegExpExecArray;
  const { streams, format } = await runFfprobe(new URL(uri, masterUrl).href);
  const video = streams.find(({ codec_type }) => codec_type === 'video');
  const attribute = (name: string) => new RegExp(`(?:^|,)${name}="?([^",]*(?:,mp4a[^",]*)?)`).exec(attributes)?.[1];
  return {
    resolution: attribute('RESOLUTION'),
    codecs: attribute('CODECS'),
    probed: {
      resolution: `${video.width}x${video.height}`,
      names: streams.map(({ codec_name }) => codec_name),
      profile: video.profile,
      level: video.level,
      seconds: Number(format.duration),
      packets: Number(video.nb_read_packets),
    },
  };
};

const fetchImage = async (url: string) => {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  const bytes = Buffer.from(await response.arrayBuffer());
  const { width, height, type } = imageSize(bytes);
  expect(response.headers.get('Content-Type')).toBe(type === 'png' ? 'image/png' : 'image/jpeg');
  return { bytes, size: { width, height } };
};

describe.concurrent('videos', { tags: 'ffmpeg' }, () => {
  let clip: Awaited<ReturnType<typeof uploadUntilReady>>;
  beforeAll(async () => {
    clip = await uploadUntilReady(fixturePath('clip.mp4'));
  });

  it('a video has a thumbnail in every response in which §2 names `thumbnail_url` (absolute URL)', async () => {
    const { uid, thumbnail_url } = clip.asset;
    const url = new RegExp(`^${sandbox.url}/media/${uid}/extras/thumbnail\\.jpg\\?expires=`);
    expect(thumbnail_url).toMatch(url);
    const { items } = await (await call('GET', '/videos/')).json();
    const listItem = items.find((item: { uid: string }) => item.uid === uid);
    expect(listItem).toMatchObject({ thumbnail_url: expect.stringMatching(url) });
    const player = await (await call('GET', `/assets/${uid}/player/`)).json();
    expect(player.items[0].asset.thumbnail_url).toMatch(url);
    expect((await fetchImage(thumbnail_url)).size).toEqual({ width: 640, height: 360 });
    expect((await fetch(thumbnail_url.replace('thumbnail', 'sprites-0'))).status).toBe(403);
  });

  it('a video has one HLS rendition, the source, that matches the attributes in the playlist', async () => {
    const rendition = await fetchRendition(clip.info.hls_url.url);
    expect(rendition).toMatchObject({
      resolution: '640x360',
      codecs: 'avc1.64001f,mp4a.40.2',
      probed: { resolution: '640x360', names: ['h264', 'aac'], packets: 250 },
    });
    expect(rendition.probed.seconds).toBeCloseTo(10, 0);
  });

  it('a video has preview sprites whose cues cover its duration', async () => {
    const { url } = clip.info.preview_sprites_url;
    const vtt = await fetch(url);
    expect(vtt.headers.get('Content-Type')).toBe('text/vtt; charset=utf-8');
    const text = await vtt.text();
    expect(text.startsWith('WEBVTT\n\n')).toBe(true);
    const cue = /^00:00:([\d.]+) --> 00:00:([\d.]+)\n(\S+)#xywh=(\d+),(\d+),(\d+),(\d+)$/gm;
    const cues = [...text.matchAll(cue)];
    expect(cues.map(([, start]) => Number(start))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(cues.map(([, , end]) => Number(end))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const sheets = new Set(cues.map(([, , , uri = '']) => new URL(uri, url).href));
    expect(sheets.size).toBe(1);
    const { size: sheet } = await fetchImage([...sheets][0] as string);
    const places = cues.map((each) => each.slice(4).map(Number) as [number, number, number, number]);
    expect(new Set(places.map(String)).size).toBe(10);
    for (const [x, y, width, height] of places) {
      expect([width, height]).toEqual([160, 90]);
      expect(x + width <= sheet.width && y + height <= sheet.height).toBe(true);
    }
  });

  it('the thumbnail of a video that starts black is not black', async () => {
    const late = await makeMedia(
      'late.mp4',
      ...['-f', 'lavfi', '-i', 'color=black:size=320x240:duration=2'],
      ...secondsOfVideo(1, '320x240'),
      ...['-filter_complex', '[0:v][1:v]concat=n=2:v=1', '-pix_fmt', 'yuv420p'],
    );
    const { bytes } = await fetchImage((await uploadUntilReady(late)).asset.thumbnail_url);
    const path = join(temporaryFolder(), 'thumbnail.jpg');
    writeFileSync(path, bytes);
    expect(await measureBrightness(path)).toBeGreaterThan(60);
  });

  it('an all-black video with a single frame has a thumbnail', async () => {
    const frame = await makeMedia(
      'frame.mp4',
      ...['-f', 'lavfi', '-i', 'color=black:size=64x48:duration=0.04', '-pix_fmt', 'yuv420p'],
    );
    const { asset } = await uploadUntilReady(frame);
    expect((await fetchImage(asset.thumbnail_url)).size).toEqual({ width: 64, height: 48 });
  });

  it('a video with rotation metadata has upright dimensions, thumbnail and HLS', async () => {
    const upright = await makeMedia('upright.mp4', ...secondsOfVideo(1, '64x48'), '-pix_fmt', 'yuv420p');
    const { asset, info } = await uploadUntilReady(rotateMp4(upright, 48));
    expect(asset).toMatchObject({ width: 48, height: 64 });
    expect((await fetchImage(asset.thumbnail_url)).size).toEqual({ width: 48, height: 64 });
    expect(await fetchRendition(info.hls_url.url)).toMatchObject({ resolution: '48x64' });
  });

  it('the duration of a transport stream does not depend on its start timestamp', async () => {
    const broadcast = await makeMedia(
      'broadcast.ts',
      ...[...secondsOfVideo(6, '64x48'), ...secondsOfAudio(6), '-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-c:a', 'aac'],
      ...['-output_ts_offset', '5000'],
    );
    const { asset, info } = await uploadUntilReady(broadcast);
    expect(asset.duration).toBeCloseTo(6, 0);
    expect((await fetchRendition(info.hls_url.url)).probed.seconds).toBeCloseTo(6, 0);
  });

  it.each([
    ['MJPEG and PCM in QuickTime', 'old.mov', ['-c:v', 'mjpeg', '-c:a', 'pcm_s16le']],
    ['VP8 and Opus in WebM', 'web.webm', ['-c:v', 'libvpx', '-c:a', 'libopus']],
    ['H.264 and PCM', 'camera.mov', ['-pix_fmt', 'yuv420p', '-c:a', 'pcm_s16le']],
  ])('%s, which HLS does not support, is encoded as H.264 and AAC', async (_what, name, codecs) => {
    const path = await makeMedia(name, ...secondsOfVideo(1, '320x240'), ...secondsOfAudio(1), ...codecs);
    const rendition = await fetchRendition((await uploadUntilReady(path)).info.hls_url.url);
    const level = rendition.probed.level.toString(16).padStart(2, '0');
    expect(rendition).toMatchObject({
      resolution: '320x240',
      codecs: `avc1.4d40${level},mp4a.40.2`, // 4d: Main profile
      probed: { resolution: '320x240', names: ['h264', 'aac'], profile: 'Main', packets: 25 },
    });
  });

  it('a video of more than 1080p that must be encoded is scaled to fit', async () => {
    const path = await makeMedia('large.mov', ...secondsOfVideo(0.2, '2560x1440'), '-c:v', 'mjpeg');
    const { asset, info } = await uploadUntilReady(path);
    expect(asset).toMatchObject({ width: 2560, height: 1440 });
    const size = '1920x1080';
    expect(await fetchRendition(info.hls_url.url)).toMatchObject({ resolution: size, probed: { resolution: size } });
  });
});

describe.concurrent('audio', { tags: 'ffmpeg' }, () => {
  const waveformOf = async (path: string) => {
    const { asset, info } = await uploadUntilReady(path);
    const response = await fetch(info.waveform_url.url);
    expect(response.headers.get('Content-Type')).toBe('application/json');
    const waveform = (await response.json()) as { duration: number; peaks: number[] };
    expect(waveform.duration).toBe(asset.duration);
    expect(waveform.peaks.every((peak) => peak >= 0 && peak <= 1)).toBe(true);
    return waveform.peaks;
  };

  it('an audio waveform has high peaks for loud parts and zero for silence', async () => {
    const half = ['-af', "volume='if(lt(t,2),1,0)':eval=frame,volume=20dB"];
    const peaks = await waveformOf(await makeMedia('half.wav', ...secondsOfAudio(4), ...half));
    expect(peaks).toHaveLength(400);
    expect(Math.min(...peaks.slice(0, 190))).toBeGreaterThan(0.5);
    expect(Math.max(...peaks.slice(210))).toBe(0);
    const silence = ['-f', 'lavfi', '-i', 'anullsrc=duration=1'];
    expect(new Set(await waveformOf(await makeMedia('silence.wav', ...silence)))).toEqual(new Set([0]));
  });

  it('an audio waveform is limited to full scale and includes high frequencies', async () => {
    const loud = ['-af', 'volume=30dB', '-c:a', 'pcm_f32le'];
    const peaks = await waveformOf(await makeMedia('loud.wav', ...secondsOfAudio(1, { hertz: 15_000 }), ...loud));
    expect(Math.min(...peaks.slice(1, -1))).toBe(1);
  });
});

describe.concurrent('images', { tags: 'ffmpeg' }, () => {
  const still = (size: string) => [...secondsOfVideo(1, size), '-frames:v', '1'];
  const variantsOf = async (path: string) => {
    const { asset, info } = await uploadUntilReady(path);
    const sizes = await Promise.all(
      info.variants.map(async ({ url, width, height }: Variant) => {
        const name = new URL(url.url).pathname.split('/').at(-1) as string;
        if (name !== 'source') expect((await fetchImage(url.url)).size).toEqual({ width, height });
        return { name, width, height };
      }),
    );
    return { asset, sizes };
  };

  it('an image has smaller variants with the dimensions that they declare', async () => {
    const { asset, sizes } = await variantsOf(await makeMedia('wide.jpg', ...still('1400x700')));
    expect(sizes).toEqual([
      { name: 'source', width: 1400, height: 700 },
      { name: 'variant-1280.jpg', width: 1280, height: 640 },
      { name: 'variant-640.jpg', width: 640, height: 320 },
      { name: 'variant-320.jpg', width: 320, height: 160 },
    ]);
    expect(asset.thumbnail_url).toContain('/variant-320.jpg?');
  });

  it('a small image has no smaller variants', async () => {
    const { asset, sizes } = await variantsOf(fixturePath('still.jpg'));
    expect(sizes).toEqual([{ name: 'source', width: 320, height: 180 }]);
    expect(asset.thumbnail_url).toContain('/source?'); // the image is its own thumbnail
  });

  it('a transparent PNG gets PNG variants, and an opaque PNG gets JPEG variants', async () => {
    const corner = 'format=rgba,geq=r=200:g=0:b=0:a=if(lt(X+Y\\,40)\\,0\\,255)';
    const logo = await makeMedia('logo.png', ...still('400x400'), '-vf', corner);
    expect((await variantsOf(logo)).sizes.map(({ name }) => name)).toEqual(['source', 'variant-320.png']);
    const opaque = await makeMedia('opaque.png', ...still('400x400'), '-pix_fmt', 'rgba');
    expect((await variantsOf(opaque)).sizes[1]?.name).toBe('variant-320.jpg');
  });

  it('an image with EXIF rotation and its variants have the displayed dimensions', async () => {
    const bytes = readFileSync(await makeMedia('flat.jpg', ...still('800x400')));
    // Big-endian EXIF with one tag: 0x0112 (orientation), a short, 6.
    const orientation6 = Buffer.from('ffe100224578696600004d4d002a00000008000101120003000000010006000000000000', 'hex');
    const path = join(temporaryFolder(), 'turned.jpg');
    writeFileSync(path, Buffer.concat([bytes.subarray(0, 2), orientation6, bytes.subarray(2)]));
    expect((await variantsOf(path)).sizes).toEqual([
      { name: 'source', width: 400, height: 800 },
      { name: 'variant-640.jpg', width: 320, height: 640 },
      { name: 'variant-320.jpg', width: 160, height: 320 },
    ]);
  });

  it('an animated image gets no variants', async () => {
    const moving = await makeMedia('moving.gif', ...secondsOfVideo(1, '64x32'));
    expect((await variantsOf(moving)).sizes).toHaveLength(1);
  });

  it('an image is detected regardless of its file name', async () => {
    const renamed = join(temporaryFolder(), 'film.mp4');
    writeFileSync(renamed, readFileSync(await makeMedia('a.png', ...still('64x32'))));
    expect((await variantsOf(renamed)).asset).toMatchObject({ type: 'image', content_type: 'image/png' });
  });

  type Variant = { url: { url: string }; width: number; height: number };
});

it('the log reports no skipped processing step', { tags: 'ffmpeg' }, () => {
  expect(log.filter((line) => /asset \S+ no /.test(line))).toEqual([]);
});
