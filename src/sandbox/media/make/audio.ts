import { input } from '../ffmpeg/ffmpeg.ts';
import { assertMade, type Workshop } from '../ffmpeg/workshop.ts';
import type { Found } from '../recognize/inspection.ts';

const pcm = /^(?:pcm-(?:u8|s16|s24|s32|f32)|ulaw|alaw)$/;

/** Audio codecs that browsers play, by ffmpeg demuxer of the container. */
const playable: Record<string, RegExp> = {
  mp3: /^mp3$/,
  aac: /^aac$/,
  flac: /^flac$/,
  ogg: /^(?:opus|vorbis|flac)$/,
  wav: pcm,
  mov: /^(?:aac|mp3|flac|opus)$/,
  matroska: /^(?:opus|vorbis)$/,
};
/** Content types that browsers recognize among those containers. */
const named = /^audio\/(?!x-matroska)|^video\/(?:mp4|webm)$|^application\/ogg$/;

/** Returns true if browsers play the audio without transcoding. */
export function playsAsItIs({ demuxer, contentType, codecs }: Found): boolean {
  const [codec] = codecs?.sounds ?? [];
  return named.test(contentType) && (playable[demuxer ?? '']?.test(codec ?? '') ?? false);
}

/** Transcodes the audio to AAC in MP4, which every browser plays. */
export async function makeAudio(shop: Workshop): Promise<string> {
  const file = 'audio.m4a';
  await shop.run([
    ...input(shop.source),
    ...['-map', '0:a:0', '-map_metadata', '-1', '-map_chapters', '-1'],
    ...['-c:a', 'aac', '-b:a', '192k', '-ac', '2', '-ar', '48000'],
    ...['-movflags', '+faststart', '-f', 'mp4', file],
  ]);
  await assertMade(shop.folder, [file]);
  return file;
}

/**
 * Measures the duration in seconds by reading the full file, for containers that do not state it.
 */
export async function lengthOf(shop: Workshop): Promise<number> {
  const printed = await shop.run([
    ...input(shop.source),
    ...['-map', '0:V?', '-map', '0:a?', '-c', 'copy', '-f', 'null', '-progress', 'pipe:1', '-'],
  ]);
  const [, microseconds] = [...printed.toString().matchAll(/^out_time_us=(\d+)$/gm)].at(-1) ?? [];
  if (!Number(microseconds)) throw new Error('it has no length');
  return Number(microseconds) / 1e6;
}
