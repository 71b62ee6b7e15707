import { join } from 'node:path';
import { inputArgs } from '../ffmpeg/ffmpeg.ts';
import { assertOutputs, type FfmpegContext } from '../ffmpeg/ffmpeg-context.ts';
import { type Dimensions, scaleTo } from '../recognize/dimensions.ts';

export type Rung = {
  /** Base name of the encoded file. */
  name: string;
  /** Size in pixels; both sides are even. */
  size: Dimensions;
  /** Maximum video bit rate, in bits per second. */
  maxRate: number;
  /** Audio bit rate, in bits per second; undefined for no audio. */
  audioRate: number | undefined;
  /** Duration of both video and audio, in seconds. */
  duration: number;
  /** True if the video starts after the audio. Its first frame is then shown from the beginning. */
  isLate: boolean;
  /** Positions of key frames in seconds; by default every four seconds. */
  cuts?: readonly number[] | undefined;
};

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
 *
 * @returns the path of the file
 */
export async function encodeRung({ source, folder, run }: FfmpegContext, rung: Rung): Promise<string> {
  const { name, size, maxRate, audioRate, duration, isLate, cuts = [] } = rung;
  const file = `${name}.mkv`;
  const isPlain = cuts.length === 0 || cuts.length > maxCuts;
  const keyFrames = isPlain
    ? `expr:gte(t,n_forced*4)*lt(t,${Math.max(0, duration - minTailSeconds)})`
    : cuts.map((cut) => Math.max(0, cut - marginSeconds).toFixed(6)).join(',');
  const filters = [
    ...(isLate ? ['setpts=if(eq(N\\,0)\\,0\\,PTS)'] : []),
    ...['yadif=deint=interlaced', scaleTo(size), 'tpad=stop_mode=clone:stop=-1'],
  ];
  const sound = [
    ...['-map', '0:a:0', '-af', 'aresample=async=1:first_pts=0,apad', '-c:a', 'aac'],
    ...['-b:a', String(audioRate), '-ac', '2', '-ar', '48000'],
  ];
  await run([
    ...inputArgs(source),
    ...['-map', '0:V:0', '-map_metadata', '-1', '-map_chapters', '-1'],
    ...['-t', duration.toFixed(3), '-fpsmax', String(maxFps), '-enc_time_base:v', '1/90000'],
    ...['-vf', filters.join(','), '-c:v', 'libx264', '-profile:v', 'main', '-pix_fmt', 'yuv420p'],
    ...['-preset', 'veryfast', '-crf', '23', '-bf', '0', '-threads', '1'],
    ...['-maxrate', String(maxRate), '-bufsize', String(maxRate)],
    ...['-force_key_frames', keyFrames],
    ...(audioRate ? sound : []),
    ...['-f', 'matroska', file],
  ]);
  await assertOutputs(folder, [file]);
  return join(folder, file);
}
