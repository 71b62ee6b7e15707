import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ShortUidStore } from '../../src/cli/account/short-uid-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const uidWithPrefix = (first: string) => `${first.padEnd(8, '0')}-0000-4000-8000-000000000000`;
const newStorePath = () => join(temporaryFolder(), 'shown', 'uids');

describe('short uids', () => {
  it('a short uid has eight digits, more when two uids share them, and no trailing dash', async () => {
    const store = new ShortUidStore(newStorePath());
    const [firstUid, secondUid] = ['11111111-1000-4000-8000-000000000000', '11111111-1200-4000-8000-000000000000'];
    expect((await store.shorten('asset', [uidWithPrefix('a')]))(uidWithPrefix('a'))).toBe('a0000000');
    const shorten = await store.shorten('asset', [firstUid, secondUid]);
    expect([shorten(firstUid), shorten(secondUid)]).toEqual(['11111111-10', '11111111-12']);
  });

  it('a short uid differs from those shown earlier for the same kind of resource', async () => {
    const path = newStorePath();
    await new ShortUidStore(path).shorten('asset', [uidWithPrefix('12345678')]);
    const similarUid = '12345678-0100-4000-8000-000000000000';
    expect((await new ShortUidStore(path).shorten('folder', [similarUid]))(similarUid)).toBe('12345678');
    expect((await new ShortUidStore(path).shorten('asset', [similarUid]))(similarUid)).toBe('12345678-01');
  });

  it('a uid is found by its prefix in upper or lower case', async () => {
    const store = new ShortUidStore(newStorePath());
    await store.shorten('asset', [uidWithPrefix('abcdef01'), uidWithPrefix('abcdef02')]);
    expect(store.find('asset', 'ABCDEF01')).toEqual([uidWithPrefix('abcdef01')]);
    expect(store.find('asset', 'abcdef')).toHaveLength(2);
    expect(store.find('folder', 'abcdef')).toEqual([]);
  });

  it('every uid of a table with 12,000 rows can be found by its short form', async () => {
    const store = new ShortUidStore(newStorePath());
    const uids = Array.from({ length: 12_000 }, (_, n) => uidWithPrefix(n.toString(16).padStart(8, '0')));
    await store.shorten('asset', uids);
    for (const rowUid of [uids[0], uids.at(-1)] as string[])
      expect(store.find('asset', rowUid.slice(0, 8))).toEqual([rowUid]);
  });

  it('an identifier that is not a UUID is not shortened', async () => {
    expect((await new ShortUidStore(newStorePath()).shorten('asset', ['asset-7']))('asset-7')).toBe('asset-7');
  });

  it('the file of shown uids is private to the user', { tags: 'file-modes' }, async () => {
    const path = newStorePath();
    await new ShortUidStore(path).shorten('asset', [uidWithPrefix('a')]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('the file of shown uids keeps the newest uids', async () => {
    const path = newStorePath();
    const store = new ShortUidStore(path);
    const uidsFrom = (from: number) =>
      Array.from({ length: 4_000 }, (_, n) => uidWithPrefix((from + n).toString(16).padStart(8, '0')));
    for (const from of [0, 100_000, 200_000]) await store.shorten('asset', uidsFrom(from));
    const lines = readFileSync(path, 'utf8').split('\n');
    expect(lines.length).toBeLessThanOrEqual(10_001);
    expect(store.find('asset', uidsFrom(200_000).at(-1) as string)).toHaveLength(1);
    expect(store.find('asset', uidsFrom(0)[0] as string)).toHaveLength(0);
  });

  it('uids are printed in full if the file of short uids cannot be written', async () => {
    const unwritable = new ShortUidStore(join('/proc', 'nope', 'uids'));
    expect((await unwritable.shorten('asset', [uidWithPrefix('a')]))(uidWithPrefix('a'))).toBe(uidWithPrefix('a'));
  });

  it('a corrupt file of short uids is tolerated', async () => {
    const path = newStorePath();
    mkdirSync(dirname(path));
    writeFileSync(path, '\u0000\nasset\nasset \n{"a":1}\nasset a0000000\nasset a00');
    const corruptStore = new ShortUidStore(path);
    expect((await corruptStore.shorten('asset', [uidWithPrefix('a')]))(uidWithPrefix('a'))).toBe('a0000000');
    expect(corruptStore.find('asset', 'a00000')).toEqual([uidWithPrefix('a')]);
  });
});
