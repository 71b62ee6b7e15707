import { input } from '../ffmpeg/ffmpeg.ts';
import { assertMade, type Workshop } from '../ffmpeg/workshop.ts';
import type { Found } from '../recognize/inspection.ts';

const pcm = /^(?:pcm-(?:u8|s16|s24|s32|f32)|ulaw|alaw)$/;

/** Codecs that browsers play, by ffmpeg's demuxer of the container that they are in. */
const playable: Record<string, RegExp> = {
  mp3: /^mp3$/,
  aac: /^aac$/,
  flac: /^flac$/,
  ogg: /^(?:opus|vorbis|flac)$/,
  wav: pcm,
  mov: /^(?:aac|mp3|flac|opus)$/,
  matroska: /^(?:opus|vorbis)$/,
};
/** Of those containers, the ones that browsers know under their own name. */
const named = /^audio\/(?!x-matroska)|^video\/(?:mp4|webm)$|^application\/ogg$/;

/** Whether browsers play the sound as it is. */
export function playsAsItIs({ demuxer, contentType, codecs }: Found): boolean {
  const [codec] = codecs?.sounds ?? [];
  return named.test(contentType) && (playable[demuxer ?? '']?.test(codec ?? '') ?? false);
}

/** Sound that every browser plays: AAC in MP4. */
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

/** Seconds, by reading all of a file whose container does not tell. */
export async function lengthOf(shop: Workshop): Promise<number> {
  const printed = await shop.run([
    ...input(shop.source),
    ...['-map', '0:V?', '-map', '0:a?', '-c', 'copy', '-f', 'null', '-progress', 'pipe:1', '-'],
  ]);
  const [, microseconds] = [...printed.toString().matchAll(/^out_time_us=(\d+)$/gm)].at(-1) ?? [];
  if (!Number(microseconds)) throw new Error('it has no length');
  return Number(microseconds) / 1e6;
}
