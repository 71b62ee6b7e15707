import { describe, expect, it } from 'vitest';
import { expandBraces, isGlob, splitGlob } from '../../src/client/glob.ts';
import { compileGlobs } from '../../src/shared/glob.ts';

/* The language of globs, for local paths and for paths of the library. */

const matches = (glob: string, path: string) => compileGlobs(expandBraces(glob))(path);

describe('a glob', () => {
  it.each([
    ['*', '.hidden'],
    ['*', '..'],
    ['*', 'two\nlines.mp4'],
    ['*.mp4', '.mp4'],
    ['?', '😀'],
    ['**', '.'],
    ['**', 'a/../b'],
    ['a/**', 'a/b/c'],
    ['a/**', 'a/two\nlines/.b'],
    ['**/a', 'a'],
    ['**/a', 'x/y/a'],
    ['a/**/b', 'a/b'],
    ['a/**/b/**/c', 'a/b/x/b/y/c'],
    ['**/**/a', 'a'],
    ['a**b', 'axxb'],
    ['{a,b}.txt', 'b.txt'],
    ['{a/x,b}/c', 'a/x/c'],
    ['{a,b{c,d}}.txt', 'bd.txt'],
    ['a{,b}', 'a'],
    ['{**/,}x', 'a/b/x'],
    ['{x}', '{x}'],
    ['{a', '{a'],
    ['a{b{c,d}}', 'a{bc}'],
    ['[a]', '[a]'],
    ['Italy 2025 (April)/*.mp4', 'Italy 2025 (April)/a.mp4'],
    ['!a@(b)+c|^d$', '!a@(b)+c|^d$'],
    ['a\\*b', 'a*b'],
    ['\\{a,b}', '{a,b}'],
    ['Italy \\(x\\)/*', 'Italy (x)/a'],
    ['a\\', 'a\\'],
    ['*{abc,b}*c', 'abc'],
    ['*a?b*b*', 'xaab-aabxb'],
  ])('the glob %j matches %j', (glob, path) => {
    expect(matches(glob, path)).toBe(true);
  });

  it.each([
    ['*.mp4', 'a/b.mp4'],
    ['a/*', 'a/b/c'],
    ['?', 'ab'],
    ['?', '/'],
    ['a/**', 'a'],
    ['a/**/b', 'a/xb'],
    ['a**b', 'a/b'],
    ['[ab]', 'a'],
    ['@(a|b)', 'a'],
    ['!a', 'b'],
    ['a\\*b', 'axb'],
    ['a\\?', 'ab'],
    ['A', 'a'],
  ])('the glob %j does not match %j', (glob, path) => {
    expect(matches(glob, path)).toBe(false);
  });

  it('a glob ignores case if it is asked to', () => {
    expect(compileGlobs(['*.MP4'], { ignoreCase: true })('é.mp4')).toBe(true);
    expect(compileGlobs(['*É*.mp4'], { ignoreCase: true })('xéy.mp4')).toBe(true);
  });

  it('a glob with many wildcards takes milliseconds for a long name that does not match', () => {
    const name = 'a'.repeat(200);
    const startedAt = performance.now();
    expect(matches('a*a*a*a*b', name)).toBe(false);
    expect(matches(`${'*a'.repeat(20)}*b`, name)).toBe(false);
    expect(matches('*a?a*a?a*a?a*b*', name)).toBe(false);
    expect(matches(`${'**/a/'.repeat(20)}b`, 'a/'.repeat(200))).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(500);
  });

  it('globs match the same names as a matcher that tries each position', () => {
    /** Matches by trying all: slow, and simple enough to be right by reading. */
    const tries = (glob: string, text: string): boolean => {
      if (glob === '') return text === '';
      if (glob[0] === '*') return tries(glob.slice(1), text) || (text !== '' && tries(glob, text.slice(1)));
      return text !== '' && (glob[0] === '?' || glob[0] === text[0]) && tries(glob.slice(1), text.slice(1));
    };
    const wordsOf = (letters: string, length: number): string[] =>
      length === 0 ? [''] : wordsOf(letters, length - 1).flatMap((word) => [...letters].map((each) => word + each));
    const names = [0, 1, 2, 3, 4, 5].flatMap((length) => wordsOf('ab', length));
    for (const glob of [1, 2, 3, 4, 5].flatMap((length) => wordsOf('ab*?', length))) {
      if (glob.includes('**')) continue;
      const isMatch = compileGlobs([glob]);
      for (const name of names) if (isMatch(name) !== tries(glob, name)) expect([glob, name]).toBe('the same');
    }
  });

  it('a glob with more than a thousand alternatives is an error', () => {
    expect(() => expandBraces('{a,b}'.repeat(11))).toThrow('more than 1000 alternatives');
    expect(expandBraces('{a,b}'.repeat(9))).toHaveLength(512);
    expect(expandBraces('{'.repeat(2_000))).toHaveLength(1);
  });
});

describe('isGlob', () => {
  it.each(['*', 'a?', '{a,b}', 'a\\*', 'a\\(b'])('isGlob returns true for %j', (text) =>
    expect(isGlob(text)).toBe(true),
  );
  it.each(['a', '{a}', 'clip [1].mp4', '(x)', 'C\\dir', '!a'])('isGlob returns false for %j', (text) =>
    expect(isGlob(text)).toBe(false),
  );
});

describe('splitGlob', () => {
  it.each([
    ['Italy \\(x\\)/*.mp4', 'Italy (x)/', '*.mp4', 1],
    ['/a/b', '/a/', 'b', 1],
    ['a/**/b', 'a/', '**/b', Number.POSITIVE_INFINITY],
    ['a\\*/b/*/c', 'a*/b/', '*/c', 2],
    ['*', '', '*', 1],
  ])('splitGlob splits %j into the directory %j and the glob %j, of depth %d', (glob, base, rest, maxDepth) => {
    expect(splitGlob(glob)).toEqual({ base, rest, maxDepth });
  });
});
