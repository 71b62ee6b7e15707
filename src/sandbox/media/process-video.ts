import { rm } from 'node:fs/promises';
import type { FfmpegSource } from './ffmpeg/ffmpeg.ts';
import type { Streams } from './ffmpeg/streams.ts';
import type { HlsPackage } from './hls/playlists.ts';
import { measureDuration } from './make/audio.ts';
import { makeHls, type VideoProperties } from './make/ladder.ts';
import { makeThumbnail } from './make/pictures.ts';
import { makeSprites } from './make/sprites.ts';
import { subtitlesOf } from './make/subtitles.ts';
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
  source: FfmpegSource,
  { streams, top }: { streams: Streams | undefined; top: HlsPackage | undefined },
): Promise<ProcessingOutcome> {
  if (!top) await rm(job.hlsDir, { recursive: true, force: true }); // partial output
  const video = await videoOf(job, found, source, streams);
  const { width, height, duration } = { ...found, ...video };
  const thumbnail = video && (await job.attempt('thumbnail', 60, source, (context) => makeThumbnail(context, video)));
  const sprites =
    video && (await job.attempt('preview sprites', 300, source, (context) => makeSprites(context, video)));
  const subtitles = await subtitlesOf(job, source, streams);
  if (top && video) top.main.size = { width: video.width, height: video.height };
  const hasHls = await makeHls(job, source, video, top);
  return readyOutcome(
    { ...found, width, height, duration },
    { thumbnail: thumbnail ?? null, sprites: sprites ?? null, subtitles },
    hasHls,
  );
}

/**
 * Delay relative to the other tracks above which a video counts as late, since broadcasts often have a smaller
 * delay.
 */
const lateThresholdSeconds = 0.5;

/** Returns the properties needed for encoding; undefined if the size or duration is unknown. */
async function videoOf(
  job: ProcessingJob,
  { codecs, width, height, duration, pictureLateSeconds }: InspectedSource,
  source: FfmpegSource,
  streams: Streams | undefined,
): Promise<VideoProperties | undefined> {
  const size = combineSizes(width && height ? { width, height } : undefined, streams?.pictures[0]);
  if (!size) return undefined;
  // mediabunny cannot measure a video track that it does not recognize.
  const measured = codecs?.picture ? undefined : await job.attemptTemporary('length', 600, source, measureDuration);
  const seconds = measured ?? duration;
  const hasAudio = streams?.hasSound ?? Boolean(codecs?.sounds.length);
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
  if (!stated || !seen) return stated ?? seen;
  const isSame = isClose(stated.width, seen.width) && isClose(stated.height, seen.height);
  const isTurned = isClose(stated.width, seen.height) && isClose(stated.height, seen.width);
  return isSame || isTurned ? stated : seen;
}
