import { type EncodedPacket, EncodedPacketSink, type InputAudioTrack, type InputVideoTrack } from 'mediabunny';
import type { SegmentTrack } from './segment-writer.ts';

/** Error for intact media that cannot be played as HLS without re-encoding. */
export class NotPackageableError extends Error {}

/** Reads the packets of a track in decode order, with a lookahead of one packet. */
class PacketReader {
  readonly #packets: AsyncGenerator<EncodedPacket, void, unknown>;
  /** The next packet; undefined at the end of the track. */
  next: EncodedPacket | undefined;

  constructor(track: InputVideoTrack | InputAudioTrack) {
    this.#packets = new EncodedPacketSink(track).packets();
  }

  async advance(): Promise<EncodedPacket | undefined> {
    this.next = (await this.#packets.next()).value ?? undefined;
    return this.next;
  }
}

/** A track that is read segment by segment. Times are in seconds after the first displayable frame of the video. */
type SegmentReader = {
  readonly part: SegmentTrack;
  /**
   * Timestamp of the first packet in the source, in seconds, whether it is kept or not. Trimmed broadcasts start with
   * frames that depend on missing frames; audio before the video is dropped.
   */
  readonly firstAt: number;
  /** End of the last packet read so far. */
  endsAt: number;
};

/** Target segment duration; shorter groups of pictures are merged. */
const targetSeconds = 4;
/** Maximum segment duration, since players load a full segment before they can seek into it. */
const maxSegmentSeconds = 30;
/** Maximum segment size, since packets stay in memory until the segment is written. */
const maxSegmentBytes = 256 * 1024 * 1024;
/** Maximum time by which a key frame can precede the requested cut. */
const toleranceSeconds = 0.02;

export type VideoReader = SegmentReader & {
  /** Timestamp of the first displayable frame in the source, in seconds. */
  readonly zero: number;
  /** Returns the start of the next segment; undefined at the end of the track. */
  nextAt(): number | undefined;
  /**
   * Reads the packets of the segment that starts at `start`, up to the key frame that starts the next segment or
   * the end of the track.
   *
   * @throws NotPackageableError if the segment is too long or too large
   */
  readSegment(start: number): Promise<EncodedPacket[]>;
};

/**
 * Opens a video track at its first key frame. `cuts` are the requested segment starts.
 *
 * @throws NotPackageableError if there is no key frame or no decoder configuration
 */
export async function openVideo(track: InputVideoTrack, cuts?: readonly number[]): Promise<VideoReader> {
  const config = await track.getDecoderConfig();
  const source = new PacketReader(track);
  const firstAt = (await source.advance())?.timestamp ?? 0;
  while (source.next && source.next.type !== 'key') await source.advance();
  const first = source.next;
  if (!config || !first) throw new NotPackageableError('the picture has no key frame');
  const zero = first.timestamp;
  const cutAfter = (start: number) =>
    (cuts ? (cuts.find((cut) => cut > start + toleranceSeconds) ?? Number.POSITIVE_INFINITY) : start + targetSeconds) -
    toleranceSeconds;
  const reader: VideoReader = {
    ...{ part: { track, config, first, priming: 0 }, firstAt, zero, endsAt: 0 },
    nextAt: () => source.next && source.next.timestamp - zero,
    readSegment: async (start) => {
      const packets: EncodedPacket[] = [];
      let [bytes, latest] = [0, 0];
      for (let next = source.next; next; next = source.next) {
        const at = next.timestamp - zero;
        if (next.type === 'key' && packets.length > 0 && at >= cutAfter(start)) break;
        await source.advance();
        if (at < 0) continue; // depends on frames that the file lacks
        bytes += next.byteLength;
        if (at - start > maxSegmentSeconds)
          throw new NotPackageableError(`key frames are more than ${maxSegmentSeconds} s apart`);
        if (bytes > maxSegmentBytes)
          throw new NotPackageableError(`a part between key frames has over ${maxSegmentBytes} bytes`);
        packets.push(next.clone({ timestamp: at }));
        latest = Math.max(latest, at);
        reader.endsAt = Math.max(reader.endsAt, at + next.duration);
      }
      // Extend the last frame in decode order to the start of the next segment.
      const [last] = packets.splice(-1);
      const nextAt = reader.nextAt();
      const duration = nextAt === undefined ? last?.duration : Math.max(0, nextAt - latest);
      return last ? [...packets, last.clone({ duration })] : packets;
    },
  };
  return reader;
}

/** Tolerance for rounded timestamps in containers. */
const roundingSeconds = 0.002;

export type AudioReader = SegmentReader & {
  /** Start of the first packet; negative if it is priming. */
  readonly beginsAt: number;
  /** Reads the packets that start before `until`; by default, all remaining packets. */
  readUntil(until?: number): Promise<EncodedPacket[]>;
};

/**
 * Opens an audio track at the packet that plays at `zero`, when the video starts, plus the previous packet, which
 * decoders need. Shifts all packets later by this priming, so that no timestamp is negative. The edit list subtracts
 * the priming again.
 *
 * @throws NotPackageableError if the track is empty or has no decoder configuration
 */
export async function openAudio(track: InputAudioTrack, zero: number): Promise<AudioReader> {
  const config = await track.getDecoderConfig();
  const source = new PacketReader(track);
  const firstAt = (await source.advance())?.timestamp ?? zero;
  let buffered: EncodedPacket[] = [];
  while (source.next && source.next.timestamp <= zero + roundingSeconds) {
    buffered = [...buffered.slice(-1), source.next];
    await source.advance();
  }
  const [first = source.next] = buffered;
  if (!config || !first) throw new NotPackageableError('a track of sound is empty');
  const priming = Math.max(0, zero - first.timestamp);
  const reader: AudioReader = {
    ...{ part: { track, config, first, priming }, firstAt, beginsAt: first.timestamp - zero, endsAt: 0 },
    readUntil: async (until = Number.POSITIVE_INFINITY) => {
      const packets = buffered.splice(0);
      for (let next = source.next; next && next.timestamp - zero < until; next = await source.advance())
        packets.push(next);
      return packets.map((packet) => {
        const at = packet.timestamp - zero;
        reader.endsAt = Math.max(reader.endsAt, at + packet.duration);
        return packet.clone({ timestamp: Math.max(0, at + priming) });
      });
    },
  };
  return reader;
}
