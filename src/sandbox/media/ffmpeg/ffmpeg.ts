import { resolve } from 'node:path';
import { runTool, type Tool, type ToolRun } from './tool.ts';

/** Memory limit for ffmpeg, which suffices for 8K frames and the reference frames of a codec. */
const memoryMiB = 3 * 1024;

/**
 * Options for every ffmpeg run: no prompts, only errors, limited allocations, and a time limit in case the process
 * is left over after the sandbox has died.
 */
const commonArgs = [
  ...['-nostdin', '-hide_banner', '-y', '-v', 'error'],
  ...['-max_alloc', String(512 * 1024 * 1024), '-timelimit', '7200'],
];

/** An input file and its ffmpeg demuxer. */
export type FfmpegSource = { path: string; demuxer: string };

/**
 * Returns the ffmpeg input arguments for a source. Since sources are untrusted, ffmpeg does not probe the format
 * but uses the demuxer of the detected container, so that it follows no playlist or script. Only the `file`
 * protocol is allowed, and images are limited to 100 megapixels.
 */
export const inputArgs = (source: FfmpegSource, ...options: string[]) => [
  ...['-protocol_whitelist', 'file', '-max_pixels', '100000000', '-threads', '1'],
  ...['-f', source.demuxer, ...options, '-i', `file:${resolve(source.path)}`],
];

/**
 * Runs ffmpeg with a memory limit; returns its stdout.
 *
 * @throws the same errors as `runTool`
 */
export const runFfmpeg = (ffmpeg: Tool, { args, cwd, signal }: Omit<ToolRun, 'memoryMiB'>): Promise<Buffer> =>
  runTool(ffmpeg, { args: [...commonArgs, ...args], memoryMiB, cwd, signal });
