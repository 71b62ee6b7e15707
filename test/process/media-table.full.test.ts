import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, type ExpectStatic, it } from 'vitest';
import { launchBrowser } from '../support/browser.ts';
import { ffmpeg, makeMedia, rotateMp4 } from '../support/ffmpeg.ts';
import { has } from '../support/has.ts';
import { pdfOf } from '../support/pdf.ts';
import { pdftoppm } from '../support/pdftoppm.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// Common kinds of media: each is uploaded, processed, and played to its end in a browser.

/** Abbreviations of frequent ffmpeg arguments. */
const words: Record<string, string> = {
  PICTURE: '-f lavfi -i testsrc2=size=320x180:rate=25:duration=2',
  SOUND: '-f lavfi -i sine=sample_rate=44100:duration=2',
  // Noise makes the clip so large that the muxer falls behind.
  NOISE: '-f lavfi -i testsrc2=size=640x360:rate=25,noise=alls=30:allf=t -f lavfi -i sine -bf 0',
  STILL: '-f lavfi -i testsrc2=size=640x360 -frames:v 1',
  H264: '-c:v libx264 -preset ultrafast -pix_fmt yuv420p',
  HEVC: '-c:v libx265 -preset ultrafast -x265-params log-level=error',
  AAC: '-c:a aac',
};

const args = (text: string): string[] => text.split(' ').flatMap((word) => (words[word] ?? word).split(' '));

/** Expected behavior of an asset's watch page, or the reason why the file is refused. */
type Does = 'plays' | 'plays audio' | 'shows an image' | 'links to the file' | 'shows a warning' | RegExp;

/** File name, expected behavior with ffmpeg and without (undefined: not tested), and how the file is made. */
type Row = [string, Does | undefined, Does | undefined, string | (() => Uint8Array | string)];

const rows: Row[] = [
  // H.264 and AAC as phones, screen recorders, cameras and editors write them.
  ['noisy.mp4', undefined, 'plays', 'NOISE -t 7 H264 AAC'],
  ['b-frames.mp4', 'plays', 'plays', 'PICTURE SOUND -c:v libx264 -pix_fmt yuv420p AAC'],
  ['fragmented.mp4', 'plays', undefined, 'PICTURE SOUND H264 AAC -movflags frag_keyframe+empty_moov'],
  ['uneven.mkv', 'plays', undefined, 'PICTURE SOUND -vf select=mod(n\\,7) H264 AAC'],
  ['rotated.mp4', 'plays', undefined, 'PICTURE SOUND H264 AAC'],
  ['ten-bits.mp4', 'plays', undefined, 'PICTURE SOUND H264 -pix_fmt yuv422p10le AAC'],
  ['long-sound.mp4', 'plays', undefined, 'PICTURE -f lavfi -i sine=duration=3.5 H264 AAC'],
  ['languages.mp4', 'plays', undefined, 'PICTURE SOUND SOUND -map 0 -map 1 -map 2 H264 AAC'],
  // Other codecs.
  ['phone.mp4', 'plays', 'shows a warning', 'PICTURE SOUND HEVC -tag:v hvc1 AAC'],
  ['vp8.webm', 'plays', 'plays', 'PICTURE SOUND -c:v libvpx -c:a libvorbis'],
  ['vp9.webm', 'plays', undefined, 'PICTURE SOUND -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus'],
  ['av1.mkv', 'plays', 'plays', 'PICTURE SOUND -c:v libsvtav1 -preset 12 -c:a libopus'],
  ['prores.mov', 'plays', 'shows a warning', 'PICTURE SOUND -c:v prores_ks -c:a pcm_s16le'],
  ['mjpeg.mov', 'plays', undefined, 'PICTURE SOUND -c:v mjpeg -pix_fmt yuvj420p -c:a pcm_s16le'],
  ['dnxhr.mov', 'plays', undefined, 'PICTURE -c:v dnxhd -profile:v dnxhr_lb -pix_fmt yuv422p'],
  // Other containers.
  ['broadcast.ts', 'plays', 'plays', 'PICTURE SOUND H264 AAC'],
  ['mpeg2.ts', 'plays', 'shows a warning', 'PICTURE SOUND -c:v mpeg2video -c:a mp2'],
  ['camcorder.mts', 'plays', undefined, 'PICTURE SOUND H264 -flags +ildct+ilme -c:a ac3 -mpegts_m2ts_mode 1 -f mpegts'],
  ['divx.avi', 'plays', 'shows a warning', 'PICTURE SOUND -c:v mpeg4 -c:a libmp3lame'],
  ['old.flv', 'plays', undefined, 'PICTURE SOUND -c:v flv -c:a libmp3lame'],
  ['office.wmv', 'plays', undefined, 'PICTURE SOUND -c:v wmv2 -c:a wmav2'],
  // Sound.
  ['a.mp3', 'plays audio', 'plays audio', 'SOUND -c:a libmp3lame'],
  ['a.m4a', 'plays audio', undefined, 'SOUND AAC'],
  ['alac.m4a', 'plays audio', 'shows a warning', 'SOUND -c:a alac'],
  ['a.flac', 'plays audio', undefined, 'SOUND -c:a flac'],
  ['a.opus', 'plays audio', undefined, 'SOUND -c:a libopus'],
  ['a.wav', 'plays audio', undefined, 'SOUND -c:a pcm_s16le'],
  ['a.aiff', 'plays audio', undefined, 'SOUND -c:a pcm_s16be'],
  ['a.ac3', 'plays audio', undefined, 'SOUND -c:a ac3'],
  // Pictures.
  ['a.png', 'shows an image', undefined, 'STILL'],
  ['a.webp', 'shows an image', undefined, 'STILL'],
  ['a.gif', 'shows an image', undefined, '-f lavfi -i testsrc2=size=320x180:rate=5:duration=1'],
  ['a.avif', 'shows an image', undefined, 'STILL -c:v libaom-av1 -cpu-used 8 -still-picture 1'],
  ['a.tiff', 'shows an image', 'shows a warning', 'STILL'],
  [
    'a.svg',
    'shows an image',
    'shows an image',
    () => '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="48"/>',
  ],
  // Documents and other files.
  ['a.pdf', 'links to the file', undefined, () => pdfOf('One')],
  ['a.txt', 'links to the file', undefined, () => 'Tide tables\n'],
  ['a.vtt', 'links to the file', undefined, () => 'WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n'],
  ['a.zip', 'links to the file', 'links to the file', () => Buffer.from(`504b0506${'00'.repeat(18)}`, 'hex')],
  // Broken files.
  ['noise.mp4', /unsupported/, /unsupported/, () => Buffer.alloc(20_000, 'noise')],
  ['truncated.mp4', /truncated/, /truncated/, () => readFileSync(fixturePath('clip.mp4')).subarray(0, 300_000)],
  ['headless.avi', /ffmpeg: /, undefined, () => 'RIFF\u0000\u0010\u0000\u0000AVI LIST'],
];

/** Files by name, created once for both tables. */
const files = new Map<string, Promise<string>>();
let browser: Browser;
/** Pool of idle pages. */
const pages: Page[] = [];
beforeAll(async () => {
  if (!has('ffmpeg') || !has('chromium')) return;
  browser = await launchBrowser();
  const made = fewAtOnce(rows, ([name, , , make]) => fileOf(name, make));
  rows.forEach(([name], at) => {
    files.set(name, made[at] as Promise<string>);
  });
});
afterAll(() => browser?.close());

/** Processes items with at most three at a time; more would only wait for each other. */
function fewAtOnce<T, R>(list: readonly T[], work: (each: T) => Promise<R>): Promise<R>[] {
  const begun: Promise<R>[] = [];
  for (const [at, each] of list.entries())
    begun.push(at < 3 ? work(each) : (begun[at - 3] as Promise<R>).then(() => work(each)));
  return begun;
}

async function fileOf(name: string, make: Row[3]): Promise<string> {
  if (typeof make === 'string') {
    const path = await makeMedia(name, ...args(make));
    return name.startsWith('rotated') ? rotateMp4(path, 180) : path;
  }
  const path = join(temporaryFolder(), name);
  writeFileSync(path, make());
  return path;
}

describe('with ffmpeg', { tags: ['ffmpeg', 'chromium'] }, () =>
  table(
    { ffmpeg, pdftoppm },
    rows.flatMap(([name, does]) => (does ? [[name, does]] : [])),
  ),
);

describe('without ffmpeg', { tags: ['ffmpeg', 'chromium'] }, () =>
  table(
    {},
    rows.flatMap(([name, , alone]) => (alone ? [[name, alone]] : [])),
  ),
);

function table(tools: { ffmpeg?: string; pdftoppm?: string }, expectations: [string, Does][]) {
  let sandbox: TestSandbox;
  const { call, createUploadOfSize, patch } = rawHttp(() => sandbox);
  /** Uploads a file and waits for processing; polls rarely, since the machine is busy. */
  const upload = async (name: string) => {
    const bytes = readFileSync((await files.get(name)) as string);
    const { asset_uid, location } = await (await createUploadOfSize(bytes.length, { filename: name })).json();
    await patch(location, 0, bytes);
    for (;;) {
      const asset = await (await call('GET', `/assets/${asset_uid}/`)).json();
      if (asset.status === 'ready' || asset.status === 'failed') return asset;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  };
  const assets = new Map<string, ReturnType<typeof upload>>();
  beforeAll(async () => {
    const rateLimit = { limit: 1_000_000, windowSeconds: 3600 };
    sandbox = await startSandbox({ ...tools, rateLimit, strict: false });
    const uploads = fewAtOnce(expectations, ([name]) => upload(name));
    expectations.forEach(([name], at) => {
      assets.set(name, uploads[at] as ReturnType<typeof upload>);
    });
  });
  afterAll(() => sandbox.end());

  it.concurrent.for(expectations)(
    'the watch page of %s has the expected result: %s',
    async ([name, expected], { expect }) => {
      const asset = await assets.get(name);
      if (expected instanceof RegExp) {
        expect(asset).toMatchObject({ status: 'failed', failure_reason: expect.stringMatching(expected) });
        return;
      }
      expect(asset).toMatchObject({ status: 'ready', failure_reason: null });
      const player = await (await call('GET', `/assets/${asset.uid}/player/`)).json();
      const page = pages.pop() ?? (await browser.newPage());
      await page.goto(`${sandbox.url}/watch/${asset.uid}?token=${player.playback_token}`);
      await expectResult(page, expected, asset.duration, expect);
      pages.push(page);
    },
  );
}

type Image = { naturalWidth: number };

/** The part of HTMLMediaElement that tests use; tests compile without DOM types. */
type Media = {
  currentTime: number;
  duration: number;
  ended: boolean;
  paused: boolean;
  muted: boolean;
  defaultPlaybackRate: number;
  playbackRate: number;
  videoWidth?: number;
  play(): Promise<void>;
};

async function expectResult(page: Page, expected: Does, duration: number, expect: ExpectStatic) {
  const alert = page.getByRole('alert');
  if (expected === 'shows a warning') {
    // The player shows a message if it plays only the sound, or nothing at all.
    await page.locator('video, audio, img').evaluate((media: Media) => void media.play?.());
    await alert.waitFor();
    return;
  }
  if (expected === 'links to the file') {
    const link = page.getByRole('link', { name: 'Open the document' });
    expect((await fetch((await link.getAttribute('href')) as string)).status).toBe(200);
  } else if (expected === 'shows an image') {
    const image = page.locator('img.picture');
    await image.waitFor();
    await expect.poll(() => image.evaluate((shown: Image) => shown.naturalWidth)).toBeGreaterThan(0);
  } else {
    const element = page.locator(expected === 'plays' ? 'video' : 'audio');
    const end = await element.evaluate(
      (media: Media) =>
        new Promise<{ at: number; of: number; width: number | undefined }>((resolve) => {
          media.muted = true;
          media.defaultPlaybackRate = 8;
          media.playbackRate = 8;
          const timer = setInterval(() => {
            if (media.ended) {
              clearInterval(timer);
              resolve({ at: media.currentTime, of: media.duration, width: media.videoWidth });
            } else if (media.paused) media.play().catch(() => {}); // the next playback strategy starts from the beginning
          }, 50);
        }),
    );
    expect(end.at).toBeCloseTo(duration, 0);
    expect(end.at).toBeCloseTo(end.of, 2);
    if (expected === 'plays') expect(end.width).toBeGreaterThan(0);
  }
  expect(await alert.isVisible()).toBe(false);
}
