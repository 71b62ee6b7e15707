import { spawn } from 'node:child_process';
import { resolve } from 'node:path';

/** The binary, and how a process ends together with all that it started. */
export type Ffmpeg = { path: string; killGroup(leader: number): void };

export type FfmpegRun = {
  args: readonly string[];
  /** Outputs are plain names in here: no path can be taken for a pattern or a protocol. */
  cwd: string;
  /** Ends it, with its group. */
  signal: AbortSignal;
};

const maxOutputBytes = 16 * 1024 * 1024;
/** Of stderr, the end is kept: it tells what stopped it. */
const keptErrorBytes = 2048;

/** For every run: no questions, few words, no large allocations, and no orphan that lives for ever. */
const guards = [
  ...['-nostdin', '-hide_banner', '-y', '-v', 'error'],
  ...['-max_alloc', String(512 * 1024 * 1024), '-timelimit', '7200'],
];

/**
 * The source as input. Sources are hostile: the demuxer is the one of the container that was
 * recognised and never guessed, so that no playlist or script is followed; no protocol but `file` is
 * spoken; pictures have at most 100 megapixels.
 */
export const input = (source: { path: string; demuxer: string }, ...options: string[]) => [
  ...['-protocol_whitelist', 'file', '-max_pixels', '100000000', '-threads', '1'],
  ...['-f', source.demuxer, ...options, '-i', `file:${resolve(source.path)}`],
];

/**
 * Runs to its end.
 * @returns what it wrote to stdout
 * @throws the signal's reason, or an Error that says in a line what went wrong
 */
export function runFfmpeg(
  { path, killGroup }: Ffmpeg,
  { args, cwd, signal }: FfmpegRun,
): Promise<Buffer> {
  return new Promise((fulfil, reject) => {
    signal.throwIfAborted();
    // A group of its own: what a wrapper starts ends with it.
    const child = spawn(path, [...guards, ...args], {
      cwd,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output: Buffer[] = [];
    let outputBytes = 0;
    let errors = '';
    let stopped: Error | undefined;

    const finish = () => {
      signal.removeEventListener('abort', onAbort);
      // Something that left the group may still hold them.
      child.stdout.destroy();
      child.stderr.destroy();
      if (stopped) reject(stopped);
      else if (child.exitCode === 0) fulfil(Buffer.concat(output));
      else reject(new Error(failureOf(child.exitCode, child.signalCode, errors)));
    };
    const stop = (reason: Error) => {
      stopped ??= reason;
      if (child.pid === undefined) return; // never started: 'error' follows
      killGroup(child.pid);
      if (child.exitCode === null && child.signalCode === null) child.once('exit', finish);
      else finish();
    };
    const onAbort = () => stop(signal.reason);

    signal.addEventListener('abort', onAbort, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      outputBytes += chunk.length;
      if (outputBytes > maxOutputBytes) stop(new Error('it wrote too much'));
      else output.push(chunk);
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      errors = (errors + chunk).slice(-keptErrorBytes);
    });
    child.once('error', (error) => {
      stopped ??= error;
      finish();
    });
    child.once('close', finish);
  });
}

function failureOf(code: number | null, signal: string | null, errors: string): string {
  const end = code === null ? `ended by ${signal}` : `exit code ${code}`;
  const last = errors.trim().split('\n').at(-1);
  return last ? `${end}: ${last.trim()}` : end;
}
