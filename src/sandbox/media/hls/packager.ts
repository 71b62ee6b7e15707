import type { EncodedPacket, InputAudioTrack, InputVideoTrack } from 'mediabunny';
import { AudioReader } from './audio-reader.ts';
import { NotPackageableError } from './not-packageable-error.ts';
import type { AudioRendition, HlsPackage, Rendition } from './rendition.ts';
import { SegmentWriter } from './segment-writer.ts';
import { VideoReader } from './video-reader.ts';

export type PackageOptions = {
  picture: InputVideoTrack;
  sounds: readonly InputAudioTrack[];
  folder: string;
  /** Id of the first playlist; separate audio playlists get the following ids. */
  firstId: number;
  /** Requested segment starts in seconds; by default about every four seconds, at key frames. */
  cuts?: readonly number[] | undefined;
};

/** Maximum delay of audio relative to the video, since players wait until they have both. */
const maxAudioDelaySeconds = 0.25;
/**
 * Maximum time by which audio starts before the video. Broadcasts often start with a fraction of a second of audio
 * only, which can be dropped.
 */
const maxAudioLeadSeconds = 0.5;
/** Maximum time that video or audio may continue after the other has ended. */
const maxOverhangSeconds = 4;

/**
 * Packages a file as HLS without re-encoding, in CMAF segments that start at key frames. If there are several audio
 * tracks, each gets its own playlist. Time 0 is the first video frame.
 *
 * @throws NotPackageableError if players could not play the result correctly
 */
export async function packageHls(order: PackageOptions): Promise<HlsPackage> {
  const { folder, firstId } = order;
  const picture = await VideoReader.open(order.picture, order.cuts);
  const sounds: AudioReader[] = [];
  for (const track of order.sounds) sounds.push(await AudioReader.open(track, picture.beginsAt));
  if (sounds.some(({ beginsAt }) => beginsAt > maxAudioDelaySeconds))
    throw new NotPackageableError('sound begins later than the picture');
  if (sounds.some(({ firstAt }) => picture.firstAt - firstAt > maxAudioLeadSeconds))
    throw new NotPackageableError('sound begins earlier than the picture');
  const alone = sounds.length > 1 ? sounds : [];
  const muxed = sounds.length > 1 ? [] : sounds;
  const writer = new SegmentWriter(
    folder,
    firstId,
    [picture, ...muxed].map(({ part }) => part),
  );
  const ownWriters = alone.map(({ part }, at) => new SegmentWriter(folder, firstId + 1 + at, [part]));
  const write = async ({ videoPackets, audioPackets, seconds }: Segment) => {
    await writer.write([videoPackets, ...(alone.length > 0 ? [] : audioPackets)], seconds);
    for (const [at, own] of ownWriters.entries()) await own.write([audioPackets[at] ?? []], seconds);
  };
  const cuts: number[] = [];
  let pending: Segment | undefined;
  for await (const segment of segmentsOf(picture, sounds)) {
    const isSilent = segment.audioPackets.some(({ length }) => length === 0);
    if (isSilent && !(pending && isTail(segment)))
      throw new NotPackageableError(`no sound from ${segment.start.toFixed(1)} s on`);
    if (pending && !isSilent) {
      await write(pending);
      cuts.push(segment.start);
    }
    pending = pending && isSilent ? mergeSegments(pending, segment) : segment;
  }
  if (!pending) throw new NotPackageableError('there is no picture');
  await write(pending);
  return {
    main: await renditionOf(picture, muxed, writer),
    sounds: await Promise.all(
      alone.map(async (sound, at): Promise<AudioRendition> => {
        const track = sound.part.track as InputAudioTrack;
        return {
          ...(await renditionOf(undefined, [sound], ownWriters[at] as SegmentWriter)),
          language: track.languageCode,
          name: track.name,
          channels: track.numberOfChannels,
        };
      }),
    ),
    cuts,
    beginsAt: picture.beginsAt,
    seconds: pending.start + pending.seconds,
  };
}

/** A segment with its video packets, and its audio packets by track. */
type Segment = {
  start: number;
  seconds: number;
  videoPackets: EncodedPacket[];
  audioPackets: EncodedPacket[][];
  isLast: boolean;
};

async function* segmentsOf(picture: VideoReader, sounds: readonly AudioReader[]): AsyncGenerator<Segment> {
  for (let start = 0, end = 0; picture.nextAt !== undefined; start = end) {
    const videoPackets = await picture.readSegment(start);
    const cut = picture.nextAt;
    const audioPackets: EncodedPacket[][] = [];
    for (const sound of sounds) audioPackets.push(await sound.readUntil(cut));
    const heardUntil = Math.max(0, ...sounds.map(({ endsAt }) => endsAt));
    if (cut === undefined && heardUntil > picture.endsAt + maxOverhangSeconds)
      throw new NotPackageableError('sound goes on where the picture has ended');
    end = cut ?? Math.max(picture.endsAt, heardUntil);
    yield { start, seconds: end - start, videoPackets, audioPackets, isLast: cut === undefined };
  }
}

/**
 * Returns true for a last segment that is short enough to be merged into the previous segment if it has no audio.
 */
const isTail = ({ isLast, seconds }: Segment) => isLast && seconds <= maxOverhangSeconds;

const mergeSegments = (held: Segment, tail: Segment): Segment => ({
  ...held,
  seconds: held.seconds + tail.seconds,
  videoPackets: [...held.videoPackets, ...tail.videoPackets],
  audioPackets: held.audioPackets.map((packets, at) => [...packets, ...(tail.audioPackets[at] ?? [])]),
});

async function renditionOf(
  picture: VideoReader | undefined,
  sounds: readonly AudioReader[],
  writer: SegmentWriter,
): Promise<Rendition> {
  const parts = [...(picture ? [picture] : []), ...sounds].map(({ part }) => part);
  const video = picture?.part.track as InputVideoTrack | undefined;
  return {
    ...(await writer.finish()),
    codecs: parts.map(({ config }) => hlsCodecName(config.codec)),
    size: video ? { width: video.displayWidth, height: video.displayHeight } : null,
  };
}

/**
 * Returns the RFC 6381 codec name for HLS. HEVC is called `hvc1`, since the writer puts the decoder parameters into
 * the header (ISO/IEC 14496-15).
 */
const hlsCodecName = (codec: string) =>
  codec
    .replace(/^hev1/, 'hvc1')
    .replace(/^opus$/, 'Opus')
    .replace(/^mp3$/, 'mp4a.40.34');
