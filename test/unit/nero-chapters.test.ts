import { expect, it } from 'vitest';
import { parseNeroChapters } from '../../src/sandbox/media/recognize/inspect-media.ts';

it('a truncated chpl box yields the chapters that it contains', () => {
  const chplBox = Buffer.from('0100000000000000020000000000000000034f6e65000000000098968003', 'hex');
  expect(parseNeroChapters(chplBox)).toEqual([
    { title: 'One', start_time: 0 },
    { title: '', start_time: 1 },
  ]);
  for (let length = 0; length < chplBox.length; length++)
    expect(() => parseNeroChapters(chplBox.subarray(0, length))).not.toThrow();
});
