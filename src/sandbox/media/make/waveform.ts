import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inputArgs } from '../ffmpeg/ffmpeg.ts';
import type { FfmpegContext } from '../ffmpeg/ffmpeg-context.ts';

const maxPeaks = 400;
/** Number of measurements per peak; several are taken so that all peaks cover nearly equal time. */
const windowsPerPeak = 4;

/**
 * Writes the waveform as JSON `{duration, peaks}`. `duration` is in seconds. Each peak is the loudest sample of its
 * part over all channels, from 0 to 1.
 */
export async function makeWaveform(
  context: FfmpegContext,
  { duration, sampleRate }: { duration: number; sampleRate: number },
): Promise<string> {
  const idealSamples = Math.ceil((duration * sampleRate) / (maxPeaks * windowsPerPeak));
  const samples = Math.max(1, Math.min(sampleRate, idealSamples)); // at most one second, since ffmpeg buffers it
  const filters = [
    `asetnsamples=n=${samples}:p=0`,
    'astats=metadata=1:reset=1:measure_perchannel=none:measure_overall=Peak_level',
    'ametadata=mode=print:key=lavfi.astats.Overall.Peak_level:file=-',
  ].join(',');
  const printed = await context.run([
    ...inputArgs(context.source),
    ...['-map', '0:a:0', '-af', filters, '-f', 'null', '-'],
  ]);
  const levels = [...printed.toString().matchAll(/Peak_level=(\S+)/g)].map(([, level = '']) => amplitude(level));
  if (levels.length === 0) throw new Error('there is no sound');
  const count = Math.min(maxPeaks, levels.length);
  const peaks = Array.from({ length: count }, (_, at) => {
    const [from, to] = [at, at + 1].map((n) => Math.floor((n * levels.length) / count));
    return Math.max(...levels.slice(from, to));
  });
  const file = 'waveform.json';
  await writeFile(join(context.folder, file), JSON.stringify({ duration, peaks }));
  return file;
}

/**
 * Converts decibels (dBFS) to an amplitude from 0 to 1. Silence is `-inf`; floating-point audio can exceed full
 * scale and is clipped.
 */
function amplitude(decibels: string): number {
  const level = 10 ** (Number(decibels) / 20);
  return Number.isNaN(level) ? 0 : Math.round(Math.min(1, level) * 1000) / 1000;
}
