import type { EncodedPacket, InputAudioTrack } from 'mediabunny';
import type { Part } from './segment-writer.ts';
import { TrackReader } from './track-reader.ts';
import { Unpackageable } from './unpackageable.ts';

/** Before the picture begins, decoders need so much at most. */
const mostPrimingSeconds = 0.1;

/** A sound, cut where the picture is; times are in seconds after the picture's first frame. */
export class SoundReader {
  readonly part: Part;
  readonly #reader: TrackReader;
  readonly #zero: number;
  #endsAt = 0;

  private constructor(part: Part, reader: TrackReader, zero: number) {
    this.part = part;
    this.#reader = reader;
    this.#zero = zero;
  }

  /** @throws Unpackageable where there is no sound */
  static async open(track: InputAudioTrack, zero: number): Promise<SoundReader> {
    const config = await track.getDecoderConfig();
    const reader = await TrackReader.open(track);
    const isTooEarly = ({ timestamp, duration }: EncodedPacket) =>
      timestamp + duration <= zero - mostPrimingSeconds;
    while (reader.next && isTooEarly(reader.next)) await reader.skip();
    const { next: first } = reader;
    if (!config || !first) throw new Unpackageable('a track of sound is empty');
    const priming = Math.max(0, zero - first.timestamp);
    return new SoundReader({ track, config, first, priming }, reader, zero);
  }

  /** Where its first packet begins; negative for what is not heard. */
  get beginsAt(): number {
    return this.part.first.timestamp - this.#zero;
  }

  /** Where the last packet so far is over. */
  get endsAt(): number {
    return this.#endsAt;
  }

  /** Its packets up to a time; by default, all that are left. */
  async take(until = Number.POSITIVE_INFINITY): Promise<EncodedPacket[]> {
    const packets: EncodedPacket[] = [];
    for (let next = this.#reader.next; next; next = this.#reader.next) {
      const at = next.timestamp - this.#zero;
      if (at >= until) break;
      await this.#reader.skip();
      // None is before 0 in the media; the edit list takes the priming away again.
      packets.push(next.clone({ timestamp: Math.max(0, at + this.part.priming) }));
      this.#endsAt = Math.max(this.#endsAt, at + next.duration);
    }
    return packets;
  }
}
