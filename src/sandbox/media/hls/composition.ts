import { open, readFile, writeFile } from 'node:fs/promises';

/** Byte offsets of an MP4 box (ISO/IEC 14496-12 §4.2): start, start of its content, and end. */
export type Box = { type: string; start: number; content: number; end: number };

/** Yields the boxes between two offsets; stops at a box that exceeds the range, or whose size has 64 bits. */
export function* boxesIn(bytes: Buffer, from = 0, to = bytes.length): Generator<Box> {
  for (let start = from; start + 8 <= to; ) {
    const content = start + 8;
    const end = start + bytes.readUInt32BE(start);
    if (end < content || end > to) return;
    yield { type: bytes.toString('latin1', start + 4, start + 8), start, content, end };
    start = end;
  }
}

/** Returns the boxes at a path such as `moov/trak`. */
function boxesAt(bytes: Buffer, path: string, within?: Box): Box[] {
  const [type, ...rest] = path.split('/');
  const found = [...boxesIn(bytes, within?.content, within?.end)].filter((box) => box.type === type);
  return rest.length === 0 ? found : found.flatMap((box) => boxesAt(bytes, rest.join('/'), box));
}

export const boxAt = (bytes: Buffer, path: string, within?: Box): Box | undefined => boxesAt(bytes, path, within)[0];

/**
 * Composition offsets. mediabunny derives decode times from presentation times only, so reordered frames (B-frames)
 * get negative offsets. Players treat negative offsets differently; players based on FFmpeg delay the video by the
 * largest one. Therefore, this module makes the offsets positive, as encoders write them, and adds an edit list to
 * the header that subtracts the same delay (ISO/IEC 14496-12 §8.6.6).
 */

/** Returns the byte positions of a track's composition offsets in a media segment. */
const offsetsIn = (segment: Buffer, trackId: number): number[] =>
  boxesAt(segment, 'moof/traf')
    .filter((traf) => trackOf(segment, traf) === trackId)
    .flatMap((traf) => boxesAt(segment, 'trun', traf))
    .flatMap((trun) => [...offsetsOfRun(segment, trun)]);

const trackOf = (segment: Buffer, traf: Box) => segment.readUInt32BE((boxAt(segment, 'tfhd', traf)?.content ?? 0) + 4);

/** Yields the byte positions of the offsets in a Track Fragment Run Box (ISO/IEC 14496-12 §8.8.8). */
function* offsetsOfRun(segment: Buffer, { content, end }: Box): Generator<number> {
  const flags = segment.readUInt32BE(content) & 0xffffff;
  if (!(flags & 0x800)) return;
  const count = segment.readUInt32BE(content + 4);
  const before = [0x100, 0x200, 0x400].filter((flag) => flags & flag).length * 4;
  let at = content + 8 + (flags & 0x1 ? 4 : 0) + (flags & 0x4 ? 4 : 0) + before;
  for (let n = 0; n < count && at + 4 <= end; n++, at += before + 4) yield at;
}

/** Returns the size of a track's largest negative composition offset in timescale units; 0 if there is none. */
export function maxNegativeOffset(segment: Buffer, trackId: number): number {
  let lag = 0;
  for (const at of offsetsIn(segment, trackId)) lag = Math.max(lag, -segment.readInt32BE(at));
  return lag;
}

/** Adds a delay in timescale units to every composition offset of a track. */
export function addDelay(segment: Buffer, trackId: number, by: number): void {
  for (const at of offsetsIn(segment, trackId)) segment.writeInt32BE(segment.readInt32BE(at) + by, at);
}

/**
 * Returns the header (moov) with an edit list in its first track, whose presentation starts at `start` in the media, in
 * timescale units.
 */
export function withEditList(header: Buffer, start: number): Buffer {
  const moov = boxAt(header, 'moov');
  const trak = boxAt(header, 'moov/trak');
  if (!moov || !trak) throw new Error('the header has no track');
  const edts = editList(start);
  const after = boxAt(header, 'tkhd', trak)?.end ?? trak.content;
  const edited = Buffer.concat([header.subarray(0, after), edts, header.subarray(after)]);
  for (const grown of [moov, trak]) edited.writeUInt32BE(edited.readUInt32BE(grown.start) + edts.length, grown.start);
  return edited;
}

/** Returns an `edts` box that contains an `elst` box with one entry, which lasts to the end of the track. */
function editList(start: number): Buffer {
  const bytes = Buffer.alloc(36);
  for (const [at, type] of [...['edts', 'elst'].entries()]) {
    bytes.writeUInt32BE(bytes.length - 8 * at, 8 * at);
    bytes.write(type, 8 * at + 4, 'latin1');
  }
  bytes.writeUInt32BE(1, 20); // one entry; duration 0 means "to the end" in a fragmented movie
  bytes.writeInt32BE(start, 28);
  bytes.writeUInt16BE(1, 32); // media rate 1
  return bytes;
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

/** Id of the video track, which is the first. */
const videoId = 1;

/** Makes the composition offsets of the video positive, in a header and its segments, given by path. */
export async function makeOffsetsPositive(header: string, segments: readonly string[]): Promise<void> {
  let delay = 0;
  for (const path of segments)
    await editHead(path, (head) => {
      delay = Math.max(delay, maxNegativeOffset(head, videoId));
      return false;
    });
  if (delay === 0) return;
  for (const path of segments)
    await editHead(path, (head) => {
      addDelay(head, videoId, delay);
      return true;
    });
  await writeFile(header, withEditList(await readFile(header), delay));
}
