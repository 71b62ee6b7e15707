import type { EncodedPacket, InputAudioTrack, InputVideoTrack } from 'mediabunny';
import { PictureReader } from './picture-reader.ts';
import type { Package, Rendition, Sound } from './rendition.ts';
import { SegmentWriter } from './segment-writer.ts';
import { SoundReader } from './sound-reader.ts';
import { Unpackageable } from './unpackageable.ts';

export type PackageOrder = {
  picture: InputVideoTrack;
  sounds: readonly InputAudioTrack[];
  folder: string;
  /** Id of the first playlist; separate audio playlists get the following ids. */
  firstId: number;
  /** Requested segment starts in seconds; by default about every four seconds, at key frames. */
  cuts?: readonly number[] | undefined;
};

/** Maximum delay of audio after the video: players wait until they have both. */
const mostLateSeconds = 0.25;
/**
 * Maximum lead of audio before the video; broadcasts start with a fraction of a second, which can
 * be dropped.
 */
const mostLeadSeconds = 0.5;
/** Maximum time that video or audio may continue after the other has ended. */
const mostOverhangSeconds = 4;

/**
 * Packages a file as HLS without re-encoding, in CMAF segments cut at key frames. Several audio
 * tracks get a playlist each. Time 0 is the first video frame.
 *
 * @throws NotPackageableError if players would fail on the result
 */
export async function packageHls(order: PackageOrder): Promise<Package> {
  const { folder, firstId } = order;
  const picture = await PictureReader.open(order.picture, order.cuts);
  const sounds: SoundReader[] = [];
  for (const track of order.sounds) sounds.push(await SoundReader.open(track, picture.beginsAt));
  if (sounds.some(({ beginsAt }) => beginsAt > mostLateSeconds))
    throw new Unpackageable('sound begins later than the picture');
  if (sounds.some(({ firstAt }) => picture.firstAt - firstAt > mostLeadSeconds))
    throw new Unpackageable('sound begins earlier than the picture');
  const alone = sounds.length > 1 ? sounds : [];
  const muxed = sounds.length > 1 ? [] : sounds;
  const writer = new SegmentWriter(
    folder,
    firstId,
    [picture, ...muxed].map(({ part }) => part),
  );
  const ownWriters = alone.map(
    ({ part }, at) => new SegmentWriter(folder, firstId + 1 + at, [part]),
  );
  const write = async ({ images, heard, seconds }: Segment) => {
    await writer.write([images, ...(alone.length > 0 ? [] : heard)], seconds);
    for (const [at, own] of ownWriters.entries()) await own.write([heard[at] ?? []], seconds);
  };
  const cuts: number[] = [];
  let held: Segment | undefined;
  for await (const segment of segmentsOf(picture, sounds)) {
    const isSilent = segment.heard.some(({ length }) => length === 0);
    if (isSilent && !(held && isTail(segment)))
      throw new Unpackageable(`no sound from ${segment.start.toFixed(1)} s on`);
    if (held && !isSilent) {
      await write(held);
      cuts.push(segment.start);
    }
    held = held && isSilent ? joined(held, segment) : segment;
  }
  if (!held) throw new Unpackageable('there is no picture');
  await write(held);
  return {
    main: await renditionOf(picture, muxed, writer),
    sounds: await Promise.all(
      alone.map(async (sound, at): Promise<Sound> => {
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
    seconds: held.start + held.seconds,
  };
}

/** A segment: video packets, and audio packets by track. */
type Segment = {
  start: number;
  seconds: number;
  images: EncodedPacket[];
  heard: EncodedPacket[][];
  isLast: boolean;
};

async function* segmentsOf(
  picture: PictureReader,
  sounds: readonly SoundReader[],
): AsyncGenerator<Segment> {
  for (let start = 0, end = 0; picture.nextAt !== undefined; start = end) {
    const images = await picture.take(start);
    const cut = picture.nextAt;
    const heard: EncodedPacket[][] = [];
    for (const sound of sounds) heard.push(await sound.take(cut));
    const heardUntil = Math.max(0, ...sounds.map(({ endsAt }) => endsAt));
    if (cut === undefined && heardUntil > picture.endsAt + mostOverhangSeconds)
      throw new Unpackageable('sound goes on where the picture has ended');
    end = cut ?? Math.max(picture.endsAt, heardUntil);
    yield { start, seconds: end - start, images, heard, isLast: cut === undefined };
  }
}

/**
 * Returns true for a short last segment without audio, which is merged into the previous segment.
 */
const isTail = ({ isLast, seconds }: Segment) => isLast && seconds <= mostOverhangSeconds;

const joined = (held: Segment, tail: Segment): Segment => ({
  ...held,
  seconds: held.seconds + tail.seconds,
  images: [...held.images, ...tail.images],
  heard: held.heard.map((packets, at) => [...packets, ...(tail.heard[at] ?? [])]),
});

async function renditionOf(
  picture: PictureReader | undefined,
  sounds: readonly SoundReader[],
  writer: SegmentWriter,
): Promise<Rendition> {
  const parts = [...(picture ? [picture] : []), ...sounds].map(({ part }) => part);
  const video = picture?.part.track as InputVideoTrack | undefined;
  return {
    ...(await writer.finish()),
    codecs: parts.map(({ config }) => hlsName(config.codec)),
    size: video ? { width: video.displayWidth, height: video.displayHeight } : null,
  };
}

/**
 * Returns the RFC 6381 codec name for HLS. The writer creates `hvc1` sample entries: decoder
 * parameters are in the header (ISO/IEC 14496-15).
 */
const hlsName = (codec: string) =>
  codec
    .replace(/^hev1/, 'hvc1')
    .replace(/^opus$/, 'Opus')
    .replace(/^mp3$/, 'mp4a.40.34');
