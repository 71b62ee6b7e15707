import type { EncodedPacket, InputVideoTrack } from 'mediabunny';
import type { Part } from './segment-writer.ts';
import { TrackReader } from './track-reader.ts';
import { Unpackageable } from './unpackageable.ts';

/** Shorter ones are put together as far as key frames allow. */
const targetSeconds = 4;
/** A player has to load all of a segment before it can begin in it. */
const longestSeconds = 30;
/** Packets of a segment are held until it is written. */
const mostSegmentBytes = 256 * 1024 * 1024;
/** How early a key frame may be for a cut that is asked for. */
const toleranceSeconds = 0.02;

/** The picture, segment by segment; times are in seconds after its first frame. */
export class PictureReader {
  readonly part: Part;
  /** The first frame that can be shown, in the time of the file. */
  readonly beginsAt: number;
  /** The first frame of all: a broadcast that was cut begins with some that lean on what is gone. */
  readonly firstAt: number;
  readonly #reader: TrackReader;
  readonly #cuts: readonly number[] | undefined;
  #endsAt = 0;

  private constructor(
    part: Part,
    reader: TrackReader,
    { firstAt, cuts }: { firstAt: number; cuts: readonly number[] | undefined },
  ) {
    this.part = part;
    this.beginsAt = part.first.timestamp;
    this.firstAt = firstAt;
    this.#reader = reader;
    this.#cuts = cuts;
  }

  /** @throws Unpackageable where there is nothing to begin with */
  static async open(track: InputVideoTrack, cuts?: readonly number[]): Promise<PictureReader> {
    const config = await track.getDecoderConfig();
    const reader = await TrackReader.open(track);
    const firstAt = reader.next?.timestamp ?? 0;
    while (reader.next && reader.next.type !== 'key') await reader.skip();
    if (!config || !reader.next) throw new Unpackageable('the picture has no key frame');
    const part = { track, config, first: reader.next, priming: 0 };
    return new PictureReader(part, reader, { firstAt, cuts });
  }

  /** Where the next segment begins; undefined at the end. */
  get nextAt(): number | undefined {
    return this.#reader.next && this.#reader.next.timestamp - this.beginsAt;
  }

  /** Where the last frame so far is over. */
  get endsAt(): number {
    return this.#endsAt;
  }

  /** The packets of the segment that begins at `start`, up to a key frame or the end. */
  async take(start: number): Promise<EncodedPacket[]> {
    const packets: EncodedPacket[] = [];
    let [bytes, latest] = [0, 0];
    const cut = this.#cutAfter(start);
    for (let next = this.#reader.next; next; next = this.#reader.next) {
      const at = next.timestamp - this.beginsAt;
      if (next.type === 'key' && packets.length > 0 && at >= cut) break;
      await this.#reader.skip();
      if (at < 0) continue; // it leans on frames that the file does not have
      bytes += next.byteLength;
      if (at - start > longestSeconds)
        throw new Unpackageable(`key frames are more than ${longestSeconds} s apart`);
      if (bytes > mostSegmentBytes)
        throw new Unpackageable(`a part between key frames has over ${mostSegmentBytes} bytes`);
      packets.push(next.clone({ timestamp: at }));
      latest = Math.max(latest, at);
      this.#endsAt = Math.max(this.#endsAt, at + next.duration);
    }
    // In decode order, the last one lasts until the next segment.
    const [last] = packets.splice(-1);
    const left = this.nextAt === undefined ? last?.duration : this.nextAt - latest;
    if (last) packets.push(last.clone({ duration: Math.max(0, left ?? 0) }));
    return packets;
  }

  #cutAfter(start: number): number {
    const cut = this.#cuts
      ? this.#cuts.find((each) => each > start + toleranceSeconds)
      : start + targetSeconds;
    return (cut ?? Number.POSITIVE_INFINITY) - toleranceSeconds;
  }
}
