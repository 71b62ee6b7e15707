// A queue of many files: the cost of queueing into a full queue as a ratio to an empty one, the memory of the command,
// and the store's CPU share of `queue watch`. Then four machines with a disk each: time to upload all files, as a
// ratio to workers that can read every disk, also with a worker that can read none.
// `node bench/fleet-scale.mjs [files]`
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Blake3Hasher } from '@napi-rs/blake-hash';
import { mediactl, say, sayMachine, serve, timed } from './harness.mjs';
import { cpuOf, startStore } from './queue-store.mjs';

const [full = 100_000] = process.argv.slice(2);
const few = 5_000;
const watchSeconds = 30;

const folder = mkdtempSync(join(tmpdir(), 'mediactl-bench-'));
const store = await startStore(folder);
const told = join(folder, 'digests.json');

const digests = {};

function createFiles(name, count) {
  const directory = join(folder, name);
  for (let n = 0; n < count; n++) {
    if (n % 1_000 === 0) mkdirSync(join(directory, String(n)), { recursive: true });
    const text = `${name} ${n}`;
    writeFileSync(join(directory, String(n - (n % 1_000)), `${name}-${n}.bin`), text);
    const hasher = new Blake3Hasher();
    hasher.update(Buffer.from(text));
    digests[`${name}-${n}.bin`] = hasher.digest('hex');
  }
  return directory;
}

let service = 'http://127.0.0.1:9'; // queueing needs no service
let homes = 0;
const environment = (queue) => ({
  ...process.env,
  MEDIACTL_CONFIG_DIR: join(folder, `home-${homes}`),
  MEDIACTL_STATE_DIR: join(folder, `home-${homes++}`),
  MEDIACTL_API_KEY: 'bench-key',
  MEDIACTL_BASE_URL: service,
  MEDIACTL_WORKSPACE: '00000000-0000-4000-8000-00000000000a',
  MEDIACTL_QUEUE: `${store.address}#${queue}`,
});

async function push(directory, queue, ...args) {
  const cpuBefore = store.cpuSeconds();
  const command = [mediactl, 'upload', '--flatten', directory, '--queue', '-q', ...args];
  const { seconds, peakMiB } = await timed(process.execPath, command, { env: environment(queue) });
  return { seconds, peakMiB, storeCpu: store.cpuSeconds() - cpuBefore };
}

const start = (queue, ...args) =>
  spawn(process.execPath, [mediactl, ...args], { env: environment(queue), stdio: 'ignore' });
const ended = (child) => new Promise((resolve) => child.once('exit', resolve));

async function measureQueueing() {
  const [some, many, others] = [
    createFiles('some', few),
    createFiles('many', Number(full)),
    createFiles('others', few),
  ];
  const empty = await push(some, 'empty');
  const whole = await push(many, 'full');
  const more = await push(others, 'full');
  const again = await push(others, 'full');
  const text = ({ seconds, storeCpu, peakMiB }) =>
    `${seconds.toFixed(2)} s, ${storeCpu.toFixed(2)} s of the store, peak ${peakMiB.toFixed(0)} MiB`;
  say(`${few} files into an empty queue: ${text(empty)}`);
  say(`${full} files: ${text(whole)}`);
  say(`${few} files into these: ${text(more)}`);
  say(
    `ratio: ${(more.seconds / empty.seconds).toFixed(2)} in time, ${(more.storeCpu / empty.storeCpu).toFixed(2)} of the store`,
  );
  say(`the same ${few} again: ${text(again)}`);
  const watch = start('full', 'queue', 'watch', '--progress', 'none');
  await sleep(2_000);
  const [cpuBefore, ownBefore] = [store.cpuSeconds(), cpuOf(watch.pid)];
  await sleep(watchSeconds * 1_000);
  const share = (seconds) => `${((100 * seconds) / watchSeconds).toFixed(2)} %`;
  say(
    `watch: ${share(store.cpuSeconds() - cpuBefore)} of a core in the store, ${share(cpuOf(watch.pid) - ownBefore)} in the command`,
  );
  watch.kill('SIGINT');
  await ended(watch);
}

/** Returns the seconds until all queues are empty. Files are queued root by root, and each worker has some of the roots. */
async function timeWorkers(queue, roots, workers) {
  for (const [name, directory] of roots) await push(directory, queue, '--root', `${name}=${directory}`);
  const startedAt = Date.now();
  const children = workers.map((names) =>
    start(
      queue,
      'queue',
      'work',
      '--transfers',
      '2',
      ...names.flatMap((name) => ['--root', `${name}=${roots.get(name) ?? folder}`]),
    ),
  );
  await ended(start(queue, 'queue', 'watch', '--progress', 'none'));
  const seconds = (Date.now() - startedAt) / 1_000;
  for (const child of children) child.kill('SIGTERM');
  await Promise.all(children.map(ended));
  return seconds;
}

async function measureRoots() {
  const names = ['arch', 'media', 'rushes', 'stills'];
  const roots = new Map(names.map((name) => [name, createFiles(name, 100)]));
  writeFileSync(told, JSON.stringify(digests));
  const sink = await serve('sink.mjs', told);
  const line = await serve('slow-line.mjs', sink.port, 100);
  service = line.url;
  const two = new Map([...roots].slice(0, 2));
  const separate = await timeWorkers('two', two, [['arch'], ['media']]);
  const shared = await timeWorkers('both', two, [
    ['arch', 'media'],
    ['arch', 'media'],
  ]);
  say(
    `two roots, a worker each: ${separate.toFixed(1)} s, ${(separate / shared).toFixed(2)} of both roots on both workers`,
  );
  const four = await timeWorkers(
    'four',
    roots,
    names.map((name) => [name]),
  );
  const withWrong = await timeWorkers('wrong', roots, [...names.map((name) => [name]), ['elsewhere']]);
  say(
    `four roots, a worker each: ${four.toFixed(1)} s; with a fifth worker that has none of them: ${(withWrong / four).toFixed(2)} of that`,
  );
  line.end();
  sink.end();
}

try {
  sayMachine();
  await measureQueueing();
  await measureRoots();
} finally {
  store.end();
  rmSync(folder, { recursive: true, force: true });
}
