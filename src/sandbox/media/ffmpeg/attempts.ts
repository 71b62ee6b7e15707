import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { runFfmpeg, type Source } from './ffmpeg.ts';
import { assertRoom } from './storage.ts';
import type { Tool } from './tool.ts';
import type { Workshop } from './workshop.ts';

export type AttemptOptions = {
  /** Seconds that any attempt may take; by default each has a limit of its own. */
  limitSeconds: number | undefined;
  /** Ends it all: the sandbox is closing. */
  signal: AbortSignal;
  /** Told why a thing is left out. */
  log(line: string): void;
};

/**
 * Makes one thing within its seconds; undefined where that did not succeed, which is logged: the
 * asset is of use without it.
 *
 * @throws the reason of the sandbox's closing
 */
export async function within<T>(
  { limitSeconds, signal, log }: AttemptOptions,
  name: string,
  ownSeconds: number,
  make: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const seconds = limitSeconds ?? ownSeconds;
  const timeout = AbortSignal.timeout(Math.ceil(seconds * 1000));
  try {
    return await make(AbortSignal.any([signal, timeout]));
  } catch (error) {
    signal.throwIfAborted();
    const { message } = error as Error;
    assertRoom(message);
    log(`no ${name}: ${timeout.aborted ? `it took over ${seconds} s` : message}`);
    return undefined;
  }
}

/** An attempt with ffmpeg on a source; undefined too where there is no ffmpeg. */
export type Attempt = <T>(
  name: string,
  ownSeconds: number,
  source: Source,
  make: (shop: Workshop) => Promise<T>,
) => Promise<T | undefined>;

/** Into a folder that is made if missing. */
export const attemptsIn =
  (folder: string, ffmpeg: Tool | undefined, options: AttemptOptions): Attempt =>
  async (name, ownSeconds, source, make) =>
    ffmpeg &&
    within(options, name, ownSeconds, async (signal) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const run: Workshop['run'] = (args) =>
        runFfmpeg(ffmpeg, { args, cwd: folder, signal }).catch((error: Error) => {
          // Where it lies is nobody's business, and nobody's help.
          error.message = error.message.replaceAll(`file:${resolve(source.path)}`, 'the source');
          throw error;
        });
      return make({ source, folder, run });
    });
