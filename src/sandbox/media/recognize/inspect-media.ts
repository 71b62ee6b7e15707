import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { imageSize } from 'image-size';
import { EncodedPacketSink, type Input, type InputTrack, type MetadataTags } from 'mediabunny';
import { packageHls } from '../hls/packager.ts';
import type { InspectedSource, InspectionTask, MediaChapter, MediaReading } from './inspection-messages.ts';
import { demuxerOf } from './source-kind.ts';

/** An open media file. `endHeader` must be called once the header has been read. */
export type OpenMedia = { input: Input; endHeader(): void };

/**
 * Inspects only the header of a file. If the container declares video, the result is a video even if mediabunny
 * does not know the codec, such as MPEG-2 in a broadcast or Theora in Ogg.
 * @throws Error if mediabunny finds neither a video nor an audio track
 */
export async function inspectMedia(
  { input, endHeader }: OpenMedia,
  { callsItselfVideo, extrasDir }: Pick<InspectionTask, 'extrasDir'> & { callsItselfVideo: boolean },
): Promise<InspectedSource> {
  const tracks = await input.getTracks();
  const tags = await input.getMetadataTags();
  endHeader();
  const picture = tracks.find((track) => track.isVideoTrack());
  const sounds = tracks.filter((track) => track.isAudioTrack());
  if (!picture && sounds.length === 0) throw new Error('the file has neither a video nor an audio track');
  const [mimeType = ''] = (await input.getMimeType()).split(';');
  // mediabunny reports Ogg with an unknown video codec as audio.
  const contentType = callsItselfVideo ? mimeType.replace(/^audio/, 'video') : mimeType;
  const type = picture || callsItselfVideo ? 'video' : 'audio';
  // Timestamps of a broadcast start at an arbitrary time, not at 0.
  const first = await input.getFirstTimestamp();
  const duration = (await input.computeDuration()) - Math.max(0, first);
  const pictureLateSeconds = picture ? (await picture.getFirstTimestamp()) - first : 0;
  const chpl = tags.raw?.chpl;
  return {
    type,
    contentType,
    duration: Math.round(duration * 1000) / 1000,
    width: picture?.displayWidth,
    height: picture?.displayHeight,
    chapters: chpl instanceof Uint8Array ? parseNeroChapters(chpl) : [],
    demuxer: demuxerOf(await input.getFormat()),
    codecs: { ...(type === 'video' && { picture: picture?.codec ?? null }), sounds: sounds.map(({ codec }) => codec) },
    pictureLateSeconds,
    sampleRate: sounds[0]?.sampleRate,
    cover: type === 'audio' ? await coverOf(tags, extrasDir) : undefined,
  };
}

/**
 * Parses the `chpl` box (Nero chapters) of an MP4 file. It contains a version, flags, four more bytes in version 1,
 * and a count. For each chapter follow its start in units of 100 ns, the length of its title, and the title.
 */
export function parseNeroChapters(box: Uint8Array): MediaChapter[] {
  const view = new DataView(box.buffer, box.byteOffset, box.byteLength);
  const chapters: MediaChapter[] = [];
  let at = view.byteLength > 8 && view.getUint8(0) === 1 ? 8 : 4;
  const count = at < view.byteLength ? view.getUint8(at++) : 0;
  for (let n = 0; n < count && at + 9 <= view.byteLength; n++) {
    const start_time = Number(view.getBigUint64(at)) / 1e7;
    const length = view.getUint8(at + 8);
    const title = new TextDecoder().decode(box.subarray(at + 9, at + 9 + length));
    chapters.push({ title, start_time });
    at += 9 + length;
  }
  return chapters;
}

const maxCoverBytes = 8 * 1024 * 1024;
const maxCoverSide = 8192;

/** Extracts the cover of a song; returns its file name, or undefined if browsers cannot display it. */
async function coverOf({ images = [] }: MetadataTags, folder: string): Promise<string | undefined> {
  const front = images.find(({ kind }) => kind === 'coverFront') ?? images[0];
  if (!front || front.data.length > maxCoverBytes) return undefined;
  const { type, width, height } = readCoverSize(front.data);
  if ((type !== 'jpg' && type !== 'png') || Math.max(width, height) > maxCoverSide) return undefined;
  const file = `cover.${type}`;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, file), front.data, { mode: 0o600 });
  return file;
}

function readCoverSize(bytes: Uint8Array): { type?: string; width: number; height: number } {
  try {
    return imageSize(bytes) as { type?: string; width: number; height: number };
  } catch {
    return { width: 0, height: 0 }; // not an image, so there is no cover
  }
}

/** Codecs allowed in HLS. CMAF allows more codecs, but players do not support them in HLS. */
const hlsCodecs = new Set<string | null>([
  ...['avc', 'hevc', 'vp9', 'av1'],
  ...['aac', 'mp3', 'ac3', 'eac3', 'opus', 'flac'],
]);

/** Reads a media file to its end, and packages a video as HLS if HLS supports the codecs of all its tracks. */
export async function readMedia(input: Input, task: InspectionTask): Promise<MediaReading> {
  const tracks = await input.getTracks();
  const picture = tracks.find((track) => track.isVideoTrack());
  const sounds = tracks.filter((track) => track.isAudioTrack());
  const all = [...(picture ? [picture] : []), ...sounds];
  const other = all.find(({ codec }) => !hlsCodecs.has(codec));
  const problems = picture && other ? [`${other.codec ?? 'an unknown codec'} is not supported in HLS`] : [];
  // The file is not necessarily broken, since ffmpeg might still read it.
  const failed = (error: Error) => void problems.push(error.stack ?? error.message);
  const made = picture && !other ? await packageHls(picture, sounds, task).catch(failed) : undefined;
  const endsAt = made ? made.beginsAt + made.seconds : await endOf(all).catch(failed);
  const first = Math.max(0, await input.getFirstTimestamp());
  const seconds = endsAt === undefined ? null : endsAt - first;
  return { seconds, package: made ?? null, problem: problems.join('\n') || null };
}

/** Returns the end of the last packet in seconds, which it finds by reading all packets. */
async function endOf(tracks: readonly InputTrack[]): Promise<number> {
  let end = 0;
  for (const track of tracks)
    for await (const { timestamp, duration } of new EncodedPacketSink(track).packets())
      end = Math.max(end, timestamp + duration);
  return end;
}
