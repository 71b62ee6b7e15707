import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { b3sum, pseudoRandomBytes } from '../support/files.ts';
import { isFullRun } from '../support/full-run.ts';
import { sandboxCommand } from '../support/spawn.ts';
import { openDatabase } from '../support/sqlite.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const [program, sandboxFile] = sandboxCommand;
const KiB = 1024;
const chunkBytes = 512 * KiB;
const kills = isFullRun ? 20 : 5;

/** Starts the service as a separate process; returns functions for requests to it. @param prefix a command that starts it */
async function startService(dataDir: string, prefix: string[] = []) {
  const [command = '', ...args] = [...prefix, program, sandboxFile, JSON.stringify({ dataDir, port: 0 })];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    const onOutput = (text: Buffer) => {
      output += text;
      if (output.includes('listening on')) resolve();
    };
    child.stdout.on('data', onOutput);
    child.stderr.on('data', onOutput);
    child.once('exit', () => reject(new Error(`the service did not start: ${output}`)));
  });
  const read = (file: string) => JSON.parse(readFileSync(join(dataDir, file), 'utf8'));
  const { url, workspace } = read('server.json');
  const sendRequest = (method: string, path: string, headers: object = {}, body?: Uint8Array) =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${read('credentials.json').keys.all}`, 'tus-resumable': '1.0.0', ...headers },
      ...(body && { body }),
    });
  return { child, exited, workspace, sendRequest };
}

const file = join(temporaryFolder(), 'bytes');
let checksum: string | undefined;

it(`a service that is killed ${kills} times during an upload loses no acknowledged byte`, async () => {
  const seed = Number(process.env.MEDIACTL_TEST_SEED ?? Date.now() % 1_000_000);
  const random = createRandom(seed);
  const dataDir = temporaryFolder();
  const bytes = pseudoRandomBytes(24 * KiB * KiB, String(seed));
  writeFileSync(file, bytes);
  const encoded = (text: string) => Buffer.from(text).toString('base64');

  let location = '';
  let assetUid = '';
  let acknowledged = 0;

  /** Sends chunk after chunk until the connection drops or the file is complete. @returns the checksum at the end */
  const sendChunks = async ({ sendRequest }: Awaited<ReturnType<typeof startService>>, maxBytes: number) => {
    const head = await sendRequest('HEAD', location);
    expect(head.status).toBe(200);
    let offset = Number(head.headers.get('upload-offset'));
    expect(offset).toBeGreaterThanOrEqual(acknowledged);
    const partialFile = join(dataDir, 'uploads', location.split('/').at(-2) as string);
    const storedBytes = existsSync(partialFile) ? readFileSync(partialFile) : Buffer.alloc(0);
    expect(storedBytes.equals(bytes.subarray(0, offset))).toBe(true);
    const endOffset = Math.min(bytes.length, offset + maxBytes);
    while (offset < endOffset) {
      const chunk = bytes.subarray(offset, Math.min(endOffset, offset + chunkBytes));
      const response = await sendRequest(
        'PATCH',
        location,
        { 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' },
        chunk,
      );
      expect(response.status).toBe(204);
      offset = Number(response.headers.get('upload-offset'));
      acknowledged = offset;
      const reported = response.headers.get('x-checksum-blake3');
      if (reported) return reported;
    }
    return undefined;
  };

  try {
    for (let kill = 0; kill <= kills; kill++) {
      const service = await startService(dataDir);
      if (kill === 0) {
        const created = await service.sendRequest('POST', '/api/external/v1/upload/', {
          'upload-length': String(bytes.length),
          'upload-metadata': `filename ${encoded('a.bin')},workspace_uid ${encoded(service.workspace)}`,
        });
        const upload = (await created.json()) as { location: string; asset_uid: string };
        location = upload.location;
        assetUid = upload.asset_uid;
      }
      if (kill === kills) {
        checksum = await sendChunks(service, bytes.length);
        expect(checksum).toMatch(/^[0-9a-f]{64}$/);
        break;
      }
      // At most an equal share of the file per run, so that every kill interrupts an upload.
      const killDelay = new Promise((resolve) => setTimeout(resolve, random() * 40));
      const interruptedTransfer = sendChunks(service, bytes.length / (kills + 1)).catch((error) => {
        if (error.message !== 'fetch failed') throw error;
      });
      await killDelay;
      service.child.kill('SIGKILL');
      await Promise.all([interruptedTransfer, service.exited]);
    }
    const source = join(dataDir, 'media', assetUid, 'source');
    expect(statSync(source).size).toBe(bytes.length);
    expect(readFileSync(source).equals(bytes)).toBe(true);
    const database = openDatabase(join(dataDir, 'sandbox.db'));
    expect(database.prepare('PRAGMA integrity_check').get()).toMatchObject({ integrity_check: 'ok' });
    database.close();
  } catch (error) {
    process.stderr.write(`to reproduce: MEDIACTL_TEST_SEED=${seed}\n`);
    throw error;
  }
});

it('the service writes a chunk to disk before it acknowledges it', { tags: 'strace' }, async () => {
  const log = join(temporaryFolder(), 'strace');
  const straceCommand = ['strace', '-D', '-f', '-qq', '-y', '-s', '16', '-o', log, '-e', 'trace=fsync,write,writev'];
  const { sendRequest, child, exited, workspace } = await startService(temporaryFolder(), straceCommand);
  const metadata = { filename: 'a.bin', workspace_uid: workspace };
  const created = await sendRequest('POST', '/api/external/v1/upload/', {
    'upload-length': '2000',
    'upload-metadata': Object.entries(metadata)
      .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
      .join(','),
  });
  const { location } = (await created.json()) as { location: string };
  const headers = { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' };
  expect((await sendRequest('PATCH', location, headers, pseudoRandomBytes(1000))).status).toBe(204);
  child.kill('SIGTERM');
  await exited;
  const calls = readFileSync(log, 'utf8').split('\n');
  const syncStart = calls.findIndex((line) => /fsync\(\d+<[^>]*\/uploads\//.test(line));
  const [, thread = 'none'] = /^(\d+) .*unfinished/.exec(calls[syncStart] ?? '') ?? [];
  // strace writes a second line for a call that returns after one of another thread.
  const syncEnd =
    thread === 'none'
      ? syncStart
      : calls.findIndex((line, at) => at > syncStart && line.startsWith(`${thread} <... fsync resumed>`));
  const acknowledgment = calls.findIndex((line) => line.includes('HTTP/1.1 204'));
  expect(Math.min(syncStart, syncEnd)).toBeGreaterThanOrEqual(0);
  expect(acknowledgment).toBeGreaterThan(syncEnd);
});

it('the service computes the same checksum as b3sum', { tags: 'b3sum' }, () => {
  expect(checksum).toBe(b3sum(file));
});

/** Creates a seeded random number generator, from 0 up to 1 (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
