import type { Video } from '../ffmpeg/workshop.ts';
import type { Package } from '../hls/rendition.ts';
import { scaledEven } from '../recognize/dimensions.ts';
import type { Rung } from './rung.ts';

/**
 * Maximum longer side of the encoded rungs: 1080p for the upper; for the lower, half of it and at
 * most 480p.
 */
const upperSide = 1920;
const lowerSide = 854;
/** Maximum video bit rate, in bits per second per pixel. */
const bitsAPixel = 4;
const leastRate = 120_000;

/** Returns the upper rung, up to 1080p; without audio if audio has its own playlists. */
export function upperRung(video: Video, ownSounds: number): Rung {
  const audioRate = ownSounds > 0 ? undefined : 128_000;
  return rung('upper', video, Math.min(1, upperSide / longerSide(video)), audioRate);
}

/**
 * Returns the lower rung: at most half the size and peak bit rate of the rung above; with audio
 * unless that has its own playlists.
 */
export function lowerRung(video: Video, { main, sounds, cuts, seconds }: Package): Rung {
  const audioRate = sounds.length > 0 ? undefined : 64_000;
  const lower = rung('lower', video, Math.min(0.5, lowerSide / longerSide(video)), audioRate);
  const maxRate = Math.max(leastRate, Math.min(lower.maxRate, Math.round(main.peak / 2)));
  return { ...lower, maxRate, cuts, duration: seconds };
}

const longerSide = ({ width, height }: Video) => Math.max(width, height);

function rung(name: string, video: Video, factor: number, audioRate: number | undefined): Rung {
  const size = scaledEven(video, factor);
  const maxRate = Math.max(leastRate, Math.round(bitsAPixel * size.width * size.height));
  const { duration, hasAudio, isLate } = video;
  return { name, size, maxRate, audioRate: hasAudio ? audioRate : undefined, duration, isLate };
}

/**
 * Returns true if every browser with HLS support plays these RFC 6381 codecs. That excludes HEVC,
 * H.264 beyond 8-bit 4:2:0, AC-3, and MP3 in MP4.
 */
export const areCommon = (codecs: readonly string[]) =>
  codecs.every((codec) =>
    /^(?:avc1\.(?:42|4d|58|64)|vp09\.00|av01\.0|mp4a\.40\.(?:2|5|29)$|Opus|flac)/i.test(codec),
  );
