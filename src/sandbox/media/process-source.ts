import { attemptStep, type FfmpegSource } from './ffmpeg/ffmpeg.ts';
import { assertNotDiskFull } from './ffmpeg/storage-errors.ts';
import { listStreams, type Streams } from './ffmpeg/streams.ts';
import { ToolRejectedError } from './ffmpeg/tool.ts';
import { makePages, makeStill, makeVariants } from './make/pictures.ts';
import { processAudio } from './process-audio.ts';
import { processVideo } from './process-video.ts';
import {
  createJob,
  failedOutcome,
  type ProcessingJob,
  type ProcessingJobOptions,
  type ProcessingOutcome,
  readyOutcome,
} from './processing-job.ts';
import { animatedImageTypes, browserImageTypes } from './recognize/image-types.ts';
import type { InspectedSource, MediaReading } from './recognize/inspection-messages.ts';

/** Creates the HLS and derived files that are served for a source, in the job's work folder. */
export async function processSource(options: ProcessingJobOptions): Promise<ProcessingOutcome> {
  const job = createJob(options);
  const { sourcePath, hlsDir } = job;
  const { found, reading, workerErrors } = await job.inspect({ sourcePath, hlsDir, firstId: 1 });
  if (workerErrors !== '') job.log(`while it was inspected: ${workerErrors}`);
  if (found.type === 'broken') return failedOutcome(found.reason);
  if (found.type === 'document') return readyOutcome(found, { pages: await pagesOf(job, found) });
  if (found.demuxer === null) return readyOutcome(found);
  const source = { path: sourcePath, demuxer: found.demuxer };
  return found.type === 'image' ? processImage(job, found, source) : processMedia(job, found, source, reading);
}

/** Renders the pages of a PDF; returns no pages for other documents. */
async function pagesOf(job: ProcessingJob, { contentType }: InspectedSource): Promise<string[]> {
  const { sourcePath: path, derivedFilesDir: folder, tools } = job;
  const { pdftoppm } = tools;
  if (contentType !== 'application/pdf' || !pdftoppm) return [];
  const pages = await attemptStep(job, 'pages', 60, (signal) => makePages(pdftoppm, { path, folder, signal }));
  return pages ?? [];
}

/** Creates the smaller variants of an image. Asks ffmpeg for the size if the header parser did not find it. */
async function processImage(
  job: ProcessingJob,
  found: InspectedSource,
  source: FfmpegSource,
): Promise<ProcessingOutcome> {
  const { contentType, width, height, unread } = found;
  const stated = width !== null && height !== null ? { width, height } : undefined;
  const streams = stated ? undefined : await listStreams(job, source);
  if (streams instanceof ToolRejectedError)
    return failedOutcome(unread?.reason ?? `the image cannot be read: ${streams.message}`);
  const size = stated ?? streams?.pictures[0];
  if (!size) return unread ? failedOutcome(unread.reason) : readyOutcome(found);
  const measured = { ...found, ...size };
  if (animatedImageTypes.has(contentType)) {
    const still = await job.attempt('still', 60, source, (context) => makeStill(context, size));
    return readyOutcome(measured, { thumbnail: still ?? null });
  }
  const isShown = browserImageTypes.has(contentType);
  const variants = await job.attempt('variants', 60, source, (context) => makeVariants(context, size, isShown));
  return readyOutcome(measured, { variants: variants ?? [] });
}

/** Tolerated difference between the duration stated in the header and the actual one. */
const toleratedLossSeconds = 1.5;

/**
 * Processes audio or video. Uses ffmpeg if mediabunny cannot read the file. Without ffmpeg, intact files are served
 * unchanged.
 */
async function processMedia(
  job: ProcessingJob,
  found: InspectedSource,
  source: FfmpegSource,
  reading: MediaReading | undefined,
): Promise<ProcessingOutcome> {
  const { duration } = found;
  const { reason, why } = found.unread ?? {};
  assertNotDiskFull(`${reason} ${reading?.problem}`);
  if (reading?.problem) job.log(`as HLS, it has to be encoded: ${reading.problem}`);
  const seconds = reading?.seconds ?? null;
  if (duration !== null && seconds !== null && seconds < duration - toleratedLossSeconds)
    return failedOutcome(
      `the file is truncated: it promises ${duration.toFixed(1)} s and holds ${seconds.toFixed(1)} s`,
    );
  const listed = await listStreams(job, source);
  if (listed instanceof ToolRejectedError && (why === 'broken' || why === 'foreign'))
    return failedOutcome(`${reason}; ffmpeg: ${listed.message}`);
  if (why === 'broken' && !listed) return failedOutcome(reason as string);
  if (reason) job.log(reason);
  const streams = listed instanceof ToolRejectedError ? undefined : listed;
  const chapters = found.chapters.length > 0 ? found.chapters : (streams?.chapters ?? []);
  const described = { ...found, type: typeOf(found, streams), chapters };
  return described.type === 'video'
    ? processVideo(job, described, source, { streams, top: reading?.package ?? undefined })
    : processAudio(job, described, source, streams);
}

/** Returns `video` if ffmpeg or mediabunny found a video track; the detected type if ffmpeg listed no streams. */
function typeOf({ type, codecs }: InspectedSource, streams: Streams | undefined): 'video' | 'audio' {
  const isVideo = streams ? streams.pictures.length > 0 || codecs?.picture : type === 'video';
  return isVideo ? 'video' : 'audio';
}
