import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { isLinux } from '../../src/shared/platform.ts';
import { Cli } from '../support/cli.ts';
import { FakeService } from '../support/fake-service.ts';
import { mediactlCommand, startProcess } from '../support/spawn.ts';

/* Large directories that are renamed between two runs of `sync`. */

async function start() {
  const service = await FakeService.start({ shows: ['size', 'parent'] });
  const cli = new Cli(service.environment);
  const directory = join(cli.home, 'rushes');
  const write = (path: string, content: string | Buffer) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  };
  const move = (from: string, to: string) => {
    mkdirSync(dirname(join(directory, to)), { recursive: true });
    renameSync(join(directory, from), join(directory, to));
  };
  const environment = {
    ...service.environment,
    MEDIACTL_STATE_DIR: join(cli.home, 'state'),
    MEDIACTL_CONFIG_DIR: join(cli.home, 'config'),
  };
  const [program = '', ...args] = [
    ...mediactlCommand,
    'sync',
    directory,
    '/F',
    '--progress',
    'none',
    '--transfers',
    '32',
  ];
  const sync = async () => {
    const requests: string[] = [];
    const before = service.fault;
    service.fault = (seen) => {
      requests.push(`${seen.method} ${seen.path}`);
      return before(seen);
    };
    const process = startProcess(program, args, environment);
    const { code, stderr } = await process.finished;
    service.fault = before;
    expect(code, stderr).toBe(0);
    return { requests, stderr };
  };
  return { service, cli, directory, write, move, sync, startSync: () => startProcess(program, args, environment) };
}

type Move = (from: string, to: string) => void;

const [directories, filesEach] = [40, 25];
const dirs = Array.from({ length: directories }, (_, n) => `day ${n}`);
const files = Array.from({ length: filesEach }, (_, n) => `clip ${n}.mov`);

/** Rotates names: each gets the next one, the last one the first. */
function rotate(names: readonly string[], pathOf: (name: string) => string, move: Move): void {
  for (const name of names) move(pathOf(name), `${pathOf(name)}.moved`);
  for (const [at, name] of names.entries())
    move(`${pathOf(name)}.moved`, pathOf(names[(at + 1) % names.length] as string));
}

/** @property perDirectory number of requests that each directory may take; undefined if its files are moved one by one */
const ways: { way: string; rename(move: Move): void; perDirectory?: number }[] = [
  {
    way: 'whose directories are renamed',
    rename: (move) => {
      for (const dir of dirs) move(dir, dir.replace('day', 'Tag'));
    },
    perDirectory: 3,
  },
  {
    way: 'whose directories are moved into a new one',
    rename: (move) => {
      for (const dir of dirs) move(dir, `archive/${dir}`);
    },
    perDirectory: 3,
  },
  {
    way: 'whose files are renamed',
    rename: (move) => {
      for (const dir of dirs) for (const file of files) move(`${dir}/${file}`, `${dir}/take of ${file}`);
    },
  },
  {
    way: 'whose files swap their names',
    rename: (move) => {
      for (const dir of dirs) rotate(files, (file) => `${dir}/${file}`, move);
    },
  },
  {
    way: 'whose files move to the next directory',
    rename: (move) => {
      for (const file of files) rotate(dirs, (dir) => `${dir}/${file}`, move);
    },
  },
];

it.each(ways)(
  'sync of 1,000 files $way sends no byte and keeps all uids',
  { timeout: 240_000 },
  async ({ rename, perDirectory }) => {
    const { service, write, move, sync } = await start();
    for (const dir of dirs) for (const file of files) write(`${dir}/${file}`, `content of ${dir}/${file}`);
    const { requests: unchanged } = { ...(await sync()), ...(await sync()) };
    const uidsByContent = () => Object.fromEntries(service.completeAssets.map(({ uid, blake3 }) => [blake3, uid]));
    const before = uidsByContent();
    rename(move);
    const { requests } = await sync();
    expect(requests.filter((each) => each.includes('/upload/'))).toEqual([]);
    expect(uidsByContent()).toEqual(before);
    // Besides the requests of any change: the workspaces, and a new folder above with the folders that show it.
    if (perDirectory !== undefined)
      expect(requests.length - unchanged.length).toBeLessThanOrEqual(perDirectory * directories + 4);
    const again = await sync();
    expect(again.requests.filter((each) => !each.startsWith('GET '))).toEqual([]);
  },
);

it('sync of 40 renamed directories leaves a stranger’s asset in each of their folders', {
  timeout: 240_000,
}, async () => {
  const { service, cli, write, move, sync } = await start();
  for (const dir of dirs) for (const file of files) write(`${dir}/${file}`, `content of ${dir}/${file}`);
  await sync();
  const other = new Cli(service.environment);
  for (const dir of dirs) {
    writeFileSync(join(other.home, `theirs ${dir}.mov`), `theirs in ${dir}`);
    await other.json(['upload', join(other.home, `theirs ${dir}.mov`), `/F/${dir}`]);
  }
  expect(cli.home).not.toBe(other.home);
  for (const dir of dirs) move(dir, dir.replace('day', 'Tag'));
  const { requests } = await sync();
  expect(requests.filter((each) => each.includes('/upload/'))).toEqual([]);
  const expected = dirs.flatMap((dir) => [
    `/F/${dir}/theirs ${dir}.mov`,
    ...files.map((file) => `/F/${dir.replace('day', 'Tag')}/${file}`),
  ]);
  expect(service.paths).toEqual(expected.sort());
});

it.runIf(isLinux)(
  'sync of 5,000 new files that have the size of 500 missing ones reads only those of the same name before the first byte',
  { timeout: 600_000 },
  async () => {
    const [sizeBytes, newFiles, missing, sameNamed] = [20_000, 5000, 500, 10];
    /** Returns the number of bytes that a sync has read when it sends the first byte. */
    const bytesReadFirst = async (hasMissing: boolean) => {
      const { service, directory, write, sync, startSync } = await start();
      if (hasMissing) {
        for (let n = 0; n < missing; n++) write(`old/${n}.dpx`, Buffer.alloc(sizeBytes, `old ${n}`));
        await sync();
        rmSync(join(directory, 'old'), { recursive: true });
      }
      for (let n = 0; n < newFiles; n++) {
        const name = n < sameNamed ? n : `x${n}`;
        write(`new/${name}.dpx`, Buffer.alloc(sizeBytes, `new ${n}`));
      }
      let bytes: number | undefined;
      const run = startSync();
      service.fault = ({ method, path }) => {
        if (bytes === undefined && `${method} ${path}` === 'POST /upload/') {
          bytes = Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${run.child.pid}/io`, 'utf8'))?.[1]);
          run.child.kill('SIGKILL');
        }
        return undefined;
      };
      await run.finished;
      return bytes ?? Number.NaN;
    };
    const more = (await bytesReadFirst(true)) - (await bytesReadFirst(false));
    // The database of receipts is read too: a page for each few of them.
    expect(more).toBeLessThan(sameNamed * sizeBytes + missing * 4096);
    expect(missing * 4096 + sameNamed * sizeBytes).toBeLessThan((newFiles * sizeBytes) / 10);
  },
);
