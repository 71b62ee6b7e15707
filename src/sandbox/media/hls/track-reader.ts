import { type EncodedPacket, EncodedPacketSink, type InputTrack } from 'mediabunny';

/** The packets of a track in decode order, one at a time, and a look at the one that comes next. */
export class TrackReader {
  readonly #packets: AsyncGenerator<EncodedPacket, void, unknown>;
  #next: EncodedPacket | undefined;

  private constructor(track: InputTrack) {
    this.#packets = new EncodedPacketSink(track).packets();
  }

  static async open(track: InputTrack): Promise<TrackReader> {
    const reader = new TrackReader(track);
    await reader.skip();
    return reader;
  }

  /** Undefined at the end of the track. */
  get next(): EncodedPacket | undefined {
    return this.#next;
  }

  /** On to the packet after it. */
  async skip(): Promise<void> {
    this.#next = (await this.#packets.next()).value ?? undefined;
  }

  async close(): Promise<void> {
    await this.#packets.return();
  }
}
