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

/** Target segment duration; shorter groups of pictures are merged. */
const targetSeconds = 4;
/** Maximum segment duration, since players load a full segment before they can seek into it. */
const maxSegmentSeconds = 30;
/** Maximum segment size, since packets stay in memory until the segment is written. */
const maxSegmentBytes = 256 * 1024 * 1024;
/** Maximum time by which a key frame can precede the requested cut. */
const toleranceSeconds = 0.02;

/**
 * Opens a video track at its first key frame. Its timestamp in the source is `zero`, and all times are in seconds after
 * it, also those of `cuts`, the requested segment starts. `firstAt` is the timestamp of the first frame in the source:
 * trimmed broadcasts start with frames that depend on missing frames.
 * @throws NotPackageableError if there is no key frame or no decoder configuration
 */
export async function openVideo(track: InputVideoTrack, cuts?: readonly number[]) {
  const config = await track.getDecoderConfig();
  const source = new PacketReader(track);
  const firstAt = (await source.advance())?.timestamp ?? 0;
  while (source.next && source.next.type !== 'key') await source.advance();
  const first = source.next;
  if (!config || !first) throw new NotPackageableError('the video has no key frame');
  const zero = first.timestamp;
  const cutAfter = (start: number) =>
    (cuts ? (cuts.find((cut) => cut > start + toleranceSeconds) ?? Number.POSITIVE_INFINITY) : start + targetSeconds) -
    toleranceSeconds;
  const part: SegmentTrack = { track, config, first, priming: 0 };
  const nextAt = () => source.next && source.next.timestamp - zero;
  let endsAt = 0;
  return {
    part,
    firstAt,
    zero,
    /** Returns the start of the next segment; undefined at the end of the track. */
    nextAt,
    /** Returns the end of the last frame read so far. */
    endsAt: () => endsAt,
    /** Reads the segment that starts at `start`. @throws NotPackageableError if it is too long or too large */
    readSegment: async (start: number): Promise<EncodedPacket[]> => {
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
          throw new NotPackageableError(`there are more than ${maxSegmentBytes} bytes between key frames`);
        packets.push(next.clone({ timestamp: at }));
        latest = Math.max(latest, at);
        endsAt = Math.max(endsAt, at + next.duration);
      }
      // Extend the last frame in decode order to the start of the next segment.
      const [last] = packets.splice(-1);
      const end = nextAt();
      const duration = end === undefined ? last?.duration : Math.max(0, end - latest);
      return last ? [...packets, last.clone({ duration })] : packets;
    },
  };
}

export type VideoReader = Awaited<ReturnType<typeof openVideo>>;

/** Tolerance for rounded timestamps in containers. */
const roundingSeconds = 0.002;

/**
 * Opens an audio track at the packet that plays at `zero`, when the video starts, plus the previous packet, which
 * decoders need. Shifts all packets later by this priming, so that no timestamp is negative. The edit list subtracts
 * the priming again. `firstAt` is the timestamp of the first packet in the source.
 * @throws NotPackageableError if the track is empty or has no decoder configuration
 */
export async function openAudio(track: InputAudioTrack, zero: number) {
  const config = await track.getDecoderConfig();
  const source = new PacketReader(track);
  const firstAt = (await source.advance())?.timestamp ?? zero;
  let buffered: EncodedPacket[] = [];
  while (source.next && source.next.timestamp <= zero + roundingSeconds) {
    buffered = [...buffered.slice(-1), source.next];
    await source.advance();
  }
  const [first = source.next] = buffered;
  if (!config || !first) throw new NotPackageableError('an audio track is empty');
  const priming = Math.max(0, zero - first.timestamp);
  const part: SegmentTrack = { track, config, first, priming };
  let endsAt = 0;
  return {
    part,
    firstAt,
    /** Start of the first packet; negative if it is priming. */
    beginsAt: first.timestamp - zero,
    /** Returns the end of the last packet read so far. */
    endsAt: () => endsAt,
    /** Reads the packets that start before `until`; by default, all remaining packets. */
    readUntil: async (until = Number.POSITIVE_INFINITY): Promise<EncodedPacket[]> => {
      const packets = buffered.splice(0);
      for (let next = source.next; next && next.timestamp - zero < until; next = await source.advance())
        packets.push(next);
      return packets.map((packet) => {
        const at = packet.timestamp - zero;
        endsAt = Math.max(endsAt, at + packet.duration);
        return packet.clone({ timestamp: Math.max(0, at + priming) });
      });
    },
  };
}

export type AudioReader = Awaited<ReturnType<typeof openAudio>>;
