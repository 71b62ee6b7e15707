import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isFileSystemRoot } from '../../src/cli/uploading/sources.ts';
import { pathExists, rangeBelow } from '../../src/client/local-path.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Returns which of the paths are below a directory. */
const pathsBelow = (directory: string, separator: string, paths: readonly string[]) => {
  const [from, to] = rangeBelow(directory, separator);
  return paths.filter((path) => path >= from && path < to);
};

it.each([
  ['C:\\media', ['C:\\media\\a.mp4', 'C:\\media\\day 1\\b.mp4']],
  ['C:\\', ['C:\\media\\a.mp4', 'C:\\media\\day 1\\b.mp4', 'C:\\media2\\c.mp4', 'C:\\mediaz.mp4']],
  [
    '',
    [
      ...['C:\\media\\a.mp4', 'C:\\media\\day 1\\b.mp4', 'C:\\media2\\c.mp4', 'C:\\mediaz.mp4'],
      ...['D:\\e.mp4', '\\\\nas\\share\\f.mp4'],
    ],
  ],
])('rangeBelow selects the local files below %j among Windows paths', (directory, expected) => {
  const paths = [
    ...['C:\\media\\a.mp4', 'C:\\media\\day 1\\b.mp4', 'C:\\media2\\c.mp4', 'C:\\mediaz.mp4', 'D:\\e.mp4'],
    ...['\\\\nas\\share\\f.mp4', 'https://media.example.com/g.mp4', 'rclone:archive:h.mp4'],
  ];
  expect(pathsBelow(directory, '\\', paths)).toEqual(expected);
});

it.each([
  ['/media', ['/media/a.mp4', '/media/day 1/b.mp4']],
  ['/', ['/media/a.mp4', '/media/day 1/b.mp4', '/media2/c.mp4']],
  ['', ['/media/a.mp4', '/media/day 1/b.mp4', '/media2/c.mp4']],
])('rangeBelow selects the local files below %j among POSIX paths', (directory, expected) => {
  const paths = ['/media/a.mp4', '/media/day 1/b.mp4', '/media2/c.mp4', 'https://media.example.com/d.mp4'];
  expect(pathsBelow(directory, '/', paths)).toEqual(expected);
});

it('isFileSystemRoot recognizes every spelling of the root directory', () => {
  expect(['/', '//', '/tmp/..', '/tmp'].map(isFileSystemRoot)).toEqual([true, true, true, false]);
});

it('pathExists is true for a path that cannot be determined, such as below a link to itself', {
  tags: 'file-modes',
}, async () => {
  const folder = temporaryFolder();
  const [loop, file] = [join(folder, 'loop'), join(folder, 'file')];
  symlinkSync(loop, loop);
  writeFileSync(file, '');
  const paths = [join(loop, 'a.mov'), loop, file, join(folder, 'a.mov'), join(file, 'a.mov')];
  expect(await Promise.all(paths.map(pathExists))).toEqual([true, true, true, false, false]);
});
