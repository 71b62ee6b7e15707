import { EncodedPacketSink, type Input, type InputTrack } from 'mediabunny';
import { packageHls } from '../hls/packager.ts';
import { typeByTracks } from './asset-type.ts';
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
  callsItselfVideo: boolean,
): Promise<InspectedSource> {
  const { picture, sound, played } = await playedTracks(input);
  const { raw } = await input.getMetadataTags();
  endHeader();
  if (!picture && !sound) throw new Error('the file has neither a video nor an audio track');
  const [mimeType = ''] = (await input.getMimeType()).split(';');
  // mediabunny reports Ogg with an unknown video codec as audio.
  const contentType = callsItselfVideo ? mimeType.replace(/^audio/, 'video') : mimeType;
  const type = typeByTracks(Boolean(picture), callsItselfVideo);
  // Timestamps of a broadcast start at an arbitrary time, not at 0.
  const first = await input.getFirstTimestamp(played);
  const duration = (await input.computeDuration(played)) - Math.max(0, first);
  const pictureLateSeconds = picture ? (await picture.getFirstTimestamp()) - first : 0;
  const chpl = raw?.chpl;
  return {
    type,
    contentType,
    duration: Math.round(duration * 1000) / 1000,
    width: picture?.displayWidth,
    height: picture?.displayHeight,
    chapters: chpl instanceof Uint8Array ? parseNeroChapters(chpl) : [],
    demuxer: demuxerOf(await input.getFormat()),
    codecs: { ...(type === 'video' && { picture: picture?.codec ?? null }), sound: sound?.codec },
    pictureLateSeconds,
    sampleRate: sound?.sampleRate,
  };
}

/** Returns the first video track and the first audio track, which are played. */
async function playedTracks(input: Input) {
  const tracks = await input.getTracks();
  const picture = tracks.find((track) => track.isVideoTrack());
  const sound = tracks.find((track) => track.isAudioTrack());
  return { picture, sound, played: [picture, sound].filter((track) => track !== undefined) };
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

/** Codecs allowed in HLS. CMAF allows more codecs, but players do not support them in HLS. */
const hlsCodecs = new Set<string | null>([
  ...['avc', 'hevc', 'vp9', 'av1'],
  ...['aac', 'mp3', 'ac3', 'eac3', 'opus', 'flac'],
]);

/** Reads what is played of a file to its end, and packages a video as HLS if HLS supports its codecs. */
export async function readMedia(input: Input, { hlsDir }: InspectionTask): Promise<MediaReading> {
  const { picture, sound, played } = await playedTracks(input);
  const other = played.find(({ codec }) => !hlsCodecs.has(codec));
  const problems = picture && other ? [`${other.codec ?? 'an unknown codec'} is not supported in HLS`] : [];
  // The file is not necessarily broken, since ffmpeg might still read it.
  const failed = (error: Error) => void problems.push(error.stack ?? error.message);
  const made = picture && !other ? await packageHls(picture, sound, hlsDir).catch(failed) : undefined;
  const endsAt = made ? made.endsAt : await endOf(played).catch(failed);
  const first = Math.max(0, await input.getFirstTimestamp(played));
  const seconds = endsAt === undefined ? null : endsAt - first;
  return { seconds, master: made?.master ?? null, problem: problems.join('\n') || null };
}

/** Returns the end of the last packet in seconds, which it finds by reading all packets. */
async function endOf(tracks: readonly InputTrack[]): Promise<number> {
  let end = 0;
  for (const track of tracks)
    for await (const { timestamp, duration } of new EncodedPacketSink(track).packets())
      end = Math.max(end, timestamp + duration);
  return end;
}
