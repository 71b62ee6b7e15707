// Measures the sandbox alone: receiving uploads (BLAKE3 and fsync before every response) compared with b3sum
// and dd of the same bytes, and listing 100,000 assets page by page. `node bench/service.mjs [MiB] [rounds]`
import { spawn } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inTurn, median, say, sayMachine, timed } from './harness.mjs';

const MiB = 1024 * 1024;
const size = Number(process.argv[2] ?? 512) * MiB;
const rounds = Number(process.argv[3] ?? 5);
const chunkBytes = 50 * MiB;
const assets = 100_000;
const pages = 100;

const folder = mkdtempSync(join(tmpdir(), 'mediactl-bench-'));
const program = fileURLToPath(new URL('../dist/sandbox.cjs', import.meta.url));
const agent = new Agent({ keepAlive: true });

async function startService(name, more = {}) {
  const data = join(folder, name);
  const options = { dataDir: data, port: 0, rateLimit: { limit: 100_000_000, windowSeconds: 3600 }, ...more };
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => {
    child.stdout.on('data', (text) => text.includes('listening on') && resolve());
  });
  const read = (file) => JSON.parse(readFileSync(join(data, file), 'utf8'));
  const { url, workspace } = read('server.json');
  const { all } = read('credentials.json').keys;
  const call = (method, path, headers = {}, body = undefined) =>
    new Promise((resolve, reject) => {
      const outgoing = request(
        url + path,
        { method, agent, headers: { authorization: `Bearer ${all}`, ...headers } },
        (answer) => {
          const parts = [];
          answer.on('data', (part) => parts.push(part));
          answer.on('end', () => resolve({ answer, text: Buffer.concat(parts).toString() }));
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  const memoryMiB = () => {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    const inMiB = (field) => Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024);
    return `${inMiB('VmRSS')} MiB, ${inMiB('VmHWM')} MiB at most`;
  };
  /** Ends the service, which still processes what was uploaded, so that its folder can be removed. */
  const end = async () => {
    const exited = once(child, 'exit');
    child.kill();
    await exited;
  };
  return { workspace, call, memoryMiB, end };
}

/** Uploads all bytes in sequential chunks of 50 MiB. @returns seconds from creation to checksum */
async function upload({ call, workspace }, chunks) {
  const startedAt = process.hrtime.bigint();
  const encoded = (text) => Buffer.from(text).toString('base64');
  const tus = { 'tus-resumable': '1.0.0' };
  const created = await call('POST', '/api/external/v1/upload/', {
    ...tus,
    'upload-length': size,
    'upload-metadata': `filename ${encoded('big.bin')},workspace_uid ${encoded(workspace)}`,
  });
  const { location, asset_uid } = JSON.parse(created.text);
  let offset = 0;
  let checksum;
  for (const chunk of chunks) {
    const headers = { 'upload-offset': offset, 'content-type': 'application/offset+octet-stream' };
    const { answer } = await call('PATCH', location, { ...tus, ...headers }, chunk);
    if (answer.statusCode !== 204) throw new Error(`PATCH was answered ${answer.statusCode}`);
    offset = Number(answer.headers['upload-offset']);
    checksum = answer.headers['x-checksum-blake3'];
  }
  if (!checksum) throw new Error('no checksum came');
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
  const path = `/api/external/v1/assets/${asset_uid}/`;
  // Processing writes to the folder of the asset until it ends.
  for (let status; !['ready', 'failed'].includes(status); await sleep(100))
    ({ status } = JSON.parse((await call('GET', path)).text));
  await call('DELETE', path);
  rmSync(join(folder, 'uploads', 'media', asset_uid), { recursive: true, force: true });
  return { seconds };
}

async function benchUploads() {
  const chunks = [];
  const file = join(folder, 'big.bin');
  const out = openSync(file, 'w');
  for (let at = 0; at < size; at += chunkBytes) {
    const chunk = randomFillSync(Buffer.alloc(Math.min(chunkBytes, size - at)));
    writeSync(out, chunk);
    chunks.push(chunk);
  }
  const service = await startService('uploads');
  const written = join(folder, 'written.bin');
  try {
    const results = await inTurn(rounds, {
      'b3sum, then dd conv=fsync': async () => {
        const hashed = await timed('b3sum', ['--no-mmap', '--num-threads', '1', file]);
        const dd = [`if=${file}`, `of=${written}`, 'bs=1M', 'conv=fsync', 'status=none'];
        const copied = await timed('dd', dd);
        rmSync(written);
        return { seconds: hashed.seconds + copied.seconds };
      },
      'the service': () => upload(service, chunks),
    });
    say(`${size / MiB} MiB in PATCHes of 50 MiB, ${rounds} rounds in turn, medians`);
    const bare = median(results.get('b3sum, then dd conv=fsync').map(({ seconds }) => seconds));
    for (const [name, runs] of results) {
      const seconds = median(runs.map((each) => each.seconds));
      say(
        `${name.padEnd(28)} ${(size / MiB / seconds).toFixed(0).padStart(6)} MiB/s  ${(bare / seconds).toFixed(2)} of b3sum and dd`,
      );
    }
    say(`memory of the service: ${service.memoryMiB()}`);
  } finally {
    await service.end();
  }
}

async function benchLists() {
  const service = await startService('lists', { seed: assets });
  const walk = async (from, query) => {
    const startedAt = process.hrtime.bigint();
    for (let page = 0; page < pages; page++) {
      const path = `/api/external/v1/assets/?limit=100&offset=${from + page * 100}${query}`;
      const { answer, text } = await service.call('GET', path);
      if (answer.statusCode !== 200 || JSON.parse(text).items.length !== 100)
        throw new Error(`${path} was answered ${answer.statusCode}`);
    }
    return { seconds: Number(process.hrtime.bigint() - startedAt) / 1e9 };
  };
  try {
    say();
    say(`${assets} assets, pages of 100: the first ${pages} against the last ${pages}`);
    for (const query of ['', '&ordering=name', '&ordering=-duration', '&status=ready']) {
      const first = await service.call('GET', `/api/external/v1/assets/?limit=1${query}`);
      const last = JSON.parse(first.text).count - pages * 100;
      const results = await inTurn(rounds, {
        first: () => walk(0, query),
        last: () => walk(last, query),
      });
      const perSecond = (name) => pages / median(results.get(name).map(({ seconds }) => seconds));
      say(
        `${(query || '&ordering=-created_at').slice(1).padEnd(28)} ${perSecond('first').toFixed(0).padStart(6)} and ${perSecond('last').toFixed(0)} pages/s, the last cost ${(perSecond('first') / perSecond('last')).toFixed(2)} of the first`,
      );
    }
    say(`memory of the service: ${service.memoryMiB()}`);
  } finally {
    await service.end();
  }
}

sayMachine();
try {
  await benchUploads();
  await benchLists();
} finally {
  agent.destroy();
  rmSync(folder, { recursive: true, force: true });
}
