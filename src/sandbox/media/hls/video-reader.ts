import type { EncodedPacket, InputVideoTrack } from 'mediabunny';
import { NotPackageableError } from './not-packageable-error.ts';
import type { SegmentTrack } from './segment-writer.ts';
import { TrackReader } from './track-reader.ts';

/** Target segment duration; shorter groups of pictures are merged. */
const targetSeconds = 4;
/** Maximum segment duration, since players load a full segment before they can seek into it. */
const maxSegmentSeconds = 30;
/** Maximum segment size, since packets stay in memory until the segment is written. */
const maxSegmentBytes = 256 * 1024 * 1024;
/** Maximum time by which a key frame can precede the requested cut. */
const toleranceSeconds = 0.02;

/** Reads a video track segment by segment. Times are in seconds after the first displayable frame. */
export class VideoReader {
  readonly part: SegmentTrack;
  /** Timestamp of the first displayable frame in the source, in seconds. */
  readonly beginsAt: number;
  /**
   * Timestamp of the first frame in the source, displayable or not, in seconds. Trimmed broadcasts start with
   * frames that depend on missing frames.
   */
  readonly firstAt: number;
  readonly #reader: TrackReader;
  readonly #cuts: readonly number[] | undefined;
  #endsAt = 0;

  private constructor(
    part: SegmentTrack,
    reader: TrackReader,
    { firstAt, cuts }: { firstAt: number; cuts: readonly number[] | undefined },
  ) {
    this.part = part;
    this.beginsAt = part.first.timestamp;
    this.firstAt = firstAt;
    this.#reader = reader;
    this.#cuts = cuts;
  }

  /**
   * Opens the track at its first key frame.
   *
   * @throws NotPackageableError if there is no key frame or no decoder configuration
   */
  static async open(track: InputVideoTrack, cuts?: readonly number[]): Promise<VideoReader> {
    const config = await track.getDecoderConfig();
    const reader = await TrackReader.open(track);
    const firstAt = reader.next?.timestamp ?? 0;
    while (reader.next && reader.next.type !== 'key') await reader.advance();
    if (!config || !reader.next) throw new NotPackageableError('the picture has no key frame');
    const part = { track, config, first: reader.next, priming: 0 };
    return new VideoReader(part, reader, { firstAt, cuts });
  }

  /** Start of the next segment in seconds; undefined at the end of the track. */
  get nextAt(): number | undefined {
    return this.#reader.next && this.#reader.next.timestamp - this.beginsAt;
  }

  /** End of the last frame read so far, in seconds. */
  get endsAt(): number {
    return this.#endsAt;
  }

  /**
   * Reads the packets of the segment that starts at `start`, up to the key frame that starts the next segment or
   * the end of the track.
   *
   * @throws NotPackageableError if the segment is too long or too large
   */
  async readSegment(start: number): Promise<EncodedPacket[]> {
    const packets: EncodedPacket[] = [];
    let [bytes, latest] = [0, 0];
    const cut = this.#cutAfter(start);
    for (let next = this.#reader.next; next; next = this.#reader.next) {
      const at = next.timestamp - this.beginsAt;
      if (next.type === 'key' && packets.length > 0 && at >= cut) break;
      await this.#reader.advance();
      if (at < 0) continue; // depends on frames that the file lacks
      bytes += next.byteLength;
      if (at - start > maxSegmentSeconds)
        throw new NotPackageableError(`key frames are more than ${maxSegmentSeconds} s apart`);
      if (bytes > maxSegmentBytes)
        throw new NotPackageableError(`a part between key frames has over ${maxSegmentBytes} bytes`);
      packets.push(next.clone({ timestamp: at }));
      latest = Math.max(latest, at);
      this.#endsAt = Math.max(this.#endsAt, at + next.duration);
    }
    // Extend the last frame in decode order to the start of the next segment.
    const [last] = packets.splice(-1);
    const left = this.nextAt === undefined ? last?.duration : this.nextAt - latest;
    if (last) packets.push(last.clone({ duration: Math.max(0, left ?? 0) }));
    return packets;
  }

  #cutAfter(start: number): number {
    const cut = this.#cuts ? this.#cuts.find((each) => each > start + toleranceSeconds) : start + targetSeconds;
    return (cut ?? Number.POSITIVE_INFINITY) - toleranceSeconds;
  }
}
