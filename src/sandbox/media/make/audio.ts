import { inputArgs } from '../ffmpeg/ffmpeg.ts';
import { assertOutputs, type FfmpegContext } from '../ffmpeg/ffmpeg-context.ts';
import type { InspectedSource } from '../recognize/inspection-messages.ts';

const pcm = /^(?:pcm-(?:u8|s16|s24|s32|f32)|ulaw|alaw)$/;

/** Maps ffmpeg demuxers to the audio codecs that browsers play in their containers. */
const playableCodecs: Record<string, RegExp> = {
  mp3: /^mp3$/,
  aac: /^aac$/,
  flac: /^flac$/,
  ogg: /^(?:opus|vorbis|flac)$/,
  wav: pcm,
  mov: /^(?:aac|mp3|flac|opus)$/,
  matroska: /^(?:opus|vorbis)$/,
};
/** Content types of these containers that browsers recognize. */
const browserContainers = /^audio\/(?!x-matroska)|^video\/(?:mp4|webm)$|^application\/ogg$/;

/** Returns true if browsers can play the audio without transcoding. */
export function isPlayableByBrowsers({ demuxer, contentType, codecs }: InspectedSource): boolean {
  const [codec] = codecs?.sounds ?? [];
  return browserContainers.test(contentType) && (playableCodecs[demuxer ?? '']?.test(codec ?? '') ?? false);
}

/** Transcodes the audio to AAC in MP4, which every browser plays; returns the file name. */
export async function makeAudio(context: FfmpegContext): Promise<string> {
  const file = 'audio.m4a';
  await context.run([
    ...inputArgs(context.source),
    ...['-map', '0:a:0', '-map_metadata', '-1', '-map_chapters', '-1'],
    ...['-c:a', 'aac', '-b:a', '192k', '-ac', '2', '-ar', '48000'],
    ...['-movflags', '+faststart', '-f', 'mp4', file],
  ]);
  await assertOutputs(context.folder, [file]);
  return file;
}

/** Measures the duration in seconds by reading the full file, since some containers do not state it. */
export async function measureDuration(context: FfmpegContext): Promise<number> {
  const printed = await context.run([
    ...inputArgs(context.source),
    ...['-map', '0:V?', '-map', '0:a?', '-c', 'copy', '-f', 'null', '-progress', 'pipe:1', '-'],
  ]);
  const [, microseconds] = [...printed.toString().matchAll(/^out_time_us=(\d+)$/gm)].at(-1) ?? [];
  if (!Number(microseconds)) throw new Error('it has no length');
  return Number(microseconds) / 1e6;
}
