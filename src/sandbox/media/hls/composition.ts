import { type Box, boxAt, boxesIn } from './boxes.ts';

/**
 * mediabunny derives decode times from the presentation times alone, so that pictures out of order
 * get negative composition offsets. Players take these in different ways: those of FFmpeg show the
 * pictures late by the largest of them. So the offsets are made positive here, as encoders write
 * them, and an edit list in the header takes as much away again (ISO/IEC 14496-12 §8.6.6).
 */

/** The offsets of a track in a media segment, as positions in its bytes. */
function* offsetsIn(segment: Buffer, trackId: number): Generator<number> {
  for (const moof of boxesIn(segment)) {
    if (moof.type !== 'moof') continue;
    for (const traf of boxesIn(segment, moof.content, moof.end)) {
      if (traf.type !== 'traf' || trackOf(segment, traf) !== trackId) continue;
      for (const trun of boxesIn(segment, traf.content, traf.end))
        if (trun.type === 'trun') yield* offsetsOfRun(segment, trun);
    }
  }
}

const trackOf = (segment: Buffer, traf: Box) =>
  segment.readUInt32BE((boxAt(segment, 'tfhd', traf)?.content ?? 0) + 4);

/** §8.8.8 Track Fragment Run Box. */
function* offsetsOfRun(segment: Buffer, { content, end }: Box): Generator<number> {
  const flags = segment.readUInt32BE(content) & 0xffffff;
  if (!(flags & 0x800)) return;
  const count = segment.readUInt32BE(content + 4);
  const before = [0x100, 0x200, 0x400].filter((flag) => flags & flag).length * 4;
  let at = content + 8 + (flags & 0x1 ? 4 : 0) + (flags & 0x4 ? 4 : 0) + before;
  for (let n = 0; n < count && at + 4 <= end; n++, at += before + 4) yield at;
}

/** How far the earliest picture is before its decode time, in units of its track; 0 where none is. */
export function lagOf(segment: Buffer, trackId: number): number {
  let lag = 0;
  for (const at of offsetsIn(segment, trackId)) lag = Math.max(lag, -segment.readInt32BE(at));
  return lag;
}

/** Every picture of the track later by so much. */
export function delay(segment: Buffer, trackId: number, by: number): void {
  for (const at of offsetsIn(segment, trackId))
    segment.writeInt32BE(segment.readInt32BE(at) + by, at);
}

/** By id of a track, where in its media it begins to be presented, in units of that track. */
export type Starts = ReadonlyMap<number, number>;

/** The header with an edit list for each of these tracks. */
export function withEditLists(header: Buffer, starts: Starts): Buffer {
  const moov = boxAt(header, 'moov');
  if (!moov) throw new Error('the header holds no moov');
  const parts: Buffer[] = [];
  for (const box of boxesIn(header, moov.content, moov.end)) {
    const bytes = header.subarray(box.start, box.end);
    const start = box.type === 'trak' ? starts.get(trackOfHeader(header, box)) : undefined;
    parts.push(start ? withEditList(bytes, start) : bytes);
  }
  const content = Buffer.concat(parts);
  return Buffer.concat([
    header.subarray(0, moov.start),
    box('moov', content),
    header.subarray(moov.end),
  ]);
}

/** §8.3.2: after the times, which are longer in version 1. */
function trackOfHeader(header: Buffer, trak: Box): number {
  const tkhd = boxAt(header, 'tkhd', trak);
  if (!tkhd) throw new Error('a track has no header');
  return header.readUInt32BE(tkhd.content + (header[tkhd.content] === 1 ? 20 : 12));
}

function withEditList(trak: Buffer, start: number): Buffer {
  const inside = trak.subarray(8);
  const after = boxAt(inside, 'tkhd')?.end ?? 0;
  const entry = Buffer.alloc(20);
  entry.writeUInt32BE(1, 4); // one entry; its duration of 0 is "to the end" of a fragmented movie
  entry.writeInt32BE(start, 12);
  entry.writeUInt16BE(1, 16); // at its own rate
  const edts = box('edts', box('elst', entry));
  return box('trak', Buffer.concat([inside.subarray(0, after), edts, inside.subarray(after)]));
}

function box(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + content.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, content]);
}
