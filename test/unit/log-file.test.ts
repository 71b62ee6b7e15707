import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LogFile } from '../../src/sandbox/log-file.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

it('a full log file is rotated to one old file, and the newest lines remain complete and in order', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'sandbox.log');
  const log = new LogFile(path, 1000); // at most 1000 bytes
  for (let n = 0; n < 100; n++) log.write(`line ${n}`);
  expect(readdirSync(folder).sort()).toEqual(['sandbox.log', 'sandbox.log.1']);
  for (const name of ['sandbox.log', 'sandbox.log.1'])
    expect(statSync(join(folder, name)).size).toBeLessThanOrEqual(1000);
  const logText = readFileSync(`${path}.1`, 'utf8') + readFileSync(path, 'utf8');
  const lineNumbers = [...logText.matchAll(/^\S+Z line (\d+)$/gm)].map(([, n]) => Number(n));
  expect(lineNumbers).toEqual(Array.from({ length: lineNumbers.length }, (_, at) => 100 - lineNumbers.length + at));
  expect(logText.split('\n')).toHaveLength(lineNumbers.length + 1);
});

it('a log file is private to the user', { tags: 'file-modes' }, () => {
  const path = join(temporaryFolder(), 'sandbox.log');
  const log = new LogFile(path, 20); // rotated by the second line
  for (const line of ['one', 'two']) log.write(line);
  for (const each of [path, `${path}.1`]) expect(statSync(each).mode & 0o777).toBe(0o600);
});

it('the first line creates the log file, and a later process appends to it', () => {
  const path = join(temporaryFolder(), 'sandbox.log');
  new LogFile(path, 1000).write('before');
  const laterLog = new LogFile(path, 1000);
  expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(2);
  laterLog.write('after');
  expect(readFileSync(path, 'utf8')).toMatch(/^\S+ before\n\S+ after\n$/);
  expect(existsSync(`${path}.1`)).toBe(false);
});

it('log lines that cannot be written are counted and do not throw', () => {
  new LogFile('/dev/full').write('no space left there'); // every write to this device fails
  const missingFolder = join(temporaryFolder(), 'missing');
  const log = new LogFile(join(missingFolder, 'sandbox.log'));
  log.write('one');
  log.write('two');
  mkdirSync(missingFolder);
  log.write('three');
  expect(readFileSync(join(missingFolder, 'sandbox.log'), 'utf8')).toMatch(
    /^\S+ 2 lines were lost: ENOENT[^\n]*\n\S+ three\n$/,
  );
});
