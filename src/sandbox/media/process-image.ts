import { readStreams } from './ffmpeg/streams.ts';
import { ToolRejectedError } from './ffmpeg/tool.ts';
import { makeStill } from './make/still.ts';
import { makeVariants } from './make/variants.ts';
import { failedOutcome, type ProcessingJob, type ProcessingOutcome, readyOutcome } from './processing-job.ts';
import { animatedImageTypes, browserImageTypes } from './recognize/image-types.ts';
import type { InspectedSource } from './recognize/inspection-messages.ts';

export async function processImage(job: ProcessingJob, found: InspectedSource): Promise<ProcessingOutcome> {
  const { contentType, demuxer, unread } = found;
  if (demuxer === null) return readyOutcome(found);
  const source = { path: job.sourcePath, demuxer };
  const size = await sizeOf(job, found, demuxer);
  if (size instanceof ToolRejectedError)
    return failedOutcome(unread?.reason ?? `the image cannot be read: ${size.message}`);
  if (!size) return unread ? failedOutcome(unread.reason) : readyOutcome(found);
  const measured = { ...found, ...size };
  if (animatedImageTypes.has(contentType)) {
    const still = await job.attempt('still', 60, source, (context) => makeStill(context, size));
    return readyOutcome(measured, { thumbnail: still ?? null });
  }
  const isShown = browserImageTypes.has(contentType);
  const variants = await job.attempt('variants', 60, source, (ffmpeg) => makeVariants(ffmpeg, size, isShown));
  return readyOutcome(measured, { variants: variants ?? [] });
}

/**
 * Returns the image size, from ffmpeg if the header parser did not find it. Returns ToolRejectedError if ffmpeg
 * rejects the image, and undefined if ffmpeg is missing or fails for another reason.
 */
async function sizeOf(job: ProcessingJob, { width, height }: InspectedSource, demuxer: string) {
  if (width !== null && height !== null) return { width, height };
  const source = { path: job.sourcePath, demuxer };
  return job.attemptTemporary('size', 60, source, async (context) => {
    try {
      const [picture] = (await readStreams(context)).pictures;
      if (!picture) throw new Error('there is no picture');
      return { width: picture.width, height: picture.height };
    } catch (error) {
      if (error instanceof ToolRejectedError) return error;
      throw error;
    }
  });
}
