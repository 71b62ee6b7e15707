import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type OutputPorts, writeOutput } from '../../src/client/download/output-file.ts';
import { OwnFiles } from '../../src/client/own-files.ts';
import { createLatch } from '../support/latch.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Writers that share no state directory, and refuse to replace a file. */
const ports: OutputPorts = {
  signal: new AbortController().signal,
  ownFiles: new OwnFiles({}),
  stateDir: undefined,
  replacesAll: false,
  onExisting: (path) => Promise.reject(new Error(`${path} exists`)),
  option: '-o',
  warn: () => {},
};

it('of two writers of one path that share no lock, one succeeds, and neither replaces the file of the other', async () => {
  const folder = temporaryFolder();
  for (let round = 0; round < 400; round++) {
    const path = join(folder, `${round}`);
    const writeText = (text: string, onOpen = () => {}) =>
      writeOutput(ports, { path }, async (file) => {
        onOpen();
        await file.write(Buffer.from(text));
        return text;
      });
    // The second one looks at the path at some moment of the end of the first.
    const isOpen = createLatch();
    const second = isOpen.opened.then(async () => {
      for (let turn = 0; turn < round % 40; turn++) await new Promise(setImmediate);
      return writeText('second');
    });
    const ended = await Promise.allSettled([writeText('first', isOpen.open), second]);
    const saved = ended.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    expect(saved).toEqual([readFileSync(path, 'utf8')]);
  }
  expect(readdirSync(folder)).toHaveLength(400);
});

it('a file takes the place of a link that leads nowhere', async () => {
  const path = join(temporaryFolder(), 'link');
  symlinkSync('nowhere', path);
  await writeOutput(ports, { path }, (file) => file.write(Buffer.from('saved')));
  expect(readFileSync(path, 'utf8')).toBe('saved');
});
