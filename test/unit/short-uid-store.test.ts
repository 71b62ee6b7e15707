import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ShortUidStore } from '../../src/cli/account/short-uid-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const uid = (first: string) => `${first.padEnd(8, '0')}-0000-4000-8000-000000000000`;
const open = () => join(temporaryFolder(), 'shown', 'uids');

describe('short uids', () => {
  it('a short uid has eight digits, more when two uids share them, and no trailing dash', async () => {
    const shown = new ShortUidStore(open());
    const [one, other] = ['11111111-1000-4000-8000-000000000000', '11111111-1200-4000-8000-000000000000'];
    expect((await shown.shorten('asset', [uid('a')]))(uid('a'))).toBe('a0000000');
    const short = await shown.shorten('asset', [one, other]);
    expect([short(one), short(other)]).toEqual(['11111111-10', '11111111-12']);
  });

  it('a short uid differs from those shown earlier for the same kind of resource', async () => {
    const path = open();
    await new ShortUidStore(path).shorten('asset', [uid('12345678')]);
    const twin = '12345678-0100-4000-8000-000000000000';
    expect((await new ShortUidStore(path).shorten('folder', [twin]))(twin)).toBe('12345678');
    expect((await new ShortUidStore(path).shorten('asset', [twin]))(twin)).toBe('12345678-01');
  });

  it('a uid is found by its prefix in upper or lower case', async () => {
    const shown = new ShortUidStore(open());
    await shown.shorten('asset', [uid('abcdef01'), uid('abcdef02')]);
    expect(shown.find('asset', 'ABCDEF01')).toEqual([uid('abcdef01')]);
    expect(shown.find('asset', 'abcdef')).toHaveLength(2);
    expect(shown.find('folder', 'abcdef')).toEqual([]);
  });

  it('every uid of a table with 12,000 rows can be found by its short form', async () => {
    const shown = new ShortUidStore(open());
    const many = Array.from({ length: 12_000 }, (_, n) => uid(n.toString(16).padStart(8, '0')));
    await shown.shorten('asset', many);
    for (const each of [many[0], many.at(-1)] as string[])
      expect(shown.find('asset', each.slice(0, 8))).toEqual([each]);
  });

  it('an identifier that is not a UUID is not shortened', async () => {
    expect((await new ShortUidStore(open()).shorten('asset', ['asset-7']))('asset-7')).toBe('asset-7');
  });

  it('the file of shown uids is private to the user and keeps the newest uids', async () => {
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

  it('uids are not shortened when the file cannot be written, and a corrupt file is tolerated', async () => {
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
