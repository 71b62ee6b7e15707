import type { Video } from '../ffmpeg/workshop.ts';
import type { Package } from '../hls/rendition.ts';
import { scaledEven } from '../recognize/dimensions.ts';
import type { Rung } from './rung.ts';

/** Sides of the steps that are encoded: the upper in 1080p, the lower half of it and 480p at most. */
const upperSide = 1920;
const lowerSide = 854;
/** What keeps a picture watchable, in bits a second and pixel. */
const bitsAPixel = 4;
const leastRate = 120_000;

/** As good as the source, as far as browsers need it; silent where sounds have their own playlists. */
export function upperRung(video: Video, ownSounds: number): Rung {
  const audioRate = ownSounds > 0 ? undefined : 128_000;
  return rung('upper', video, Math.min(1, upperSide / longerSide(video)), audioRate);
}

/** Less than half of the step above it; sound only where that has its own in the same segments. */
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
 * Whether every browser that plays HLS plays these, as RFC 6381 names them: not HEVC, more than 8
 * bits or 4:2:0 in H.264, AC-3, MP3 in MP4.
 */
export const areCommon = (codecs: readonly string[]) =>
  codecs.every((codec) =>
    /^(?:avc1\.(?:42|4d|58|64)|vp09\.00|av01\.0|mp4a\.40\.(?:2|5|29)$|Opus|flac)/i.test(codec),
  );
