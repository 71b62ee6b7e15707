import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { attemptStep, type FfmpegContext, type FfmpegSource } from '../ffmpeg/ffmpeg.ts';
import type { ProcessingJob } from '../processing-job.ts';
import { type Dimensions, fitWithin, scaleTo } from '../recognize/dimensions.ts';

export type VideoProperties = Dimensions & {
  /** Duration of both video and audio, in seconds. */
  duration: number;
  hasAudio: boolean;
  /** True if the audio starts well before the video. The first frame is then shown from the beginning. */
  isLate: boolean;
};

/**
 * Creates the HLS of a video in `job.hlsDir`. Its one variant stream is the packaged source, of which `packaged` is the
 * master playlist, unless some browsers cannot play it and ffmpeg can encode it.
 * @returns false if there is no HLS
 */
export async function makeHls(
  job: ProcessingJob,
  source: FfmpegSource,
  video: VideoProperties | undefined,
  packaged: string | undefined,
): Promise<boolean> {
  const mustEncode = packaged === undefined || !isPlayableEverywhere(packaged);
  const encoded = video && mustEncode ? await encodeAndPackage(job, source, video) : undefined;
  const master = encoded ?? (video && packaged ? withSize(packaged, video) : packaged);
  // Without a playlist, the folder contains partial output.
  if (master === undefined) await rm(job.hlsDir, { recursive: true, force: true });
  else await writeFile(join(job.hlsDir, 'master.m3u8'), master, { mode: 0o600 });
  return master !== undefined;
}

/** Matches RFC 6381 codecs that all browsers play: not HEVC, H.264 beyond 8-bit 4:2:0, AC-3, MP3 in MP4. */
const playableCodec = /^(?:avc1\.(?:42|4d|58|64)|vp09\.00|av01\.0|mp4a\.40\.(?:2|5|29)$|Opus|flac)/i;

function isPlayableEverywhere(master: string): boolean {
  const [, codecs = ''] = /CODECS="([^"]*)"/.exec(master) ?? [];
  return codecs.split(',').every((codec) => playableCodec.test(codec));
}

/** Replaces the size in the master playlist (RFC 8216 §4.3.4.2), which is wrong for interlaced video. */
const withSize = (master: string, { width, height }: Dimensions) =>
  master.replace(/(?<=[:,]RESOLUTION=)\d+x\d+/, `${width}x${height}`);

/** Encodes a video and packages it in `job.hlsDir`; returns the master playlist, or undefined if that fails. */
async function encodeAndPackage(
  job: ProcessingJob,
  source: FfmpegSource,
  video: VideoProperties,
): Promise<string | undefined> {
  const name = 'H.264 rendition';
  const seconds = Math.min(3600, Math.ceil(60 + 6 * video.duration));
  const sourcePath = await job.attemptTemporary(name, seconds, source, (context) => encode(context, video));
  if (sourcePath === undefined) return undefined;
  const hlsDir = join(job.workDir, 'encoded');
  const report = await attemptStep(job, name, seconds, (signal) => job.inspect({ sourcePath, hlsDir }, signal));
  await rm(sourcePath);
  const { master, problem } = report?.reading ?? {};
  if (!master) {
    if (report) job.log(`no ${name}: ${problem ?? report.workerErrors}`);
    return undefined;
  }
  await rm(job.hlsDir, { recursive: true, force: true });
  await rename(hlsDir, job.hlsDir);
  return master;
}

/** Maximum longer side, as of 1080p. */
const maxSide = 1920;
const maxFps = 60;
/** Maximum video bit rate, in bits per second per pixel. */
const maxBitsPerPixel = 4;
const minBitRate = 120_000;
/** Minimum duration of the last segment. */
const minTailSeconds = 1;

/**
 * Encodes a video as H.264 and AAC. The shorter track is padded with a frozen frame or silence, and late audio starts
 * with silence. The container is Matroska, in which every version of ffmpeg preserves frame times; in MP4, some
 * versions round them to a grid.
 */
async function encode({ folder, run }: FfmpegContext, video: VideoProperties): Promise<string> {
  const { duration, hasAudio, isLate } = video;
  const file = 'encoded.mkv';
  const size = fitWithin(maxSide, video, 2);
  const maxRate = String(Math.max(minBitRate, maxBitsPerPixel * size.width * size.height));
  const filters = [
    ...(isLate ? ['setpts=if(eq(N\\,0)\\,0\\,PTS)'] : []),
    ...['yadif=deint=interlaced', scaleTo(size), 'tpad=stop_mode=clone:stop=-1'],
  ];
  const sound = [
    ...['-map', '0:a:0', '-af', 'aresample=async=1:first_pts=0,apad', '-c:a', 'aac'],
    ...['-b:a', '128k', '-ac', '2', '-ar', '48000'],
  ];
  const args = [
    ...['-map', '0:V:0', '-map_metadata', '-1', '-map_chapters', '-1'],
    ...['-t', duration.toFixed(3), '-fpsmax', String(maxFps), '-enc_time_base:v', '1/90000'],
    ...['-vf', filters.join(','), '-c:v', 'libx264', '-profile:v', 'main', '-pix_fmt', 'yuv420p'],
    ...['-preset', 'veryfast', '-crf', '23', '-bf', '0', '-threads', '1', '-maxrate', maxRate, '-bufsize', maxRate],
    ...['-force_key_frames', `expr:gte(t,n_forced*4)*lt(t,${Math.max(0, duration - minTailSeconds)})`],
    ...(hasAudio ? sound : []),
    ...['-f', 'matroska', file],
  ];
  await run(args, { outputs: [file] });
  return join(folder, file);
}
