import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ffmpeg, findOnsets, makeMedia, runFfprobe, secondsOfAudio, secondsOfVideo } from '../support/ffmpeg.ts';
import { isFullRun } from '../support/full-run.ts';
import { rawHttp } from '../support/raw-http.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// HLS of videos, with ffmpeg and without.
let withoutFfmpeg: TestSandbox;
let withFfmpeg: TestSandbox;
const log: string[] = [];
beforeAll(async () => {
  withoutFfmpeg = await startSandbox({ log: (line) => log.push(line) });
  withFfmpeg = await startSandbox({ ffmpeg });
});
afterAll(async () => {
  await withoutFfmpeg.end();
  await withFfmpeg.end();
});

/** Uploads a file and waits until it is processed. @returns the asset and its playback info */
async function uploadAndProcess(sandbox: TestSandbox, path: string) {
  const { fetchPlaybackInfo, upload } = rawHttp(() => sandbox);
  const asset = await upload(path);
  const info = await fetchPlaybackInfo(asset.uid);
  return { asset, info: info };
}

type Segment = { seconds: number; bytes: Buffer };
type HlsRendition = { attributes: string; url: string; header: Buffer; segments: Segment[] };

const bytesOf = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer());

/** Fetches the only rendition of a master playlist, with its header and segments. */
async function fetchRendition(masterUrl: string): Promise<HlsRendition> {
  const master = await (await fetch(masterUrl)).text();
  const entries = [...master.matchAll(/^#EXT-X-STREAM-INF:(.*)\n(\S+)/gm)];
  expect(entries).toHaveLength(1);
  const [, attributes = '', uri = ''] = entries[0] as RegExpExecArray;
  const url = new URL(uri, masterUrl).href;
  const playlist = await (await fetch(url)).text();
  const fetchFile = (name = '') => bytesOf(new URL(name, url).href);
  const segments = [...playlist.matchAll(/^#EXTINF:([\d.]+),\n(\S+)/gm)];
  return {
    attributes,
    url,
    header: await fetchFile(/URI="([^"]+)"/.exec(playlist)?.[1]),
    segments: await Promise.all(
      segments.map(async ([, seconds, name]) => ({ seconds: Number(seconds), bytes: await fetchFile(name) })),
    ),
  };
}

const durationOf = ({ segments }: HlsRendition) => segments.reduce((sum, { seconds }) => sum + seconds, 0);

/** Counts the packets of a segment by type, with ffprobe. */
async function packetsIn(header: Buffer, { bytes }: Segment): Promise<Record<string, number>> {
  const path = join(temporaryFolder(), 'segment.mp4');
  writeFileSync(path, header);
  appendFileSync(path, bytes);
  const { streams } = await runFfprobe(path);
  return Object.fromEntries(
    streams.map(({ codec_type, nb_read_packets }) => [codec_type, Number(nb_read_packets ?? 0)]),
  );
}

const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];
const aac = ['-c:a', 'aac'];

describe.concurrent('clips', { tags: 'ffmpeg' }, () => {
  // A large clip without B-frames, as screen recorders write it: at these lengths the picture and sound streams
  // end while the muxer is still writing.
  it.each(isFullRun ? [7, 9] : [9])(
    'the HLS stream of a noisy clip of %d s contains every frame of the clip',
    async (seconds) => {
      const noise = ['-f', 'lavfi', '-i', 'testsrc2=size=640x360:rate=25,noise=alls=30:allf=t'];
      const clip = [...noise, '-f', 'lavfi', '-i', 'sine', '-t', String(seconds), '-bf', '0'];
      const path = await makeMedia('noise.mp4', ...clip, ...h264, ...aac);
      const { asset, info } = await uploadAndProcess(withoutFfmpeg, path);
      expect(asset).toMatchObject({ status: 'ready', failure_reason: null, duration: seconds });
      const rendition = await fetchRendition(info.hls_url.url);
      expect(durationOf(rendition)).toBeCloseTo(seconds, 1);
      const { streams } = await runFfprobe(rendition.url);
      expect(streams.map(({ nb_read_packets }) => Number(nb_read_packets))[0]).toBe(25 * seconds);
    },
  );

  const when = "'between(t,1,1.03)+between(t,2.2,2.23)'";
  const flash = [
    ...['-f', 'lavfi', '-i'],
    `color=black:size=64x36:rate=25:duration=3,drawbox=color=white:t=fill:enable=${when}`,
  ];
  const beep = [
    ...['-f', 'lavfi', '-i'],
    "aevalsrc='if(between(t,1,1.02)+between(t,2.2,2.22),sin(6283*t),0)':s=44100:d=3",
  ];

  it('a clip with B-frames keeps audio and video in sync', async () => {
    const path = await makeMedia(
      'flash.mp4',
      ...[...flash, ...beep],
      ...['-c:v', 'libx264', '-pix_fmt', 'yuv420p', ...aac], // x264's defaults use B-frames
    );
    const source = await findOnsets(path);
    expect([source.flashes.length, source.beeps.length]).toEqual([2, 2]);
    const { info } = await uploadAndProcess(withFfmpeg, path);
    const { flashes, beeps } = await findOnsets((await fetchRendition(info.hls_url.url)).url);
    expect(flashes).toHaveLength(2);
    flashes.forEach((flashAt, at) => {
      expect(Math.abs(flashAt - (beeps[at] as number))).toBeLessThan(0.02);
    });
  });

  it('a clip with two audio tracks and B-frames has an edit list, and the first audio track in its segments', async () => {
    const inputs = [...secondsOfVideo(8, '64x36'), ...secondsOfAudio(8), ...secondsOfAudio(9)];
    const path = await makeMedia(
      'two-audio-tracks.mp4',
      ...[...inputs, '-map', '0:v', '-map', '1:a', '-map', '2:a'],
      ...['-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-g', '75', ...aac],
    );
    const { asset, info } = await uploadAndProcess(withFfmpeg, path);
    const { header, segments, url } = await fetchRendition(info.hls_url.url);
    expect(header.includes('elst')).toBe(true);
    expect(segments.map(({ seconds }) => seconds.toFixed(1))).toEqual(['3.0', '3.0', '2.0']);
    const { streams } = await runFfprobe(url);
    expect(streams.map(({ codec_type }) => codec_type)).toEqual(['video', 'audio']);
    expect(asset.duration).toBeCloseTo(8, 1); // of what is played
  });

  it.each([
    ['video', ['-itsoffset', '1', ...flash, ...beep], 1, 0],
    ['audio', [...flash, '-itsoffset', '1', ...beep], 0, 1],
  ])('a clip whose %s starts late keeps all audio and video in sync', async (_which, inputs, flashLate, beepLate) => {
    const path = await makeMedia('late.mkv', ...inputs, ...h264, ...aac);
    expect((await uploadAndProcess(withoutFfmpeg, path)).info.hls_url).toBeNull();
    const { url } = await fetchRendition((await uploadAndProcess(withFfmpeg, path)).info.hls_url.url);
    const { flashes, beeps } = await findOnsets(url);
    expect(beeps).toHaveLength(2);
    const flashBeforeBeep = (flashes[0] as number) - (beeps[0] as number);
    expect(Math.abs(flashBeforeBeep - flashLate + beepLate)).toBeLessThan(0.02);
    expect(Math.abs((beeps[0] as number) - 1 - beepLate)).toBeLessThan(0.05);
  });

  it('a transport stream that was cut starts at its first key frame and is packaged to its end', async () => {
    const path = await makeMedia(
      'a.ts',
      ...secondsOfVideo(6, '64x36'),
      ...secondsOfAudio(6),
      '-g',
      '75',
      ...h264,
      ...aac,
    );
    const bytes = readFileSync(path);
    const skippedPackets = Math.floor(bytes.length / 188 / 8);
    const cutPath = join(temporaryFolder(), 'cut.ts');
    writeFileSync(cutPath, bytes.subarray(188 * skippedPackets)); // cuts within the first three seconds
    const { asset, info } = await uploadAndProcess(withoutFfmpeg, cutPath);
    expect(asset).toMatchObject({ status: 'ready', failure_reason: null, type: 'video' });
    const rendition = await fetchRendition(info.hls_url.url);
    expect(durationOf(rendition)).toBeCloseTo(3, 0);
    const { streams } = await runFfprobe(rendition.url);
    expect(streams.map(({ codec_type }) => codec_type)).toEqual(['video', 'audio']);
  });

  it('a clip whose audio outlasts its video has both in every segment', async () => {
    const lengths = [...secondsOfVideo(5, '64x36'), ...secondsOfAudio(7.5), '-g', '50'];
    const path = await makeMedia('goes-on.mp4', ...lengths, ...h264, ...aac);
    const rendition = await fetchRendition((await uploadAndProcess(withFfmpeg, path)).info.hls_url.url);
    expect(durationOf(rendition)).toBeCloseTo(7.5, 1);
    for (const segment of rendition.segments)
      expect(await packetsIn(rendition.header, segment)).toEqual({
        video: expect.toSatisfy((count) => count > 0),
        audio: expect.toSatisfy((count) => count > 0),
      });
  });

  it('a clip whose audio ends early is padded with silence by ffmpeg, and has no HLS without ffmpeg', async () => {
    const lengths = [...secondsOfVideo(9, '64x36'), ...secondsOfAudio(1), '-g', '50'];
    const path = await makeMedia('ends.mp4', ...lengths, ...h264, ...aac);
    const { asset, info } = await uploadAndProcess(withoutFfmpeg, path);
    expect(asset.status).toBe('ready');
    expect(info).toMatchObject({ hls_url: null, source_url: { url: expect.any(String) } });
    expect(log.find((line) => line.includes(asset.uid) && /no audio after 1\.0 s/.test(line))).toMatch(
      /\n\s+at /, // with a stack trace
    );
    const rendition = await fetchRendition((await uploadAndProcess(withFfmpeg, path)).info.hls_url.url);
    expect(durationOf(rendition)).toBeCloseTo(9, 1);
  });

  it.each([
    ['packaged', aac],
    ['encoded', ['-c:a', 'ac3']],
  ])(
    'the declared HLS bandwidth of a clip that is %s covers every segment of at least half the target duration',
    async (_which, audio) => {
      // RFC 8216 §4.1 leaves shorter segments out. The last one is short and begins with a key frame, as all do.
      const inputs = [...secondsOfVideo(9, '320x180'), ...secondsOfAudio(9)];
      const path = await makeMedia('a.mp4', ...inputs, '-g', '200', ...h264, ...audio);
      const rendition = await fetchRendition((await uploadAndProcess(withFfmpeg, path)).info.hls_url.url);
      const bandwidth = Number(/BANDWIDTH=(\d+)/.exec(rendition.attributes)?.[1]);
      const longest = Math.max(...rendition.segments.map(({ seconds }) => seconds));
      const long = rendition.segments.filter(({ seconds }) => seconds >= longest / 2);
      const rates = long.map(({ bytes, seconds }) => (8 * bytes.length) / seconds);
      expect(bandwidth).toBeGreaterThanOrEqual(Math.max(...rates));
    },
  );
});

describe.concurrent('codecs', { tags: 'ffmpeg' }, () => {
  it('an HEVC source is encoded as H.264 of the same size, and without ffmpeg is tagged hvc1 for Apple players', async () => {
    const hevc = ['-c:v', 'libx265', '-x265-params', 'log-level=error', '-tag:v', 'hev1'];
    const path = await makeMedia('a.mp4', ...secondsOfVideo(1, '320x180'), ...secondsOfAudio(1), ...hevc, ...aac);
    const encoded = await fetchRendition((await uploadAndProcess(withFfmpeg, path)).info.hls_url.url);
    expect(encoded.attributes).toMatch(/CODECS="avc1\.[^"]*,mp4a\.40\.2",RESOLUTION=320x180/);
    const packaged = await fetchRendition((await uploadAndProcess(withoutFfmpeg, path)).info.hls_url.url);
    expect(packaged.attributes).toMatch(/CODECS="hvc1\.[^"]*,mp4a\.40\.2"/);
    expect(packaged.header.includes('hvc1')).toBe(true);
  });

  it.each([
    ['VP8 and Vorbis', 'a.webm', ['-c:v', 'libvpx', '-c:a', 'libvorbis']],
    ['ProRes', 'a.mov', ['-c:v', 'prores_ks', ...aac]],
    ['MJPEG and PCM', 'b.mov', ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', '-c:a', 'pcm_s16le']],
  ])('%s, which HLS players do not play, is offered only as the source without ffmpeg', async (_what, name, codecs) => {
    const path = await makeMedia(name, ...secondsOfVideo(1, '64x36'), ...secondsOfAudio(1), ...codecs);
    const { asset, info } = await uploadAndProcess(withoutFfmpeg, path);
    expect(asset).toMatchObject({ status: 'ready', type: 'video' });
    expect(info).toMatchObject({ hls_url: null, source_url: { url: expect.any(String) } });
  });

  it('a clip that the muxing library cannot package is ready without HLS', async () => {
    // One frame is presented a second late, after the next key frame.
    const lateFrame = ['-bsf:v', 'setts=pts=if(eq(N\\,2)\\,PTS+1000\\,PTS)'];
    const path = await makeMedia('a.mkv', ...secondsOfVideo(2, '64x36'), ...h264, '-g', '5', ...lateFrame);
    const { asset, info } = await uploadAndProcess(withoutFfmpeg, path);
    expect(asset.status).toBe('ready');
    expect(info.hls_url).toBeNull();
    const { info: infoWithFfmpeg } = await uploadAndProcess(withFfmpeg, path);
    expect(infoWithFfmpeg.hls_url).not.toBeNull();
  });
});
