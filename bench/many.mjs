// Uploads many files on loopback, whole processes compared in one run: mediactl, curl --parallel, stock
// tus-js-client, and a minimal loop of undici and BLAKE3; eight files at a time each.
// `node bench/many.mjs [rounds] [row...]`, rows a, b, c; `--latency MS` instead: over a slow connection.

import { spawnSync } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Blake3Hasher } from '@napi-rs/blake-hash';
import { inTurn, mediactl, median, say, sayMachine, serve, timed, uploadTakes } from './harness.mjs';

const [KB, MiB] = [1000, 1024 * 1024];
const chunkBytes = 50 * MiB;
const { values, positionals } = parseArgs({
  options: { latency: { type: 'string' } },
  allowPositionals: true,
});
const [rounds = 3, ...wanted] = positionals;

const rows = {
  a: { count: 500, size: 200 * KB, called: '500 files of 200 KB' },
  b: { count: 1000, size: MiB, called: '1,000 files of 1 MiB' },
  c: { count: 8, size: 256 * MiB, called: '8 files of 256 MiB' },
};
const farRows = {
  a: { count: 100, size: 200 * KB, called: '100 files of 200 KB' },
  b: { count: 1, size: 256 * MiB, called: 'one file of 256 MiB' },
};

const folder = mkdtempSync(join(tmpdir(), 'mediactl-bench-'));
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const env = { ...process.env };
delete env.NODE_EXTRA_CA_CERTS; // it adds 37 ms to the start-up

/** Creates files that differ only in their first bytes, with their digests, and chunks for curl. */
function prepare({ count, size }) {
  const directory = join(folder, 'files');
  mkdirSync(directory);
  const block = randomFillSync(Buffer.alloc(Math.min(size, MiB)));
  const digests = {};
  const files = Array.from({ length: count }, (_, n) => {
    const path = join(directory, `file-${String(n).padStart(4, '0')}.bin`);
    const hasher = new Blake3Hasher();
    const out = openSync(path, 'w');
    for (let at = 0; at < size; at += block.length) {
      block.writeUInt32LE(at === 0 ? n : count, 0);
      writeSync(out, block);
      hasher.update(block);
    }
    closeSync(out);
    digests[basename(path)] = hasher.digest('hex');
    return { path, size, chunks: split(path, size) };
  });
  const told = join(folder, 'digests.json');
  writeFileSync(told, JSON.stringify(digests));
  spawnSync('sync'); // flush now, so that no fsync of a contender waits for these writes
  return { directory, files, digests: told };
}

function split(path, size) {
  if (size <= chunkBytes) return [path];
  mkdirSync(join(folder, 'chunks'), { recursive: true });
  const source = openSync(path, 'r');
  const chunk = Buffer.alloc(chunkBytes);
  const chunks = [];
  for (let at = 0; at < size; at += chunkBytes) {
    const length = readSync(source, chunk, 0, chunkBytes, at);
    chunks.push(join(folder, 'chunks', `${basename(path)}-${chunks.length}`));
    writeFileSync(chunks.at(-1), chunk.subarray(0, length));
  }
  closeSync(source);
  return chunks;
}

/** Returns curl's transfers: all creations, then the first chunk of every file, then the second … */
function curlConfigs(files, url) {
  const tus = ['header = "Tus-Resumable: 1.0.0"', 'header = "Authorization: Bearer bench-key"'];
  const create = ({ path, size }) => [
    `url = "${url}/api/external/v1/upload/"`,
    ...['request = POST', 'data = ""', 'header = "Content-Type:"', ...tus],
    `header = "Upload-Length: ${size}"`,
    `header = "Upload-Metadata: filename ${Buffer.from(basename(path)).toString('base64')}"`,
  ];
  const send = (turn) => (file) => [
    // Sessions of the sink have the names of the files.
    `url = "${url}/api/external/v1/upload/${basename(file.path)}"`,
    ...['request = PATCH', 'header = "Expect:"', ...tus],
    'header = "Content-Type: application/offset+octet-stream"',
    `header = "Upload-Offset: ${turn * chunkBytes}"`,
    `upload-file = "${file.chunks[turn]}"`,
  ];
  const each = ['fail', 'silent', 'show-error', 'output = /dev/null'];
  return [create, ...files[0].chunks.map((_, turn) => send(turn))].map((transfer, n) => {
    const path = join(folder, `curl-${n}`);
    const transfers = files.map((file) => [...transfer(file), ...each].join('\n'));
    writeFileSync(path, `${transfers.join('\nnext\n')}\n`);
    return path;
  });
}

/** Runs processes one after another and adds up their measurements. */
async function together(runs) {
  const total = { seconds: 0, cpuSeconds: 0, peakMiB: 0 };
  for (const run of runs) {
    const { seconds, cpuSeconds, peakMiB } = await run();
    total.seconds += seconds;
    total.cpuSeconds += cpuSeconds;
    total.peakMiB = Math.max(total.peakMiB, peakMiB);
  }
  return total;
}

let run = 0;
/** @param prefix program and arguments that run it, such as strace */
function upload({ directory }, url, parallel, prefix = []) {
  const state = join(folder, `state-${run++}`);
  const [program, ...args] = [...prefix, process.execPath];
  const ours = timed(
    program,
    [
      ...[...args, mediactl, 'upload', '--flatten', directory, '--progress', 'none', '--json'],
      ...(uploadTakes('--transfers') ? ['--transfers', String(parallel)] : []),
      ...(uploadTakes('--existing') ? ['--existing', 'upload'] : ['--no-resume']),
    ],
    {
      env: {
        ...env,
        MEDIACTL_API_KEY: 'bench-key',
        MEDIACTL_BASE_URL: url,
        MEDIACTL_WORKSPACE: '00000000-0000-4000-8000-000000000000',
        MEDIACTL_CONFIG_DIR: join(folder, 'config'),
        MEDIACTL_STATE_DIR: state,
      },
    },
  );
  return ours.finally(() => rmSync(state, { recursive: true, force: true }));
}

/** Counts the syncs of our upload, in a run of its own; undefined without strace. */
async function countSyncs(made, url) {
  const log = join(folder, 'syncs');
  if (spawnSync('strace', ['-o', log, 'true']).status !== 0) return undefined;
  await upload(made, url, 8, ['strace', '-f', '-qq', '-o', log, '-e', 'trace=fsync,fdatasync']);
  return readFileSync(log, 'utf8').match(/sync\(/g)?.length ?? 0;
}

function contenders(made, url) {
  const paths = made.files.map(({ path }) => path);
  const curls = curlConfigs(made.files, url).map(
    (config) => () => timed('curl', ['-Z', '--no-progress-meter', '--parallel-max', '8', '-K', config], { env }),
  );
  return {
    curl: () => together(curls),
    mediactl: () => upload(made, url, 8),
    'stock tus-js-client': () => timed(process.execPath, [here('stock-tus.mjs'), url, ...paths], { env }),
    'bare undici': () => timed(process.execPath, [here('bare-undici.mjs'), url, ...paths], { env }),
  };
}

/** Wraps the contenders' runs to add the sink's statistics to their results. */
async function seen(runs, sink, files) {
  const told = async () => (await fetch(sink.url)).json();
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const watched = Object.entries(runs).map(([name, go]) => [
    name,
    async () => {
      await told();
      const ran = await go();
      const came = await told();
      if (came.bytes !== bytes) throw new Error(`of ${name} came ${came.bytes} bytes, and not ${bytes}`);
      return { ...ran, requests: came.requests, sinkSeconds: came.cpuSeconds };
    },
  ]);
  return inTurn(Number(rounds), Object.fromEntries(watched));
}

function show(results, count, syncs) {
  const of = (name, figure) => median(results.get(name).map((each) => each[figure]));
  const ratio = (name, peer, figure) => (results.has(peer) ? (of(name, figure) / of(peer, figure)).toFixed(2) : '');
  const [stock, bare] = ['stock tus-js-client', 'bare undici'];
  const columns = {
    seconds: (name) => of(name, 'seconds').toFixed(2),
    '/ stock': (name) => ratio(name, stock, 'seconds'),
    '/ bare': (name) => ratio(name, bare, 'seconds'),
    'CPU s': (name) => of(name, 'cpuSeconds').toFixed(2),
    '/ stock ': (name) => ratio(name, stock, 'cpuSeconds'),
    '/ bare ': (name) => ratio(name, bare, 'cpuSeconds'),
    'CPU ms a file': (name) => ((of(name, 'cpuSeconds') * 1000) / count).toFixed(2),
    'requests a file': (name) => (of(name, 'requests') / count).toFixed(2),
    'syncs a file': (name) => (name === 'mediactl' && syncs !== undefined ? (syncs / count).toFixed(2) : ''),
    'peak MiB': (name) => of(name, 'peakMiB').toFixed(0),
    "sink's CPU s": (name) => of(name, 'sinkSeconds').toFixed(2),
  };
  const line = (first, cells) =>
    say(first.padEnd(22) + cells.map((cell) => cell.trim().padStart(cell.length + 2)).join(''));
  const headers = Object.keys(columns);
  line('', headers);
  for (const name of results.keys())
    line(
      name,
      headers.map((header) => columns[header](name).padStart(header.length)),
    );
}

/** Measures one row: all contenders on loopback; with a round-trip time also ours with one file at a time. */
async function measure(row, roundTripMs) {
  const made = prepare(row);
  const sink = await serve('sink.mjs', made.digests);
  const line = roundTripMs ? await serve('slow-line.mjs', sink.port, roundTripMs) : sink;
  try {
    const { mediactl: ours, ...peers } = contenders(made, line.url);
    const alone = row.count > 1 && uploadTakes('--transfers');
    const runs = roundTripMs
      ? {
          ...(alone && { 'mediactl --transfers 1': () => upload(made, line.url, 1) }),
          [alone ? 'mediactl --transfers 8' : 'mediactl']: ours,
          ...peers,
        }
      : { mediactl: ours, ...peers };
    const results = await seen(runs, sink, made.files);
    const far = roundTripMs ? `, ${roundTripMs} ms a round trip` : '';
    say(`${row.called}${far}, ${rounds} rounds in turn, medians of whole processes`);
    show(results, row.count, roundTripMs ? undefined : await countSyncs(made, line.url));
    say();
  } finally {
    if (line !== sink) line.end();
    sink.end();
    for (const each of ['files', 'chunks']) rmSync(join(folder, each), { recursive: true, force: true });
  }
}

sayMachine();
if (!uploadTakes('--transfers')) say('this mediactl has no --transfers: it sends one file at a time');
const table = values.latency ? farRows : rows;
try {
  for (const name of wanted.length > 0 ? wanted : Object.keys(table)) {
    if (!table[name]) throw new Error(`no row ${name}: ${Object.keys(table).join(', ')}`);
    await measure(table[name], Number(values.latency ?? 0));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
