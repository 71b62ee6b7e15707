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
import type { SqlDatabase } from '../../src/shared/sqlite.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { errorInTable, errorOf } from '../support/errors.ts';
import { FakeService } from '../support/fake-service.ts';
import { writeManyFiles } from '../support/many-files.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { openDatabase } from '../support/sqlite.ts';

/* A receipt store that cannot be written ends the run, and the next run sends nothing twice. */

const fileCount = 60;
let service: FakeService;
let cli: Cli;
let directory: string;
let state: string;
let digests: Map<string, string>;
beforeEach(async () => {
  service = await FakeService.start();
  cli = new Cli(service.environment);
  directory = join(cli.home, 'shots');
  state = join(cli.home, 'state');
  digests = writeManyFiles(directory, { count: fileCount });
});

async function upload(args: string[] = [], options: CliOptions = {}) {
  service.requestCount = 0;
  const ran = await cli.run(['upload', '--flatten', directory, '--json', ...args], {
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
function expectEachFileOnce(): void {
  const completeAssets = service.completeAssets.map(({ name, blake3 }) => [name, blake3]);
  expect(completeAssets.sort()).toEqual([...digests].sort());
}

const storePath = () => join(state, 'receipts.db');
/** Opens the receipt store as another program would. */
const openStore = (work: (database: SqlDatabase) => void) => {
  const database = openDatabase(storePath());
  work(database);
  database.close();
};

/** SQL that makes the present database one of version 7, the last one before evidence and workspaces of downloads. */
const toVersion7 = `ALTER TABLE uploads DROP COLUMN evidence; ALTER TABLE uploads DROP COLUMN evidence_at;
  ALTER TABLE downloads DROP COLUMN workspace; PRAGMA user_version = 7;`;

it('a state folder of an earlier build is upgraded, and its receipts count', async () => {
  await upload();
  openStore((database) => database.exec(toVersion7));
  const again = await upload();
  expect([again.code, service.requestCount]).toEqual([0, 0]);
  expect(new Set(again.records.map(({ outcome }: { outcome: string }) => outcome))).toEqual(new Set(['skipped']));
  expectEachFileOnce();
});

/** The exit code, the error code and the number of requests of a run that sends nothing. */
const exit14WithoutRequest = (code: string) => [14, code, 0] as const;

describe('a full or read-only state disk', { tags: 'root-mount' }, () => {
  let disk: SmallDisk;
  beforeEach(() => {
    disk = new SmallDisk();
    state = join(disk.path, 'state');
  });

  it.each([
    ['8 transfers at once', '8'],
    ['one transfer at a time', '1'],
  ])(
    'upload with %s exits with 14 when the state disk is full, and the next run uploads the rest',
    async (_how, transfers) => {
      let creations = 0;
      service.fault = ({ method, path }) => {
        if (method === 'POST' && path.startsWith('/upload/') && ++creations === 20) disk.fill();
        return undefined;
      };
      const fullRun = await upload(['--transfers', transfers]);
      expect([fullRun.code, fullRun.error.code]).toEqual([14, 'state_unusable']);
      expect(fullRun.error.message).toMatch(/^not enough disk space .* \d+ of 60 files are uploaded$/);
      expect(fullRun.error.cause).toContain(state);
      expect(fullRun.error.hint).toMatch(/run the same command again; \d+ files remaining$/);
      expect(service.assets.size).toBeLessThan(20 + Number(transfers));
      disk.free();
      const nextRun = await upload();
      expect(nextRun.code).toBe(0);
      expectEachFileOnce();
      const emptyAssets = [...service.assets.values()].filter(({ completedAt }) => completedAt === undefined);
      expect(emptyAssets.length).toBeLessThanOrEqual(Number(transfers));
      for (const { uid } of emptyAssets) expect(nextRun.stderr).toContain(`asset ${uid} may be empty`);
    },
  );

  it('upload exits with 14 if the state disk is full after the last byte, and the next run sends nothing again', async () => {
    service.fault = ({ method }) => {
      if (method === 'PATCH') disk.fill();
      return undefined;
    };
    const args = ['upload', join(directory, 'shot 00000.bin')];
    const options = { environment: { MEDIACTL_STATE_DIR: state } };
    expect((await cli.run(args, options)).code).toBe(14);
    service.fault = () => undefined;
    disk.free();
    const [record] = await cli.json(args, options);
    expect(record).toMatchObject({ outcome: 'uploaded', asset_uid: [...service.assets.keys()][0], bytes_sent: 0 });
    expect(service.assets.size).toBe(1);
  });

  it('upload sends nothing while the state disk is full; with --force it warns and sends everything', async () => {
    await upload();
    disk.fill();
    const refused = await upload();
    expect([refused.code, refused.error.code, service.requestCount]).toEqual(exit14WithoutRequest('state_unusable'));
    expect(errorOf(refused)).toEqual(errorInTable('state_full'));
    const forced = await upload(['--force']);
    expect([forced.code, service.completeAssets.length]).toEqual([0, 2 * fileCount]);
    expect(forced.stderr).toContain('another run may upload it again');
  });

  it('upload sends nothing if the state disk is too full to create the receipt database', async () => {
    mkdirSync(state);
    disk.fill();
    const refused = await upload();
    expect([refused.code, refused.error.code, service.requestCount]).toEqual(exit14WithoutRequest('state_unusable'));
    disk.free();
    expect((await upload()).code).toBe(0);
    expectEachFileOnce();
  });

  it('upload exits with 14 if the state disk is read-only, but other commands and --force work', async () => {
    await upload();
    state = join(disk.mountReadOnly(), 'state');
    const refused = await upload();
    expect([refused.code, refused.error.code, service.requestCount]).toEqual(exit14WithoutRequest('state_unusable'));
    expect(errorOf(refused)).toEqual({
      code: 'state_unusable',
      exit: 14,
      hint: expect.stringMatching(/^make the state folder writable; upload --force goes on without it/),
    });
    const uid = service.completeAssets[0]?.uid ?? '';
    const environment = { MEDIACTL_STATE_DIR: state };
    expect((await cli.run(['assets', 'get', uid], { environment })).code).toBe(0);
    const rmRun = await cli.run(['assets', 'rm', uid, '--yes'], { environment });
    expect([rmRun.code, rmRun.stderr]).toEqual([0, expect.stringContaining(storePath())]);
    const forced = await upload(['--force']);
    expect([forced.code, forced.stderr]).toEqual([0, expect.stringContaining('another run may upload it again')]);
  });
});

describe('a damaged receipt database', () => {
  const uploadAllAndRemoveWriteAheadLog = async () => {
    expect((await upload()).code).toBe(0);
    // No write-ahead log, like after a checkpoint by another process.
    for (const each of ['-wal', '-shm']) rmSync(`${storePath()}${each}`, { force: true });
  };

  const overwriteBytes = (path: string, offset: number, bytes: Buffer) => {
    const content = readFileSync(path);
    bytes.copy(content, offset);
    writeFileSync(path, content);
  };
  const damages: [string, 'missing' | 'damaged', () => void][] = [
    ['is empty', 'missing', () => truncateSync(storePath(), 0)],
    ['is missing', 'missing', () => rmSync(storePath())],
    ['is a text file', 'damaged', () => writeFileSync(storePath(), 'words '.repeat(2000))],
    ['is truncated', 'damaged', () => truncateSync(storePath(), statSync(storePath()).size / 2)],
    ['has zeroed pages', 'damaged', () => overwriteBytes(storePath(), 4096, Buffer.alloc(8192))],
    ['lacks a table', 'damaged', () => openStore((db) => db.exec('DROP TABLE folders'))],
    [
      'lacks a column',
      'damaged',
      () => openStore((db) => db.exec('ALTER TABLE uploads RENAME COLUMN blake3 TO other')),
    ],
    [
      'was replaced',
      'missing',
      () => {
        rmSync(storePath());
        openStore((db) => db.exec('CREATE TABLE x (a)'));
      },
    ],
  ];

  it.each(damages)(
    'upload and doctor reject a receipt database that %s as %s, and upload --force creates a new one',
    async (damageName, kind, damage) => {
      await uploadAllAndRemoveWriteAheadLog();
      damage();
      const refused = await upload();
      expect([errorOf(refused), service.requestCount]).toEqual([errorInTable(`state_${kind}`), 0]);
      expect(refused.error.message).toMatch(new RegExp(`^the upload history is ${kind}`));
      expect(refused.error.cause).toContain(storePath());
      const doctor = await cli.run(['doctor', '--json']);
      const findings: { check: string; error: { code: string } | null }[] = JSON.parse(doctor.stdout);
      expect(findings.find(({ check }) => check === 'receipts')?.error?.code).toBe('state_unusable');
      const failedChecks = findings.filter(({ error }) => error?.code === 'state_unusable');
      expect(failedChecks.map(({ check }) => check)).toEqual(['receipts']);
      const forced = await upload(['--force']);
      expect([forced.code, service.completeAssets.length]).toEqual([0, 2 * fileCount]);
      const isOldDatabaseKept = existsSync(`${storePath()}.unusable-1`);
      expect([isOldDatabaseKept, forced.stderr.includes('receipts.db.unusable-1')]).toEqual(
        damageName === 'is missing' ? [false, false] : [true, true],
      );
      expect((await upload()).records.map(({ outcome }: never) => outcome)).toEqual(Array(fileCount).fill('skipped'));
    },
  );

  it('upload -n --force shows the files of a damaged receipt database as the run would, and keeps it', async () => {
    await uploadAllAndRemoveWriteAheadLog();
    writeFileSync(storePath(), 'words '.repeat(2000));
    expect((await upload(['-n'])).code).toBe(14);
    const { code, records } = await upload(['-n', '--force']);
    expect([code, records.map(({ outcome }: never) => outcome)]).toEqual([0, Array(fileCount).fill('new')]);
    expect([readFileSync(storePath(), 'utf8').slice(0, 5), existsSync(`${storePath()}.unusable-1`)]).toEqual([
      'words',
      false,
    ]);
  });

  it('upload --force skips files as usual if the receipt database is in order', async () => {
    await upload();
    const { code, records } = await upload(['--force']);
    expect([code, records.map(({ outcome }: never) => outcome)]).toEqual([0, Array(fileCount).fill('skipped')]);
    expect(service.completeAssets).toHaveLength(fileCount);
  });

  it('upload --force with a damaged receipt database skips the files that the folder has', async () => {
    service = await FakeService.start({ shows: ['parent', 'size', 'checksum_blake3'] });
    const environment = { ...service.environment, MEDIACTL_STATE_DIR: state };
    const damage = () => {
      for (const end of ['-wal', '-shm']) rmSync(`${storePath()}${end}`, { force: true });
      writeFileSync(storePath(), 'words '.repeat(2000));
    };
    expect((await cli.run(['upload', directory], { environment })).code).toBe(0);
    for (const args of [
      ['upload', directory, '--force'],
      ['sync', directory, '/', '--force'],
    ]) {
      damage();
      expect((await cli.run(args.slice(0, -1), { environment })).code).toBe(14);
      const items: { outcome: string }[] = await cli.json(args, { environment });
      expect(items.map(({ outcome }) => outcome)).toEqual(Array(fileCount).fill('skipped'));
    }
    expect(service.completeAssets).toHaveLength(fileCount);
  });

  it.each([
    ['a pipe', () => execFileSync('mkfifo', [storePath()])],
    ['a directory', () => mkdirSync(storePath())],
    ['a device', () => symlinkSync('/dev/null', storePath())],
  ])('upload, uploads ls and doctor fail without hanging if the receipt database is %s', async (_what, make) => {
    await uploadAllAndRemoveWriteAheadLog();
    rmSync(storePath());
    make();
    const refused = await upload();
    expect([refused.code, refused.error.code, service.requestCount]).toEqual(exit14WithoutRequest('state_unusable'));
    expect((await cli.run(['uploads', 'ls'])).code).toBe(14);
    expect((await cli.run(['uploads', 'ls', '--finished'])).code).toBe(14);
    expect((await cli.run(['doctor'])).stdout).toContain('the upload history cannot be used');
  });

  it('upload exits with 14 and keeps the receipt database if a newer mediactl has written it', async () => {
    await uploadAllAndRemoveWriteAheadLog();
    openStore((db) => db.exec('PRAGMA user_version = 99'));
    const refused = await upload();
    expect(errorOf(refused)).toEqual(errorInTable('state_newer'));
    expect(service.requestCount).toBe(0);
    const forced = await upload(['--force']);
    expect([forced.code, service.completeAssets.length]).toEqual([0, 2 * fileCount]);
    expect(existsSync(`${storePath()}.unusable-1`)).toBe(false);
  });

  it('upload adds an id to the receipt database of an older mediactl, and detects later that it is missing', async () => {
    await uploadAllAndRemoveWriteAheadLog();
    rmSync(join(state, 'receipts.id'));
    openStore((db) => db.exec('PRAGMA application_id = 0'));
    expect((await upload()).records[0].outcome).toBe('skipped');
    expect(statSync(join(state, 'receipts.id')).mode & 0o777).toBe(0o600);
    rmSync(storePath());
    expect((await upload()).error.message).toContain('the upload history is missing');
  });

  it.each(['last-upload', 'receipts.db-reserve', 'runs.lock'])(
    'upload does not write to the target of a symbolic link in place of %s',
    async (name) => {
      await uploadAllAndRemoveWriteAheadLog();
      const [link, target] = [join(state, name), join(cli.home, 'target')];
      rmSync(link, { force: true });
      symlinkSync(target, link);
      await upload(['--existing', 'upload']);
      expect(existsSync(target)).toBe(false);
      writeFileSync(target, 'precious');
      rmSync(link);
      symlinkSync(target, link);
      await upload(['--existing', 'upload']);
      expect(readFileSync(target, 'utf8')).toBe('precious');
    },
  );

  it('upload uses a receipt database that is a symbolic link to another file', async () => {
    await uploadAllAndRemoveWriteAheadLog();
    const elsewhere = join(cli.home, 'elsewhere.db');
    renameSync(storePath(), elsewhere);
    symlinkSync(elsewhere, storePath());
    writeFileSync(join(directory, 'one more.bin'), 'more');
    const { code, records } = await upload();
    const outcomes = records.map(({ outcome }: { outcome: string }) => outcome).sort();
    expect([code, outcomes]).toEqual([0, [...Array(fileCount).fill('skipped'), 'uploaded']]);
  });

  it('upload exits with 14 and creates no asset if it cannot write its lock file', async () => {
    await uploadAllAndRemoveWriteAheadLog();
    rmSync(join(state, 'runs'), { recursive: true });
    writeFileSync(join(state, 'runs'), '');
    writeFileSync(join(directory, 'one more.bin'), 'more');
    const creationsBefore = service.counts['POST /upload/'];
    const refused = await upload();
    expect([refused.code, refused.error.code]).toEqual([14, 'state_unusable']);
    expect(service.counts['POST /upload/']).toBe(creationsBefore);
  });

  it('upload skips uploaded files after the state directory is moved', async () => {
    await uploadAllAndRemoveWriteAheadLog();
    renameSync(state, `${state} of before`);
    state = `${state} of before`;
    expect((await upload()).records[0].outcome).toBe('skipped');
  });
});

/** Runs `work` at the 20th creation. */
const atThe20thCreation = (work: () => void) => {
  let creations = 0;
  service.fault = ({ method, path }) => {
    if (method === 'POST' && path.startsWith('/upload/') && ++creations === 20) work();
    return undefined;
  };
};

it.each([
  [
    'removed',
    'missing',
    () => {
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${storePath()}${suffix}`, { force: true });
    },
  ],
  ['damaged', 'damaged', () => openStore((db) => db.exec('DROP TABLE uploads'))],
])(
  'upload exits with 14 if its receipt database is %s during the run, and so does the next run',
  async (_what, kind, damage) => {
    atThe20thCreation(damage);
    const interruptedRun = await upload();
    expect([interruptedRun.code, interruptedRun.error.code]).toEqual([14, 'state_unusable']);
    expect(interruptedRun.error.message).toContain(`the upload history is ${kind}`);
    expect(service.assets.size).toBeLessThan(fileCount);
    const nextRun = await upload();
    expect([nextRun.code, nextRun.error.code, service.requestCount]).toEqual(exit14WithoutRequest('state_unusable'));
    expect(nextRun.error.message).toContain(`the upload history is ${kind}`);
  },
);

it('upload exits with 14 if the write-ahead log of its receipt database is removed during the run', async () => {
  atThe20thCreation(() => rmSync(`${storePath()}-wal`));
  const ended = await upload();
  expect([ended.code, ended.error.code]).toEqual([14, 'state_unusable']);
  expect(ended.error.message).toContain('the upload history is missing');
  expect(service.assets.size).toBeLessThan(fileCount);
});

/** Locks the store from another process until that process's stdin ends. */
const lockStore = async () => {
  const lockScript = `const Database = require('libsql');
    const database = new Database(process.argv[1]);
    database.exec('BEGIN IMMEDIATE');
    console.log('held');
    process.stdin.on('end', () => database.exec('ROLLBACK')).resume();`;
  const child = spawn(process.execPath, ['-e', lockScript, storePath()], {
    env: { NODE_PATH: fileURLToPath(new URL('../../node_modules', import.meta.url)) },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  await once(child.stdout, 'data');
  return child;
};

describe('a locked receipt database', () => {
  const uploadAllAndAddOneFile = async () => {
    expect((await upload()).code).toBe(0);
    writeFileSync(join(directory, 'one more.bin'), 'more');
  };

  it('upload waits with one warning while another program locks the receipt database', async () => {
    await uploadAllAndAddOneFile();
    const lockingProcess = await lockStore();
    const waitingRun = await upload([], {
      onStderr: (text) => void (text.includes('; waiting') && lockingProcess.stdin.end()),
    });
    expect([waitingRun.code, service.completeAssets.length]).toEqual([0, fileCount + 1]);
    expect(waitingRun.stderr.match(/another program has locked .*receipts\.db; waiting/g)).toHaveLength(1);
  });

  it('upload exits with state_unusable if the receipt database stays locked; --force uploads without it', async () => {
    await uploadAllAndAddOneFile();
    await lockStore();
    const refused = await upload([], { clock: acceleratedClock() });
    expect(service.requestCount).toBe(0);
    expect(errorOf(refused)).toEqual(errorInTable('state_locked'));
    const forced = await upload(['--force'], { clock: acceleratedClock() });
    expect([forced.code, service.completeAssets.length]).toEqual([0, 2 * fileCount + 1]);
  });
});
