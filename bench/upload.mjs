// Measures upload throughput on loopback in one run: mediactl (whole process, BLAKE3 verified),
// curl -T of pre-split 50 MiB chunks, stock tus-js-client. `node bench/upload.mjs [MiB] [rounds]`
import { randomFillSync } from 'node:crypto';
import { mkdtempSync, openSync, readSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createBLAKE3 } from 'hash-wasm';
import { inTurn, mediactl, median, say, sayMachine, serve, timed, uploadTakes } from './harness.mjs';

const MiB = 1024 * 1024;
const size = Number(process.argv[2] ?? 1024) * MiB;
const rounds = Number(process.argv[3] ?? 5);
const chunkBytes = 50 * MiB;

const folder = mkdtempSync(join(tmpdir(), 'mediactl-bench-'));
const file = join(folder, 'big.bin');
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Creates the file, its chunks and its digest in one pass. */
async function prepare() {
  const digest = await createBLAKE3();
  const block = Buffer.alloc(MiB);
  const out = openSync(file, 'w');
  for (let at = 0; at < size; at += MiB) {
    randomFillSync(block);
    writeSync(out, block);
    digest.update(block);
  }
  const chunks = [];
  const source = openSync(file, 'r');
  for (let at = 0; at < size; at += chunkBytes) {
    const chunk = Buffer.alloc(Math.min(chunkBytes, size - at));
    readSync(source, chunk, 0, chunk.length, at);
    const path = join(folder, `chunk-${String(chunks.length).padStart(4, '0')}`);
    writeFileSync(path, chunk);
    chunks.push(path);
  }
  return { blake3: digest.digest('hex'), chunks };
}

const { blake3, chunks } = await prepare();
const digests = join(folder, 'digests.json');
writeFileSync(digests, JSON.stringify({ 'big.bin': blake3 }));
const sink = await serve('sink.mjs', digests);
const { url } = sink;
let run = 0;
const env = { ...process.env };
delete env.NODE_EXTRA_CA_CERTS; // it adds 37 ms to the start-up
try {
  const results = await inTurn(rounds, {
    curl: () => {
      const transfers = chunks.flatMap((chunk, at) => [
        ...(at > 0 ? ['--next'] : []),
        ...['-sS', '-X', 'PATCH', '-H', 'Expect:', '-T', chunk],
        `${url}/api/external/v1/upload/curl${run}/`,
      ]);
      run++;
      return timed('curl', transfers, { env });
    },
    mediactl: () =>
      timed(
        process.execPath,
        [
          ...[mediactl, 'upload', file, '--require-checksum', '--progress', 'none'],
          ...(uploadTakes('--existing') ? ['--existing', 'upload'] : []), // it was uploaded in the previous round
        ],
        {
          env: {
            ...env,
            MEDIACTL_API_KEY: 'bench-key',
            MEDIACTL_BASE_URL: url,
            MEDIACTL_WORKSPACE: '00000000-0000-4000-8000-000000000000',
            MEDIACTL_CONFIG_DIR: join(folder, 'config'),
            MEDIACTL_STATE_DIR: join(folder, 'state'),
          },
        },
      ),
    'stock tus-js-client': () => timed(process.execPath, [here('stock-tus.mjs'), url, file], { env }),
  });
  sayMachine();
  say(`${size / MiB} MiB on loopback, ${rounds} rounds in turn, medians of whole processes`);
  const curl = median(results.get('curl').map(({ seconds }) => seconds));
  for (const [name, runs] of results) {
    const seconds = median(runs.map((each) => each.seconds));
    const peak = Math.max(...runs.map(({ peakMiB }) => peakMiB));
    say(
      `${name.padEnd(20)} ${(size / MiB / seconds).toFixed(0).padStart(6)} MiB/s  ${(curl / seconds).toFixed(2)} of curl  peak ${peak.toFixed(0)} MiB`,
    );
  }
} finally {
  sink.end();
  rmSync(folder, { recursive: true, force: true });
}
