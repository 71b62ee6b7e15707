import { attemptStep } from './ffmpeg/ffmpeg-attempt.ts';
import { assertNotDiskFull } from './ffmpeg/storage-errors.ts';
import { readStreams, type Streams } from './ffmpeg/streams.ts';
import { ToolRejectedError } from './ffmpeg/tool.ts';
import { makePages } from './make/pages.ts';
import { processAudio } from './process-audio.ts';
import { processImage } from './process-image.ts';
import { processVideo } from './process-video.ts';
import {
  createJob,
  failedOutcome,
  type ProcessingJob,
  type ProcessingJobOptions,
  type ProcessingOutcome,
  readyOutcome,
} from './processing-job.ts';
import type { InspectedSource, MediaReading } from './recognize/inspection-messages.ts';

/** Creates the HLS and derived files that are served for a source, in the job's work folder. */
export async function processSource(options: ProcessingJobOptions): Promise<ProcessingOutcome> {
  const job = createJob(options);
  const { found, reading, workerErrors } = await job.inspect({
    sourcePath: job.sourcePath,
    hlsDir: job.hlsDir,
    firstId: 1,
  });
  if (workerErrors !== '') job.log(`while it was inspected: ${workerErrors}`);
  switch (found.type) {
    case 'broken':
      return failedOutcome(found.reason);
    case 'generic':
      return readyOutcome(found);
    case 'document':
      return readyOutcome(found, { pages: await pagesOf(job, found) });
    case 'image':
      return processImage(job, found);
    default:
      return processMedia(job, found, reading);
  }
}

/** Renders the pages of a PDF; returns no pages for other documents. */
async function pagesOf(job: ProcessingJob, { contentType }: InspectedSource): Promise<string[]> {
  const { sourcePath: path, derivedFilesDir: folder, tools } = job;
  const { pdftoppm } = tools;
  if (contentType !== 'application/pdf' || !pdftoppm) return [];
  const pages = await attemptStep(job, 'pages', 60, (signal) => makePages(pdftoppm, { path, folder, signal }));
  return pages ?? [];
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
  reading: MediaReading | undefined,
): Promise<ProcessingOutcome> {
  const { duration } = found;
  assertNotDiskFull(`${found.unread?.reason} ${reading?.problem}`);
  if (reading?.problem) job.log(`as HLS, it has to be encoded: ${reading.problem}`);
  if (isTruncated(duration, reading))
    return failedOutcome(
      `the file is truncated: it promises ${duration?.toFixed(1)} s and holds ${reading?.seconds?.toFixed(1)} s`,
    );
  const streams = await streamsOf(job, found);
  const { reason, why } = found.unread ?? {};
  if (streams instanceof ToolRejectedError && (why === 'broken' || why === 'foreign'))
    return failedOutcome(`${reason}; ffmpeg: ${streams.message}`);
  if (why === 'broken' && !streams) return failedOutcome(reason as string);
  if (reason) job.log(reason);
  const knownStreams = streams instanceof ToolRejectedError ? undefined : streams;
  const described = {
    ...found,
    type: typeOf(found, knownStreams),
    chapters: found.chapters.length > 0 ? found.chapters : (knownStreams?.chapters ?? []),
  };
  return described.type === 'video'
    ? processVideo(job, described, knownStreams, reading?.package ?? undefined)
    : processAudio(job, described, knownStreams);
}

const isTruncated = (duration: number | null, reading: MediaReading | undefined) =>
  duration !== null && typeof reading?.seconds === 'number' && reading.seconds < duration - toleratedLossSeconds;

/**
 * Lists the streams with ffmpeg. Returns ToolRejectedError if ffmpeg rejects the file, and undefined if ffmpeg is
 * missing or fails for another reason.
 */
async function streamsOf(
  job: ProcessingJob,
  { demuxer }: InspectedSource,
): Promise<Streams | ToolRejectedError | undefined> {
  if (demuxer === null) return undefined;
  const source = { path: job.sourcePath, demuxer };
  return job.attemptTemporary<Streams | ToolRejectedError>('list of streams', 60, source, (context) =>
    readStreams(context).catch((error) => {
      if (!(error instanceof ToolRejectedError)) throw error;
      job.log(`no list of streams: ${error.message}`);
      return error;
    }),
  );
}

/** Returns `video` if ffmpeg or mediabunny found a video track; the detected type if ffmpeg listed no streams. */
function typeOf({ type, codecs }: InspectedSource, streams: Streams | undefined): 'video' | 'audio' {
  if (streams) return streams.pictures.length > 0 || codecs?.picture ? 'video' : 'audio';
  return type === 'video' ? 'video' : 'audio';
}
