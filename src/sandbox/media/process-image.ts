import { readStreams } from './ffmpeg/streams.ts';
import { ToolRefused } from './ffmpeg/tool.ts';
import { failed, type Job, type Outcome, ready } from './job.ts';
import { makeStill } from './make/still.ts';
import { makeVariants } from './make/variants.ts';
import { movingImages, shownByBrowsers } from './recognize/images.ts';
import type { Found } from './recognize/inspection.ts';

export async function processImage(job: Job, found: Found): Promise<Outcome> {
  const { contentType, demuxer, unread } = found;
  if (demuxer === null) return ready(found);
  const source = { path: job.sourcePath, demuxer };
  const size = await sizeOf(job, found, demuxer);
  if (size instanceof ToolRefused)
    return failed(unread?.reason ?? `the image cannot be read: ${size.message}`);
  if (!size) return unread ? failed(unread.reason) : ready(found);
  const measured = { ...found, ...size };
  if (movingImages.has(contentType)) {
    const still = await job.attempt('still', 60, source, (shop) => makeStill(shop, size));
    return ready(measured, { thumbnail: still ?? null });
  }
  const isShown = shownByBrowsers.has(contentType);
  const variants = await job.attempt('variants', 60, source, (shop) =>
    makeVariants(shop, size, isShown),
  );
  return ready(measured, { variants: variants ?? [] });
}

/** Returns the image size; asks ffmpeg if the header parser did not find it. */
async function sizeOf(job: Job, { width, height }: Found, demuxer: string) {
  if (width !== null && height !== null) return { width, height };
  const source = { path: job.sourcePath, demuxer };
  return job.attemptAside('size', 60, source, async (shop) => {
    try {
      const [picture] = (await readStreams(shop)).pictures;
      if (!picture) throw new Error('there is no picture');
      return { width: picture.width, height: picture.height };
    } catch (error) {
      if (error instanceof ToolRefused) return error;
      throw error;
    }
  });
}
