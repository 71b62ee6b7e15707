import { open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AudioCodec,
  CmafOutputFormat,
  EncodedAudioPacketSource,
  type EncodedPacket,
  EncodedVideoPacketSource,
  FilePathTarget,
  type InputAudioTrack,
  type InputVideoTrack,
  NullTarget,
  Output,
  type VideoCodec,
} from 'mediabunny';
import { addDelay, boxAt, maxNegativeOffset, withEditLists } from './composition.ts';
import { bitRatesOf, mediaPlaylist, type PlaylistSegment } from './playlists.ts';

/** A track to be written into segments. */
export type SegmentTrack = {
  track: InputVideoTrack | InputAudioTrack;
  config: VideoDecoderConfig | AudioDecoderConfig;
  /** First packet of the track. For some codecs, the muxer reads properties from it that `config` lacks. */
  first: EncodedPacket;
  /** Priming: seconds at the start that decoders need, but players do not present. */
  priming: number;
};

/** Writes the header, segments and playlist of one rendition; for mediabunny, each segment is a file of its own. */
export class SegmentWriter {
  readonly #folder: string;
  readonly #id: number;
  readonly #parts: readonly SegmentTrack[];
  readonly #header: string;
  readonly #entries: PlaylistSegment[] = [];
  /** Magnitude of the largest negative composition offset per track so far, in timescale units. */
  readonly #delays: number[];

  /** Creates a writer. File names contain `id`, and tracks are numbered from 1. */
  constructor(folder: string, id: number, parts: readonly SegmentTrack[]) {
    this.#folder = folder;
    this.#id = id;
    this.#parts = parts;
    this.#header = `init-${id}.m4s`;
    this.#delays = parts.map(() => 0);
  }

  /** Writes the next segment from the packets of each track, in decode order, with times relative to the rendition. */
  async write(packets: readonly (readonly EncodedPacket[])[], seconds: number): Promise<void> {
    const file = `segment-${this.#id}-${this.#entries.length + 1}.m4s`;
    const path = join(this.#folder, file);
    const output = new Output({
      format: new CmafOutputFormat(),
      target: new FilePathTarget(path),
      initTarget: this.#entries.length > 0 ? new NullTarget() : new FilePathTarget(join(this.#folder, this.#header)),
    });
    try {
      const tracks = this.#parts.map((part) => addTrack(output, part));
      await output.start();
      for (const [at, track] of tracks.entries()) for (const each of packets[at] ?? []) await track.add(each);
      await output.finalize();
    } catch (error) {
      await output.cancel();
      throw error;
    }
    this.#entries.push({ file, seconds, bytes: (await stat(path)).size });
    await editHead(path, (head) => {
      for (const [at, lag] of this.#delays.entries()) this.#delays[at] = Math.max(lag, maxNegativeOffset(head, at + 1));
      return false;
    });
  }

  /** Applies the composition delays, and writes the edit lists and the playlist. */
  async finish() {
    if (this.#delays.some((lag) => lag > 0))
      for (const { file } of this.#entries)
        await editHead(join(this.#folder, file), (head) => {
          for (const [at, lag] of this.#delays.entries()) addDelay(head, at + 1, lag);
          return true;
        });
    const starts = this.#parts.map(({ priming, config }, at) => {
      const rate = 'sampleRate' in config ? config.sampleRate : 0; // the timescale of audio
      return Math.round(priming * rate) + (this.#delays[at] ?? 0);
    });
    const header = join(this.#folder, this.#header);
    const edited = withEditLists(await readFile(header), starts);
    await writeFile(`${header}.new`, edited, { mode: 0o600 });
    await rename(`${header}.new`, header);
    const playlist = `playlist-${this.#id}.m3u8`;
    const text = mediaPlaylist(this.#header, this.#entries);
    await writeFile(join(this.#folder, playlist), text, { mode: 0o600 });
    return { playlist, ...bitRatesOf(this.#entries) };
  }
}

/** Adds a track to the output; returns the source that takes its packets. */
function addTrack(output: Output, { track, config, first: primingPacket }: SegmentTrack) {
  if (track.isVideoTrack()) {
    const source = new EncodedVideoPacketSource(track.codec as VideoCodec);
    const decoderConfig = config as VideoDecoderConfig;
    output.addVideoTrack(source, { rotation: track.rotation, decoderConfig, primingPacket });
    return source;
  }
  const source = new EncodedAudioPacketSource(track.codec as AudioCodec);
  output.addAudioTrack(source, { decoderConfig: config as AudioDecoderConfig, primingPacket });
  return source;
}

/** Maximum size of the boxes before the media data; 30 s of packets need less than a tenth of it. */
const maxHeadBytes = 1024 * 1024;

/** Reads the boxes before the media data of a segment and writes them back if `change` returns true. */
async function editHead(path: string, change: (head: Buffer) => boolean): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    const { buffer } = await handle.read(Buffer.alloc(maxHeadBytes), 0, maxHeadBytes, 0);
    const moof = boxAt(buffer, 'moof');
    if (!moof) throw new Error('a segment without media was written');
    const head = buffer.subarray(0, moof.end);
    if (change(head)) await handle.write(head, 0, head.length, 0);
  } finally {
    await handle.close();
  }
}
