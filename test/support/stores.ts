import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hangMs } from './hang.ts';
import { programPaths, type Requirement } from './requirements.ts';

/* Real Redis and PostgreSQL servers for queues, each on a free port and in its own folder. */

const { pgbouncer, postgresql: postgresBin } = programPaths;

export type StoreServer = {
  kind: 'redis' | 'postgres';
  /** Value for `--queue`. */
  address: string;
  /** Kills the server at once, without a clean shutdown. */
  kill(): Promise<void>;
  /** Starts the server again, on the same port with the same data. */
  start(): Promise<void>;
  /** Dumps all data as text. */
  dump(): string;
  end(): Promise<void>;
};

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

/** Environment of stores and their tools, without faketime's LD_PRELOAD: redis-server and redis-cli hang with it. */
export const storeEnvironment = { PATH: process.env.PATH };
const env = storeEnvironment;

const waitForExit = (child: ChildProcess) =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise<void>((resolve) => child.once('exit', () => resolve()));

/** Polls with a command until it exits with 0. */
async function untilReady(command: string, args: readonly string[]): Promise<void> {
  for (const deadline = Date.now() + hangMs; spawnSync(command, args, { env }).status !== 0; ) {
    if (Date.now() > deadline) throw new Error(`${command} ${args.join(' ')} does not answer`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** @param options command-line arguments, such as `['--maxmemory-policy', 'allkeys-lru']` */
export async function startRedis(options: readonly string[] = []): Promise<StoreServer> {
  const folder = mkdtempSync(join(tmpdir(), 'mediactl-redis-'));
  const port = await freePort();
  const redisCli = (...words: string[]) => execFileSync('redis-cli', ['-p', String(port), ...words], { env });
  let child: ChildProcess;
  const start = async () => {
    child = spawn(
      'redis-server',
      [
        ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
        ...['--appendonly', 'yes', '--appendfsync', 'always'], // the test kills it, and no write may be lost
        ...['--rdbcompression', 'no', '--loglevel', 'warning', ...options],
      ],
      { env, stdio: 'ignore' },
    );
    await untilReady('redis-cli', ['-p', String(port), 'dbsize']);
  };
  const kill = async () => {
    child.kill('SIGKILL');
    await waitForExit(child);
  };
  await start();
  return {
    kind: 'redis',
    address: `redis://127.0.0.1:${port}`,
    start,
    kill,
    dump: () => {
      redisCli('save');
      return readFileSync(join(folder, 'dump.rdb'), 'latin1');
    },
    end: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startPostgres(): Promise<StoreServer> {
  const folder = mkdtempSync(join(tmpdir(), 'mediactl-postgres-'));
  const data = join(folder, 'data');
  const port = await freePort();
  // initdb refuses root.
  const isRoot = process.getuid?.() === 0;
  const as = isRoot ? { uid: 65534, gid: 65534 } : {};
  mkdirSync(data);
  if (isRoot) for (const path of [folder, data]) chownSync(path, 65534, 65534);
  // The C locale exists everywhere; the locale in LANG may not be installed.
  const options = ['-U', 'tester', '-A', 'trust', '-N', '--locale=C', '--encoding=UTF8'];
  execFileSync(join(postgresBin, 'initdb'), ['-D', data, ...options], {
    ...as,
    env,
    cwd: folder,
    stdio: 'ignore',
  });
  let child: ChildProcess;
  const start = async () => {
    child = spawn(join(postgresBin, 'postgres'), ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', folder], {
      ...as,
      env,
      cwd: folder,
      stdio: 'ignore',
    });
    await untilReady(join(postgresBin, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)]);
  };
  const kill = async () => {
    child.kill('SIGQUIT'); // immediate shutdown, which also ends its children
    await waitForExit(child);
  };
  await start();
  return {
    kind: 'postgres',
    address: `postgres://tester@127.0.0.1:${port}/postgres`,
    start,
    kill,
    dump: () =>
      execFileSync(join(postgresBin, 'pg_dumpall'), ['-h', '127.0.0.1', '-p', String(port), '-U', 'tester'], {
        env,
        maxBuffer: 1024 ** 3,
      }).toString('latin1'),
    end: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Starts the PgBouncer connection pooler before a PostgreSQL server.
 *
 * @param database further settings of the database entry: `connect_query='…'`
 */
export async function startPgbouncer(
  address: string,
  mode: 'session' | 'transaction',
  database = '',
): Promise<{ address: string; end(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'mediactl-pgbouncer-'));
  const [port, url] = [await freePort(), new URL(address)];
  writeFileSync(join(folder, 'users'), `"${url.username}" ""\n`);
  writeFileSync(
    join(folder, 'ini'),
    `[databases]
postgres = host=127.0.0.1 port=${url.port} dbname=postgres ${database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users
pool_mode = ${mode}
`,
  );
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chmodSync(folder, 0o755);
  const as = isRoot ? { uid: 65534, gid: 65534 } : {}; // PgBouncer refuses root
  const child = spawn(pgbouncer, ['-q', join(folder, 'ini')], { ...as, env, stdio: 'ignore' });
  await untilReady(join(postgresBin, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)]);
  url.port = String(port);
  return {
    address: url.href,
    end: async () => {
      child.kill('SIGKILL');
      await waitForExit(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A kind of store, and the requirement of tests that start one. */
export type TestStore = {
  kind: StoreServer['kind'];
  requirement: Requirement;
  start: () => Promise<StoreServer>;
};

export const redis: TestStore = {
  kind: 'redis',
  requirement: 'redis-server',
  start: () => startRedis(),
};
export const postgres: TestStore = {
  kind: 'postgres',
  requirement: 'postgresql',
  start: () => startPostgres(),
};
