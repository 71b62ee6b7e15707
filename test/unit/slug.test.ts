import { expect, it } from 'vitest';
import { describeWrongTag, isSlug, parseTags, suggestSlugs } from '../../src/contract/slug.ts';

it.each([
  ['sea', ['sea']],
  ['sea,night', ['sea', 'night']],
  [' sea;night  2026,\tsea ', ['sea', 'night', '2026']],
  ['a,,b', ['a', 'b']],
  ['', []],
  [' , ', []],
  [2026, ['2026']],
  ['["sea","sea side"]', ['sea', 'sea side']],
  ['[sea', ['[sea']],
  [[], []],
  [
    ['sea side', 'a, b', 'a'],
    ['sea side', 'a', 'b'],
  ],
  [
    ['a;b', 2026],
    ['a;b', '2026'],
  ],
  [['a,,b'], ['a', '', 'b']],
  [[','], ['']],
  [['sea', true], undefined],
  [[{ slug: 'sea' }], undefined],
  [{ slug: 'sea' }, undefined],
  [true, undefined],
  [null, undefined],
])('parseTags(%j) returns %j', (value, tags) => expect(parseTags(value)).toEqual(tags));

it.each([
  ['sea', true],
  ['in_house-2', true],
  ['2026', true],
  ['_sea-', true],
  ['Summer', false],
  ['sea side', false],
  ['sea,night', false],
  ['äpfel', false],
  ['-_', false],
  ['sea\n', false],
  ['', false],
])('isSlug(%j) returns %j', (text, expected) => expect(isSlug(text)).toBe(expected));

it.each([
  [['Bad Tag!'], ['bad-tag']],
  [
    ['Summer', 'in_house', 'summer'],
    ['summer', 'in_house'],
  ],
  [['spring,Teaser'], ['spring', 'teaser']],
  [
    ['a', '', 'b'],
    ['a', 'b'],
  ],
  [['sea', '日本語'], undefined],
  [['!?'], undefined],
  [[''], undefined],
])('suggestSlugs(%j) returns %j', (tags, slugs) => expect(suggestSlugs(tags)).toEqual(slugs));

it('a tag that is no slug is accepted only if the asset already has it', () => {
  expect(describeWrongTag(['sea', 'Summer'], ['Summer'])).toBeUndefined();
  expect(describeWrongTag(['sea', 'Summer'])).toMatch(/^'Summer' is not a valid tag: .*; try summer$/);
  expect(describeWrongTag(['日本語'])).toMatch(/^'日本語' is not a valid tag: [^;]*$/);
});
