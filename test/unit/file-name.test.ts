import { join } from 'node:path';
import { expect, it } from 'vitest';
import { uniqueFilePaths } from '../../src/cli/commands/assets/file-name.ts';

const uidOfDigit = (digit: string) => `${digit.repeat(8)}-0000-4000-8000-000000000000`;
const assetNamed = (digit: string, name: unknown, more = {}) => ({ uid: uidOfDigit(digit), name, ...more });
const uniqueFileNames = (assets: ReturnType<typeof assetNamed>[]) =>
  uniqueFilePaths(assets.map((asset) => ({ asset, folder: '' })));

it('files in one folder get unique names even if assets share a name or imitate a unique name', () => {
  expect(uniqueFileNames([assetNamed('1', 'a.mp4'), assetNamed('2', 'b.mp4')])).toEqual(['a.mp4', 'b.mp4']);
  expect(uniqueFileNames([assetNamed('1', 'Clip.mp4'), assetNamed('2', 'clip.MP4')])).toEqual([
    `Clip-${uidOfDigit('1')}.mp4`,
    `clip-${uidOfDigit('2')}.MP4`,
  ]);
  const imitation = assetNamed('3', `clip-${uidOfDigit('2')}.mp4`);
  const names = uniqueFileNames([assetNamed('1', 'clip.mp4'), assetNamed('2', 'clip.mp4'), imitation]);
  expect(new Set(names).size).toBe(3);
});

it('files in different folders keep the same name, and no folder name escapes the target directory', () => {
  const asset = assetNamed('1', 'a.mp4');
  const assetsInFolders = ['day 1/cam a', 'day 2', '../..', '/etc'].map((folder) => ({ asset, folder }));
  const paths = ['day 1/cam a/a.mp4', 'day 2/a.mp4', 'a.mp4', 'etc/a.mp4'].map((path) => join(path));
  expect(uniqueFilePaths(assetsInFolders)).toEqual(paths);
});

it('long file names are truncated to fit the file system limit with their uid and a partial-file suffix', () => {
  const longNames = uniqueFileNames([assetNamed('1', `${'漢'.repeat(66)}.m`), assetNamed('2', `${'漢'.repeat(66)}.m`)]);
  expect(new Set(longNames).size).toBe(2);
  for (const name of longNames) expect(Buffer.byteLength(name)).toBeLessThan(255 - 22); // less the suffix
});

it('an asset name without an extension gets the extension of the original file', () => {
  expect(uniqueFileNames([assetNamed('1', 'Dusk', { filename: 'clip.mp4' })])).toEqual(['Dusk.mp4']);
  expect(uniqueFileNames([assetNamed('1', 'Dusk.mov', { filename: 'clip.mp4' })])).toEqual(['Dusk.mov']);
});

it('a file name that equals a Windows device name gets an underscore prefix', () => {
  const names = ['CON.mp4', 'aux', 'NUL', 'com1.mov', 'console.mp4'];
  const assets = names.map((name, at) => assetNamed(String(at), name));
  expect(uniqueFileNames(assets)).toEqual(['_CON.mp4', '_aux', '_NUL', '_com1.mov', 'console.mp4']);
});
