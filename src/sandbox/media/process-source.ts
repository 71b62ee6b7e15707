import { join } from 'node:path';
import { attemptStep, type FfmpegSource } from './ffmpeg/ffmpeg.ts';
import { assertNotDiskFull } from './ffmpeg/storage-errors.ts';
import { listStreams, type Streams } from './ffmpeg/streams.ts';
import { ToolRejectedError } from './ffmpeg/tool.ts';
import { audioSampleRate, isPlayableByBrowsers, makeAudio, makeWaveform, measureDuration } from './make/audio.ts';
import { makeHls, type VideoProperties } from './make/hls.ts';
import { makePages, makeThumbnail, makeVariants } from './make/pictures.ts';
import { makeSprites } from './make/sprites.ts';
import { subtitlesOf } from './make/subtitles.ts';
import {
  createJob,
  failedOutcome,
  type ProcessingJob,
  type ProcessingJobOptions,
  type ProcessingOutcome,
  readyOutcome,
} from './processing-job.ts';
import { typeByStreams } from './recognize/asset-type.ts';
import type { Dimensions } from './recognize/dimensions.ts';
import { animatedImageTypes, browserImageTypes } from './recognize/image-types.ts';
import type { InspectedSource, MediaReading } from './recognize/inspection-messages.ts';

export async function processSource(options: ProcessingJobOptions): Promise<ProcessingOutcome> {
  const job = createJob(options);
  const { sourcePath, hlsDir } = job;
  const { found, reading, workerErrors } = await job.inspect({ sourcePath, hlsDir });
  if (workerErrors !== '') job.log(`during inspection: ${workerErrors}`);
  const { demuxer } = found.type === 'broken' ? {} : found;
  const source = demuxer === undefined ? undefined : { path: sourcePath, demuxer };
  switch (found.type) {
    case 'broken':
      return failedOutcome(found.reason);
    case 'generic':
      return readyOutcome(found);
    case 'document':
      return readyOutcome(found, { pages: await pagesOf(job, found) });
    case 'image':
      return source ? processImage(job, found, source) : readyOutcome(found);
    case 'video':
    case 'audio':
      return source ? processMedia(job, found, source, reading) : readyOutcome(found);
  }
}

async function pagesOf(job: ProcessingJob, { contentType }: InspectedSource): Promise<string[]> {
  const { sourcePath: path, derivedFilesDir: folder, tools } = job;
  const { pdftoppm } = tools;
  if (contentType !== 'application/pdf' || !pdftoppm) return [];
  const pages = await attemptStep(job, 'pages', 60, (signal) => makePages(pdftoppm, { path, folder, signal }));
  return pages ?? [];
}

/** Creates the variants of an image. Asks ffmpeg for the size if the header parser did not find it. */
async function processImage(
  job: ProcessingJob,
  found: InspectedSource,
  source: FfmpegSource,
): Promise<ProcessingOutcome> {
  const { contentType, width, height, unread } = found;
  const stated = width && height ? { width, height } : undefined;
  const streams = stated ? undefined : await listStreams(job, source);
  if (streams instanceof ToolRejectedError)
    return failedOutcome(unread?.reason ?? `the image cannot be read: ${streams.message}`);
  const size = stated ?? streams?.pictures[0];
  if (!size) return unread ? failedOutcome(unread.reason) : readyOutcome(found);
  const measured = { ...found, ...size };
  if (animatedImageTypes.has(contentType)) return readyOutcome(measured);
  const isShown = browserImageTypes.has(contentType);
  const variants = await job.attempt('variants', 60, source, (context) => makeVariants(context, size, isShown));
  return readyOutcome(measured, { variants: variants ?? [] });
}

/** Tolerated difference between the duration stated in the header and the actual one. */
const toleratedLossSeconds = 1.5;

/** Processes audio or video, with ffmpeg if mediabunny cannot read it. Without ffmpeg, intact files stay unchanged. */
async function processMedia(
  job: ProcessingJob,
  found: InspectedSource,
  source: FfmpegSource,
  reading: MediaReading | undefined,
): Promise<ProcessingOutcome> {
  const { duration } = found;
  const { reason, why } = found.unread ?? {};
  assertNotDiskFull(`${reason} ${reading?.problem}`);
  if (reading?.problem) job.log(`must be re-encoded for HLS: ${reading.problem}`);
  const seconds = reading?.seconds;
  if (duration && typeof seconds === 'number' && seconds < duration - toleratedLossSeconds)
    return failedOutcome(`the file is truncated: expected ${duration.toFixed(1)} s, found ${seconds.toFixed(1)} s`);
  const listed = await listStreams(job, source);
  if (listed instanceof ToolRejectedError && (why === 'broken' || why === 'foreign'))
    return failedOutcome(`${reason}; ffmpeg: ${listed.message}`);
  if (why === 'broken' && !listed) return failedOutcome(reason as string);
  if (reason) job.log(reason);
  const streams = listed instanceof ToolRejectedError ? undefined : listed;
  const chapters = found.chapters?.length ? found.chapters : streams?.chapters;
  const described = { ...found, type: typeByStreams(found, streams), chapters };
  return described.type === 'video'
    ? processVideo(job, described, source, { streams, packaged: reading?.master ?? undefined })
    : processAudio(job, described, source, streams);
}

/** Creates what is served for a video. `packaged` is the master playlist of the source as HLS, if that was possible. */
async function processVideo(
  job: ProcessingJob,
  found: InspectedSource,
  source: FfmpegSource,
  { streams, packaged }: { streams: Streams | undefined; packaged: string | undefined },
): Promise<ProcessingOutcome> {
  const video = await videoOf(job, found, source, streams);
  const { width, height, duration } = { ...found, ...video };
  const thumbnail = video && (await job.attempt('thumbnail', 60, source, (context) => makeThumbnail(context, video)));
  const sprites =
    video && (await job.attempt('preview sprites', 300, source, (context) => makeSprites(context, video)));
  const hasHls = await makeHls(job, source, video, packaged);
  return readyOutcome(
    { ...found, width, height, duration },
    { thumbnail: thumbnail ?? null, sprites: sprites ?? null },
    hasHls,
  );
}

/** Delay relative to the other tracks above which a video is late, since broadcasts often have a smaller delay. */
const lateThresholdSeconds = 0.5;

/** Returns the properties needed for encoding; undefined if the size or duration is unknown. */
async function videoOf(
  job: ProcessingJob,
  { codecs, width, height, duration, pictureLateSeconds = 0 }: InspectedSource,
  source: FfmpegSource,
  streams: Streams | undefined,
): Promise<VideoProperties | undefined> {
  const size = combineSizes(width && height ? { width, height } : undefined, streams?.pictures[0]);
  if (!size) return undefined;
  // mediabunny cannot measure a video track that it does not recognize.
  const measured = codecs?.picture ? undefined : await job.attemptTemporary('length', 600, source, measureDuration);
  const seconds = measured ?? duration;
  const hasAudio = streams?.hasSound ?? codecs?.sound !== undefined;
  const isLate = pictureLateSeconds > lateThresholdSeconds;
  return seconds ? { ...size, duration: seconds, hasAudio, isLate } : undefined;
}

/** Compares two lengths in pixels, apart from rounding. */
const isClose = (a: number, b: number) => Math.abs(a - b) <= 2;

/**
 * Chooses between the display sizes from mediabunny (`stated`), which alone applies rotation, and ffmpeg (`seen`),
 * since mediabunny halves the height of interlaced H.264.
 */
function combineSizes(stated: Dimensions | undefined, seen: Dimensions | undefined): Dimensions | undefined {
  if (!stated || !seen) return stated ?? seen;
  const isSame = isClose(stated.width, seen.width) && isClose(stated.height, seen.height);
  const isTurned = isClose(stated.width, seen.height) && isClose(stated.height, seen.width);
  return isSame || isTurned ? stated : seen;
}

async function processAudio(
  job: ProcessingJob,
  found: InspectedSource,
  source: FfmpegSource,
  streams: Streams | undefined,
): Promise<ProcessingOutcome> {
  const audio = isPlayableByBrowsers(found)
    ? undefined
    : await job.attempt('audio that browsers can play', 3600, source, makeAudio);
  const played = audio ? { path: join(job.derivedFilesDir, audio), demuxer: 'mov' } : source;
  // Some containers do not state it.
  const measured = audio && !found.duration && (await job.attemptTemporary('length', 60, played, measureDuration));
  const duration = measured || found.duration;
  const sampleRate = audio ? audioSampleRate : found.sampleRate;
  const sound = duration && sampleRate ? { duration, sampleRate } : undefined;
  const waveform = sound && (await job.attempt('waveform', 300, played, (context) => makeWaveform(context, sound)));
  const subtitles = await subtitlesOf(job, source, streams);
  return readyOutcome({ ...found, duration }, { audio: audio ?? null, waveform: waveform ?? null, subtitles });
}
