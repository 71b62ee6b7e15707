import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { attemptStep, type FfmpegContext, type FfmpegSource } from '../ffmpeg/ffmpeg.ts';
import { codecsOf, type HlsPackage, mergeMasters, peakOf } from '../hls/master-playlist.ts';
import type { ProcessingJob } from '../processing-job.ts';
import { type Dimensions, scaledEven, scaleTo } from '../recognize/dimensions.ts';

/** Properties of a video that encoding needs. */
export type VideoProperties = Dimensions & {
  /** Duration of both video and audio, in seconds. */
  duration: number;
  hasAudio: boolean;
  /** True if the audio starts well before the video. The first frame is then shown from the beginning. */
  isLate: boolean;
};

type Rung = Omit<VideoProperties, 'hasAudio'> & {
  /** Base name of the encoded file. */
  name: string;
  /** Maximum video bit rate, in bits per second. */
  maxRate: number;
  /** Audio bit rate, in bits per second; undefined for no audio. */
  audioRate: number | undefined;
  /** Positions of key frames in seconds; by default every four seconds. */
  cuts?: readonly number[];
  /** Id of the first playlist. */
  firstId: number;
};

/**
 * Creates the HLS ladder in `job.hlsDir` from the packaged source, if there is one, and rungs encoded by ffmpeg.
 * The upper rung is encoded only if some browsers cannot play the source. All rungs share the audio renditions that
 * have their own playlists.
 * @returns true if at least one rung was created
 */
export async function makeHls(
  job: ProcessingJob,
  source: FfmpegSource,
  video: VideoProperties | undefined,
  top?: HlsPackage,
): Promise<boolean> {
  const [videoCodec = '', ...audioCodecs] = top ? codecsOf(top) : [];
  const hasPlayableAudio = arePlayableEverywhere(audioCodecs);
  const isPlayableEverywhere = top && hasPlayableAudio && arePlayableEverywhere([videoCodec]);
  const steps = top && (hasPlayableAudio || !top.hasOwnAudio) ? [top] : [];
  if (video && !isPlayableEverywhere)
    steps.push(...(await encodeAndPackage(job, source, createRung(upper, video, steps[0]))));
  const best = steps[0] ?? top;
  if (!best) return false;
  const below = video ? await encodeAndPackage(job, source, createRung(lower, video, best)) : [];
  const master = mergeMasters(best, [...steps.slice(1), ...below]);
  await writeFile(join(job.hlsDir, 'master.m3u8'), master, { mode: 0o600 });
  return true;
}

/** Returns true if all browsers play these RFC 6381 codecs: not HEVC, H.264 beyond 8-bit 4:2:0, AC-3, MP3 in MP4. */
const arePlayableEverywhere = (codecs: readonly string[]) =>
  codecs.every((codec) => /^(?:avc1\.(?:42|4d|58|64)|vp09\.00|av01\.0|mp4a\.40\.(?:2|5|29)$|Opus|flac)/i.test(codec));

/** The encoded rungs, up to 1080p and 480p, with the ids of their first playlists. */
const upper = { name: 'upper', firstId: 100, maxSide: 1920, maxFactor: 1, soundRate: 128_000 };
const lower = { name: 'lower', firstId: 200, maxSide: 854, maxFactor: 0.5, soundRate: 64_000 };
/** Maximum video bit rate, in bits per second per pixel. */
const maxBitsPerPixel = 4;
const minBitRate = 120_000;

/**
 * Returns a rung of the ladder, of which `best` is the best rung so far. It has no audio if audio has its own
 * playlists. The lower rung has at most half the size and peak bit rate of `best`, and the same segments.
 */
function createRung(kind: typeof upper, { hasAudio, ...video }: VideoProperties, best?: HlsPackage): Rung {
  const { maxSide, maxFactor, soundRate, ...named } = kind;
  const size = scaledEven(video, Math.min(maxFactor, maxSide / Math.max(video.width, video.height)));
  const audioRate = hasAudio && !best?.hasOwnAudio ? soundRate : undefined;
  const maxRate = Math.max(minBitRate, Math.round(maxBitsPerPixel * size.width * size.height));
  const rung = { ...named, ...video, ...size, audioRate, maxRate };
  if (!best || kind === upper) return rung;
  const { cuts, seconds: duration } = best;
  return { ...rung, cuts, duration, maxRate: Math.max(minBitRate, Math.min(maxRate, Math.round(peakOf(best) / 2))) };
}

/** Encodes and packages one rung; returns an empty array if that fails. */
async function encodeAndPackage(job: ProcessingJob, source: FfmpegSource, rung: Rung): Promise<HlsPackage[]> {
  const { name, firstId } = rung;
  const seconds = Math.min(3600, Math.ceil(60 + 6 * rung.duration));
  const path = await job.attemptTemporary(`${name} rendition`, seconds, source, (context) => encodeRung(context, rung));
  if (path === undefined) return [];
  const hlsDir = join(job.workDir, name);
  const task = { sourcePath: path, hlsDir, firstId };
  const report = await attemptStep(job, `${name} rendition`, seconds, (signal) => job.inspect(task, signal));
  await rm(path);
  const made = report?.reading?.package;
  if (!made) {
    if (report) job.log(`no ${name} rendition: ${report.reading?.problem ?? report.workerErrors}`);
    return [];
  }
  await mkdir(job.hlsDir, { recursive: true, mode: 0o700 });
  for (const file of await readdir(hlsDir)) await rename(join(hlsDir, file), join(job.hlsDir, file));
  return [made];
}

const maxFps = 60;
/** Maximum number of key frames requested by position; beyond it, they are placed regularly. */
const maxCuts = 5000;
/** Minimum duration of the last segment. */
const minTailSeconds = 1;
/** Margin for rounding, since ffmpeg puts a key frame at or after the requested time. */
const marginSeconds = 0.005;

/**
 * Encodes one rung of the ladder as H.264 and AAC. The shorter track is padded with a frozen frame or silence, and
 * late audio starts with silence. The container is Matroska, in which every version of ffmpeg preserves frame
 * times; in MP4, some versions round them to a grid.
 */
async function encodeRung({ folder, run }: FfmpegContext, rung: Rung): Promise<string> {
  const { name, maxRate, audioRate, duration, isLate, cuts = [] } = rung;
  const file = `${name}.mkv`;
  const isPlain = cuts.length === 0 || cuts.length > maxCuts;
  const keyFrames = isPlain
    ? `expr:gte(t,n_forced*4)*lt(t,${Math.max(0, duration - minTailSeconds)})`
    : cuts.map((cut) => Math.max(0, cut - marginSeconds).toFixed(6)).join(',');
  const filters = [
    ...(isLate ? ['setpts=if(eq(N\\,0)\\,0\\,PTS)'] : []),
    ...['yadif=deint=interlaced', scaleTo(rung), 'tpad=stop_mode=clone:stop=-1'],
  ];
  const sound = [
    ...['-map', '0:a:0', '-af', 'aresample=async=1:first_pts=0,apad', '-c:a', 'aac'],
    ...['-b:a', String(audioRate), '-ac', '2', '-ar', '48000'],
  ];
  const args = [
    ...['-map', '0:V:0', '-map_metadata', '-1', '-map_chapters', '-1'],
    ...['-t', duration.toFixed(3), '-fpsmax', String(maxFps), '-enc_time_base:v', '1/90000'],
    ...['-vf', filters.join(','), '-c:v', 'libx264', '-profile:v', 'main', '-pix_fmt', 'yuv420p'],
    ...['-preset', 'veryfast', '-crf', '23', '-bf', '0', '-threads', '1'],
    ...(isPlain ? [] : ['-sc_threshold', '0', '-g', '100000']), // no other key frames, so that the segments are the same
    ...['-maxrate', String(maxRate), '-bufsize', String(maxRate)],
    ...['-force_key_frames', keyFrames],
    ...(audioRate ? sound : []),
    ...['-f', 'matroska', file],
  ];
  await run(args, { outputs: [file] });
  return join(folder, file);
}
