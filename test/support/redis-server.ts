import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hangMs } from './hang.ts';

export type RedisServer = {
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

/** Environment without faketime's LD_PRELOAD: redis-server and redis-cli hang with it. */
const env = { PATH: process.env.PATH };

/** Runs redis-cli against the server at an address. */
export const redisCli = ({ address }: Pick<RedisServer, 'address'>, ...words: string[]): string =>
  execFileSync('redis-cli', ['-p', new URL(address).port, ...words], { env }).toString();

const waitForExit = (child: ChildProcess) =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise<void>((resolve) => child.once('exit', () => resolve()));

/** Polls the server on a port until it answers. */
async function untilReady(port: number): Promise<void> {
  const isReady = () => spawnSync('redis-cli', ['-p', String(port), 'dbsize'], { env }).status === 0;
  for (const deadline = Date.now() + hangMs; !isReady(); ) {
    if (Date.now() > deadline) throw new Error(`redis-server on port ${port} does not answer`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * Starts a real Redis on a free port, in its own folder.
 *
 * @param options command-line arguments, such as `['--maxmemory-policy', 'allkeys-lru']`
 */
export async function startRedis(options: readonly string[] = []): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'mediactl-redis-'));
  const port = await freePort();
  const address = `redis://127.0.0.1:${port}`;
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
    await untilReady(port);
  };
  const kill = async () => {
    child.kill('SIGKILL');
    await waitForExit(child);
  };
  await start();
  return {
    address,
    start,
    kill,
    dump: () => {
      redisCli({ address }, 'save');
      return readFileSync(join(folder, 'dump.rdb'), 'latin1');
    },
    end: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
