import type { EncodedPacket, InputAudioTrack } from 'mediabunny';
import { NotPackageableError } from './not-packageable-error.ts';
import type { SegmentTrack } from './segment-writer.ts';
import { TrackReader } from './track-reader.ts';

/** Tolerance for rounded timestamps in containers. */
const roundingSeconds = 0.002;

/**
 * Reads an audio track in parts that match the video segments. Times are in seconds after the first video frame.
 */
export class AudioReader {
  readonly part: SegmentTrack;
  readonly #reader: TrackReader;
  readonly #videoStart: number;
  /** Packets that have been read but not yet returned. */
  readonly #buffered: EncodedPacket[];
  /** Timestamp of the first packet in the source, in seconds. Audio before the video is dropped. */
  readonly firstAt: number;
  #endsAt = 0;

  private constructor(
    part: SegmentTrack,
    reader: TrackReader,
    begin: { zero: number; held: EncodedPacket[]; firstAt: number },
  ) {
    this.part = part;
    this.#reader = reader;
    this.#videoStart = begin.zero;
    this.#buffered = begin.held;
    this.firstAt = begin.firstAt;
  }

  /**
   * Opens the track at the packet that plays when the video starts, plus the previous packet, which decoders need.
   *
   * @throws NotPackageableError if the track is empty or has no decoder configuration
   */
  static async open(track: InputAudioTrack, zero: number): Promise<AudioReader> {
    const config = await track.getDecoderConfig();
    const reader = await TrackReader.open(track);
    const firstAt = reader.next?.timestamp ?? zero;
    let held: EncodedPacket[] = [];
    while (reader.next && reader.next.timestamp <= zero + roundingSeconds) {
      held = [...held.slice(-1), reader.next];
      await reader.advance();
    }
    const [first = reader.next] = held;
    if (!config || !first) throw new NotPackageableError('a track of sound is empty');
    const priming = Math.max(0, zero - first.timestamp);
    return new AudioReader({ track, config, first, priming }, reader, { zero, held, firstAt });
  }

  /** Start of the first packet in seconds; negative if it is priming. */
  get beginsAt(): number {
    return this.part.first.timestamp - this.#videoStart;
  }

  /** End of the last packet read so far, in seconds. */
  get endsAt(): number {
    return this.#endsAt;
  }

  /** Reads the packets that start before `until`; by default, all remaining packets. */
  async readUntil(until = Number.POSITIVE_INFINITY): Promise<EncodedPacket[]> {
    const packets = this.#buffered.splice(0).map((packet) => this.#shift(packet));
    for (let next = this.#reader.next; next; next = this.#reader.next) {
      if (next.timestamp - this.#videoStart >= until) break;
      await this.#reader.advance();
      packets.push(this.#shift(next));
    }
    return packets;
  }

  /**
   * Shifts a packet later by the priming, so that no timestamp is negative. The edit list subtracts the priming
   * again.
   */
  #shift(packet: EncodedPacket): EncodedPacket {
    const at = packet.timestamp - this.#videoStart;
    this.#endsAt = Math.max(this.#endsAt, at + packet.duration);
    return packet.clone({ timestamp: Math.max(0, at + this.part.priming) });
  }
}
