import { mkdir } from 'node:fs/promises';
import { type Extras, noExtras } from '../store/extras.ts';
import { type Ffmpeg, runFfmpeg } from './ffmpeg.ts';
import type { Found } from './inspection.ts';
import { makeLadder } from './ladder.ts';
import { makeSprites } from './sprites.ts';
import { makeThumbnail } from './thumbnail.ts';
import { makeVariants } from './variants.ts';
import { makeWaveform } from './waveform.ts';
import type { Workshop } from './workshop.ts';

/** What an asset goes without where there is no ffmpeg; the ladder's lower step in words. */
export const allExtras = [
  ...['thumbnails', 'preview sprites', 'waveforms', 'smaller variants of images'],
  'a second step of HLS, and HLS of codecs that it does not carry',
];

export type Order = {
  ffmpeg: Ffmpeg;
  /** Seconds that any of them may take; by default each has a limit of its own. */
  limitSeconds: number | undefined;
  found: Found;
  sourcePath: string;
  /** Of the worker; the ladder is written into it. */
  hls: string;
  /** For everything else; made if missing. */
  folder: string;
  /** Ends it all: the sandbox is closing. */
  signal: AbortSignal;
  /** Told why an extra is left out. */
  log(line: string): void;
};

/**
 * Makes what belongs to the asset's type. An extra that fails, or takes too long, is logged and left
 * out: the asset is of use without it.
 */
export async function makeExtras(order: Order): Promise<Extras & { hasHls: boolean }> {
  const { type, demuxer, width, height, duration, sampleRate, hasHls, hlsIsWhole } = order.found;
  const extras = { ...noExtras, hasHls };
  if (demuxer === null) return extras;
  await mkdir(order.folder, { recursive: true, mode: 0o700 });
  const source = { path: order.sourcePath, demuxer };
  const attempt = attempts(order, source);
  const size = width && height ? { width, height } : undefined;
  if (type === 'image' && size) {
    extras.variants =
      (await attempt('variants', 60, (shop) => makeVariants(shop, size))) ?? extras.variants;
  } else if (type === 'audio' && duration && sampleRate) {
    extras.waveform =
      (await attempt('waveform', 300, (shop) => makeWaveform(shop, { duration, sampleRate }))) ??
      null;
  } else if (type === 'video' && size && duration) {
    const video = { ...size, duration, hasAudio: sampleRate !== null };
    extras.thumbnail =
      (await attempt('thumbnail', 60, (shop) => makeThumbnail(shop, size))) ?? null;
    extras.sprites =
      (await attempt('preview sprites', 300, (shop) => makeSprites(shop, video))) ?? null;
    const ladderSeconds = Math.min(3600, Math.ceil(60 + 6 * duration));
    await attempt('ladder', ladderSeconds, async (shop) => {
      await makeLadder(shop, video, order.hls, hasHls && hlsIsWhole);
      extras.hasHls = true;
    });
  }
  return extras;
}

/** Makes one thing within its seconds; undefined where that did not succeed, which is logged. */
const attempts =
  ({ ffmpeg, limitSeconds, folder, signal, log }: Order, source: Workshop['source']) =>
  async <T>(
    name: string,
    ownSeconds: number,
    make: (shop: Workshop) => Promise<T>,
  ): Promise<T | undefined> => {
    const seconds = limitSeconds ?? ownSeconds;
    const timeout = AbortSignal.timeout(Math.ceil(seconds * 1000));
    const either = AbortSignal.any([signal, timeout]);
    const run: Workshop['run'] = (args, cwd = folder) =>
      runFfmpeg(ffmpeg, { args, cwd, signal: either });
    try {
      return await make({ source, folder, run });
    } catch (error) {
      signal.throwIfAborted();
      log(
        `no ${name}: ${timeout.aborted ? `it took over ${seconds} s` : (error as Error).message}`,
      );
      return undefined;
    }
  };
