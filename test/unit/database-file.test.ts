import { fork } from 'node:child_process';
import { once } from 'node:events';
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { DatabaseOptions } from '../../src/client/sqlite-database.ts';
import { assertLocalFileSystem } from '../../src/client/upload/store/database-file.ts';
import { Receipts } from '../../src/client/upload/store/receipts.ts';
import { StateDatabase } from '../../src/client/upload/store/state-database.ts';
import { LocalUploadStore } from '../../src/client/upload/store/upload-store.ts';
import { bundle } from '../support/bundle.ts';
import { fastClock } from '../support/clock.ts';
import { inherited } from '../support/environment.ts';
import { errorInTable, seenError } from '../support/errors.ts';
import { openDatabase } from '../support/sqlite.ts';
import { databaseFile, queryState } from '../support/state-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { openEntry } from '../support/upload-store-suite.ts';

const open = async (folder: string, options?: DatabaseOptions) => {
  const database = await StateDatabase.open(folder, options);
  onTestFinished(() => database.close());
  return database;
};

describe('file system check', () => {
  const folder = temporaryFolder();
  const check = (type: number) => assertLocalFileSystem(folder, { ...statfsSync(folder), type });
  const failureOf = (type: number) => {
    try {
      check(type);
    } catch (error) {
      return seenError(error as never);
    }
    return undefined;
  };

  it.each([
    ['NFS', 0x6969],
    ['SMB', 0xff534d42],
    ['SMB (signed type number)', 0xff534d42 | 0],
    ['SMB 2', 0xfe534d42],
    ['9P', 0x01021997],
  ])('a state folder on %s is refused', (_name, type) => {
    expect(failureOf(type)).toEqual(errorInTable('state_file_system'));
  });

  it.each([
    ['ext4', 0xef53],
    ['tmpfs', 0x01021994],
    ['Btrfs', 0x9123683e],
    ['XFS', 0x58465342],
    ['overlayfs', 0x794c7630],
  ])('a state folder on %s is accepted', (_name, type) => {
    expect(failureOf(type)).toBeUndefined();
  });

  it('the file system type of the state folder is looked up when none is passed', () => {
    expect(() => assertLocalFileSystem(folder)).not.toThrow();
    expect(() => assertLocalFileSystem(join(folder, 'missing'))).toThrow('ENOENT');
  });
});

const changesEach = 50;

/** Writes entries one after the other and some at once, and a folder in a change of its own, like several files do. */
async function changeOften(database: StateDatabase, name: string): Promise<void> {
  const store = new LocalUploadStore(database, 1);
  const receipts = new Receipts(database);
  const change = async (n: number) => {
    const entry = { ...openEntry, id: `${name}-${n}` };
    if (n % 2 === 0) return store.write(entry);
    return receipts.saveFolder('service', 'workspace', `${name}-${n}`, 'uid');
  };
  for (let n = 0; n < changesEach; n += 5) await Promise.all([0, 1, 2, 3, 4].map((more) => change(n + more)));
}

const expectedChanges = (names: readonly string[]) =>
  names.flatMap((name) => Array.from({ length: changesEach }, (_, n) => `${name}-${n}`)).sort();

const foundChanges = (folder: string) =>
  queryState(folder, 'SELECT id AS name FROM uploads UNION ALL SELECT path FROM folders')
    .map(({ name }) => name)
    .sort();

describe('concurrent access to the state database', () => {
  it('the state database keeps every change that 12 open handles make at the same time', async () => {
    const folder = temporaryFolder();
    const names = Array.from({ length: 12 }, (_, n) => `handle${n}`);
    const databases = await Promise.all(names.map(() => open(folder)));
    await Promise.all(databases.map((database, n) => changeOften(database, names[n] as string)));
    expect(foundChanges(folder)).toEqual(expectedChanges(names));
  });

  it('the state database keeps every change of 8 processes that create it at the same time', async () => {
    const folder = temporaryFolder();
    const program = join(folder, 'change.mjs');
    const state = join(folder, 'state');
    await bundle(
      `
      import { StateDatabase } from './src/client/upload/store/state-database.ts';
      import { LocalUploadStore } from './src/client/upload/store/upload-store.ts';
      const [folder, name] = process.argv.slice(2);
      await new Promise((resolve) => { process.once('message', resolve); process.send('ready'); });
      const database = await StateDatabase.open(folder);
      const store = new LocalUploadStore(database, process.pid);
      const entry = ${JSON.stringify(openEntry)};
      for (let n = 0; n < ${changesEach}; n++) await store.write({ ...entry, id: name + '-' + n });
      await database.close();
      process.disconnect();`,
      program,
    );
    const names = Array.from({ length: 8 }, (_, n) => `process${n}`);
    const children = names.map((name) => fork(program, [state, name], { env: inherited as NodeJS.ProcessEnv }));
    onTestFinished(() => {
      for (const child of children) child.kill('SIGKILL');
    });
    const exits = children.map((child) => once(child, 'exit'));
    await Promise.all(children.map((child) => once(child, 'message')));
    for (const child of children) child.send('go');
    expect((await Promise.all(exits)).map(([code]) => code)).toEqual(names.map(() => 0));
    expect(foundChanges(state)).toEqual(expectedChanges(names));
  });

  it('a change retries without blocking while another program locks the state database, and runs once', async () => {
    const folder = temporaryFolder();
    const warnings: string[] = [];
    const database = await open(folder, { clock: fastClock(10), warn: (message) => warnings.push(message) });
    expect(await database.selectFirst('PRAGMA busy_timeout')).toMatchObject({ timeout: 0 });
    const other = openDatabase(databaseFile(folder));
    onTestFinished(() => void other.close());
    other.exec('BEGIN IMMEDIATE');
    let tries = 0;
    const changing = database.change(() => {
      tries++;
      database.run("INSERT INTO runs VALUES ('a', 1)");
    }, true);
    await Promise.race([changing, expect.poll(() => warnings).toHaveLength(1)]);
    expect([tries, queryState(folder, 'SELECT * FROM runs')]).toEqual([0, []]);
    other.exec('COMMIT');
    await changing;
    expect([tries, queryState(folder, 'SELECT * FROM runs')]).toEqual([1, [expect.objectContaining({ id: 'a' })]]);
  });
});
