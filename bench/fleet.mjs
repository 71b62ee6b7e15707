// Queue throughput with Debian's redis-server over a 100 ms connection: files per second of one, two and three
// workers, compared with a plain upload of one file at a time; and the queue's cost per file.
// `node bench/fleet.mjs [rounds]`
import { spawn } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Blake3Hasher } from '@napi-rs/blake-hash';
import { Queue } from 'bullmq';
import { inTurn, mediactl, median, say, sayMachine, serve, timed } from './harness.mjs';
import { cpuOf, startStore } from './queue-store.mjs';

const [rounds = 3] = process.argv.slice(2);
const latencyMs = 100;
const sizeBytes = 60_000;
const [many, few] = [150, 10];

const folder = mkdtempSync(join(tmpdir(), 'mediactl-bench-'));

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

const store = await startStore(folder);
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

/** Queues all files, then measures a number of workers, each with one file at a time. */
async function byWorkers(workers, { directory, count }) {
  const name = `q${homes}`;
  const env = environment({ MEDIACTL_QUEUE: `${store.address}#${name}` });
  await timed(process.execPath, [mediactl, 'upload', '--flatten', directory, '--queue', '--quiet'], {
    env,
  });
  const queue = new Queue(name, { connection: { url: store.address } });
  const children = Array.from({ length: workers }, () =>
    spawn(process.execPath, [mediactl, 'queue', 'work', '--root', directory, '--transfers', '1', '--jsonl'], {
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
  say(`${many} files of 60 kB, ${latencyMs} ms a round trip; ${rounds} rounds in turn, medians`);
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
