import { describe, expect, it } from 'vitest';
import { addDelay, boxAt, boxesIn, maxNegativeOffset, withEditList } from '../../src/sandbox/media/hls/composition.ts';

const uint32s = (...values: number[]) => {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, at) => {
    bytes.writeInt32BE(value, 4 * at);
  });
  return bytes;
};
const box = (type: string, ...content: Buffer[]) => {
  const inside = Buffer.concat(content);
  return Buffer.concat([uint32s(8 + inside.length), Buffer.from(type, 'latin1'), inside]);
};

describe('composition offsets', () => {
  /** Creates a fragment of two tracks: one with durations, sizes and offsets, one without. */
  const fragmentWithOffsets = (...offsets: number[]) => {
    const run = offsets.flatMap((offset) => [512, 1000, offset]);
    const flags = 0x01_000b01; // version 1: offsets are signed
    const pictures = box('trun', uint32s(flags, offsets.length, 99, ...run));
    const sounds = box('trun', uint32s(0x01_000201, 1, 99, 300));
    return Buffer.concat([
      ...[box('styp', uint32s(0)), box('sidx', uint32s(0, 0))],
      box(
        'moof',
        box('mfhd', uint32s(0, 1)),
        box('traf', box('tfhd', uint32s(0, 1)), box('tfdt', uint32s(0x01_000000, 0, 0)), pictures),
        box('traf', box('tfhd', uint32s(0, 2)), box('tfdt', uint32s(0x01_000000, 0, 0)), sounds),
      ),
    ]);
  };

  it('adding the same delay to every composition offset makes negative offsets nonnegative', () => {
    const fragment = fragmentWithOffsets(0, 3, -1, -2); // in track 1; track 2 has no offsets, track 3 does not exist
    expect([1, 2, 3].map((track) => maxNegativeOffset(fragment, track))).toEqual([2, 0, 0]);
    addDelay(fragment, 1, 2); // by 2 in track 1
    expect(fragment.equals(fragmentWithOffsets(2, 5, 1, 0))).toBe(true);
  });

  it('reading the composition offsets of a truncated fragment does not throw', () => {
    const fragment = fragmentWithOffsets(0, -1);
    for (let length = 0; length < fragment.length; length++)
      expect(() => maxNegativeOffset(fragment.subarray(0, length), 1)).not.toThrow();
  });
});

describe('edit lists', () => {
  const track = (id: number) => box('trak', box('tkhd', uint32s(7, 0, 0, id, 0)), box('mdia', uint32s(1, 2, 3)));
  const header = Buffer.concat([box('ftyp', uint32s(1)), box('moov', box('mvhd', uint32s(0)), track(1), track(2))]);

  it('an edit list makes the presentation of the first track start at a later media time', () => {
    const editedHeader = withEditList(header, 1024);
    expect([...boxesIn(editedHeader)].map(({ type }) => type)).toEqual(['ftyp', 'moov']);
    const moov = boxAt(editedHeader, 'moov');
    const moovBoxes = [...boxesIn(editedHeader, moov?.content, moov?.end)];
    expect(moovBoxes.map(({ type }) => type)).toEqual(['mvhd', 'trak', 'trak']);
    const [firstTrackBoxes, secondTrackBoxes] = moovBoxes
      .slice(1)
      .map((trak) => [...boxesIn(editedHeader, trak.content, trak.end)].map(({ type }) => type));
    expect([firstTrackBoxes, secondTrackBoxes]).toEqual([
      ['tkhd', 'edts', 'mdia'],
      ['tkhd', 'mdia'],
    ]);
    // §8.6.6: version and flags, one entry with its duration, media time and a rate of 1.
    const editList = boxAt(editedHeader, 'moov/trak/edts/elst');
    expect(editedHeader.subarray(editList?.content, editList?.end)).toEqual(uint32s(0, 1, 0, 1024, 0x10000));
  });
});
