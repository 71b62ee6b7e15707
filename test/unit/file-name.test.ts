import { join } from 'node:path';
import { expect, it } from 'vitest';
import { imageFileName, uniqueFilePaths } from '../../src/client/download/file-name.ts';

const uidOfDigit = (digit: string) => `${digit.repeat(8)}-0000-4000-8000-000000000000`;
const assetNamed = (digit: string, name: unknown, more = {}) => ({ uid: uidOfDigit(digit), name, ...more });
const uniqueFileNames = (assets: ReturnType<typeof assetNamed>[]) =>
  uniqueFilePaths(assets.map((asset) => ({ asset, folder: '' })));

it('files in one folder get unique names even if assets share a name or imitate a unique name', async () => {
  expect(await uniqueFileNames([assetNamed('1', 'a.mp4'), assetNamed('2', 'b.mp4')])).toEqual(['a.mp4', 'b.mp4']);
  expect(await uniqueFileNames([assetNamed('1', 'Clip.mp4'), assetNamed('2', 'clip.MP4')])).toEqual([
    `Clip-${uidOfDigit('1')}.mp4`,
    `clip-${uidOfDigit('2')}.MP4`,
  ]);
  const imitation = assetNamed('3', `clip-${uidOfDigit('2')}.mp4`);
  const names = await uniqueFileNames([assetNamed('1', 'clip.mp4'), assetNamed('2', 'clip.mp4'), imitation]);
  expect(new Set(names).size).toBe(3);
});

it('files in different folders keep the same name, and no folder name escapes the target directory', async () => {
  const asset = assetNamed('1', 'a.mp4');
  const assetsInFolders = ['day 1/cam a', 'day 2', '../..', '/etc'].map((folder) => ({ asset, folder }));
  const paths = ['day 1/cam a/a.mp4', 'day 2/a.mp4', '__/__/a.mp4', 'etc/a.mp4'].map((path) => join(path));
  expect(await uniqueFilePaths(assetsInFolders)).toEqual(paths);
});

it('no asset or folder gets a name by which mediactl knows its own files', async () => {
  const named = assetNamed('1', 'receipts', { filename: 'a.id' });
  const assets = [assetNamed('2', '.mediactl.json'), named, assetNamed('3', 'Receipts.ID')];
  expect(await uniqueFileNames([assetNamed('2', '.mediactl.json'), named])).toEqual([
    '_.mediactl.json',
    '_receipts.id',
  ]);
  const paths = await uniqueFilePaths(assets.slice(0, 1).map((asset) => ({ asset, folder: 'receipts.id/a' })));
  expect(paths).toEqual([join('_receipts.id/a/_.mediactl.json')]);
});

it('long file names are truncated to fit the file system limit with their uid', async () => {
  const longNames = await uniqueFileNames([
    assetNamed('1', `${'漢'.repeat(84)}.m`),
    assetNamed('2', `${'漢'.repeat(84)}.m`),
  ]);
  expect(new Set(longNames).size).toBe(2);
  for (const name of longNames) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
});

it('an asset name without an extension gets the extension of the original file', async () => {
  expect(await uniqueFileNames([assetNamed('1', 'Dusk', { filename: 'clip.mp4' })])).toEqual(['Dusk.mp4']);
  expect(await uniqueFileNames([assetNamed('1', 'Dusk.mov', { filename: 'clip.mp4' })])).toEqual(['Dusk.mov']);
});

it('a long name is cut in its stem and keeps its extension, also with a uid', async () => {
  const names = ['漢'.repeat(84), '漢'.repeat(85), 'x'.repeat(252)].map((stem) => `${stem}.webm`);
  for (const name of names) {
    const [only = ''] = await uniqueFileNames([assetNamed('1', name)]);
    const [first = '', second = ''] = await uniqueFileNames([assetNamed('1', name), assetNamed('2', name)]);
    expect([only, first, second]).toEqual([
      expect.stringMatching(/^.+[漢x]\.webm$/),
      expect.stringMatching(`-${uidOfDigit('1')}.webm$`),
      expect.stringMatching(`-${uidOfDigit('2')}.webm$`),
    ]);
    for (const each of [only, first, second]) {
      expect(Buffer.byteLength(each)).toBeLessThanOrEqual(255);
      expect(name).toContain(each.replace(/(-1111.*|-2222.*)?\.webm$/, ''));
    }
  }
  const [title] = await uniqueFileNames([assetNamed('1', 'é'.repeat(200), { filename: 'clip.mp4' })]);
  expect(title).toMatch(/^é+\.mp4$/);
});

it('a name that fits into 255 bytes is not cut', async () => {
  const name = `${'漢'.repeat(83)}ab.txt`;
  expect(await uniqueFileNames([assetNamed('1', name)])).toEqual([name]);
});

it('a long name is not cut within an emoji that consists of several characters', async () => {
  const family = '👨‍👩‍👧‍👦';
  const [name = ''] = await uniqueFileNames([assetNamed('1', `${family.repeat(20)}.mp4`)]);
  expect(name).toBe(`${family.repeat(10)}.mp4`);
});

it('what follows the dot in a title is not an extension, so that the one of the record is appended', async () => {
  const titles = ['Cut v1.2', 'Take 1.5', 'Interview with Dr.Who', 'At St.Doc', 'Dusk.MP4', 'Dusk.m4v', 'Dawn.'];
  const assets = titles.map((name, at) => assetNamed(String(at), name, { filename: 'clip.mp4' }));
  expect(await uniqueFileNames(assets)).toEqual([
    ...['Cut v1.2.mp4', 'Take 1.5.mp4', 'Interview with Dr.Who.mp4', 'At St.Doc.mp4'],
    ...['Dusk.MP4', 'Dusk.m4v', 'Dawn.mp4'],
  ]);
  const withTypes = [
    assetNamed('1', 'Take 1.5', { content_type: 'video/quicktime' }),
    assetNamed('2', 'Take 2.5', { content_type: 'text/plain; charset=utf-8' }),
    assetNamed('3', 'Take 3.5', { content_type: 'application/octet-stream' }),
    assetNamed('4', 'Take 4.5', { filename: 'Take 4.5', content_type: 'video/mp4' }),
    assetNamed('5', 'photo.jpeg', { content_type: 'image/jpeg' }),
    assetNamed('6', 'A001', { filename: 'A001.braw' }),
  ];
  expect(await uniqueFileNames(withTypes)).toEqual([
    ...['Take 1.5.mov', 'Take 2.5.txt', 'Take 3.5', 'Take 4.5', 'photo.jpeg', 'A001.braw'],
  ]);
});

it('a file name keeps every letter, also the invisible joiners of scripts and emoji', async () => {
  const names = [
    ...['한글.mp4', '한글.mp4'.normalize('NFD'), 'हिन्दी क्‍ष.mp4', 'می‌خواهم.mp4', 'İstanbul ışık.mp4', '👨‍👩‍👧.mp4'],
    ...['🏴󠁧󠁢󠁥󠁮󠁧󠁿.mp4', 'ខ្មែរ​ភាសា.mp4', 'ශ්‍රී.mp4', '𠮷野家.mp4', 'Ünlü ﬁ ½.mp4'],
  ];
  for (const name of names) expect(await uniqueFileNames([assetNamed('1', name)])).toEqual([name]);
  const hostile = 'a\u202egpj.mp4 b/c\\d\u0007\u0085\u2028e.mp4';
  expect(await uniqueFileNames([assetNamed('1', hostile)])).toEqual(['a_gpj.mp4 b_c_d_e.mp4']);
});

it('the name of a thumbnail has its extension in place of that of the asset, and keeps the dots of a title', async () => {
  const namesOf = (...titles: string[]) =>
    Promise.all(titles.map((name) => imageFileName(assetNamed('1', name), 'jpg')));
  expect(await namesOf('clip.mp4', 'Cut v1.2', 'Cut v1.3', 'photo.jpg', '漢'.repeat(100), '')).toEqual([
    ...['clip.jpg', 'Cut v1.2.jpg', 'Cut v1.3.jpg', 'photo.jpg', `${'漢'.repeat(83)}.jpg`, `${uidOfDigit('1')}.jpg`],
  ]);
});

it('a file name that equals a Windows device name gets an underscore prefix', async () => {
  const names = ['CON.mp4', 'aux', 'NUL', 'com1.mov', 'console.mp4'];
  const assets = names.map((name, at) => assetNamed(String(at), name));
  expect(await uniqueFileNames(assets)).toEqual(['_CON.mp4', '_aux', '_NUL', '_com1.mov', 'console.mp4']);
});

it('a name is kept as it is if this disk takes it: with a leading dot or dash, and quotes', async () => {
  const names = ['.hidden.mp4', '-dash.mp4', "it's.mp4", ' space.mp4', '100%.mp4', 'a,b.mp4', '#1.mp4', 'no-extension'];
  expect(await uniqueFileNames(names.map((name, at) => assetNamed(String(at), name, { filename: name })))).toEqual(
    names,
  );
});

it('dots that mean a directory, a missing name and separators are mapped', async () => {
  const names = ['.', '..', '', 'a/b.mp4', 'c\\d.mp4', 'e\u0000f.mp4'];
  expect(await uniqueFileNames(names.map((name, at) => assetNamed(String(at + 1), name)))).toEqual([
    ...['_', '__', uidOfDigit('3'), 'a_b.mp4', 'c_d.mp4', 'e_f.mp4'],
  ]);
});

it('two folders whose names differ in case or in composition only get two directories', async () => {
  const asset = assetNamed('1', 'a.mp4');
  const folders = ['Day', 'day', 'ü'.normalize('NFC'), 'ü'.normalize('NFD')];
  const paths = await uniqueFilePaths(folders.map((folder) => ({ asset, folder })));
  expect(new Set(paths.map((path) => path.normalize('NFC').toLowerCase())).size).toBe(4);
});

it('an asset that was saved before keeps its path, and one of the same name gets its uid appended', async () => {
  const files = [
    { asset: assetNamed('1', 'a.mp4'), folder: '', path: 'a.mp4' },
    { asset: assetNamed('2', 'a.mp4'), folder: '' },
  ];
  expect(await uniqueFilePaths(files)).toEqual(['a.mp4', `a-${uidOfDigit('2')}.mp4`]);
});
