import { describe, expect, it } from 'vitest';
import { addDelay, boxAt, boxesIn, maxNegativeOffset, withEditList } from '../../src/sandbox/media/hls/composition.ts';

const u32 = (...values: number[]) => {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, at) => {
    bytes.writeInt32BE(value, 4 * at);
  });
  return bytes;
};
const box = (type: string, ...content: Buffer[]) => {
  const inside = Buffer.concat(content);
  return Buffer.concat([u32(8 + inside.length), Buffer.from(type, 'latin1'), inside]);
};

describe('composition offsets', () => {
  /** Creates a fragment of two tracks: one with durations, sizes and offsets, one without. */
  const fragment = (...offsets: number[]) => {
    const run = offsets.flatMap((offset) => [512, 1000, offset]);
    const flags = 0x01_000b01; // version 1: offsets are signed
    const pictures = box('trun', u32(flags, offsets.length, 99, ...run));
    const sounds = box('trun', u32(0x01_000201, 1, 99, 300));
    return Buffer.concat([
      ...[box('styp', u32(0)), box('sidx', u32(0, 0))],
      box(
        'moof',
        box('mfhd', u32(0, 1)),
        box('traf', box('tfhd', u32(0, 1)), box('tfdt', u32(0x01_000000, 0, 0)), pictures),
        box('traf', box('tfhd', u32(0, 2)), box('tfdt', u32(0x01_000000, 0, 0)), sounds),
      ),
    ]);
  };

  it('adding the same delay to every composition offset makes negative offsets nonnegative', () => {
    const bytes = fragment(0, 3, -1, -2);
    expect([maxNegativeOffset(bytes, 1), maxNegativeOffset(bytes, 2), maxNegativeOffset(bytes, 3)]).toEqual([2, 0, 0]);
    addDelay(bytes, 1, 2);
    expect(bytes.equals(fragment(2, 5, 1, 0))).toBe(true);
  });

  it('reading the composition offsets of a truncated fragment does not throw', () => {
    const bytes = fragment(0, -1);
    for (let length = 0; length < bytes.length; length++)
      expect(() => maxNegativeOffset(bytes.subarray(0, length), 1)).not.toThrow();
  });
});

describe('edit lists', () => {
  const track = (id: number) => box('trak', box('tkhd', u32(7, 0, 0, id, 0)), box('mdia', u32(1, 2, 3)));
  const header = Buffer.concat([box('ftyp', u32(1)), box('moov', box('mvhd', u32(0)), track(1), track(2))]);

  it('an edit list makes the presentation of the first track start at a later media time', () => {
    const edited = withEditList(header, 1024);
    expect([...boxesIn(edited)].map(({ type }) => type)).toEqual(['ftyp', 'moov']);
    const moov = boxAt(edited, 'moov');
    const inside = [...boxesIn(edited, moov?.content, moov?.end)];
    expect(inside.map(({ type }) => type)).toEqual(['mvhd', 'trak', 'trak']);
    const [first, second] = inside
      .slice(1)
      .map((trak) => [...boxesIn(edited, trak.content, trak.end)].map(({ type }) => type));
    expect([first, second]).toEqual([
      ['tkhd', 'edts', 'mdia'],
      ['tkhd', 'mdia'],
    ]);
    // §8.6.6: version and flags, one entry with its duration, media time and a rate of 1.
    const elst = boxAt(edited, 'moov/trak/edts/elst');
    expect(edited.subarray(elst?.content, elst?.end)).toEqual(u32(0, 1, 0, 1024, 0x10000));
  });
});
