// Queue throughput with Debian's redis-server and PostgreSQL over a 100 ms connection: files per second of one,
// two and three workers, compared with a plain upload of one file at a time; and the queue's cost per file.
// `node bench/fleet.mjs [rounds] [redis|postgres]`
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Blake3Hasher } from '@napi-rs/blake-hash';
import { createPostgresBackend, Queue } from 'bullmq';
import { inTurn, mediactl, median, say, sayMachine, serve, timed } from './harness.mjs';

const [rounds = 3, kind = 'redis'] = process.argv.slice(2);
const latencyMs = 100;
const sizeBytes = 60_000;
const [many, few] = [150, 10];

const folder = mkdtempSync(join(tmpdir(), 'mediactl-bench-'));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function prepare(count) {
  const directory = join(folder, `files-${count}`);
  mkdirSync(directory);
  const block = randomFillSync(Buffer.alloc(sizeBytes));
  const digests = {};
  for (let n = 0; n < count; n++) {
    block.writeUInt32LE(n);
    const name = `file-${count}-${n}.bin`;
    writeFileSync(join(directory, name), block);
    const hasher = new Blake3Hasher();
    hasher.update(block);
    digests[name] = hasher.digest('hex');
  }
  return { directory, count, digests };
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Starts a separate store and returns a function that stops it. */
async function startStore() {
  const port = await freePort();
  if (kind === 'redis') {
    const args = ['--port', port, '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
    const server = spawn('redis-server', [...args, '--appendonly', 'yes'].map(String), {
      stdio: 'ignore',
    });
    while (spawnSync('redis-cli', ['-p', String(port), 'ping']).status !== 0) await sleep(50);
    return { address: `redis://127.0.0.1:${port}`, end: () => server.kill() };
  }
  const bin = execFileSync('sh', ['-c', 'ls -d /usr/lib/postgresql/*/bin | tail -1']).toString().trim();
  const data = mkdtempSync(join(tmpdir(), 'mediactl-bench-postgres-'));
  const as = process.getuid() === 0 ? { uid: 65534, gid: 65534 } : {}; // initdb refuses root
  if (as.uid) chownSync(data, as.uid, as.gid);
  const how = { ...as, cwd: data, stdio: 'ignore' };
  execFileSync(`${bin}/initdb`, ['-D', `${data}/d`, '-U', 'bench', '-A', 'trust'], how);
  const args = ['-D', `${data}/d`, '-p', String(port), '-h', '127.0.0.1', '-k', data];
  const server = spawn(`${bin}/postgres`, args, how);
  while (spawnSync(`${bin}/pg_isready`, ['-h', '127.0.0.1', '-p', String(port)]).status !== 0) await sleep(50);
  return {
    address: `postgres://bench@127.0.0.1:${port}/postgres`,
    end: () => {
      server.kill('SIGQUIT');
      rmSync(data, { recursive: true, force: true });
    },
  };
}

const store = await startStore();
const all = [prepare(many), prepare(few)];
const told = join(folder, 'digests.json');
writeFileSync(told, JSON.stringify(Object.assign({}, ...all.map(({ digests }) => digests))));
const sink = await serve('sink.mjs', told);
const line = await serve('slow-line.mjs', sink.port, latencyMs);

let homes = 0;
const environment = (more = {}) => {
  const home = join(folder, `home-${homes++}`);
  const env = {
    ...process.env,
    MEDIACTL_CONFIG_DIR: join(home, 'config'),
    MEDIACTL_STATE_DIR: join(home, 'state'),
    MEDIACTL_API_KEY: 'bench-key',
    MEDIACTL_BASE_URL: line.url,
    MEDIACTL_WORKSPACE: '00000000-0000-4000-8000-00000000000a',
    ...more,
  };
  delete env.NODE_EXTRA_CA_CERTS; // it adds 37 ms to the start-up
  return env;
};

const cpuOf = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(user) + Number(system)) / 100;
};

/** Queues all files, then measures a number of workers, each with one file at a time. */
async function byWorkers(workers, { directory, count }) {
  const name = `q${homes}`;
  const env = environment({ MEDIACTL_QUEUE: `${store.address}#${name}` });
  await timed(process.execPath, [mediactl, 'upload', '--flatten', directory, '--queue', '--quiet'], {
    env,
  });
  const queue =
    kind === 'redis'
      ? new Queue(name, { connection: { url: store.address } })
      : new Queue(name, { connection: store.address }, createPostgresBackend);
  const children = Array.from({ length: workers }, () =>
    spawn(process.execPath, [mediactl, 'worker', '--root', directory, '--transfers', '1', '--jsonl'], {
      env: environment({ MEDIACTL_QUEUE: env.MEDIACTL_QUEUE }),
      stdio: 'ignore',
    }),
  );
  while ((await queue.getCompletedCount()) < count) await sleep(50);
  const jobs = await queue.getCompleted(0, -1);
  const begun = jobs.map(({ processedOn }) => processedOn).sort((a, b) => a - b);
  const seconds = (Math.max(...jobs.map(({ finishedOn }) => finishedOn)) - begun[0]) / 1000;
  const cpuSeconds = children.reduce((sum, { pid }) => sum + cpuOf(pid), 0);
  const ended = children.map((child) => new Promise((resolve) => child.once('exit', resolve)));
  for (const child of children) child.kill('SIGTERM');
  await Promise.all(ended);
  await queue.close();
  return { seconds, cpuSeconds };
}

const plain = ({ directory }) =>
  timed(process.execPath, [mediactl, 'upload', '--flatten', directory, '--transfers', '1', '--quiet'], {
    env: environment(),
  });

try {
  const [large, small] = all;
  const results = await inTurn(Number(rounds), {
    'plain upload, one at a time': () => plain(large),
    'the same, few files': () => plain(small),
    'one worker': () => byWorkers(1, large),
    'one worker, few files': () => byWorkers(1, small),
    'two workers': () => byWorkers(2, large),
    'three workers': () => byWorkers(3, large),
  });
  const of = (name, field) => median(results.get(name).map((each) => each[field]));
  sayMachine();
  say(`${many} files of 60 kB, ${latencyMs} ms a round trip, on ${kind}; ${rounds} rounds in turn, medians`);
  const rate = (name) => many / of(name, 'seconds');
  for (const name of ['plain upload, one at a time', 'one worker', 'two workers', 'three workers'])
    say(
      `${name.padEnd(30)} ${rate(name).toFixed(2)} files/s, ${(rate(name) / rate('one worker')).toFixed(2)} of one worker`,
    );
  const perFile = (name, fewer) => ((of(name, 'cpuSeconds') - of(fewer, 'cpuSeconds')) / (many - few)) * 1000;
  const [queued, alone] = [
    perFile('one worker', 'one worker, few files'),
    perFile('plain upload, one at a time', 'the same, few files'),
  ];
  say(
    `CPU a file: ${queued.toFixed(1)} ms by a worker, ${alone.toFixed(1)} ms without a queue; the queue costs ${(queued - alone).toFixed(1)} ms`,
  );
} finally {
  line.end();
  sink.end();
  store.end();
  rmSync(folder, { recursive: true, force: true });
}
