import { join } from 'node:path';
import { input } from '../ffmpeg/ffmpeg.ts';
import { assertMade, type Workshop } from '../ffmpeg/workshop.ts';
import { type Size, scaleTo } from '../recognize/dimensions.ts';

export type Rung = {
  /** Of its file. */
  name: string;
  /** Even sides. */
  size: Size;
  /** Bits a second that the picture may take at most. */
  maxRate: number;
  /** Of the sound; undefined for none. */
  audioRate: number | undefined;
  /** Picture and sound end here alike, in seconds. */
  duration: number;
  /** The picture begins late: its first frame is to be there from the beginning. */
  isLate: boolean;
  /** Where key frames must be, in seconds; by default, every four. */
  cuts?: readonly number[] | undefined;
};

const mostFps = 60;
/** More than a command line takes, at which any cut will do. */
const mostCuts = 5000;
/** A last segment that is shorter is none. */
const leastTailSeconds = 1;
/** A key frame is the first one at or past the time that it is asked for. */
const marginSeconds = 0.005;

/**
 * One step of a ladder: H.264 and AAC, to be packaged. What ends first goes on, still and silent;
 * sound that begins late begins with silence. In Matroska, since for it every ffmpeg leaves the
 * frames where they are; for MP4, some move them to a grid.
 *
 * @returns its path
 */
export async function encodeRung({ source, folder, run }: Workshop, rung: Rung): Promise<string> {
  const { name, size, maxRate, audioRate, duration, isLate, cuts = [] } = rung;
  const file = `${name}.mkv`;
  const isPlain = cuts.length === 0 || cuts.length > mostCuts;
  const keyFrames = isPlain
    ? `expr:gte(t,n_forced*4)*lt(t,${Math.max(0, duration - leastTailSeconds)})`
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
    ...input(source),
    ...['-map', '0:V:0', '-map_metadata', '-1', '-map_chapters', '-1'],
    ...['-t', duration.toFixed(3), '-fpsmax', String(mostFps), '-enc_time_base:v', '1/90000'],
    ...['-vf', filters.join(','), '-c:v', 'libx264', '-profile:v', 'main', '-pix_fmt', 'yuv420p'],
    ...['-preset', 'veryfast', '-crf', '23', '-bf', '0', '-threads', '1'],
    ...['-maxrate', String(maxRate), '-bufsize', String(maxRate)],
    ...['-force_key_frames', keyFrames],
    ...(audioRate ? sound : []),
    ...['-f', 'matroska', file],
  ]);
  await assertMade(folder, [file]);
  return join(folder, file);
}
