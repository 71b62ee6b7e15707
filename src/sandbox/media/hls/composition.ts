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

/** Returns the first box at a path; undefined if there is none. */
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

/**
 * Returns the magnitude of the largest negative composition offset of a track, in timescale units; 0 if no offset
 * is negative.
 */
export function maxNegativeOffset(segment: Buffer, trackId: number): number {
  let lag = 0;
  for (const at of offsetsIn(segment, trackId)) lag = Math.max(lag, -segment.readInt32BE(at));
  return lag;
}

/** Adds a delay in timescale units to every composition offset of a track. */
export function addDelay(segment: Buffer, trackId: number, by: number): void {
  for (const at of offsetsIn(segment, trackId)) segment.writeInt32BE(segment.readInt32BE(at) + by, at);
}

/** Maps track ids to the time in the media at which presentation starts, in timescale units. */
export type PresentationStarts = ReadonlyMap<number, number>;

/** Returns the header (moov) with an edit list added to each track that has a presentation start. */
export function withEditLists(header: Buffer, starts: PresentationStarts): Buffer {
  const moov = boxAt(header, 'moov');
  if (!moov) throw new Error('the header holds no moov');
  const parts: Buffer[] = [];
  for (const box of boxesIn(header, moov.content, moov.end)) {
    const bytes = header.subarray(box.start, box.end);
    const start = box.type === 'trak' ? starts.get(trackOfHeader(header, box)) : undefined;
    parts.push(start ? withEditList(bytes, start) : bytes);
  }
  const content = Buffer.concat(parts);
  return Buffer.concat([header.subarray(0, moov.start), box('moov', content), header.subarray(moov.end)]);
}

/**
 * Returns the id of a track. In the track header, the id follows two timestamps, which are longer in version 1
 * (ISO/IEC 14496-12 §8.3.2).
 */
function trackOfHeader(header: Buffer, trak: Box): number {
  const tkhd = boxAt(header, 'tkhd', trak);
  if (!tkhd) throw new Error('a track has no header');
  return header.readUInt32BE(tkhd.content + (header[tkhd.content] === 1 ? 20 : 12));
}

function withEditList(trak: Buffer, start: number): Buffer {
  const inside = trak.subarray(8);
  const after = boxAt(inside, 'tkhd')?.end ?? 0;
  const entry = Buffer.alloc(20);
  entry.writeUInt32BE(1, 4); // one entry; duration 0 means "to the end" in a fragmented movie
  entry.writeInt32BE(start, 12);
  entry.writeUInt16BE(1, 16); // media rate 1
  const edts = box('edts', box('elst', entry));
  return box('trak', Buffer.concat([inside.subarray(0, after), edts, inside.subarray(after)]));
}

function box(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + content.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, content]);
}
