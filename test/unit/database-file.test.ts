import { fork } from 'node:child_process';
import { once } from 'node:events';
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { assertLocalFileSystem, isOnNetworkMount } from '../../src/client/state/database-file.ts';
import type { DatabaseOptions } from '../../src/client/state/sqlite-database.ts';
import { StateDatabase } from '../../src/client/state/state-database.ts';
import { Receipts } from '../../src/client/upload/store/receipts.ts';
import { LocalUploadStore } from '../../src/client/upload/store/upload-store.ts';
import { bundle } from '../support/bundle.ts';
import { acceleratedClock } from '../support/clock.ts';
import { inherited } from '../support/environment.ts';
import { errorInTable, seenError } from '../support/errors.ts';
import { openDatabase } from '../support/sqlite.ts';
import { databaseFile, queryState } from '../support/state-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { openEntry } from '../support/upload-store-suite.ts';

const openState = async (folder: string, options?: DatabaseOptions) => {
  const database = await StateDatabase.open(folder, options);
  onTestFinished(() => database.close());
  return database;
};

describe('file system check on macOS', () => {
  const mounts = `/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
devfs on /dev (devfs, local, nobrowse)
/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled, nobrowse, protect, root data)
map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)
//guest@nas/media on /Volumes/media (2) (smbfs, nodev, nosuid, mounted by ada)
nas:/export on /Volumes/export (nfs, nodev, nosuid, mounted by ada)
/dev/disk5s1 on /Volumes/export/local (hfs, local, nodev, nosuid, mounted by ada)
`;

  it.each(['/Volumes/media (2)', '/Volumes/media (2)/state', '/Volumes/export/state'])(
    'the state folder %s is on a network file system',
    (folder) => expect(isOnNetworkMount(folder, mounts)).toBe(true),
  );

  it.each(['/Users/ada/Library/Application Support/mediactl', '/Volumes/media', '/Volumes/export/local/state', '/'])(
    'the state folder %s is on a local file system',
    (folder) => expect(isOnNetworkMount(folder, mounts)).toBe(false),
  );

  it('a state folder is accepted if mount(8) cannot be run', () => {
    expect(isOnNetworkMount('/Users/ada/state', '')).toBe(false);
  });
});

/* Elsewhere than on Linux, the types have other numbers. */
describe('file system check', { tags: 'Linux' }, () => {
  const folder = temporaryFolder();
  const assertLocal = (type: number) => assertLocalFileSystem(folder, { ...statfsSync(folder), type });
  const checkErrorOf = (type: number) => {
    try {
      assertLocal(type);
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
    expect(checkErrorOf(type)).toEqual(errorInTable('state_file_system'));
  });

  it.each([
    ['ext4', 0xef53],
    ['tmpfs', 0x01021994],
    ['Btrfs', 0x9123683e],
    ['XFS', 0x58465342],
    ['overlayfs', 0x794c7630],
  ])('a state folder on %s is accepted', (_name, type) => {
    expect(checkErrorOf(type)).toBeUndefined();
  });

  it('the file system type of the state folder is looked up when none is passed', () => {
    expect(() => assertLocalFileSystem(folder)).not.toThrow();
    expect(() => assertLocalFileSystem(join(folder, 'missing'))).toThrow('ENOENT');
  });
});

const changesPerWriter = 50;

/** Writes entries one after the other and some at once, and a folder in a change of its own, like several files do. */
async function makeManyChanges(database: StateDatabase, name: string): Promise<void> {
  const store = new LocalUploadStore(database, 1);
  const receipts = new Receipts(database);
  const change = async (n: number) => {
    const entry = { ...openEntry, id: `${name}-${n}` };
    if (n % 2 === 0) return store.write(entry);
    return receipts.saveFolder('service', 'workspace', `${name}-${n}`, 'uid');
  };
  for (let n = 0; n < changesPerWriter; n += 5) await Promise.all([0, 1, 2, 3, 4].map((more) => change(n + more)));
}

const expectedChangeNames = (names: readonly string[]) =>
  names.flatMap((name) => Array.from({ length: changesPerWriter }, (_, n) => `${name}-${n}`)).sort();

const storedChangeNames = (folder: string) =>
  queryState(folder, 'SELECT id AS name FROM uploads UNION ALL SELECT path FROM folders')
    .map(({ name }) => name)
    .sort();

describe('concurrent access to the state database', () => {
  it('the state database keeps every change that 12 open handles make at the same time', async () => {
    const folder = temporaryFolder();
    const handleNames = Array.from({ length: 12 }, (_, n) => `handle${n}`);
    const databases = await Promise.all(handleNames.map(() => openState(folder)));
    await Promise.all(databases.map((database, n) => makeManyChanges(database, handleNames[n] as string)));
    expect(storedChangeNames(folder)).toEqual(expectedChangeNames(handleNames));
  });

  it('the state database keeps every change of 8 processes that create it at the same time', async () => {
    const folder = temporaryFolder();
    const program = join(folder, 'change.mjs');
    const state = join(folder, 'state');
    await bundle(
      `
      import { StateDatabase } from './src/client/state/state-database.ts';
      import { LocalUploadStore } from './src/client/upload/store/upload-store.ts';
      const [folder, name] = process.argv.slice(2);
      await new Promise((resolve) => { process.once('message', resolve); process.send('ready'); });
      const database = await StateDatabase.open(folder);
      const store = new LocalUploadStore(database, process.pid);
      const entry = ${JSON.stringify(openEntry)};
      for (let n = 0; n < ${changesPerWriter}; n++) await store.write({ ...entry, id: name + '-' + n });
      await database.close();
      process.disconnect();`,
      program,
    );
    const processNames = Array.from({ length: 8 }, (_, n) => `process${n}`);
    const children = processNames.map((name) => fork(program, [state, name], { env: inherited as NodeJS.ProcessEnv }));
    onTestFinished(() => {
      for (const child of children) child.kill('SIGKILL');
    });
    const exits = children.map((child) => once(child, 'exit'));
    await Promise.all(children.map((child) => once(child, 'message')));
    for (const child of children) child.send('go');
    expect((await Promise.all(exits)).map(([code]) => code)).toEqual(processNames.map(() => 0));
    expect(storedChangeNames(state)).toEqual(expectedChangeNames(processNames));
  });

  it('a change retries without blocking while another program locks the state database, and runs once', async () => {
    const folder = temporaryFolder();
    const warnings: string[] = [];
    const database = await openState(folder, {
      clock: acceleratedClock({ speed: 10 }),
      warn: (message) => warnings.push(message),
    });
    expect(await database.selectFirst('PRAGMA busy_timeout')).toMatchObject({ timeout: 0 });
    const otherProgram = openDatabase(databaseFile(folder));
    onTestFinished(() => void otherProgram.close());
    otherProgram.exec('BEGIN IMMEDIATE');
    let attempts = 0;
    const changing = database.change(() => {
      attempts++;
      database.run("INSERT INTO marks VALUES ('a', 1)");
    }, true);
    await Promise.race([changing, expect.poll(() => warnings).toHaveLength(1)]);
    expect([attempts, queryState(folder, 'SELECT * FROM marks')]).toEqual([0, []]);
    otherProgram.exec('COMMIT');
    await changing;
    expect([attempts, queryState(folder, 'SELECT * FROM marks')]).toEqual([1, [expect.objectContaining({ id: 'a' })]]);
  });
});
