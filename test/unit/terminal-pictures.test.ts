import { PNG } from 'pngjs';
import { describe, expect, it } from 'vitest';
import { type PictureOptions, renderPicture } from '../../src/cli/output/picture.lazy.ts';
import { detectProtocol } from '../../src/cli/output/pictures/protocol.ts';
import { blue, escapeSequences, makeJpeg, makePng, makePngBomb, red, scriptedSvg } from '../support/pictures.ts';
import { Random } from '../support/random.ts';

const room = (protocol: PictureOptions['protocol'], more: Partial<PictureOptions> = {}): PictureOptions => ({
  protocol,
  columns: 80,
  rows: 24,
  hasTrueColor: true,
  ...more,
});

function textOf(bytes: Buffer, where: PictureOptions): string {
  const picture = renderPicture(bytes, where);
  if ('text' in picture) return picture.text;
  throw new Error(picture.problem);
}

const problemOf = (bytes: Buffer) => {
  const picture = renderPicture(bytes, room('kitty'));
  return 'problem' in picture ? picture.problem : undefined;
};

/** Returns the pixels at one third and two thirds of the width. */
function ends({ width, height, data }: { width: number; height: number; data: ArrayLike<number> }) {
  const at = (x: number) => (Math.floor(height / 2) * width + Math.floor(x)) * 4;
  return [at(width / 3), at((2 * width) / 3)].map((from) => [0, 1, 2].map((part) => data[from + part] as number));
}

const near = ([r, g, b]: readonly [number, number, number]) => [r, g, b].map((part) => expect.closeTo(part, -1.2));

describe('the pixels of a JPEG or PNG, and nothing else of it', () => {
  it('kitty: chunks of 4,096 at most that are one PNG, so many columns and rows', () => {
    const text = textOf(makeJpeg(640, 360), room('kitty'));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes are what is read
    const chunks = [...text.matchAll(/\u001b_G([^;]*);([A-Za-z0-9+/=]{1,4096})\u001b\\/g)];
    expect(chunks.map(([all]) => all).join('')).toBe(text.trimEnd());
    expect(chunks[0]?.[1]).toMatch(/^a=T,f=100,q=2,c=80,r=23,m=[01]$/);
    expect(chunks.slice(1).map(([, keys]) => keys)).toEqual(
      chunks.slice(1).map((_, at) => `q=2,m=${at < chunks.length - 2 ? 1 : 0}`),
    );
    const png = PNG.sync.read(Buffer.from(chunks.map(([, , data]) => data).join(''), 'base64'));
    expect([png.width, png.height]).toEqual([640, 360]);
    expect(ends(png)).toEqual([near(red), near(blue)]);
  });

  it('iTerm2: one PNG of its own length, made smaller', () => {
    const text = textOf(makePng(1280, 640), room('iterm', { rows: 10 }));
    const [, size, width, height, data = ''] =
      // biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes are what is read
      /^\u001b\]1337;File=inline=1;size=(\d+);width=(\d+);height=(\d+);preserveAspectRatio=1:([A-Za-z0-9+/=]+)\u0007\n$/.exec(
        text,
      ) ?? [];
    const file = Buffer.from(data, 'base64');
    const png = PNG.sync.read(file);
    expect([file.length, width, height]).toEqual([Number(size), '40', '10']);
    expect([png.width, png.height]).toEqual([640, 320]);
    expect(ends(png)).toEqual([near(red), near(blue)]);
  });

  it('blocks: a line a row of two pixels; 256 colours where there are no more', () => {
    const lines = textOf(makeJpeg(640, 360), room('blocks', { columns: 20 }))
      .trimEnd()
      .split('\n');
    expect(lines).toHaveLength(6);
    for (const line of lines) {
      expect(line.match(/▀/g)).toHaveLength(20);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes are what is read
      expect(line.replace(/\u001b\[[\d;]+m/g, '')).toBe('▀'.repeat(20));
    }
    const [r, g, b] =
      /38;2;(\d+);(\d+);(\d+)m/
        .exec(lines[2] as string)
        ?.slice(1)
        .map(Number) ?? [];
    expect([r, g, b]).toEqual(near(red));
    const plain = textOf(makeJpeg(640, 360), room('blocks', { hasTrueColor: false }));
    expect(plain).toContain('\u001b[38;5;');
    expect(plain).not.toContain(';2;');
  });

  it('a strip of one pixel has a character', () => {
    for (const protocol of ['kitty', 'iterm', 'blocks'] as const) {
      expect(textOf(makePng(1, 4000), room(protocol))).not.toBe('');
      expect(textOf(makePng(4000, 1), room(protocol))).not.toBe('');
    }
  });
});

describe('what is no such picture', () => {
  it.each([
    ['nothing', Buffer.alloc(0)],
    ['escape codes', escapeSequences],
    ['an SVG', scriptedSvg],
    ['a PNG that ends midway', makePng(64, 64).subarray(0, 60)],
    ['a JPEG that ends in its header', makeJpeg(64, 64).subarray(0, 30)],
  ])('%s: no picture', (_, bytes) => {
    expect(problemOf(bytes)).toBeTypeOf('string');
  });

  it('bombs are seen by their headers', () => {
    const jpeg = makeJpeg(8, 8);
    const size = jpeg.indexOf(Buffer.from('ffc0', 'hex')) + 5;
    jpeg.writeUInt16BE(60_000, size);
    jpeg.writeUInt16BE(60_000, size + 2);
    expect(problemOf(makePngBomb(60_000, 60_000, 100))).toContain('16 megapixels');
    expect(problemOf(jpeg)).toContain('16 megapixels');
    // A decompression bomb: a few kilobytes that inflate to far more than the header states.
    expect(problemOf(makePngBomb(4, 4, 2e7, true))).toBe('it is corrupt');
    const scans = Buffer.concat(Array.from({ length: 41 }, () => Buffer.from('ffda', 'hex')));
    expect(problemOf(Buffer.concat([makeJpeg(8, 8), scans]))).toContain('scans');
  });

  it('however a picture is spoilt, there is another picture or none, and nothing of the file', () => {
    const random = new Random(1);
    const whole = [makePng(8, 8), makeJpeg(8, 8)];
    for (let day = 0; day < 200; day++) {
      const bytes = Buffer.from(whole[day % 2] as Buffer);
      for (let count = 0; count < 1 + day / 20; count++) bytes[random.below(bytes.length)] = random.below(256);
      const picture = renderPicture(bytes, room('blocks', { columns: 8 }));
      if ('text' in picture)
        // biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes are what is read
        expect(picture.text.replace(/\u001b\[[\d;]+m|▀|\n/g, '')).toBe('');
    }
  });
});

it.each([
  [{ TERM: 'xterm-kitty' }, 'kitty'],
  [{ KITTY_WINDOW_ID: '1', TERM: 'xterm-256color' }, 'kitty'],
  [{ TERM_PROGRAM: 'ghostty', TERM: 'xterm-256color' }, 'kitty'],
  [{ TERM_PROGRAM: 'iTerm.app' }, 'iterm'],
  [{ LC_TERMINAL: 'iTerm2' }, 'iterm'],
  [{ TERM_PROGRAM: 'WezTerm' }, 'iterm'],
  [{ WT_SESSION: 'a-guid' }, undefined],
  [{ TERM: 'foot' }, undefined],
  [{ TERM: 'xterm-256color' }, undefined],
  [{ TERM_PROGRAM: 'vscode', KITTY_WINDOW_ID: '1', WT_SESSION: 'a-guid' }, undefined],
  [{ TERM_PROGRAM: 'Apple_Terminal' }, undefined],
  [{ TERM: 'tmux-256color', KITTY_WINDOW_ID: '1' }, undefined],
  [{ TMUX: '/tmp/tmux-0/default,1,0', TERM_PROGRAM: 'WezTerm' }, undefined],
  [{ STY: '1.pts', TERM_PROGRAM: 'iTerm.app' }, undefined],
])('a terminal with %o has %s', (environment, protocol) => {
  expect(detectProtocol(environment)).toBe(protocol);
});
