import { appendFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { LogReader } from '../../src/cli/commands/sandbox/log.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const writeLogFile = (text: string) => {
  const path = join(temporaryFolder(), 'sandbox.log');
  writeFileSync(path, text);
  return path;
};
const openLog = async (path: string) => {
  const opened = await LogReader.open(path);
  onTestFinished(() => opened.close());
  return opened;
};
const numberedLines = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `line ${from + at} ü`).join('\n');

it.each([
  ['a log shorter than the requested count', 'a\nb\nc\n', 5, 'a\nb\nc'],
  ['the end of a log', 'a\nb\nc\n', 2, 'b\nc'],
  ['a last line without a newline', 'a\nb', 1, 'b'],
  ['empty lines', 'a\n\n\n', 2, '\n'],
  ['an empty log', '', 5, ''],
  ['more lines than one block holds', `${numberedLines(0, 20_000)}\n`, 12_000, numberedLines(8_000, 20_000)],
])('lastLines reads %s', async (_what, text, count, expected) => {
  expect(await (await openLog(writeLogFile(text))).lastLines(count)).toBe(expected);
});

it('lastLines returns the last lines of an 8 GB log, which is too large to read whole', async () => {
  const path = writeLogFile('');
  truncateSync(path, 8_000_000_000);
  appendFileSync(path, '\none\ntwo\n');
  expect(await (await openLog(path)).lastLines(2)).toBe('one\ntwo');
});

it('lastLines includes lines of the rotated log file', async () => {
  const path = writeLogFile('c\nd\n');
  writeFileSync(`${path}.1`, 'a\nb\n');
  expect(await (await openLog(path)).lastLines(3)).toBe('b\nc\nd');
});

it('readAppended returns appended text in whole characters, and continues after a rotation', async () => {
  const path = writeLogFile('before\n');
  const log = await openLog(path);
  await log.lastLines(1);
  expect(await log.readAppended()).toBe('');
  const text = Buffer.from('zwölf\n');
  appendFileSync(path, text.subarray(0, 3)); // half of the ö
  expect(await log.readAppended()).toBe('zw');
  appendFileSync(path, text.subarray(3));
  expect(await log.readAppended()).toBe('ölf\n');
  appendFileSync(path, 'last of the old\n');
  renameSync(path, `${path}.1`);
  expect(await log.readAppended()).toBe('last of the old\n');
  expect(await log.readAppended()).toBe(''); // there is no new one yet
  writeFileSync(path, 'first of the new\n');
  expect(await log.readAppended()).toBe('first of the new\n');
  expect(await log.readAppended()).toBe('');
});

it('readAppended starts at the beginning after the log file is truncated', async () => {
  const path = writeLogFile('a long line before\n');
  const log = await openLog(path);
  await log.lastLines(1);
  writeFileSync(path, 'new\n');
  expect(await log.readAppended()).toBe('new\n');
});
