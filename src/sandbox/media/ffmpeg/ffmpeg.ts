import { resolve } from 'node:path';
import { runTool, type Tool, type ToolRun } from './tool.ts';

/** Memory limit of ffmpeg: enough for 8K frames and a codec's reference frames. */
const memoryMiB = 3 * 1024;

/**
 * Options of every ffmpeg run: no prompts, only errors, limited allocations, and a time limit in
 * case the sandbox dies (orphan process).
 */
const commonArgs = [
  ...['-nostdin', '-hide_banner', '-y', '-v', 'error'],
  ...['-max_alloc', String(512 * 1024 * 1024), '-timelimit', '7200'],
];

/** An input file and its ffmpeg demuxer. */
export type FfmpegSource = { path: string; demuxer: string };

/**
 * Returns the ffmpeg input arguments of a source. Sources are untrusted: the demuxer is fixed by
 * the detected container and never probed, so that no playlist or script is followed; only the
 * `file` protocol is allowed; images are limited to 100 megapixels.
 */
export const inputArgs = (source: FfmpegSource, ...options: string[]) => [
  ...['-protocol_whitelist', 'file', '-max_pixels', '100000000', '-threads', '1'],
  ...['-f', source.demuxer, ...options, '-i', `file:${resolve(source.path)}`],
];

/** Runs ffmpeg with a memory limit. @returns its stdout; throws like `runTool` */
export const runFfmpeg = (
  ffmpeg: Tool,
  { args, cwd, signal }: Omit<ToolRun, 'memoryMiB'>,
): Promise<Buffer> => runTool(ffmpeg, { args: [...commonArgs, ...args], memoryMiB, cwd, signal });
