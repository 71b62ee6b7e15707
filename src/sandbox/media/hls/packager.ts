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
  /** Of the first playlist; those of sounds of their own follow. */
  firstId: number;
  /** Seconds at which segments shall begin; by default, about every four as key frames allow. */
  cuts?: readonly number[] | undefined;
};

/** How much later than the picture sound may begin: players wait until they have both. */
const mostLateSeconds = 0.25;
/** How much earlier: in broadcasts it is a part of a second, which nobody misses. */
const mostLeadSeconds = 0.5;
/** How far picture or sound may go on where the other has ended. */
const mostOverhangSeconds = 4;

/**
 * A file as HLS, its packets as they are: cut at key frames into CMAF segments that hold picture and
 * sound alike and end together. Of several sounds each has a playlist of its own. Time begins with
 * the first frame of the picture.
 *
 * @throws Unpackageable where players would stop at what comes out
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

/** What is between two cuts: packets of the picture, and of each sound. */
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

/** Where the picture goes on for a moment, it does so in the last segment that has sound. */
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

/** Sample entries are `hvc1`: what is needed to decode stands in the header (ISO/IEC 14496-15). */
const hlsName = (codec: string) =>
  codec
    .replace(/^hev1/, 'hvc1')
    .replace(/^opus$/, 'Opus')
    .replace(/^mp3$/, 'mp4a.40.34');
