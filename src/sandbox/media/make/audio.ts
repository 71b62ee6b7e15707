import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FfmpegContext } from '../ffmpeg/ffmpeg.ts';
import type { InspectedSource } from '../recognize/inspection-messages.ts';

const pcm = /^(?:pcm-(?:u8|s16|s24|s32|f32)|ulaw|alaw)$/;

/** Maps ffmpeg demuxers to the audio codecs that browsers play in their containers. */
const playableCodecs: Record<string, RegExp> = {
  mp3: /^mp3$/,
  aac: /^aac$/,
  flac: /^flac$/,
  ogg: /^(?:opus|vorbis|flac)$/,
  wav: pcm,
  mov: /^(?:aac|mp3|flac|opus)$/,
  matroska: /^(?:opus|vorbis)$/,
};
/** Content types of these containers that browsers recognize. */
const browserContainers = /^audio\/(?!x-matroska)|^video\/(?:mp4|webm)$|^application\/ogg$/;

export function isPlayableByBrowsers({ demuxer, contentType, codecs }: InspectedSource): boolean {
  return browserContainers.test(contentType) && (playableCodecs[demuxer ?? '']?.test(codecs?.sound ?? '') ?? false);
}

/** Sample rate of transcoded audio, in Hz. */
export const audioSampleRate = 48_000;

/** Transcodes the audio to AAC in MP4, which every browser plays; returns the file name. */
export async function makeAudio({ run }: FfmpegContext): Promise<string> {
  const file = 'audio.m4a';
  const args = [
    ...['-map', '0:a:0', '-map_metadata', '-1', '-map_chapters', '-1'],
    ...['-c:a', 'aac', '-b:a', '192k', '-ac', '2', '-ar', String(audioSampleRate)],
    ...['-movflags', '+faststart', '-f', 'mp4', file],
  ];
  await run(args, { outputs: [file] });
  return file;
}

/** Measures the duration in seconds by reading the full file, since some containers do not state it. */
export async function measureDuration({ run }: FfmpegContext): Promise<number> {
  const all = ['-map', '0:V?', '-map', '0:a?', '-c', 'copy', '-f', 'null'];
  const printed = await run([...all, '-progress', 'pipe:1', '-']);
  const [, microseconds] = [...printed.toString().matchAll(/^out_time_us=(\d+)$/gm)].at(-1) ?? [];
  if (!Number(microseconds)) throw new Error('its duration is unknown');
  return Math.round(Number(microseconds) / 1000) / 1000;
}

const maxPeaks = 400;
/**
 * Number of measurements per peak. A peak covers a whole number of measurements, so with a single one each, some peaks
 * would cover twice as much time as others.
 */
const windowsPerPeak = 4;

/** Writes the waveform as JSON `{duration, peaks}`: seconds, and the loudest samples of equal parts from 0 to 1. */
export async function makeWaveform(
  { folder, run }: FfmpegContext,
  { duration, sampleRate }: { duration: number; sampleRate: number },
): Promise<string> {
  const idealSamples = Math.ceil((duration * sampleRate) / (maxPeaks * windowsPerPeak));
  const samples = Math.max(1, Math.min(sampleRate, idealSamples)); // at most one second, since ffmpeg buffers it
  const filters = [
    `asetnsamples=n=${samples}:p=0`,
    'astats=metadata=1:reset=1:measure_perchannel=none:measure_overall=Peak_level',
    'ametadata=mode=print:key=lavfi.astats.Overall.Peak_level:file=-',
  ].join(',');
  const printed = await run(['-map', '0:a:0', '-af', filters, '-f', 'null', '-']);
  const levels = [...printed.toString().matchAll(/Peak_level=(\S+)/g)].map(([, level = '']) => amplitude(level));
  if (levels.length === 0) throw new Error('there is no audio');
  const count = Math.min(maxPeaks, levels.length);
  const peaks = Array.from({ length: count }, (_, at) => {
    const [from, to] = [at, at + 1].map((n) => Math.floor((n * levels.length) / count));
    return Math.max(...levels.slice(from, to));
  });
  const file = 'waveform.json';
  await writeFile(join(folder, file), JSON.stringify({ duration, peaks }));
  return file;
}

/** Converts dBFS to an amplitude from 0 to 1. Silence is `-inf`; floating-point audio can exceed full scale. */
function amplitude(decibels: string): number {
  const level = 10 ** (Number(decibels) / 20);
  return Number.isNaN(level) ? 0 : Math.round(Math.min(1, level) * 1000) / 1000;
}
