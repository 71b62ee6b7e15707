import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Size, scaleTo } from './dimensions.ts';
import { input } from './ffmpeg.ts';
import type { Workshop } from './workshop.ts';

export type Rung = {
  /** Its files are NAME.m3u8, NAME-0.m4s (the header), NAME-1.m4s and so on. */
  name: string;
  /** Even sides. */
  size: Size;
  fps: number;
  /** Bits a second that the picture may take at most. */
  maxRate: number;
  /** Of the sound, which goes into the same segments; undefined for none. */
  audioRate: number | undefined;
};

const segmentSeconds = 4;

/** One step of a ladder: H.264 and AAC in CMAF segments, written to `folder`. */
export async function encodeRung(
  { source, run }: Workshop,
  { duration }: { duration: number },
  rung: Rung,
  folder: string,
): Promise<void> {
  const { name, size, fps, maxRate, audioRate } = rung;
  await run(
    [
      ...input(source),
      ...['-map', '0:V:0', ...(audioRate ? ['-map', '0:a:0'] : [])],
      ...['-map_metadata', '-1', '-map_chapters', '-1'],
      // What the container claims bounds what is written.
      ...['-t', String(duration + 1), '-fpsmax', String(fps)],
      ...['-vf', scaleTo(size), '-c:v', 'libx264', '-profile:v', 'main', '-pix_fmt', 'yuv420p'],
      // Without B-frames the first picture is at 0, where the remuxed step has it.
      ...['-preset', 'veryfast', '-crf', '23', '-bf', '0'],
      ...['-maxrate', String(maxRate), '-bufsize', String(maxRate)],
      ...['-force_key_frames', `expr:gte(t,n_forced*${segmentSeconds})`],
      ...(audioRate ? ['-c:a', 'aac', '-b:a', String(audioRate), '-ac', '2', '-ar', '48000'] : []),
      ...['-threads', '1', '-f', 'hls', '-hls_time', String(segmentSeconds)],
      ...['-hls_playlist_type', 'vod', '-hls_flags', 'independent_segments', '-start_number', '1'],
      ...['-hls_segment_type', 'fmp4', '-hls_fmp4_init_filename', `${name}-0.m4s`],
      ...['-hls_segment_filename', `${name}-%d.m4s`, `${name}.m3u8`],
    ],
    folder,
  );
}

/** RFC 6381 names of what a rung holds. */
export async function codecsOf(folder: string, { name, audioRate }: Rung): Promise<string[]> {
  const header = await readFile(join(folder, `${name}-0.m4s`));
  const at = header.indexOf('avcC');
  if (at < 0) throw new Error('the encoded video has no header');
  // ISO/IEC 14496-15: version, then profile, compatibility and level.
  const avc = `avc1.${header.subarray(at + 5, at + 8).toString('hex')}`;
  return audioRate ? [avc, 'mp4a.40.2'] : [avc];
}

/** Bits a second of a playlist's segments: of the largest, and of all (RFC 8216 §4.3.4.2). */
export async function bitRatesOf(
  folder: string,
  playlistName: string,
): Promise<{ peak: number; average: number }> {
  const playlist = await readFile(join(folder, playlistName), 'utf8');
  let [peak, bits, seconds] = [0, 0, 0];
  for (const [, length, name = ''] of playlist.matchAll(/^#EXTINF:([\d.]+),.*\n(\S+)/gm)) {
    const size = 8 * (await stat(join(folder, name))).size;
    peak = Math.max(peak, size / Number(length));
    bits += size;
    seconds += Number(length);
  }
  if (seconds === 0) throw new Error('the encoded video is empty');
  return { peak: Math.ceil(peak), average: Math.ceil(bits / seconds) };
}
