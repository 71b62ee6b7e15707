import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { drawWaveform } from '../pictures/waveform-picture.ts';
import { waveformPictureFile } from '../store/derived-files.ts';
import { attemptStep } from './ffmpeg/ffmpeg-attempt.ts';
import type { Streams } from './ffmpeg/streams.ts';
import { isPlayableByBrowsers, makeAudio } from './make/audio.ts';
import { subtitlesOf } from './make/subtitles.ts';
import { makeWaveform } from './make/waveform.ts';
import { type ProcessingJob, type ProcessingOutcome, readyOutcome } from './processing-job.ts';
import type { InspectedSource } from './recognize/inspection-messages.ts';

/** Transcodes audio that browsers cannot play; creates its waveform, subtitles and thumbnail. */
export async function processAudio(
  job: ProcessingJob,
  found: InspectedSource,
  streams: Streams | undefined,
): Promise<ProcessingOutcome> {
  const { demuxer, cover } = found;
  if (demuxer === null) return readyOutcome(found);
  const source = { path: job.sourcePath, demuxer };
  const audio = isPlayableByBrowsers(found)
    ? undefined
    : await job.attempt('sound that browsers play', 3600, source, makeAudio);
  const measured = { ...found, ...(audio && (await measure(job, found, audio))) };
  const waveform = await waveformOf(job, measured, audio);
  const subtitles = await subtitlesOf(job, source, streams);
  const thumbnail = cover ?? (waveform && (await pictureOf(job, waveform))) ?? null;
  return readyOutcome(measured, {
    audio: audio ?? null,
    waveform: waveform ?? null,
    subtitles,
    thumbnail,
  });
}

/** Measures the transcoded audio if the container of the source does not state the duration or the sample rate. */
async function measure(job: ProcessingJob, { duration, sampleRate }: InspectedSource, audio: string) {
  if (duration !== null && sampleRate !== null) return {};
  const task = { sourcePath: join(job.derivedFilesDir, audio), hlsDir: job.hlsDir, firstId: 1 };
  const report = await attemptStep(job, 'length', 60, () => job.inspect(task));
  if (!report || report.found.type === 'broken') return {};
  const { found } = report;
  return { duration: found.duration, sampleRate: found.sampleRate };
}

async function waveformOf(job: ProcessingJob, { duration, sampleRate, demuxer }: InspectedSource, audio?: string) {
  if (!duration || !sampleRate || demuxer === null) return undefined;
  const source = audio ? { path: join(job.derivedFilesDir, audio), demuxer: 'mov' } : { path: job.sourcePath, demuxer };
  const sound = { duration, sampleRate: audio ? 48_000 : sampleRate };
  return job.attempt('waveform', 300, source, (context) => makeWaveform(context, sound));
}

/** Draws the waveform as the thumbnail, since audio has no frames; returns its file name. */
async function pictureOf({ derivedFilesDir }: ProcessingJob, waveform: string): Promise<string> {
  const { peaks } = JSON.parse(await readFile(join(derivedFilesDir, waveform), 'utf8'));
  await writeFile(join(derivedFilesDir, waveformPictureFile), drawWaveform(peaks), { mode: 0o600 });
  return waveformPictureFile;
}
