import { mkdir } from 'node:fs/promises';
import type { EncodedPacket, InputAudioTrack, InputVideoTrack } from 'mediabunny';
import type { HlsPackage, Rendition } from './playlists.ts';
import { SegmentWriter } from './segment-writer.ts';
import { type AudioReader, NotPackageableError, openAudio, openVideo, type VideoReader } from './track-readers.ts';

/** Maximum delay of audio relative to the video, since players wait until they have both. */
const maxAudioDelaySeconds = 0.25;
/** Maximum time by which audio starts before the video. Broadcasts often start with a fraction of a second of it. */
const maxAudioLeadSeconds = 0.5;
/** Maximum time that video or audio may continue after the other has ended. */
const maxOverhangSeconds = 4;

/**
 * Packages a file as HLS without re-encoding, in CMAF segments that start at key frames: at `cuts` in seconds, or about
 * every four seconds. `firstId` is the id of the first playlist; if there are several audio tracks, each gets its own
 * playlist with the next id. Time 0 is the first video frame.
 * @throws NotPackageableError if players could not play the result correctly
 */
export async function packageHls(
  picture: InputVideoTrack,
  sounds: readonly InputAudioTrack[],
  { hlsDir: folder, firstId, cuts }: { hlsDir: string; firstId: number; cuts?: readonly number[] },
): Promise<HlsPackage> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const video = await openVideo(picture, cuts);
  const audio: AudioReader[] = [];
  for (const track of sounds) audio.push(await openAudio(track, video.zero));
  if (audio.some(({ beginsAt }) => beginsAt > maxAudioDelaySeconds))
    throw new NotPackageableError('the audio starts later than the video');
  if (audio.some(({ firstAt }) => video.firstAt - firstAt > maxAudioLeadSeconds))
    throw new NotPackageableError('the audio starts earlier than the video');
  const parts = [video, ...audio].map(({ part }) => part);
  const renditions = audio.length > 1 ? parts.map((part) => [part]) : [parts];
  const writers = renditions.map((each, at) => new SegmentWriter(folder, firstId + at, each));
  const starts: number[] = [];
  let seconds = 0;
  for await (const segment of mergedSegments(segmentsOf(video, audio))) {
    for (const [at, writer] of writers.entries())
      await writer.write(writers.length > 1 ? [segment.packets[at] ?? []] : segment.packets, segment.seconds);
    starts.push(segment.start);
    seconds = segment.start + segment.seconds;
  }
  const finished: Rendition[] = [];
  for (const [at, writer] of writers.entries()) {
    const codecs = (renditions[at] ?? []).map(({ config }) => hlsCodecName(config.codec));
    finished.push({ ...(await writer.finish()), codecs, size: null });
  }
  const [main, ...others] = finished as [Rendition, ...Rendition[]];
  return {
    main: { ...main, size: { width: picture.displayWidth, height: picture.displayHeight } },
    sounds: others.map((rendition, at) => {
      const { languageCode: language, name, numberOfChannels: channels } = sounds[at] as InputAudioTrack;
      return { ...rendition, language, name, channels };
    }),
    cuts: starts.slice(1),
    beginsAt: video.zero,
    seconds,
  };
}

/** A segment with the packets of each track, the video first. */
type Segment = { start: number; seconds: number; packets: EncodedPacket[][]; isLast: boolean };

async function* segmentsOf(video: VideoReader, audio: readonly AudioReader[]): AsyncGenerator<Segment> {
  for (let start = 0, end = 0; video.nextAt() !== undefined; start = end) {
    const packets = [await video.readSegment(start)];
    const cut = video.nextAt();
    for (const sound of audio) packets.push(await sound.readUntil(cut));
    const heardUntil = Math.max(0, ...audio.map(({ endsAt }) => endsAt()));
    if (cut === undefined && heardUntil > video.endsAt() + maxOverhangSeconds)
      throw new NotPackageableError('the audio continues after the end of the video');
    end = cut ?? Math.max(video.endsAt(), heardUntil);
    yield { start, seconds: end - start, packets, isLast: cut === undefined };
  }
}

/**
 * Merges a short last segment without audio into the previous one, so that video and audio end together.
 * @throws NotPackageableError if audio is missing from another segment, or if there is no segment
 */
async function* mergedSegments(segments: AsyncIterable<Segment>): AsyncGenerator<Segment> {
  let pending: Segment | undefined;
  for await (const segment of segments) {
    const isSilent = segment.packets.slice(1).some(({ length }) => length === 0);
    if (!isSilent) {
      if (pending) yield pending;
      pending = segment;
    } else if (pending && segment.isLast && segment.seconds <= maxOverhangSeconds) {
      const packets = pending.packets.map((held, at) => [...held, ...(segment.packets[at] ?? [])]);
      pending = { ...pending, seconds: pending.seconds + segment.seconds, packets };
    } else throw new NotPackageableError(`there is no audio after ${segment.start.toFixed(1)} s`);
  }
  if (!pending) throw new NotPackageableError('there is no video');
  yield pending;
}

/** Returns the RFC 6381 codec name; `hvc1` means decoder parameters in the header (ISO/IEC 14496-15). */
const hlsCodecName = (codec: string) =>
  codec
    .replace(/^hev1/, 'hvc1')
    .replace(/^opus$/, 'Opus')
    .replace(/^mp3$/, 'mp4a.40.34');
