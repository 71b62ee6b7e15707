import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { has } from './has.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Name of the installed ffmpeg; undefined unless ffprobe, the oracle of these tests, is installed too. */
export const ffmpeg = has('ffmpeg') ? 'ffmpeg' : undefined;

const quiet = ['-nostdin', '-v', 'error'];

/** Creates a media file with ffmpeg in a temporary folder. @returns its path */
export async function makeMedia(name: string, ...args: string[]): Promise<string> {
  const path = join(temporaryFolder(), name);
  await promisify(execFile)('ffmpeg', [...quiet, ...args, path]);
  return path;
}

/**
 * Rotates an MP4 by 90° in its header alone: the matrix of ISO/IEC 14496-12 §8.3.2 (version 0).
 *
 * @param height of the unrotated picture, in pixels
 */
export function rotateMp4(path: string, height: number): string {
  const bytes = readFileSync(path);
  const matrix = bytes.indexOf('tkhd') + 4 + 40;
  const quarter = [0, 0x10000, 0, -0x10000, 0, 0, height * 0x10000, 0, 0x40000000];
  quarter.forEach((value, at) => {
    bytes.writeInt32BE(value, matrix + 4 * at);
  });
  writeFileSync(path, bytes);
  return path;
}

export const secondsOfVideo = (seconds: number, size: string) => [
  ...['-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=25:duration=${seconds}`],
];

export const secondsOfAudio = (seconds: number, { hertz = 440 } = {}) => [
  ...['-f', 'lavfi', '-i', `sine=frequency=${hertz}:duration=${seconds}`],
];

// biome-ignore lint/suspicious/noExplicitAny: tests assert on its shape
type FfprobeOutput = { streams: any[]; format: any };

/** Runs ffprobe on a path or URL, counting every packet. */
export async function runFfprobe(at: string): Promise<FfprobeOutput> {
  const shown = ['-show_streams', '-show_format', '-count_packets'];
  const { stdout, stderr } = await promisify(execFile)('ffprobe', [...['-v', 'error', '-of', 'json', ...shown, at]]);
  if (stderr) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Finds the seconds at which the picture turns white and at which sound begins after silence. */
export async function findOnsets(at: string): Promise<{ flashes: number[]; beeps: number[] }> {
  const folder = temporaryFolder();
  const print = (filters: string, key: string, file: string) =>
    `${filters},${key === 'YAVG' ? '' : 'a'}metadata=print:file=${join(folder, file)}`;
  const level = 'astats=metadata=1:reset=1:measure_perchannel=none:measure_overall=Peak_level';
  // Both in one pass, so that their timestamps have the same origin.
  await promisify(execFile)('ffmpeg', [
    ...[...quiet, '-i', at],
    ...['-map', '0:v:0', '-vf', print('signalstats', 'YAVG', 'v'), '-f', 'null', '-'],
    ...['-map', '0:a:0', '-af', print(`asetnsamples=64,${level}`, 'Peak', 'a'), '-f', 'null', '-'],
  ]);
  const startTimes = (file: string, key: RegExp, isOn: (value: number) => boolean) => {
    const starts: number[] = [];
    let wasOn = false;
    for (const frame of readFileSync(join(folder, file), 'utf8')
      .split(/^frame:/m)
      .slice(1)) {
      const on = isOn(Number(key.exec(frame)?.[1]));
      if (on && !wasOn) starts.push(Number(/pts_time:(\S+)/.exec(frame)?.[1]));
      wasOn = on;
    }
    return starts;
  };
  return {
    flashes: startTimes('v', /YAVG=(\S+)/, (luma) => luma > 128),
    beeps: startTimes('a', /Peak_level=(\S+)/, (decibels) => decibels > -20),
  };
}

/** Measures the mean brightness of a picture, 0 to 255. */
export async function measureBrightness(at: string): Promise<number> {
  const one = ['-vf', 'scale=1:1,format=gray', '-f', 'rawvideo', '-'];
  const { stdout } = await promisify(execFile)('ffmpeg', [...quiet, '-i', at, ...one], { encoding: 'buffer' });
  return stdout[0] as number;
}
