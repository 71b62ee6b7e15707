import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { SqlDatabase } from '../../src/contract/sqlite.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { fastClock } from '../support/clock.ts';
import { errorInTable, errorOf, type SeenError } from '../support/errors.ts';
import { FakeService } from '../support/fake-service.ts';
import { writeManyFiles } from '../support/many-files.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { openDatabase } from '../support/sqlite.ts';

/* A receipt store that cannot be written ends the run, and the next run sends nothing twice. */

const count = 60;
let service: FakeService;
let cli: Cli;
let folder: string;
let state: string;
let digests: Map<string, string>;
beforeEach(async () => {
  service = await FakeService.start();
  cli = new Cli(service.environment);
  folder = join(cli.home, 'shots');
  state = join(cli.home, 'state');
  digests = writeManyFiles(folder, count);
});

async function upload(args: string[] = [], options: CliOptions = {}) {
  service.requests = 0;
  const ran = await cli.run(['upload', '--flatten', folder, '--json', ...args], {
    ...options,
    environment: { MEDIACTL_STATE_DIR: state, ...options.environment },
  });
  return {
    ...ran,
    records: ran.stdout ? JSON.parse(ran.stdout) : [],
    error: ran.code === 0 ? undefined : JSON.parse(ran.stderr.trim().split('\n').at(-1) ?? '').error,
  };
}

/** Expects exactly one complete asset per file, as counted by the service. */
function expectEachOnce(): void {
  const whole = service.completeAssets.map(({ name, blake3 }) => [name, blake3]);
  expect(whole.sort()).toEqual([...digests].sort());
}

const store = () => join(state, 'receipts.db');
/** Opens the receipt store as another program would. */
const open = (work: (database: SqlDatabase) => void) => {
  const database = openDatabase(store());
  work(database);
  database.close();
};

const numbered = (code: string) => [14, code, 0] as const;

describe('a disk of its own', { tags: 'root-mount' }, () => {
  let disk: SmallDisk;
  beforeEach(() => {
    disk = new SmallDisk();
    state = join(disk.path, 'state');
  });

  it.each([
    ['8 at once', '8'],
    ['one after another', '1'],
  ])(
    'that is full from the 20th creation on, %s: the run ends, and the next one uploads the rest and names what may be empty',
    async (_how, parallel) => {
      let creations = 0;
      service.fault = ({ method, path }) => {
        if (method === 'POST' && path.startsWith('/upload/') && ++creations === 20) disk.fill();
        return undefined;
      };
      const full = await upload(['--transfers', parallel]);
      expect([full.code, full.error.code]).toEqual([14, 'state_full']);
      expect(full.error.message).toMatch(/^not enough disk space .* \d+ of 60 files are uploaded$/);
      expect(full.error.cause).toContain(state);
      expect(full.error.hint).toMatch(/run the same command again; \d+ files remaining$/);
      expect(service.assets.size).toBeLessThan(20 + Number(parallel));
      disk.free();
      const again = await upload();
      expect(again.code).toBe(0);
      expectEachOnce();
      const empty = [...service.assets.values()].filter(({ completedAt }) => completedAt === undefined);
      expect(empty.length).toBeLessThanOrEqual(Number(parallel));
      for (const { uid } of empty) expect(again.stderr).toContain(`asset ${uid} may be empty`);
    },
  );

  it('that is full at the last byte of one file: the run ends with 14, and the next one finds the asset complete', async () => {
    service.fault = ({ method }) => {
      if (method === 'PATCH') disk.fill();
      return undefined;
    };
    const args = ['upload', join(folder, 'shot 00000.bin')];
    const options = { environment: { MEDIACTL_STATE_DIR: state } };
    expect((await cli.run(args, options)).code).toBe(14);
    service.fault = () => undefined;
    disk.free();
    const [again] = await cli.json(args, options);
    expect(again).toMatchObject({ outcome: 'uploaded', asset_uid: [...service.assets.keys()][0], bytes_sent: 0 });
    expect(service.assets.size).toBe(1);
  });

  it('that is full before: nothing is sent; with --force everything is, and said', async () => {
    await upload();
    disk.fill();
    const full = await upload();
    expect([full.code, full.error.code, service.requests]).toEqual(numbered('state_full'));
    expect(errorOf(full)).toEqual(errorInTable('state_full'));
    const again = await upload(['--force']);
    expect([again.code, service.completeAssets.length]).toEqual([0, 2 * count]);
    expect(again.stderr).toContain('another run would upload it again');
  });

  it('that is full when the store is made: nothing is sent, and no store is left', async () => {
    mkdirSync(state);
    disk.fill();
    const full = await upload();
    expect([full.code, full.error.code, service.requests]).toEqual(numbered('state_full'));
    disk.free();
    expect((await upload()).code).toBe(0);
    expectEachOnce();
  });

  it('that is read-only: nothing is sent, and other commands work', async () => {
    await upload();
    state = join(disk.mountReadOnly(), 'state');
    const refused = await upload();
    expect([refused.code, refused.error.code, service.requests]).toEqual(numbered('state_read_only'));
    expect(errorOf(refused)).toEqual({
      code: 'state_read_only',
      exit: 14,
      hint: expect.stringMatching(/^make the state folder writable; upload --force or another MEDIACTL_STATE_DIR/),
    });
    const uid = service.completeAssets[0]?.uid ?? '';
    const environment = { MEDIACTL_STATE_DIR: state };
    expect((await cli.run(['assets', 'get', uid], { environment })).code).toBe(0);
    const removed = await cli.run(['assets', 'rm', uid, '--yes'], { environment });
    expect([removed.code, removed.stderr]).toEqual([0, expect.stringContaining(store())]);
    const again = await upload(['--force']);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('another run would upload it again')]);
  });
});

describe('a store', () => {
  beforeEach(async () => {
    expect((await upload()).code).toBe(0);
    // No write-ahead log, like after a checkpoint by another process.
    for (const each of ['-wal', '-shm']) rmSync(`${store()}${each}`, { force: true });
  });

  const flip = (path: string, at: number, bytes: Buffer) => {
    const all = readFileSync(path);
    bytes.copy(all, at);
    writeFileSync(path, all);
  };
  const nextStep = 'restore it from a backup, or start over: upload --force uploads everything again';
  const errors: Record<string, SeenError> = {
    state_missing: { code: 'state_missing', exit: 14, hint: nextStep },
    state_damaged: { code: 'state_damaged', exit: 14, hint: nextStep },
  };
  const kinds: [string, string, () => void][] = [
    ['of no bytes', 'state_missing', () => truncateSync(store(), 0)],
    ['that is gone', 'state_missing', () => rmSync(store())],
    ['of words', 'state_damaged', () => writeFileSync(store(), 'words '.repeat(2000))],
    ['cut in half', 'state_damaged', () => truncateSync(store(), statSync(store()).size / 2)],
    ['with NUL pages', 'state_damaged', () => flip(store(), 4096, Buffer.alloc(8192))],
    ['without a table', 'state_damaged', () => open((db) => db.exec('DROP TABLE folders'))],
    [
      'without a column',
      'state_damaged',
      () => open((db) => db.exec('ALTER TABLE uploads RENAME COLUMN blake3 TO other')),
    ],
    [
      'that another one took the place of',
      'state_missing',
      () => {
        rmSync(store());
        open((db) => db.exec('CREATE TABLE x (a)'));
      },
    ],
  ];

  it.each(kinds)(
    '%s ends the upload before a request (%s); doctor says it too; --force begins a new one',
    async (_what, code, damage) => {
      damage();
      const refused = await upload();
      expect([errorOf(refused), service.requests]).toEqual([errors[code], 0]);
      expect(refused.error.cause).toContain(store());
      const doctor = await cli.run(['doctor', '--json']);
      const findings: { check: string; error: { code: string } | null }[] = JSON.parse(doctor.stdout);
      expect(findings.find(({ check }) => check === 'receipts')?.error?.code).toBe(code);
      const wrong = findings.filter(({ error }) => error?.code === code);
      expect(wrong.map(({ check }) => check)).toEqual(['receipts']);
      const again = await upload(['--force']);
      expect([again.code, service.completeAssets.length]).toEqual([0, 2 * count]);
      const isLeft = existsSync(`${store()}.unusable-1`);
      expect([isLeft, again.stderr.includes('receipts.db.unusable-1')]).toEqual(
        code === 'state_missing' && _what === 'that is gone' ? [false, false] : [true, true],
      );
      expect((await upload()).records.map(({ outcome }: never) => outcome)).toEqual(Array(count).fill('skipped'));
    },
  );

  it.each([
    ['a pipe', () => execFileSync('mkfifo', [store()])],
    ['a directory', () => mkdirSync(store())],
    ['a device', () => symlinkSync('/dev/null', store())],
  ])('that is %s ends each command that needs it, at once', async (_what, make) => {
    rmSync(store());
    make();
    const refused = await upload();
    expect([refused.code, refused.error.code, service.requests]).toEqual(numbered('state_unusable'));
    expect((await cli.run(['uploads', 'ls'])).code).toBe(14);
    expect((await cli.run(['uploads', 'ls', '--finished'])).code).toBe(14);
    expect((await cli.run(['doctor'])).stdout).toContain('the upload history cannot be used');
  });

  it('of a newer mediactl is left alone', async () => {
    open((db) => db.exec('PRAGMA user_version = 99'));
    const refused = await upload();
    expect(errorOf(refused)).toEqual(errorInTable('state_newer'));
    expect(service.requests).toBe(0);
    const again = await upload(['--force']);
    expect([again.code, service.completeAssets.length]).toEqual([0, 2 * count]);
    expect(existsSync(`${store()}.unusable-1`)).toBe(false);
  });

  it('of an older mediactl gets its mark, and is missed from then on', async () => {
    rmSync(join(state, 'receipts.id'));
    open((db) => db.exec('PRAGMA application_id = 0'));
    expect((await upload()).records[0].outcome).toBe('skipped');
    expect(statSync(join(state, 'receipts.id')).mode & 0o777).toBe(0o600);
    rmSync(store());
    expect((await upload()).error.code).toBe('state_missing');
  });

  it.each(['last-upload', 'receipts.db-reserve', 'runs.lock'])(
    'a link in place of %s, which a checkout could hold, is not followed',
    async (name) => {
      const [link, target] = [join(state, name), join(cli.home, 'target')];
      rmSync(link, { force: true });
      symlinkSync(target, link);
      await upload(['--force']);
      expect(existsSync(target)).toBe(false);
      writeFileSync(target, 'precious');
      rmSync(link);
      symlinkSync(target, link);
      await upload(['--force']);
      expect(readFileSync(target, 'utf8')).toBe('precious');
    },
  );

  it('that is a link to a file elsewhere is used there', async () => {
    const elsewhere = join(cli.home, 'elsewhere.db');
    renameSync(store(), elsewhere);
    symlinkSync(elsewhere, store());
    writeFileSync(join(folder, 'one more.bin'), 'more');
    const { code, records } = await upload();
    const outcomes = records.map(({ outcome }: { outcome: string }) => outcome).sort();
    expect([code, outcomes]).toEqual([0, [...Array(count).fill('skipped'), 'uploaded']]);
  });

  it('beside which no process can be registered ends the run', async () => {
    rmSync(join(state, 'runs'), { recursive: true });
    writeFileSync(join(state, 'runs'), '');
    writeFileSync(join(folder, 'one more.bin'), 'more');
    const created = service.counts['POST /upload/'];
    const refused = await upload();
    expect([refused.code, refused.error.code]).toEqual([14, 'state_unusable']);
    expect(service.counts['POST /upload/']).toBe(created);
  });

  it('that is moved to another folder is the same', async () => {
    renameSync(state, `${state} of before`);
    state = `${state} of before`;
    expect((await upload()).records[0].outcome).toBe('skipped');
  });
});

/** Runs `work` at the 20th creation. */
const inTheMiddle = (work: () => void) => {
  let creations = 0;
  service.fault = ({ method, path }) => {
    if (method === 'POST' && path.startsWith('/upload/') && ++creations === 20) work();
    return undefined;
  };
};

it.each([
  [
    'removed',
    'state_missing',
    () => {
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${store()}${suffix}`, { force: true });
    },
  ],
  ['damaged', 'state_damaged', () => open((db) => db.exec('DROP TABLE uploads'))],
])('a store that is %s in the middle ends the run, and the next one', async (_what, code, work) => {
  inTheMiddle(work);
  const ended = await upload();
  expect([ended.code, ended.error.code]).toEqual([14, code]);
  expect(service.assets.size).toBeLessThan(count);
  const next = await upload();
  expect([next.code, next.error.code, service.requests]).toEqual(numbered(code));
});

it('a store whose write-ahead log is removed in the middle ends the run', async () => {
  inTheMiddle(() => rmSync(`${store()}-wal`));
  const ended = await upload();
  expect([ended.code, ended.error.code]).toEqual([14, 'state_missing']);
  expect(service.assets.size).toBeLessThan(count);
});

/** Locks the store from another process until that process's stdin ends. */
const held = async () => {
  const hold = `const Database = require('libsql');
    const database = new Database(process.argv[1]);
    database.exec('BEGIN IMMEDIATE');
    console.log('held');
    process.stdin.on('end', () => database.exec('ROLLBACK')).resume();`;
  const child = spawn(process.execPath, ['-e', hold, store()], {
    env: { NODE_PATH: fileURLToPath(new URL('../../node_modules', import.meta.url)) },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  await once(child.stdout, 'data');
  return child;
};

describe('a store that another program holds', () => {
  beforeEach(async () => {
    expect((await upload()).code).toBe(0);
    writeFileSync(join(folder, 'one more.bin'), 'more');
  });

  it('is waited for, and that is said', async () => {
    const child = await held();
    const ran = await upload([], {
      onStderr: (text) => void (text.includes('; waiting') && child.stdin.end()),
    });
    expect([ran.code, service.completeAssets.length]).toEqual([0, count + 1]);
    expect(ran.stderr.match(/another program has locked .*receipts\.db; waiting/g)).toHaveLength(1);
  });

  it('for a minute ends the run; --force goes on without it', async () => {
    await held();
    const refused = await upload([], { clock: fastClock() });
    expect(service.requests).toBe(0);
    expect(errorOf(refused)).toEqual(errorInTable('state_locked'));
    const again = await upload(['--force'], { clock: fastClock() });
    expect([again.code, service.completeAssets.length]).toEqual([0, 2 * count + 1]);
  });
});
