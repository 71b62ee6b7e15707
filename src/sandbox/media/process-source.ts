import { within } from './ffmpeg/attempts.ts';
import { assertRoom } from './ffmpeg/storage.ts';
import { readStreams, type Streams } from './ffmpeg/streams.ts';
import { ToolRefused } from './ffmpeg/tool.ts';
import { failed, type Job, type JobOptions, jobOf, type Outcome, ready } from './job.ts';
import { makePages } from './make/pages.ts';
import { processAudio } from './process-audio.ts';
import { processImage } from './process-image.ts';
import { processVideo } from './process-video.ts';
import type { Found, Reading } from './recognize/inspection.ts';

/** Processes a source into the files that are served: HLS and derived files, in its work folder. */
export async function processSource(options: JobOptions): Promise<Outcome> {
  const job = jobOf(options);
  const { found, reading, complaints } = await job.inspect({
    sourcePath: job.sourcePath,
    hlsDir: job.hls,
    firstId: 1,
  });
  if (complaints !== '') job.log(`while it was inspected: ${complaints}`);
  switch (found.type) {
    case 'broken':
      return failed(found.reason);
    case 'generic':
      return ready(found);
    case 'document':
      return ready(found, { pages: await pagesOf(job, found) });
    case 'image':
      return processImage(job, found);
    default:
      return processMedia(job, found, reading);
  }
}

/** Renders the pages of a PDF; other documents have no page images. */
async function pagesOf(job: Job, { contentType }: Found): Promise<string[]> {
  const { sourcePath: path, extras: folder, tools } = job;
  const { pdftoppm } = tools;
  if (contentType !== 'application/pdf' || !pdftoppm) return [];
  const pages = await within(job, 'pages', 60, (signal) =>
    makePages(pdftoppm, { path, folder, signal }),
  );
  return pages ?? [];
}

/** Tolerated difference between the duration in the header and the actual one. */
const toleratedLossSeconds = 1.5;

/**
 * Processes audio or video. Tries ffmpeg if mediabunny fails; without ffmpeg, intact files are
 * served as they are.
 */
async function processMedia(
  job: Job,
  found: Found,
  reading: Reading | undefined,
): Promise<Outcome> {
  const { duration } = found;
  assertRoom(`${found.unread?.reason} ${reading?.problem}`);
  if (reading?.problem) job.log(`as HLS, it has to be encoded: ${reading.problem}`);
  if (isTruncated(duration, reading))
    return failed(
      `the file is truncated: it promises ${duration?.toFixed(1)} s and holds ${reading?.seconds?.toFixed(1)} s`,
    );
  const streams = await streamsOf(job, found);
  const { reason, why } = found.unread ?? {};
  if (streams instanceof ToolRefused && (why === 'broken' || why === 'foreign'))
    return failed(`${reason}; ffmpeg: ${streams.message}`);
  if (why === 'broken' && !streams) return failed(reason as string);
  if (reason) job.log(reason);
  const known = streams instanceof ToolRefused ? undefined : streams;
  const described = {
    ...found,
    type: typeOf(found, known),
    chapters: found.chapters.length > 0 ? found.chapters : (known?.chapters ?? []),
  };
  return described.type === 'video'
    ? processVideo(job, described, known, reading?.package ?? undefined)
    : processAudio(job, described, known);
}

const isTruncated = (duration: number | null, reading: Reading | undefined) =>
  duration !== null &&
  typeof reading?.seconds === 'number' &&
  reading.seconds < duration - toleratedLossSeconds;

/** Lists the streams with ffmpeg; returns ToolRejectedError if ffmpeg rejects the file. */
async function streamsOf(job: Job, { demuxer }: Found): Promise<Streams | ToolRefused | undefined> {
  if (demuxer === null) return undefined;
  const source = { path: job.sourcePath, demuxer };
  return job.attemptAside<Streams | ToolRefused>('list of streams', 60, source, (shop) =>
    readStreams(shop).catch((error) => {
      if (!(error instanceof ToolRefused)) throw error;
      job.log(`no list of streams: ${error.message}`);
      return error;
    }),
  );
}

/** Returns `video` if either ffmpeg or mediabunny found a video track. */
function typeOf({ type, codecs }: Found, streams: Streams | undefined): 'video' | 'audio' {
  if (streams) return streams.pictures.length > 0 || codecs?.picture ? 'video' : 'audio';
  return type === 'video' ? 'video' : 'audio';
}
