import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { someBytes } from '../support/files.ts';
import { fixturePath } from '../support/sandbox.ts';
import { sandboxCommand } from '../support/spawn.ts';
import { openDatabase } from '../support/sqlite.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The service as a separate process, on a full disk and with a locked store. */

const [program, sandboxFile] = sandboxCommand;
const api = '/api/external/v1';
const MiB = 1024 * 1024;

type Started = { child: ChildProcess; output: () => string; gone: Promise<number | null> };

function run(command: string, args: readonly string[], inGroup = false): Started {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: inGroup });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text) => {
      output += text;
    });
  const gone = new Promise<number | null>((resolve) => child.once('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  return { child, output: () => output, gone };
}

/** Waits until the service listens; returns functions for raw requests. */
async function service({ child, output, gone }: Started, dataDir: string) {
  for (let tries = 0; !output().includes('listening on'); tries++) {
    if (tries > 400 || child.exitCode !== null) throw new Error(`no start: ${output()}`);
    await sleep(25);
  }
  const read = (file: string) => JSON.parse(readFileSync(join(dataDir, file), 'utf8'));
  const { url, workspace } = read('server.json');
  const key = read('credentials.json').keys.all;
  const ask = async (method: string, path: string, headers: object = {}, body?: Uint8Array) =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'tus-resumable': '1.0.0', ...headers },
      ...(body && { body }),
    });
  const encoded = (text: string) => Buffer.from(text).toString('base64');
  const create = (size: number, name = 'a.bin') =>
    ask('POST', `${api}/upload/`, {
      'upload-length': String(size),
      'upload-metadata': `filename ${encoded(name)},workspace_uid ${encoded(workspace)}`,
    });
  const session = async (size: number, name?: string) =>
    (await (await create(size, name)).json()) as { location: string; asset_uid: string };
  const patch = (location: string, offset: number, bytes: Uint8Array) =>
    ask(
      'PATCH',
      location,
      { 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' },
      bytes,
    );
  const offset = async (location: string) => {
    const head = await ask('HEAD', location);
    expect(head.status).toBe(200);
    return Number(head.headers.get('upload-offset'));
  };
  const asset = async (uid: string) =>
    (await (await ask('GET', `${api}/assets/${uid}/`)).json()) as Record<string, unknown>;
  const ended = async (uid: string) => {
    for (let tries = 0; tries < 600; tries++) {
      const { status } = await asset(uid);
      if (status === 'ready' || status === 'failed') return status;
      await sleep(50);
    }
    throw new Error(`asset ${uid} is not processed: ${output()}`);
  };
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  return { ask, create, session, patch, offset, asset, ended, isAlive, gone };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts the service on a tmpfs in its own mount namespace; tests reach it through /proc/PID/root. */
async function onSmallDisk(sizeMiB: number) {
  const mount = temporaryFolder();
  const script = `mount -t tmpfs -o size=${sizeMiB}m none ${mount} && PATH= exec "$@"`;
  const args = [sandboxFile, '--data-dir', join(mount, 'data'), '--port', '0'];
  const started = run('unshare', ['-rm', 'sh', '-c', script, 'sh', program, ...args]);
  const outside = join('/proc', String(started.child.pid), 'root', mount);
  const filler = join(outside, 'filler');
  /** Fills the disk, but for a number of bytes. */
  const fill = (leaving = 0) => {
    for (let block = MiB; block >= 1; ) {
      try {
        appendFileSync(filler, Buffer.alloc(block, 1));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        block = Math.floor(block / 16);
      }
    }
    truncateSync(filler, statSync(filler).size - leaving);
  };
  const dataDir = join(outside, 'data');
  return {
    started,
    dataDir,
    fill,
    empty: () => rmSync(filler),
    ...(await service(started, dataDir)),
  };
}

describe('full disk', { tags: 'user-namespaces' }, () => {
  it('uploads to a full disk get 507, resume once there is room and lose no acknowledged byte', async () => {
    const disk = await onSmallDisk(24);
    const { ask, create, session, patch, offset, ended, isAlive } = disk;
    const bytes = someBytes(6 * MiB, 'disk');
    const still = readFileSync(fixturePath('still.jpg'));
    const large = await session(bytes.length);
    const last = await session(still.length, 'still.jpg');
    expect((await patch(large.location, 0, bytes.subarray(0, MiB))).status).toBe(204);
    expect((await patch(last.location, 0, still.subarray(0, 100))).status).toBe(204);
    disk.fill();

    for (let times = 0; times < 3; times++) {
      const from = await offset(large.location);
      const refused = await patch(large.location, from, bytes.subarray(from, from + 2 * MiB));
      expect([refused.status, await refused.json()]).toEqual([
        507,
        { error: { code: 'storage_full', message: expect.any(String) } },
      ]);
    }
    const kept = await offset(large.location);
    const partial = join(disk.dataDir, 'uploads', large.location.split('/').at(-2) as string);
    expect(statSync(partial).size).toBe(kept);
    expect(kept).toBeGreaterThanOrEqual(MiB);
    expect(readFileSync(partial).equals(bytes.subarray(0, kept))).toBe(true);

    const creation = await create(1);
    expect([creation.status, creation.headers.get('content-type')]).toEqual([
      507,
      expect.stringMatching(/^text\/plain/),
    ]);
    const json = { 'content-type': 'application/json' };
    const text = Buffer.from(JSON.stringify({ description: 'x'.repeat(9_000) }));
    const edit = () => ask('PATCH', `${api}/assets/${large.asset_uid}/`, json, text);
    const edits = [];
    for (let times = 0; times < 10; times++) edits.push((await edit()).status);
    expect(edits).toContain(507);
    expect(edits.filter((status) => status !== 507 && status !== 200)).toEqual([]);
    expect((await ask('GET', `${api}/assets/`)).status).toBe(200);
    expect(isAlive()).toBe(true);

    disk.empty();
    expect((await edit()).status).toBe(200);
    expect((await patch(last.location, 100, still.subarray(100))).status).toBe(204);
    expect(await ended(last.asset_uid)).toBe('ready');
    let checksum: string | null = null;
    for (let at = await offset(large.location); at < bytes.length; ) {
      const answer = await patch(large.location, at, bytes.subarray(at, at + 2 * MiB));
      expect(answer.status).toBe(204);
      at = Number(answer.headers.get('upload-offset'));
      checksum = answer.headers.get('x-checksum-blake3');
    }
    const source = join(disk.dataDir, 'media', large.asset_uid, 'source');
    expect(readFileSync(source).equals(bytes)).toBe(true);
    expect(checksum).toMatch(/^[0-9a-f]{64}$/);
    expect(await ended(large.asset_uid)).toBe('ready'); // not a media file: generic
    expect(isAlive()).toBe(true);
  });

  it('an upload whose completion does not fit on a full disk completes once there is room', async () => {
    const disk = await onSmallDisk(16);
    const { ask, session, patch, offset, ended, isAlive } = disk;
    const still = readFileSync(fixturePath('still.jpg'));
    const sessions = await Promise.all(Array.from({ length: 6 }, () => session(still.length, 'still.jpg')));
    const filled = await session(1);
    for (const { location } of sessions) expect((await patch(location, 0, still.subarray(0, -1))).status).toBe(204);
    disk.fill();
    const json = { 'content-type': 'application/json' };
    const text = Buffer.from(JSON.stringify({ description: 'x'.repeat(9_000) }));
    for (let times = 0; times < 10; times++) await ask('PATCH', `${api}/assets/${filled.asset_uid}/`, json, text);
    // A byte still fits into an allocated disk block; rows of the store do not.
    const statuses: number[] = [];
    for (const { location } of sessions) {
      const answer = await patch(location, still.length - 1, still.subarray(-1));
      statuses.push(answer.status);
      expect(await offset(location)).toBe(still.length);
    }
    expect(statuses).toContain(507);
    expect(isAlive()).toBe(true);
    disk.empty();
    for (const { asset_uid } of sessions) expect(await ended(asset_uid)).toBe('ready');
  });

  it('processing waits until the disk has room for the HLS segments and then completes', async () => {
    const disk = await onSmallDisk(16);
    const { session, patch, ended, isAlive, started } = disk;
    const clip = readFileSync(fixturePath('clip.mp4'));
    const { location, asset_uid } = await session(clip.length, 'clip.mp4');
    expect((await patch(location, 0, clip.subarray(0, -1))).status).toBe(204);
    disk.fill(Math.floor(clip.length / 2)); // room for the last byte and the store, but not for the segments
    expect((await patch(location, clip.length - 1, clip.subarray(-1))).status).toBe(204);
    while (!/waiting for storage, retrying in .*: /.test(started.output())) await sleep(20);
    expect(isAlive()).toBe(true);
    disk.empty();
    expect(await ended(asset_uid)).toBe('ready');
    const served = join(disk.dataDir, 'media', asset_uid);
    expect(readFileSync(join(served, 'source')).equals(clip)).toBe(true);
    expect(existsSync(join(served, 'hls/master.m3u8'))).toBe(true);
    expect(started.output()).not.toContain(`asset ${asset_uid} failed`);
  });

  it('the sandbox prints one error line and exits with 1 when it starts on a full disk', async () => {
    const mount = temporaryFolder();
    const fill = `dd if=/dev/zero of=${mount}/filler bs=64k 2>/dev/null`;
    const script = `mount -t tmpfs -o size=1m none ${mount} && { ${fill}; exec "$@"; }`;
    const args = [sandboxFile, '--data-dir', join(mount, 'data'), '--port', '0'];
    const ended = spawnSync('unshare', ['-rm', 'sh', '-c', script, 'sh', program, ...args]);
    expect([ended.status, ended.stderr.toString()]).toEqual([1, `no disk space for the sandbox in ${mount}/data\n`]);
  });
});

it('the sandbox completes uploads while another program locks its database for seconds', async () => {
  const dataDir = join(temporaryFolder(), 'data');
  mkdirSync(dataDir);
  const started = run(program, [sandboxFile, '--data-dir', dataDir, '--port', '0']);
  const { session, create, patch, offset, ended, isAlive } = await service(started, dataDir);
  const clip = readFileSync(fixturePath('clip.mp4'));
  const first = await session(clip.length, 'clip.mp4');
  const second = await session(clip.length, 'clip.mp4');
  expect((await patch(first.location, 0, clip)).status).toBe(204); // processing starts now
  const other = openDatabase(join(dataDir, 'sandbox.db'));
  other.exec('PRAGMA busy_timeout = 2000; BEGIN IMMEDIATE');
  const answer = await patch(second.location, 0, clip.subarray(0, -1));
  expect(answer.status).toBe(204); // storing bytes does not write to the store
  const last = patch(second.location, clip.length - 1, clip.subarray(-1));
  expect((await create(5)).status).toBe(503);
  await sleep(1_500);
  expect(isAlive()).toBe(true);
  other.exec('ROLLBACK');
  other.close();
  expect((await last).status).toBe(204);
  expect(await offset(second.location)).toBe(clip.length);
  for (const { asset_uid } of [first, second]) expect(await ended(asset_uid)).toBe('ready');
  expect((await create(5)).status).toBe(201);
  expect(isAlive()).toBe(true);
});
