import { type FileHandle, open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CmafOutputFormat,
  EncodedAudioPacketSource,
  type EncodedPacket,
  EncodedVideoPacketSource,
  FilePathTarget,
  type InputAudioTrack,
  type InputVideoTrack,
  NullTarget,
  Output,
} from 'mediabunny';
import { addDelay, maxNegativeOffset, withEditLists } from './composition.ts';
import { bitRatesOf, mediaPlaylist, type PlaylistSegment } from './playlist.ts';

/** A track to be written into segments. */
export type SegmentTrack = {
  track: InputVideoTrack | InputAudioTrack;
  config: VideoDecoderConfig | AudioDecoderConfig;
  /** First packet of the track. For some codecs, the muxer reads properties from it that `config` lacks. */
  first: EncodedPacket;
  /** Priming: seconds at the start that decoders need, but players do not present. */
  priming: number;
};

/**
 * Writes the header, segments and playlist of one rendition. mediabunny writes each segment as a separate file, so
 * that this class controls the content and times of each segment.
 */
export class SegmentWriter {
  readonly #folder: string;
  readonly #id: number;
  readonly #parts: readonly SegmentTrack[];
  readonly #entries: PlaylistSegment[] = [];
  /** Magnitude of the largest negative composition offset per track so far, in timescale units. */
  readonly #delays: number[];

  /** Creates a writer. File names contain `id`, and tracks are numbered from 1. */
  constructor(folder: string, id: number, parts: readonly SegmentTrack[]) {
    this.#folder = folder;
    this.#id = id;
    this.#parts = parts;
    this.#delays = parts.map(() => 0);
  }

  get #header(): string {
    return `init-${this.#id}.m4s`;
  }

  /**
   * Writes the next segment from the packets of each track, in decode order, with times relative to the start of
   * the rendition.
   */
  async write(packets: readonly (readonly EncodedPacket[])[], seconds: number): Promise<void> {
    const file = `segment-${this.#id}-${this.#entries.length + 1}.m4s`;
    const output = new Output({
      format: new CmafOutputFormat(),
      target: new FilePathTarget(join(this.#folder, file)),
      initTarget: this.#entries.length > 0 ? new NullTarget() : new FilePathTarget(join(this.#folder, this.#header)),
    });
    try {
      const adds = this.#parts.map((part) => addTrack(output, part));
      await output.start();
      for (const [at, add] of adds.entries()) for (const each of packets[at] ?? []) await add(each);
      await output.finalize();
    } catch (error) {
      await output.cancel();
      throw error;
    }
    const path = join(this.#folder, file);
    this.#entries.push({ file, seconds, bytes: (await stat(path)).size });
    await editHead(path, (head) => {
      for (const [at, lag] of this.#delays.entries()) this.#delays[at] = Math.max(lag, maxNegativeOffset(head, at + 1));
      return false;
    });
  }

  /**
   * Applies the composition delays and writes the edit lists and the playlist.
   *
   * @returns the playlist's file name and bit rates
   */
  async finish() {
    if (this.#delays.some((lag) => lag > 0))
      for (const { file } of this.#entries)
        await editHead(join(this.#folder, file), (head) => {
          for (const [at, lag] of this.#delays.entries()) addDelay(head, at + 1, lag);
          return true;
        });
    const starts = this.#parts.map(({ priming, config }, at) => {
      const rate = 'sampleRate' in config ? config.sampleRate : 0; // the timescale of audio
      return [at + 1, Math.round(priming * rate) + (this.#delays[at] as number)] as const;
    });
    const header = join(this.#folder, this.#header);
    const edited = withEditLists(await readFile(header), new Map(starts));
    await writeFile(`${header}.new`, edited, { mode: 0o600 });
    await rename(`${header}.new`, header);
    const playlist = `playlist-${this.#id}.m3u8`;
    const text = mediaPlaylist(this.#header, this.#entries);
    await writeFile(join(this.#folder, playlist), text, { mode: 0o600 });
    return { playlist, ...bitRatesOf(this.#entries) };
  }
}

/** Adds a track to the output; returns a function that writes a packet of the track. */
function addTrack(output: Output, { track, config, first }: SegmentTrack) {
  if (track.isVideoTrack()) {
    const source = new EncodedVideoPacketSource(track.codec as NonNullable<typeof track.codec>);
    output.addVideoTrack(source, {
      rotation: track.rotation,
      decoderConfig: config as VideoDecoderConfig,
      primingPacket: first,
    });
    return (packet: EncodedPacket) => source.add(packet);
  }
  const source = new EncodedAudioPacketSource(
    (track as InputAudioTrack).codec as NonNullable<InputAudioTrack['codec']>,
  );
  output.addAudioTrack(source, {
    decoderConfig: config as AudioDecoderConfig,
    primingPacket: first,
  });
  return (packet: EncodedPacket) => source.add(packet);
}

/** Reads the boxes before the media data of a segment and writes them back if `change` returns true. */
async function editHead(path: string, change: (head: Buffer) => boolean): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    const head = Buffer.alloc(await headLength(handle));
    await handle.read(head, 0, head.length, 0);
    if (change(head)) await handle.write(head, 0, head.length, 0);
  } finally {
    await handle.close();
  }
}

async function headLength(handle: FileHandle): Promise<number> {
  const box = Buffer.alloc(8);
  for (let at = 0; ; at += box.readUInt32BE()) {
    const { bytesRead } = await handle.read(box, 0, box.length, at);
    if (bytesRead < box.length || box.readUInt32BE() < box.length)
      throw new Error('a segment without media was written');
    if (box.toString('latin1', 4) === 'mdat') return at;
  }
}
