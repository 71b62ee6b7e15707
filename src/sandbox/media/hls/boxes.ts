/** Byte offsets of an MP4 box (ISO/IEC 14496-12 §4.2): start, start of its content, and end. */
export type Box = { type: string; start: number; content: number; end: number };

/** Yields the boxes between two offsets; stops at a box that exceeds the range. */
export function* boxesIn(bytes: Buffer, from = 0, to = bytes.length): Generator<Box> {
  for (let start = from; start + 8 <= to; ) {
    const size = bytes.readUInt32BE(start);
    const isLarge = size === 1 && start + 16 <= to;
    const length = isLarge ? Number(bytes.readBigUInt64BE(start + 8)) : size;
    const content = start + (isLarge ? 16 : 8);
    const end = start + length;
    if (end < content || end > to) return;
    yield { type: bytes.toString('latin1', start + 4, start + 8), start, content, end };
    start = end;
  }
}

/** Returns the first box at a path such as `moov/trak`; undefined if there is none. */
export function boxAt(bytes: Buffer, path: string, within?: Box): Box | undefined {
  let found = within;
  for (const type of path.split('/')) {
    const inside = boxesIn(bytes, found?.content, found?.end);
    found = [...inside].find((box) => box.type === type);
    if (!found) return undefined;
  }
  return found;
}
