import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { wavePicture } from '../pictures/wave.ts';
import { wavePictureFile } from '../store/extras.ts';
import { within } from './ffmpeg/attempts.ts';
import type { Streams } from './ffmpeg/streams.ts';
import { type Job, type Outcome, ready } from './job.ts';
import { makeAudio, playsAsItIs } from './make/audio.ts';
import { subtitlesOf } from './make/subtitles.ts';
import { makeWaveform } from './make/waveform.ts';
import type { Found } from './recognize/inspection.ts';

/** Transcodes audio that browsers cannot play, and creates waveform, subtitles and thumbnail. */
export async function processAudio(
  job: Job,
  found: Found,
  streams: Streams | undefined,
): Promise<Outcome> {
  const { demuxer, cover } = found;
  if (demuxer === null) return ready(found);
  const source = { path: job.sourcePath, demuxer };
  const audio = playsAsItIs(found)
    ? undefined
    : await job.attempt('sound that browsers play', 3600, source, makeAudio);
  const measured = { ...found, ...(audio && (await measure(job, found, audio))) };
  const waveform = await waveformOf(job, measured, audio);
  const subtitles = await subtitlesOf(job, source, streams);
  const thumbnail = cover ?? (waveform && (await pictureOf(job, waveform))) ?? null;
  return ready(measured, {
    audio: audio ?? null,
    waveform: waveform ?? null,
    subtitles,
    thumbnail,
  });
}

/**
 * Measures the duration and sample rate of the transcoded audio if the source's container does not
 * state them.
 */
async function measure(job: Job, { duration, sampleRate }: Found, audio: string) {
  if (duration !== null && sampleRate !== null) return {};
  const task = { sourcePath: join(job.extras, audio), hlsDir: job.hls, firstId: 1 };
  const report = await within(job, 'length', 60, () => job.inspect(task));
  if (!report || report.found.type === 'broken') return {};
  const { found } = report;
  return { duration: found.duration, sampleRate: found.sampleRate };
}

async function waveformOf(job: Job, { duration, sampleRate, demuxer }: Found, audio?: string) {
  if (!duration || !sampleRate || demuxer === null) return undefined;
  const source = audio
    ? { path: join(job.extras, audio), demuxer: 'mov' }
    : { path: job.sourcePath, demuxer };
  const sound = { duration, sampleRate: audio ? 48_000 : sampleRate };
  return job.attempt('waveform', 300, source, (shop) => makeWaveform(shop, sound));
}

/** Draws the waveform as thumbnail, since audio has no frames. */
async function pictureOf({ extras }: Job, waveform: string): Promise<string> {
  const { peaks } = JSON.parse(await readFile(join(extras, waveform), 'utf8'));
  await writeFile(join(extras, wavePictureFile), wavePicture(peaks), { mode: 0o600 });
  return wavePictureFile;
}
