import type { VideoProperties } from '../ffmpeg/ffmpeg-context.ts';
import type { HlsPackage } from '../hls/rendition.ts';
import { scaledEven } from '../recognize/dimensions.ts';
import type { Rung } from './rung.ts';

/** Maximum longer side of the encoded rungs in pixels: 1080p for the upper rung, 480p for the lower rung. */
const upperSide = 1920;
const lowerSide = 854;
/** Maximum video bit rate, in bits per second per pixel. */
const maxBitsPerPixel = 4;
const minBitRate = 120_000;

/** Returns the upper rung, up to 1080p. It has no audio if audio has its own playlists. */
export function upperRung(video: VideoProperties, ownSounds: number): Rung {
  const audioRate = ownSounds > 0 ? undefined : 128_000;
  return createRung('upper', video, Math.min(1, upperSide / longerSide(video)), audioRate);
}

/**
 * Returns the lower rung, with at most half the size and peak bit rate of the rung above it. It has no audio if
 * audio has its own playlists.
 */
export function lowerRung(video: VideoProperties, { main, sounds, cuts, seconds }: HlsPackage): Rung {
  const audioRate = sounds.length > 0 ? undefined : 64_000;
  const lower = createRung('lower', video, Math.min(0.5, lowerSide / longerSide(video)), audioRate);
  const maxRate = Math.max(minBitRate, Math.min(lower.maxRate, Math.round(main.peak / 2)));
  return { ...lower, maxRate, cuts, duration: seconds };
}

const longerSide = ({ width, height }: VideoProperties) => Math.max(width, height);

function createRung(name: string, video: VideoProperties, factor: number, audioRate: number | undefined): Rung {
  const size = scaledEven(video, factor);
  const maxRate = Math.max(minBitRate, Math.round(maxBitsPerPixel * size.width * size.height));
  const { duration, hasAudio, isLate } = video;
  return { name, size, maxRate, audioRate: hasAudio ? audioRate : undefined, duration, isLate };
}

/**
 * Returns true if every browser with HLS support plays these RFC 6381 codecs. HEVC, H.264 beyond 8-bit 4:2:0, AC-3,
 * and MP3 in MP4 are not among them.
 */
export const arePlayableEverywhere = (codecs: readonly string[]) =>
  codecs.every((codec) => /^(?:avc1\.(?:42|4d|58|64)|vp09\.00|av01\.0|mp4a\.40\.(?:2|5|29)$|Opus|flac)/i.test(codec));
