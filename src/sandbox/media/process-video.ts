import { rm } from 'node:fs/promises';
import type { Streams } from './ffmpeg/streams.ts';
import type { Video } from './ffmpeg/workshop.ts';
import type { Package } from './hls/rendition.ts';
import { type Job, type Outcome, ready } from './job.ts';
import { lengthOf } from './make/audio.ts';
import { makeSprites } from './make/sprites.ts';
import { makeHls } from './make/steps.ts';
import { subtitlesOf } from './make/subtitles.ts';
import { makeThumbnail } from './make/thumbnail.ts';
import type { Size } from './recognize/dimensions.ts';
import type { Found } from './recognize/inspection.ts';

/**
 * Creates thumbnail, preview sprites, subtitles and HLS. `top` is the source packaged as HLS
 * without re-encoding, if possible.
 */
export async function processVideo(
  job: Job,
  found: Found,
  streams: Streams | undefined,
  top: Package | undefined,
): Promise<Outcome> {
  const { demuxer } = found;
  if (!top) await rm(job.hls, { recursive: true, force: true }); // partial output
  if (demuxer === null) return ready(found);
  const source = { path: job.sourcePath, demuxer };
  const video = await videoOf(job, found, streams);
  const { width, height, duration } = { ...found, ...video };
  const thumbnail =
    video && (await job.attempt('thumbnail', 60, source, (shop) => makeThumbnail(shop, video)));
  const sprites =
    video &&
    (await job.attempt('preview sprites', 300, source, (shop) => makeSprites(shop, video)));
  const subtitles = await subtitlesOf(job, source, streams);
  const sized = top && video ? withSize(top, video) : top;
  const hasHls = await makeHls(job, source, video, sized);
  return ready(
    { ...found, width, height, duration },
    { thumbnail: thumbnail ?? null, sprites: sprites ?? null, subtitles },
    hasHls,
  );
}

const withSize = (made: Package, { width, height }: Size): Package => ({
  ...made,
  main: { ...made.main, size: { width, height } },
});

/** Delay of the video above which it counts as late; smaller ones are normal in broadcasts. */
const lateSeconds = 0.5;

/** Returns the properties that encoding needs; undefined if size or duration is unknown. */
async function videoOf(
  job: Job,
  { codecs, demuxer, width, height, duration, pictureLateSeconds }: Found,
  streams: Streams | undefined,
): Promise<Video | undefined> {
  const size = sizeOf(width && height ? { width, height } : undefined, streams?.pictures[0]);
  if (!size) return undefined;
  // mediabunny cannot measure a video track that it does not recognize.
  const source = { path: job.sourcePath, demuxer: demuxer as string };
  const measured = codecs?.picture
    ? undefined
    : await job.attemptAside('length', 600, source, lengthOf);
  const seconds = measured ?? duration;
  const hasAudio = (streams?.sounds ?? codecs?.sounds ?? []).length > 0;
  const isLate = pictureLateSeconds > lateSeconds;
  return seconds
    ? { ...size, duration: Math.round(seconds * 1000) / 1000, hasAudio, isLate }
    : undefined;
}

/** Compares lengths with a tolerance for rounding. */
const isAbout = (a: number, b: number) => Math.abs(a - b) <= 2;

/**
 * Combines the sizes that mediabunny (stated) and ffmpeg (seen) report. Only mediabunny applies
 * rotation, but it halves the height of interlaced H.264.
 */
function sizeOf(stated: Size | undefined, seen: Size | undefined): Size | undefined {
  if (!stated || !seen) return stated ?? (seen && { width: seen.width, height: seen.height });
  const isSame = isAbout(stated.width, seen.width) && isAbout(stated.height, seen.height);
  const isTurned = isAbout(stated.width, seen.height) && isAbout(stated.height, seen.width);
  return isSame || isTurned ? stated : { width: seen.width, height: seen.height };
}
