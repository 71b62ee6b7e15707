import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ShortUidStore } from '../../src/cli/account/short-uid-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const uid = (first: string) => `${first.padEnd(8, '0')}-0000-4000-8000-000000000000`;
const open = () => join(temporaryFolder(), 'shown', 'uids');

describe('uids shown short', () => {
  it('have eight digits, more where two begin alike, and no dash at the end', async () => {
    const shown = new ShortUidStore(open());
    const [one, other] = ['11111111-1000-4000-8000-000000000000', '11111111-1200-4000-8000-000000000000'];
    expect((await shown.shorten('asset', [uid('a')]))(uid('a'))).toBe('a0000000');
    const short = await shown.shorten('asset', [one, other]);
    expect([short(one), short(other)]).toEqual(['11111111-10', '11111111-12']);
  });

  it('are told from those shown before, of their kind alone', async () => {
    const path = open();
    await new ShortUidStore(path).shorten('asset', [uid('12345678')]);
    const twin = '12345678-0100-4000-8000-000000000000';
    expect((await new ShortUidStore(path).shorten('folder', [twin]))(twin)).toBe('12345678');
    expect((await new ShortUidStore(path).shorten('asset', [twin]))(twin)).toBe('12345678-01');
  });

  it('can be typed so: found by what they begin with, in either case', async () => {
    const shown = new ShortUidStore(open());
    await shown.shorten('asset', [uid('abcdef01'), uid('abcdef02')]);
    expect(shown.find('asset', 'ABCDEF01')).toEqual([uid('abcdef01')]);
    expect(shown.find('asset', 'abcdef')).toHaveLength(2);
    expect(shown.find('folder', 'abcdef')).toEqual([]);
  });

  it('a table is kept whole, however long', async () => {
    const shown = new ShortUidStore(open());
    const many = Array.from({ length: 12_000 }, (_, n) => uid(n.toString(16).padStart(8, '0')));
    await shown.shorten('asset', many);
    for (const each of [many[0], many.at(-1)] as string[])
      expect(shown.find('asset', each.slice(0, 8))).toEqual([each]);
  });

  it('what is no UUID stays whole', async () => {
    expect((await new ShortUidStore(open()).shorten('asset', ['asset-7']))('asset-7')).toBe('asset-7');
  });

  it('the file is of this user alone, and keeps the newest', async () => {
    const path = open();
    const shown = new ShortUidStore(path);
    const many = (from: number) =>
      Array.from({ length: 4_000 }, (_, n) => uid((from + n).toString(16).padStart(8, '0')));
    for (const from of [0, 100_000, 200_000]) await shown.shorten('asset', many(from));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const lines = readFileSync(path, 'utf8').split('\n');
    expect(lines.length).toBeLessThanOrEqual(10_001);
    expect(shown.find('asset', many(200_000).at(-1) as string)).toHaveLength(1);
    expect(shown.find('asset', many(0)[0] as string)).toHaveLength(0);
  });

  it('stay whole where nothing can be kept, and a file of something else does no harm', async () => {
    const blocked = new ShortUidStore(join('/proc', 'nope', 'uids'));
    expect((await blocked.shorten('asset', [uid('a')]))(uid('a'))).toBe(uid('a'));
    const path = open();
    mkdirSync(dirname(path));
    writeFileSync(path, '\u0000\nasset\nasset \n{"a":1}\nasset a0000000\nasset a00');
    const odd = new ShortUidStore(path);
    expect((await odd.shorten('asset', [uid('a')]))(uid('a'))).toBe('a0000000');
    expect(odd.find('asset', 'a00000')).toEqual([uid('a')]);
  });
});
