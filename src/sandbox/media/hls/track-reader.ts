import { type EncodedPacket, EncodedPacketSink, type InputTrack } from 'mediabunny';

/** Reads the packets of a track in decode order, with a lookahead of one packet. */
export class TrackReader {
  readonly #packets: AsyncGenerator<EncodedPacket, void, unknown>;
  #next: EncodedPacket | undefined;

  private constructor(track: InputTrack) {
    this.#packets = new EncodedPacketSink(track).packets();
  }

  static async open(track: InputTrack): Promise<TrackReader> {
    const reader = new TrackReader(track);
    await reader.advance();
    return reader;
  }

  /** The next packet; undefined at the end of the track. */
  get next(): EncodedPacket | undefined {
    return this.#next;
  }

  /** Advances to the following packet. */
  async advance(): Promise<void> {
    this.#next = (await this.#packets.next()).value ?? undefined;
  }

  async close(): Promise<void> {
    await this.#packets.return();
  }
}
