import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from './temporary.ts';

const runs = (name: string) => spawnSync(name, ['-version']).status === 0;

/** Debian's own, with its ffprobe, the oracle; undefined where they are not installed. */
export const ffmpeg = runs('ffmpeg') && runs('ffprobe') ? 'ffmpeg' : undefined;

const quiet = ['-nostdin', '-v', 'error'];

/** A media file of that name, made by ffmpeg. */
export async function film(name: string, ...args: string[]): Promise<string> {
  const path = join(temporaryFolder(), name);
  await promisify(execFile)('ffmpeg', [...quiet, ...args, path]);
  return path;
}

/**
 * An MP4 so high, turned by a quarter in its header alone: the matrix of ISO/IEC 14496-12 §8.3.2
 * (version 0).
 */
export function turned(path: string, height: number): string {
  const bytes = readFileSync(path);
  const matrix = bytes.indexOf('tkhd') + 4 + 40;
  const quarter = [0, 0x10000, 0, -0x10000, 0, 0, height * 0x10000, 0, 0x40000000];
  quarter.forEach((value, at) => {
    bytes.writeInt32BE(value, matrix + 4 * at);
  });
  writeFileSync(path, bytes);
  return path;
}

export const picture = (size: string, seconds = 3) => [
  ...['-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=25:duration=${seconds}`],
];

export const sound = (seconds = 3, hertz = 440) => [
  ...['-f', 'lavfi', '-i', `sine=frequency=${hertz}:duration=${seconds}`],
];

// biome-ignore lint/suspicious/noExplicitAny: a test says what the JSON is by what it asserts
type Probed = { streams: any[]; format: any };

/** What ffprobe finds at a path or URL, having read all of it. */
export async function probe(at: string): Promise<Probed> {
  const shown = ['-show_streams', '-show_format', '-count_packets'];
  const { stdout, stderr } = await promisify(execFile)('ffprobe', [
    ...['-v', 'error', '-of', 'json', ...shown, at],
  ]);
  if (stderr) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Mean brightness of a picture, 0 to 255. */
export async function brightness(at: string): Promise<number> {
  const one = ['-vf', 'scale=1:1,format=gray', '-f', 'rawvideo', '-'];
  const { stdout } = await promisify(execFile)('ffmpeg', [...quiet, '-i', at, ...one], {
    encoding: 'buffer',
  });
  return stdout[0] as number;
}
