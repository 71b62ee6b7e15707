import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { drawWaveform } from '../pictures/waveform-picture.ts';
import { waveformPictureFile } from '../store/derived-files.ts';
import { attemptStep, type FfmpegSource } from './ffmpeg/ffmpeg.ts';
import type { Streams } from './ffmpeg/streams.ts';
import { isPlayableByBrowsers, makeAudio, makeWaveform } from './make/audio.ts';
import { subtitlesOf } from './make/subtitles.ts';
import { type ProcessingJob, type ProcessingOutcome, readyOutcome } from './processing-job.ts';
import type { InspectedSource } from './recognize/inspection-messages.ts';

/** Transcodes audio that browsers cannot play; creates its waveform, subtitles and thumbnail. */
export async function processAudio(
  job: ProcessingJob,
  found: InspectedSource,
  source: FfmpegSource,
  streams: Streams | undefined,
): Promise<ProcessingOutcome> {
  const audio = isPlayableByBrowsers(found)
    ? undefined
    : await job.attempt('sound that browsers play', 3600, source, makeAudio);
  const measured = { ...found, ...(audio && (await measure(job, found, audio))) };
  const { duration, sampleRate } = measured;
  const played = audio ? { path: join(job.derivedFilesDir, audio), demuxer: 'mov' } : source;
  const sound = duration && sampleRate ? { duration, sampleRate: audio ? 48_000 : sampleRate } : undefined;
  const waveform = sound && (await job.attempt('waveform', 300, played, (context) => makeWaveform(context, sound)));
  const subtitles = await subtitlesOf(job, source, streams);
  const thumbnail = found.cover ?? (waveform && (await pictureOf(job, waveform)));
  const made = { audio: audio ?? null, waveform: waveform ?? null, thumbnail: thumbnail ?? null };
  return readyOutcome(measured, { ...made, subtitles });
}

/** Measures the transcoded audio if the container of the source does not state the duration or the sample rate. */
async function measure(job: ProcessingJob, { duration, sampleRate }: InspectedSource, audio: string) {
  if (duration !== null && sampleRate !== null) return {};
  const task = { sourcePath: join(job.derivedFilesDir, audio), hlsDir: job.hlsDir, firstId: 1 };
  const report = await attemptStep(job, 'length', 60, (signal) => job.inspect(task, signal));
  if (!report || report.found.type === 'broken') return {};
  const { found } = report;
  return { duration: found.duration, sampleRate: found.sampleRate };
}

/** Draws the waveform as the thumbnail, since audio has no frames; returns its file name. */
async function pictureOf({ derivedFilesDir }: ProcessingJob, waveform: string): Promise<string> {
  const { peaks } = JSON.parse(await readFile(join(derivedFilesDir, waveform), 'utf8'));
  await writeFile(join(derivedFilesDir, waveformPictureFile), drawWaveform(peaks), { mode: 0o600 });
  return waveformPictureFile;
}
