import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LogFile } from '../../src/sandbox/log-file.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

it('a full log file is rotated to one old file, and the newest lines remain complete and in order', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'sandbox.log');
  const log = new LogFile(path, 1000);
  for (let n = 0; n < 100; n++) log.write(`line ${n}`);
  expect(readdirSync(folder).sort()).toEqual(['sandbox.log', 'sandbox.log.1']);
  for (const name of ['sandbox.log', 'sandbox.log.1']) {
    expect(statSync(join(folder, name)).size).toBeLessThanOrEqual(1000);
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  }
  const kept = readFileSync(`${path}.1`, 'utf8') + readFileSync(path, 'utf8');
  const numbers = [...kept.matchAll(/^\S+Z line (\d+)$/gm)].map(([, n]) => Number(n));
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, at) => 100 - numbers.length + at));
  expect(kept.split('\n')).toHaveLength(numbers.length + 1);
});

it('the first line creates the log file, and a later process appends to it', () => {
  const path = join(temporaryFolder(), 'sandbox.log');
  new LogFile(path, 1000).write('before');
  const again = new LogFile(path, 1000);
  expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(2);
  again.write('after');
  expect(readFileSync(path, 'utf8')).toMatch(/^\S+ before\n\S+ after\n$/);
  expect(existsSync(`${path}.1`)).toBe(false);
});

it('log lines that cannot be written are counted and do not throw', () => {
  new LogFile('/dev/full').write('no space left there');
  const folder = join(temporaryFolder(), 'later');
  const log = new LogFile(join(folder, 'sandbox.log'));
  log.write('one');
  log.write('two');
  mkdirSync(folder);
  log.write('three');
  expect(readFileSync(join(folder, 'sandbox.log'), 'utf8')).toMatch(
    /^\S+ 2 lines were lost: ENOENT[^\n]*\n\S+ three\n$/,
  );
});
