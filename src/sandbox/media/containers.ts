import {
  ADTS,
  FLAC,
  type InputFormat,
  MATROSKA,
  MP3,
  MP4,
  MPEG_TS,
  OGG,
  QTFF,
  WAVE,
  WEBM,
} from 'mediabunny';

/** ffmpeg's demuxer of each container. HLS is not among them: a playlist reads other files. */
const demuxers = new Map<InputFormat, string>([
  [MP4, 'mov'],
  [QTFF, 'mov'],
  [MATROSKA, 'matroska'],
  [WEBM, 'matroska'],
  [WAVE, 'wav'],
  [OGG, 'ogg'],
  [FLAC, 'flac'],
  [MP3, 'mp3'],
  [ADTS, 'aac'],
  [MPEG_TS, 'mpegts'],
]);

export const containers = [...demuxers.keys()];

export const demuxerOf = (container: InputFormat) => demuxers.get(container) ?? null;

/** Pictures that ffmpeg reads, by content type; those that move are left as they are. */
export const imageDemuxers = new Map([
  ['image/jpeg', 'jpeg_pipe'],
  ['image/png', 'png_pipe'],
  ['image/webp', 'webp_pipe'],
  ['image/bmp', 'bmp_pipe'],
  ['image/tiff', 'tiff_pipe'],
]);
