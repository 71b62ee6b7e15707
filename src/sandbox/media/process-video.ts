import { rm } from 'node:fs/promises';
import type { VideoProperties } from './ffmpeg/ffmpeg-context.ts';
import type { Streams } from './ffmpeg/streams.ts';
import type { HlsPackage } from './hls/rendition.ts';
import { measureDuration } from './make/audio.ts';
import { makeHls } from './make/hls-ladder.ts';
import { makeSprites } from './make/sprites.ts';
import { subtitlesOf } from './make/subtitles.ts';
import { makeThumbnail } from './make/thumbnail.ts';
import { type ProcessingJob, type ProcessingOutcome, readyOutcome } from './processing-job.ts';
import type { Dimensions } from './recognize/dimensions.ts';
import type { InspectedSource } from './recognize/inspection-messages.ts';

/**
 * Creates the thumbnail, preview sprites, subtitles and HLS of a video. `top` is the source packaged as HLS without
 * re-encoding, if that was possible.
 */
export async function processVideo(
  job: ProcessingJob,
  found: InspectedSource,
  streams: Streams | undefined,
  top: HlsPackage | undefined,
): Promise<ProcessingOutcome> {
  const { demuxer } = found;
  if (!top) await rm(job.hlsDir, { recursive: true, force: true }); // partial output
  if (demuxer === null) return readyOutcome(found);
  const source = { path: job.sourcePath, demuxer };
  const video = await videoOf(job, found, streams);
  const { width, height, duration } = { ...found, ...video };
  const thumbnail = video && (await job.attempt('thumbnail', 60, source, (context) => makeThumbnail(context, video)));
  const sprites = video && (await job.attempt('preview sprites', 300, source, (ffmpeg) => makeSprites(ffmpeg, video)));
  const subtitles = await subtitlesOf(job, source, streams);
  const sized = top && video ? withSize(top, video) : top;
  const hasHls = await makeHls(job, source, video, sized);
  return readyOutcome(
    { ...found, width, height, duration },
    { thumbnail: thumbnail ?? null, sprites: sprites ?? null, subtitles },
    hasHls,
  );
}

const withSize = (made: HlsPackage, { width, height }: Dimensions): HlsPackage => ({
  ...made,
  main: { ...made.main, size: { width, height } },
});

/**
 * Delay relative to the other tracks above which a video counts as late, since broadcasts often have a smaller
 * delay.
 */
const lateThresholdSeconds = 0.5;

/** Returns the properties needed for encoding; undefined if the size or duration is unknown. */
async function videoOf(
  job: ProcessingJob,
  { codecs, demuxer, width, height, duration, pictureLateSeconds }: InspectedSource,
  streams: Streams | undefined,
): Promise<VideoProperties | undefined> {
  const size = combineSizes(width && height ? { width, height } : undefined, streams?.pictures[0]);
  if (!size) return undefined;
  // mediabunny cannot measure a video track that it does not recognize.
  const source = { path: job.sourcePath, demuxer: demuxer as string };
  const measured = codecs?.picture ? undefined : await job.attemptTemporary('length', 600, source, measureDuration);
  const seconds = measured ?? duration;
  const hasAudio = (streams?.sounds ?? codecs?.sounds ?? []).length > 0;
  const isLate = pictureLateSeconds > lateThresholdSeconds;
  return seconds ? { ...size, duration: Math.round(seconds * 1000) / 1000, hasAudio, isLate } : undefined;
}

/** Returns true if two lengths in pixels are equal apart from rounding. */
const isClose = (a: number, b: number) => Math.abs(a - b) <= 2;

/**
 * Chooses between the display sizes from mediabunny (`stated`) and ffmpeg (`seen`). Only mediabunny applies
 * rotation, so its size is used if both match or differ only in orientation. Otherwise, the size from ffmpeg is
 * used, since mediabunny halves the height of interlaced H.264.
 */
function combineSizes(stated: Dimensions | undefined, seen: Dimensions | undefined): Dimensions | undefined {
  if (!stated || !seen) return stated ?? (seen && { width: seen.width, height: seen.height });
  const isSame = isClose(stated.width, seen.width) && isClose(stated.height, seen.height);
  const isTurned = isClose(stated.width, seen.height) && isClose(stated.height, seen.width);
  return isSame || isTurned ? stated : { width: seen.width, height: seen.height };
}
