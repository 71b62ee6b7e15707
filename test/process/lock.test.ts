import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { tryLock } from '../../src/client/lock.ts';
import { bundle } from '../support/bundle.ts';
import { isFullRun } from '../support/full-run.ts';
import { mediactlCommand, startProcess } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Increments a counter under the lock; fails if another process holds the lock at the same time. */
const turnsProgram = `
  import { openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
  import { withLock } from './src/client/lock.ts';
  const [folder, turns] = process.argv.slice(2);
  const wanted = { path: folder + '/lock', waitMs: 60_000, busy: () => new Error('busy') };
  const work = async () => {
    for (let turn = 0; turn < Number(turns); turn++)
      await withLock(wanted, async () => {
        openSync(folder + '/inside', 'wx'); // throws if another process holds the lock
        const count = Number(readFileSync(folder + '/count', 'utf8'));
        await new Promise((resolve) => setImmediate(resolve));
        writeFileSync(folder + '/count', String(count + 1));
        rmSync(folder + '/inside');
      });
  };
  work();
`;

let turnsScript: string;
beforeAll(async () => {
  turnsScript = join(temporaryFolder(), 'turns.mjs');
  await bundle(turnsProgram, turnsScript);
});

// The program itself hides the warning that SQLite is experimental.
const environment = { NODE_PATH: join(root, 'node_modules'), NODE_NO_WARNINGS: '1' };

const turnsEach = isFullRun ? 300 : 40;

it(`8 processes take a lock ${turnsEach} times each, never two at once, and lose no update`, async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'count'), '0'); // each process increments it under the lock
  const processes = Array.from(
    { length: 8 },
    () => startProcess(process.execPath, [turnsScript, folder, String(turnsEach)], environment).finished,
  );
  for (const { code, stderr } of await Promise.all(processes)) expect([code, stderr]).toEqual([0, '']);
  expect(readFileSync(join(folder, 'count'), 'utf8')).toBe(String(8 * turnsEach));
}, 300_000);

it('a lock is free once the process that holds it is killed', async () => {
  const path = join(temporaryFolder(), 'lock');
  const holdLockScript = `const Database = require('libsql');
    new Database(process.argv[1]).exec('BEGIN EXCLUSIVE');
    console.log('held');
    setInterval(() => {}, 1000);`;
  writeFileSync(path, '');
  const { child } = startProcess(process.execPath, ['-e', holdLockScript, path], environment);
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  expect(await tryLock(path)).toBeUndefined();
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  const lock = await tryLock(path);
  expect(lock).toBeDefined();
  lock?.release();
});

it('a lock excludes processes in another PID namespace', { tags: 'user-namespaces' }, async () => {
  const path = join(temporaryFolder(), 'lock');
  const lock = await tryLock(path);
  const tryLockScript = `const Database = require('libsql');
    try { new Database(process.argv[1]).exec('BEGIN EXCLUSIVE'); console.log('got it'); }
    catch (error) { console.log(error.code); }`;
  const args = ['-rpf', process.execPath, '-e', tryLockScript, path];
  const { stdout } = await startProcess('unshare', args, environment).finished;
  expect(stdout).toBe('SQLITE_BUSY\n');
  lock?.release();
});

const rounds = isFullRun ? 10 : 1;
const loginsAtOnce = isFullRun ? 24 : 8;

it(`every profile is saved when ${loginsAtOnce} logins run at once (rounds: ${rounds})`, async () => {
  const home = temporaryFolder();
  const login = async (name: string) => {
    const { child, finished } = startProcess(
      'sh',
      [
        '-c',
        'name=$0; echo "key-of-$name" | "$@" auth login --profile "$name" --with-key --skip-verify',
        name,
        ...mediactlCommand,
      ],
      {
        MEDIACTL_CONFIG_DIR: join(home, 'config'),
        MEDIACTL_KEY_STORE: 'file',
        MEDIACTL_BASE_URL: 'https://media.example',
      },
    );
    child.unref();
    const { code, stderr } = await finished;
    return { name, code, stderr };
  };
  const names = Array.from({ length: loginsAtOnce * rounds }, (_, n) => `p${n}`);
  for (let round = 0; round < rounds; round++) {
    const logins = await Promise.all(names.slice(loginsAtOnce * round, loginsAtOnce * (round + 1)).map(login));
    expect(logins.filter(({ code }) => code !== 0)).toEqual([]);
  }
  const { profiles } = JSON.parse(readFileSync(join(home, 'config/config.json'), 'utf8'));
  expect(Object.keys(profiles).sort()).toEqual([...names].sort());
  for (const name of names) expect(profiles[name].key).toBe(`key-of-${name}`);
}, 300_000);

/** Sweeps stale locks, or takes a stale lock repeatedly and prints how often it was busy. */
const sweepingProgram = `
  import { writeFileSync } from 'node:fs';
  import { NamedLocks } from './src/client/lock.ts';
  const [folder, what] = process.argv.slice(2);
  const locks = new NamedLocks(folder);
  const work = async () => {
    let busy = 0;
    for (let turn = 0; turn < 150; turn++) {
      if (what === 'sweep') await locks.removeStale();
      else {
        writeFileSync(folder + '/mine.lock', '');
        const release = await locks.acquire('mine');
        if (release) await release();
        else busy++;
      }
    }
    process.stdout.write(String(busy));
  };
  work();
`;

it('a process can acquire a stale lock while other processes remove stale locks', async () => {
  const folder = temporaryFolder();
  const script = join(temporaryFolder(), 'sweeping.mjs');
  await bundle(sweepingProgram, script);
  const processes = ['sweep', 'sweep', 'take'].map(
    (action) => startProcess(process.execPath, [script, folder, action], environment).finished,
  );
  // Each process prints how often it found the lock busy.
  for (const { stdout, stderr } of await Promise.all(processes)) expect([stdout, stderr]).toEqual(['0', '']);
});
