import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { ffmpeg, makeMedia, secondsOfAudio, secondsOfVideo } from '../support/ffmpeg.ts';
import { respond, startServer } from '../support/http-server.ts';
import { pdfOf } from '../support/pdf.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const cleanups: (() => unknown)[] = [];
afterAll(() => Promise.all(cleanups.map((end) => end())));

/** Starts a sandbox for one test; returns its log lines and functions for raw requests. */
async function startWith(options: Partial<SandboxOptions>) {
  const log: string[] = [];
  const sandbox = await startSandbox({ ...options, log: (line) => log.push(line) });
  cleanups.push(() => sandbox.end());
  return { sandbox, log, ...rawHttp(() => sandbox) };
}

/** Writes a shell script that replaces ffmpeg. @returns its path */
function writeFfmpegScript(...lines: string[]): string {
  const folder = temporaryFolder();
  for (const name of ['ffmpeg', 'ffprobe'])
    writeFileSync(join(folder, name), ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 });
  return join(folder, 'ffmpeg');
}

/** Creates an ffmpeg that never ends and records its own pid and that of its child process. */
function createHangingFfmpeg() {
  const pids = join(temporaryFolder(), 'pids');
  const path = writeFfmpegScript(`sleep 1000 & echo $$ $! >> '${pids}'; wait`);
  const startedPids = () => (existsSync(pids) ? readFileSync(pids, 'utf8').match(/\d+/g) : null) ?? [];
  /** A clock on which every timeout expires once the program has started its child process. */
  const clock = {
    sleep: async (_: number, signal?: AbortSignal) => {
      while (startedPids().length < 2) {
        signal?.throwIfAborted();
        await systemClock.sleep(20);
      }
    },
  };
  return { path, startedPids, clock };
}

const waitUntil = async (condition: () => boolean) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
};

/** True if the process has ended; zombies, which nothing has waited for yet, count as ended. */
const hasEnded = (pid: string) => {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
};

describe.concurrent('broken ffmpeg', () => {
  it('a failing ffmpeg leaves the asset ready without extras, and the reason is logged', async () => {
    const broken = writeFfmpegScript('echo first >&2; echo "no such filter" >&2; exit 1');
    const { upload, fetchPlaybackInfo, log } = await startWith({ ffmpeg: broken });
    const clip = await upload(fixturePath('clip.mp4'));
    expect(clip).toMatchObject({ status: 'ready', thumbnail_url: null });
    for (const extra of ['list of streams', 'thumbnail', 'preview sprites'])
      expect(log).toContain(`asset ${clip.uid} no ${extra}: exit code 1: no such filter`);
    const info = await fetchPlaybackInfo(clip.uid);
    const { hls_url, preview_sprites_url } = info;
    expect(preview_sprites_url).toBeNull();
    const master = await (await fetch(hls_url.url)).text();
    expect(master.match(/^[a-z].*m3u8/gm)).toHaveLength(1);
  });

  it('a video whose encoding fails has the HLS of its source', { tags: 'ffmpeg' }, async () => {
    const broken = writeFfmpegScript('echo "no such encoder" >&2; exit 1');
    const { upload, fetchPlaybackInfo, log } = await startWith({ ffmpeg: broken });
    const codecs = ['-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-c:a', 'ac3'];
    const { uid } = await upload(
      await makeMedia('a.mp4', ...secondsOfVideo(1, '64x36'), ...secondsOfAudio(1), ...codecs),
    );
    expect(log).toContain(`asset ${uid} no H.264 rendition: exit code 1: no such encoder`);
    const master = await (await fetch((await fetchPlaybackInfo(uid)).hls_url.url)).text();
    expect(master).toMatch(/CODECS="avc1\.[^"]*,ac-3"/);
  });

  it('an ffmpeg that succeeds without output leaves the asset ready without extras', async () => {
    const { upload, log } = await startWith({ ffmpeg: writeFfmpegScript('exit 0') });
    const clip = await upload(fixturePath('clip.mp4'));
    expect(clip).toMatchObject({ status: 'ready', thumbnail_url: null });
    const leftOut = log.flatMap((line) => line.match(`${clip.uid} no ([a-z ]+):`)?.[1] ?? []);
    expect(leftOut).toEqual(['list of streams', 'thumbnail', 'preview sprites']);
  });

  it('a missing ffmpeg leaves the asset ready', async () => {
    const { upload } = await startWith({ ffmpeg: '/nowhere/ffmpeg' });
    expect(await upload(fixturePath('tone.mp3'))).toMatchObject({ status: 'ready' });
  });

  it('a hanging ffmpeg is killed after its timeout, with its child processes', async () => {
    const { path, startedPids, clock } = createHangingFfmpeg();
    const { upload, log } = await startWith({ ffmpeg: path, clock });
    const tone = await upload(fixturePath('tone.mp3'));
    expect(tone.status).toBe('ready');
    expect(log).toContain(`asset ${tone.uid} no waveform: timed out after 300 s`);
    expect(startedPids().length).toBeGreaterThan(1);
    await waitUntil(() => startedPids().every(hasEnded));
  });

  it('an ffmpeg with endless output is killed', async () => {
    const { upload, log } = await startWith({ ffmpeg: writeFfmpegScript('cat /dev/zero') });
    const tone = await upload(fixturePath('tone.mp3'));
    expect(tone.status).toBe('ready');
    expect(log).toContain(`asset ${tone.uid} no waveform: it wrote too much output`);
  });

  it('stopping the sandbox kills ffmpeg, and the next start repeats the job', { tags: 'ffmpeg' }, async () => {
    const { path, startedPids } = createHangingFfmpeg();
    const sandbox = await startSandbox({ ffmpeg: path });
    const { createUploadOfSize, patch } = rawHttp(() => sandbox);
    const bytes = readFileSync(fixturePath('tone.mp3'));
    const { asset_uid, location } = await (await createUploadOfSize(bytes.length)).json();
    await patch(location, 0, bytes);
    await waitUntil(() => startedPids().length > 0);
    await sandbox.end();
    await waitUntil(() => startedPids().every(hasEnded));
    const after = await startWith({ ffmpeg, dataDir: sandbox.dataDir });
    expect(await after.waitUntilProcessed(asset_uid)).toMatchObject({ status: 'ready' });
    expect(existsSync(join(sandbox.dataDir, 'media', asset_uid, 'extras/waveform.json'))).toBe(true);
    expect(existsSync(join(sandbox.dataDir, 'media', asset_uid, 'work'))).toBe(false);
  });
});

describe.concurrent('media workers', () => {
  /** Writes a script that replaces the media worker. @returns its path */
  const writeWorkerScript = (...lines: string[]) => {
    const path = join(temporaryFolder(), 'worker.cjs');
    writeFileSync(path, lines.join('\n'));
    return path;
  };

  it('a worker that exits without a result fails the asset that it processes', async () => {
    const mediaWorker = writeWorkerScript("console.error('out of luck'); process.exit(3)");
    const { upload, log } = await startWith({ mediaWorker });
    const [tone, still] = await Promise.all(['tone.mp3', 'still.jpg'].map((name) => upload(fixturePath(name))));
    for (const asset of [tone, still])
      expect(asset).toMatchObject({
        status: 'failed',
        failure_reason: 'processing stopped: the worker exited: exit code 3',
      });
    expect(log.join('\n')).toContain('out of luck');
  });

  const detectedMedia = {
    type: 'video',
    contentType: 'video/mp4',
    duration: 10,
    width: 640,
    height: 360,
    chapters: [],
    demuxer: 'mov',
    codecs: { picture: 'avc', sound: 'aac' },
    sampleRate: 44100,
  };

  it('a worker that has sent all results and does not exit is killed', async () => {
    const mediaWorker = writeWorkerScript(
      "process.once('message', () => {",
      `process.send({ found: ${JSON.stringify(detectedMedia)} });`,
      'process.send({ isComplete: true });',
      'setInterval(() => {}, 1000); });',
    );
    const { upload, log } = await startWith({ mediaWorker });
    expect(await upload(fixturePath('clip.mp4'))).toMatchObject({ status: 'ready', duration: 10 });
    expect(log.join('\n')).not.toContain('the worker ended');
  });

  it('a worker that exceeds the inspection timeout is killed, and its results are kept', async () => {
    const pid = join(temporaryFolder(), 'pid');
    const mediaWorker = writeWorkerScript(
      "process.once('message', () => {",
      `const write = () => require('node:fs').writeFileSync(${JSON.stringify(pid)}, String(process.pid));`,
      `process.send({ found: ${JSON.stringify(detectedMedia)} }, write); setInterval(() => {}, 1000); });`,
    );
    /** A clock on which the time for inspecting is over once the worker has sent what it has found. */
    const clock = {
      sleep: async (_: number, signal?: AbortSignal) => {
        while (!existsSync(pid)) {
          signal?.throwIfAborted();
          await systemClock.sleep(20);
        }
        // Several turns of the event loop, in which the message arrives.
        for (let turn = 0; turn < 5; turn++) await systemClock.sleep(20);
      },
    };
    const { upload, log } = await startWith({ mediaWorker, clock, ffmpeg: undefined });
    const asset = await upload(fixturePath('clip.mp4'));
    expect(asset).toMatchObject({ status: 'ready', duration: 10 });
    expect(log.join('\n')).toContain('the inspection timed out after 600 s');
    await waitUntil(() => hasEnded(readFileSync(pid, 'utf8')));
  });

  it('a reusable worker processes the next source', async () => {
    const pids = join(temporaryFolder(), 'pids');
    const mediaWorker = writeWorkerScript(
      "process.on('message', () => {",
      `require('node:fs').appendFileSync(${JSON.stringify(pids)}, process.pid + ' ');`,
      `process.send({ found: ${JSON.stringify(detectedMedia)} });`,
      'process.send({ isComplete: true, isReusable: true }); });',
    );
    const { upload } = await startWith({ mediaWorker });
    for (let n = 0; n < 3; n++) await upload(fixturePath('clip.mp4'));
    const [first, ...others] = readFileSync(pids, 'utf8').trim().split(' ');
    expect(others).toEqual([first, first]);
  });

  it('a worker that is killed after detecting a video leaves the asset ready, and the signal is logged', async () => {
    const mediaWorker = writeWorkerScript(
      "process.once('message', () =>",
      `process.send({ found: ${JSON.stringify(detectedMedia)} }, () => process.kill(process.pid, 'SIGKILL')))`,
    );
    const { upload, log } = await startWith({ mediaWorker });
    const asset = await upload(fixturePath('clip.mp4'));
    expect(asset).toMatchObject({ status: 'ready', type: 'video', duration: 10 });
    expect(log.find((line) => line.includes(asset.uid) && line.includes('during inspection'))).toMatch(/SIGKILL/);
  });

  it('a worker survives an unhandled promise rejection of its library', async () => {
    const real = JSON.stringify(fileURLToPath(new URL('../../dist/media-worker.cjs', import.meta.url)));
    const mediaWorker = writeWorkerScript(
      `require(${real});`,
      "process.once('message', () => Promise.reject(new Error('forgotten')));",
    );
    const { upload, log } = await startWith({ mediaWorker });
    const asset = await upload(fixturePath('clip.mp4'));
    expect(asset).toMatchObject({ status: 'ready', duration: 10 });
    expect(log.find((line) => line.includes('forgotten'))).toMatch(/\n\s+at /); // with a stack trace
  });
});

it('a hanging pdftoppm is killed after its timeout, with its child processes', async () => {
  const { path, startedPids, clock } = createHangingFfmpeg();
  const { upload, log } = await startWith({ pdftoppm: path, clock });
  const file = join(temporaryFolder(), 'a.pdf');
  writeFileSync(file, pdfOf('One'));
  const asset = await upload(file);
  expect(asset).toMatchObject({ status: 'ready', type: 'document' });
  expect(log).toContain(`asset ${asset.uid} no pages: timed out after 60 s`);
  expect(startedPids().length).toBeGreaterThan(1);
  await waitUntil(() => startedPids().every(hasEnded));
});

describe('locked database', () => {
  /** Holds a write lock on the store from another process until its stdin ends. */
  const lock = async (dataDir: string) => {
    const code = `const Database = require('libsql');
      new Database(process.argv[1]).exec('BEGIN IMMEDIATE');
      console.log('locked');
      process.stdin.resume().on('end', () => process.exit());`;
    const cwd = fileURLToPath(new URL('../..', import.meta.url));
    const child = spawn(process.execPath, ['-e', code, join(dataDir, 'sandbox.db')], { cwd });
    cleanups.push(() => child.kill());
    await once(child.stdout, 'data');
    return async () => {
      child.stdin.end();
      await once(child, 'exit');
    };
  };

  it('a processing job waits while the database is locked, and completes after its release', async () => {
    const { path: ffmpegPath, letFfmpegFail } = createWaitingFfmpeg();
    const { createUploadOfSize, patch, waitUntilProcessed, sandbox, call, log } = await startWith({
      ffmpeg: ffmpegPath,
    });
    const bytes = readFileSync(fixturePath('tone.mp3'));
    const { asset_uid, location } = await (await createUploadOfSize(bytes.length)).json();
    await patch(location, 0, bytes);
    const unlock = await lock(sandbox.dataDir);
    letFfmpegFail();
    await waitUntil(() => log.some((line) => /retrying in .* s: .*locked/.test(line)));
    expect((await call('GET', `/assets/${asset_uid}/`)).status).toBe(200);
    await unlock();
    expect(await waitUntilProcessed(asset_uid)).toMatchObject({ status: 'ready' });
  });

  /** Creates an ffmpeg that waits until the test opens it, then fails. */
  function createWaitingFfmpeg() {
    const open = join(temporaryFolder(), 'open');
    const path = writeFfmpegScript(`while ! [ -e '${open}' ]; do sleep 0.05; done; exit 1`);
    return { path, letFfmpegFail: () => writeFileSync(open, '') };
  }
});

describe.concurrent('hostile files', () => {
  /** Starts a server that must get no request, with a playlist that refers to it and to a local file (SSRF). */
  async function startBaitServer() {
    const requests: string[] = [];
    const url = await startServer((request, response) => {
      requests.push(request.url as string);
      respond(response, 404);
    });
    const segments = [fixturePath('clip.mp4'), `file:${fixturePath('clip.mp4')}`, `${url}/a.ts`];
    const lines = segments.flatMap((uri) => ['#EXTINF:10,', uri]);
    const header = ['#EXTM3U', '#EXT-X-VERSION:3', '#EXT-X-TARGETDURATION:10'];
    const playlist = [...header, ...lines, '#EXT-X-ENDLIST', ''].join('\n');
    return { requests, url, playlist };
  }

  const writeTemporaryFile = (name: string, ...parts: (string | Uint8Array)[]) => {
    const path = join(temporaryFolder(), name);
    writeFileSync(path, Buffer.concat(parts.map((part) => Buffer.from(part as string))));
    return path;
  };

  it.each([
    ['clip.mp4', (playlist: string) => playlist],
    ['list.m3u8', (playlist: string) => playlist],
    ['master.m3u8', (_: string, url: string) => `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n${url}/b.m3u8\n`],
  ])(
    'a playlist uploaded as %s fails as unsupported, and nothing that it refers to is read',
    async (name, contentFrom) => {
      const { requests, url, playlist } = await startBaitServer();
      const { upload } = await startWith({ ffmpeg });
      const asset = await upload(writeTemporaryFile(name, contentFrom(playlist, url)));
      expect(asset).toMatchObject({ status: 'failed', duration: null });
      expect(asset.failure_reason).toContain('unsupported');
      expect(requests).toEqual([]);
    },
  );

  it('an ffconcat list is a generic file, and nothing that it refers to is read', async () => {
    const { requests, url } = await startBaitServer();
    const { upload } = await startWith({ ffmpeg });
    const list = `ffconcat version 1.0\nfile '${fixturePath('clip.mp4')}'\nfile ${url}/a.ts\n`;
    const asset = await upload(writeTemporaryFile('list.ffconcat', list));
    expect(asset).toMatchObject({ status: 'ready', type: 'generic', duration: null });
    expect(requests).toEqual([]);
  });

  it('ffmpeg reads a file that is both a playlist and an MP3 as an MP3', { tags: 'ffmpeg' }, async () => {
    const { requests, playlist } = await startBaitServer();
    const { upload, sandbox, log } = await startWith({ ffmpeg });
    // 128 kbit/s and no tags, so that only the playlist precedes the audio frames.
    const plain = ['-b:a', '128k', '-write_xing', '0', '-id3v2_version', '0'];
    const silence = ['-f', 'lavfi', '-i', 'anullsrc=duration=2'];
    const mp3 = readFileSync(await makeMedia('plain.mp3', ...silence, ...plain));
    const asset = await upload(writeTemporaryFile('song.mp3', playlist, mp3));
    expect(asset).toMatchObject({ status: 'ready', type: 'audio' });
    expect(asset.duration).toBeLessThan(3);
    expect(log.filter((line) => line.includes(`${asset.uid} no `))).toEqual([]);
    const waveform = join(sandbox.dataDir, 'media', asset.uid, 'extras/waveform.json');
    // The clip that the playlist refers to is not silent: silence proves that it was not read.
    expect(new Set(JSON.parse(readFileSync(waveform, 'utf8')).peaks)).toEqual(new Set([0]));
    expect(requests).toEqual([]);
  });

  it('a tiny file that declares a gigapixel image gets no variants', { tags: 'ffmpeg' }, async () => {
    const { upload, log } = await startWith({ ffmpeg });
    const side = 60_000;
    const header = Buffer.alloc(13);
    header.writeUInt32BE(side, 0);
    header.writeUInt32BE(side, 4);
    header.set([8, 6], 8);
    const chunk = (type: string, body: Uint8Array) => {
      const bytes = Buffer.alloc(12 + body.length);
      bytes.writeUInt32BE(body.length, 0);
      bytes.write(type, 4);
      bytes.set(body, 8);
      return bytes;
    };
    const signature = Buffer.from('89504e470d0a1a0a', 'hex');
    const scanlines = chunk('IDAT', deflateSync(Buffer.alloc(1000)));
    const pngParts = [signature, chunk('IHDR', header), scanlines, chunk('IEND', Buffer.alloc(0))];
    const asset = await upload(writeTemporaryFile('bomb.png', ...pngParts));
    expect(asset).toMatchObject({ status: 'ready', width: side, height: side });
    expect(log.some((line) => line.startsWith(`asset ${asset.uid} no variants: `))).toBe(true);
  });

  it('a video with corrupt frames does not affect the processing of other assets', { tags: 'ffmpeg' }, async () => {
    const { upload } = await startWith({ ffmpeg });
    const path = await makeMedia(
      'clip.mp4',
      ...secondsOfVideo(2, '64x48'),
      ...secondsOfAudio(2),
      '-pix_fmt',
      'yuv420p',
    );
    const bytes = readFileSync(path);
    const [from, to] = [bytes.length / 4, bytes.length / 2].map(Math.floor) as [number, number];
    for (let at = from; at < to; at++) bytes[at] = (at * 7919) & 0xff; // the same noise in every run
    const [noise, clip] = await Promise.all([upload(writeTemporaryFile('noise.mp4', bytes)), upload(path)]);
    expect(noise.status).toMatch(/^(ready|failed)$/);
    expect(clip).toMatchObject({ status: 'ready', thumbnail_url: expect.any(String) });
  });
});
