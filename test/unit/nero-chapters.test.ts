import { expect, it } from 'vitest';
import { parseNeroChapters } from '../../src/sandbox/media/recognize/inspect-media.ts';

it('a truncated chpl box yields the chapters that it contains', () => {
  const whole = Buffer.from('0100000000000000020000000000000000034f6e65000000000098968003', 'hex');
  expect(parseNeroChapters(whole)).toEqual([
    { title: 'One', start_time: 0 },
    { title: '', start_time: 1 },
  ]);
  for (let length = 0; length < whole.length; length++)
    expect(() => parseNeroChapters(whole.subarray(0, length))).not.toThrow();
});
