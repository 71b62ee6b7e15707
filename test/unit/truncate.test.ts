import { expect, it } from 'vitest';
import { truncatePath } from '../../src/cli/terminal/truncate.ts';

it.each([
  ['2026/Spring launch/spoken_reel07.mov', 24, '2026/Sp…/spoken_reel07.mov'],
  ['2026/a.mov', 24, '2026/a.mov'],
  ['a-very-long-name-of-a-take-v04.mov', 15, 'a-very-…v04.mov'],
  ['x/a-very-long-name-of-a-take-v04.mov', 15, 'x/a-ver…v04.mov'],
])('the path %s in %i columns keeps the name of its file, if that fits: %s', (path, columns, shown) => {
  expect(truncatePath(path, shown.length > columns ? shown.length : columns)).toBe(shown);
});
