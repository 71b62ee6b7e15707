import type { EncodedPacket, InputAudioTrack } from 'mediabunny';
import type { Part } from './segment-writer.ts';
import { TrackReader } from './track-reader.ts';
import { Unpackageable } from './unpackageable.ts';

/** Times of containers are rounded. */
const roundingSeconds = 0.002;

/** A sound, cut where the picture is; times are in seconds after the picture's first frame. */
export class SoundReader {
  readonly part: Part;
  readonly #reader: TrackReader;
  readonly #zero: number;
  /** Packets that have been read and are still to be taken. */
  readonly #held: EncodedPacket[];
  /** The first packet of all, in the time of the file; what is before the picture is left out. */
  readonly firstAt: number;
  #endsAt = 0;

  private constructor(
    part: Part,
    reader: TrackReader,
    begin: { zero: number; held: EncodedPacket[]; firstAt: number },
  ) {
    this.part = part;
    this.#reader = reader;
    this.#zero = begin.zero;
    this.#held = begin.held;
    this.firstAt = begin.firstAt;
  }

  /**
   * Begins with the packet that sounds when the picture begins, and the one before it, on which
   * decoders lean.
   *
   * @throws Unpackageable where there is no sound
   */
  static async open(track: InputAudioTrack, zero: number): Promise<SoundReader> {
    const config = await track.getDecoderConfig();
    const reader = await TrackReader.open(track);
    const firstAt = reader.next?.timestamp ?? zero;
    let held: EncodedPacket[] = [];
    while (reader.next && reader.next.timestamp <= zero + roundingSeconds) {
      held = [...held.slice(-1), reader.next];
      await reader.skip();
    }
    const [first = reader.next] = held;
    if (!config || !first) throw new Unpackageable('a track of sound is empty');
    const priming = Math.max(0, zero - first.timestamp);
    return new SoundReader({ track, config, first, priming }, reader, { zero, held, firstAt });
  }

  /** Where its first packet begins; negative for what is not heard. */
  get beginsAt(): number {
    return this.part.first.timestamp - this.#zero;
  }

  /** Where the last packet so far is over. */
  get endsAt(): number {
    return this.#endsAt;
  }

  /** The packets up to a time; by default, all that are left. */
  async take(until = Number.POSITIVE_INFINITY): Promise<EncodedPacket[]> {
    const packets = this.#held.splice(0).map((packet) => this.#timed(packet));
    for (let next = this.#reader.next; next; next = this.#reader.next) {
      if (next.timestamp - this.#zero >= until) break;
      await this.#reader.skip();
      packets.push(this.#timed(next));
    }
    return packets;
  }

  /** No packet is before 0 in the media: the edit list takes the priming away again. */
  #timed(packet: EncodedPacket): EncodedPacket {
    const at = packet.timestamp - this.#zero;
    this.#endsAt = Math.max(this.#endsAt, at + packet.duration);
    return packet.clone({ timestamp: Math.max(0, at + this.part.priming) });
  }
}
