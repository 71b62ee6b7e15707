import { resolve } from 'node:path';
import { runTool, type Tool, type ToolRun } from './tool.ts';

/** Frames of 8K, and those that a codec keeps for reference. */
const memoryMiB = 3 * 1024;

/** For every run: no questions, few words, no large allocations, and no orphan that lives for ever. */
const guards = [
  ...['-nostdin', '-hide_banner', '-y', '-v', 'error'],
  ...['-max_alloc', String(512 * 1024 * 1024), '-timelimit', '7200'],
];

/** A file, and ffmpeg's name for what it is. */
export type Source = { path: string; demuxer: string };

/**
 * The source as input. Sources are hostile: the demuxer is the one of the container that was
 * recognised and never guessed, so that no playlist or script is followed; no protocol but `file` is
 * spoken; pictures have at most 100 megapixels.
 */
export const input = (source: Source, ...options: string[]) => [
  ...['-protocol_whitelist', 'file', '-max_pixels', '100000000', '-threads', '1'],
  ...['-f', source.demuxer, ...options, '-i', `file:${resolve(source.path)}`],
];

/** Runs to its end. @returns what it wrote to stdout; as `runTool` otherwise */
export const runFfmpeg = (
  ffmpeg: Tool,
  { args, cwd, signal }: Omit<ToolRun, 'memoryMiB'>,
): Promise<Buffer> => runTool(ffmpeg, { args: [...guards, ...args], memoryMiB, cwd, signal });
