import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { pseudoRandomBytes } from '../support/files.ts';
import { fixturePath } from '../support/sandbox.ts';
import { sandboxCommand } from '../support/spawn.ts';
import { openDatabase } from '../support/sqlite.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The service as a separate process, on a full disk and with a locked store. */

const [program, sandboxFile] = sandboxCommand;
const api = '/api/external/v1';
const MiB = 1024 * 1024;

type Started = { child: ChildProcess; output: () => string; exited: Promise<number | null> };

function startProgram(command: string, args: readonly string[], inGroup = false): Started {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: inGroup });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text) => {
      output += text;
    });
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return { child, output: () => output, exited };
}

/** Waits until the service listens; returns functions for raw requests. */
async function connectTo({ child, output, exited }: Started, dataDir: string) {
  for (let tries = 0; !output().includes('listening on'); tries++) {
    if (tries > 400 || child.exitCode !== null) throw new Error(`no start: ${output()}`);
    await sleep(25);
  }
  const read = (file: string) => JSON.parse(readFileSync(join(dataDir, file), 'utf8'));
  const { url, workspace } = read('server.json');
  const key = read('credentials.json').keys.all;
  const sendRequest = async (method: string, path: string, headers: object = {}, body?: Uint8Array) =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'tus-resumable': '1.0.0', ...headers },
      ...(body && { body }),
    });
  const encoded = (text: string) => Buffer.from(text).toString('base64');
  const postUploadOfSize = (size: number, name = 'a.bin') =>
    sendRequest('POST', `${api}/upload/`, {
      'upload-length': String(size),
      'upload-metadata': `filename ${encoded(name)},workspace_uid ${encoded(workspace)}`,
    });
  const createUploadOfSize = async (size: number, name?: string) =>
    (await (await postUploadOfSize(size, name)).json()) as { location: string; asset_uid: string };
  const patch = (location: string, offset: number, bytes: Uint8Array) =>
    sendRequest(
      'PATCH',
      location,
      { 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' },
      bytes,
    );
  const offsetOf = async (location: string) => {
    const head = await sendRequest('HEAD', location);
    expect(head.status).toBe(200);
    return Number(head.headers.get('upload-offset'));
  };
  const fetchAsset = async (uid: string) =>
    (await (await sendRequest('GET', `${api}/assets/${uid}/`)).json()) as Record<string, unknown>;
  const waitUntilProcessed = async (uid: string) => {
    for (let tries = 0; tries < 600; tries++) {
      const { status } = await fetchAsset(uid);
      if (status === 'ready' || status === 'failed') return status;
      await sleep(50);
    }
    throw new Error(`asset ${uid} is not processed: ${output()}`);
  };
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  return {
    sendRequest,
    postUploadOfSize,
    createUploadOfSize,
    patch,
    offsetOf,
    fetchAsset,
    waitUntilProcessed,
    isAlive,
    exited,
  };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts the service on a tmpfs in its own mount namespace; tests reach it through /proc/PID/root. */
async function startOnSmallDisk({ sizeMiB }: { sizeMiB: number }) {
  const mount = temporaryFolder();
  const script = `mount -t tmpfs -o size=${sizeMiB}m none ${mount} && PATH= exec "$@"`;
  const args = [sandboxFile, JSON.stringify({ dataDir: join(mount, 'data'), port: 0 })];
  const started = startProgram('unshare', ['-rm', 'sh', '-c', script, 'sh', program, ...args]);
  const outside = join('/proc', String(started.child.pid), 'root', mount);
  const filler = join(outside, 'filler');
  /** Fills the disk, but for a number of bytes. */
  const fill = ({ leavingBytes = 0 } = {}) => {
    for (let block = MiB; block >= 1; ) {
      try {
        appendFileSync(filler, Buffer.alloc(block, 1));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        block = Math.floor(block / 16);
      }
    }
    truncateSync(filler, statSync(filler).size - leavingBytes);
  };
  const dataDir = join(outside, 'data');
  return { started, dataDir, fill, empty: () => rmSync(filler), ...(await connectTo(started, dataDir)) };
}

describe('full disk', { tags: 'user-namespaces' }, () => {
  it('uploads to a full disk get 507, resume once there is room and lose no acknowledged byte', async () => {
    const disk = await startOnSmallDisk({ sizeMiB: 24 });
    const { sendRequest, postUploadOfSize, createUploadOfSize, patch, offsetOf, waitUntilProcessed, isAlive } = disk;
    const bytes = pseudoRandomBytes(6 * MiB, 'disk');
    const image = readFileSync(fixturePath('still.jpg'));
    const largeUpload = await createUploadOfSize(bytes.length);
    const imageUpload = await createUploadOfSize(image.length, 'still.jpg');
    expect((await patch(largeUpload.location, 0, bytes.subarray(0, MiB))).status).toBe(204);
    expect((await patch(imageUpload.location, 0, image.subarray(0, 100))).status).toBe(204);
    disk.fill();

    for (let times = 0; times < 3; times++) {
      const from = await offsetOf(largeUpload.location);
      const refused = await patch(largeUpload.location, from, bytes.subarray(from, from + 2 * MiB));
      expect([refused.status, await refused.json()]).toEqual([
        507,
        { error: { code: 'storage_full', message: expect.any(String) } },
      ]);
    }
    const storedBytes = await offsetOf(largeUpload.location);
    const partialFile = join(disk.dataDir, 'uploads', largeUpload.location.split('/').at(-2) as string);
    expect(statSync(partialFile).size).toBe(storedBytes);
    expect(storedBytes).toBeGreaterThanOrEqual(MiB);
    expect(readFileSync(partialFile).equals(bytes.subarray(0, storedBytes))).toBe(true);

    const refusedUpload = await postUploadOfSize(1);
    expect([refusedUpload.status, refusedUpload.headers.get('content-type')]).toEqual([
      507,
      expect.stringMatching(/^text\/plain/),
    ]);
    const json = { 'content-type': 'application/json' };
    const longDescription = Buffer.from(JSON.stringify({ description: 'x'.repeat(9_000) }));
    const editAsset = () => sendRequest('PATCH', `${api}/assets/${largeUpload.asset_uid}/`, json, longDescription);
    const edits = [];
    for (let times = 0; times < 10; times++) edits.push((await editAsset()).status);
    expect(edits).toContain(507);
    expect(edits.filter((status) => status !== 507 && status !== 200)).toEqual([]);
    expect((await sendRequest('GET', `${api}/assets/`)).status).toBe(200);
    expect(isAlive()).toBe(true);

    disk.empty();
    expect((await editAsset()).status).toBe(200);
    expect((await patch(imageUpload.location, 100, image.subarray(100))).status).toBe(204);
    expect(await waitUntilProcessed(imageUpload.asset_uid)).toBe('ready');
    let checksum: string | null = null;
    for (let offset = await offsetOf(largeUpload.location); offset < bytes.length; ) {
      const response = await patch(largeUpload.location, offset, bytes.subarray(offset, offset + 2 * MiB));
      expect(response.status).toBe(204);
      offset = Number(response.headers.get('upload-offset'));
      checksum = response.headers.get('x-checksum-blake3');
    }
    const source = join(disk.dataDir, 'media', largeUpload.asset_uid, 'source');
    expect(readFileSync(source).equals(bytes)).toBe(true);
    expect(checksum).toMatch(/^[0-9a-f]{64}$/);
    expect(await waitUntilProcessed(largeUpload.asset_uid)).toBe('ready'); // not a media file: generic
    expect(isAlive()).toBe(true);
  });

  it('an upload whose completion does not fit on a full disk completes once there is room', async () => {
    const disk = await startOnSmallDisk({ sizeMiB: 16 });
    const { sendRequest, createUploadOfSize, patch, offsetOf, waitUntilProcessed, isAlive } = disk;
    const image = readFileSync(fixturePath('still.jpg'));
    const uploads = await Promise.all(Array.from({ length: 6 }, () => createUploadOfSize(image.length, 'still.jpg')));
    const otherUpload = await createUploadOfSize(1);
    for (const { location } of uploads) expect((await patch(location, 0, image.subarray(0, -1))).status).toBe(204);
    disk.fill();
    const json = { 'content-type': 'application/json' };
    const longText = Buffer.from(JSON.stringify({ description: 'x'.repeat(9_000) }));
    for (let times = 0; times < 10; times++)
      await sendRequest('PATCH', `${api}/assets/${otherUpload.asset_uid}/`, json, longText);
    // A byte still fits into an allocated disk block; rows of the store do not.
    const statuses: number[] = [];
    for (const { location } of uploads) {
      const response = await patch(location, image.length - 1, image.subarray(-1));
      statuses.push(response.status);
      expect(await offsetOf(location)).toBe(image.length);
    }
    expect(statuses).toContain(507);
    expect(isAlive()).toBe(true);
    disk.empty();
    for (const { asset_uid } of uploads) expect(await waitUntilProcessed(asset_uid)).toBe('ready');
  });

  it('processing waits until the disk has room for the HLS segments and then completes', async () => {
    const disk = await startOnSmallDisk({ sizeMiB: 16 });
    const { createUploadOfSize, patch, waitUntilProcessed, isAlive, started: service } = disk;
    const clip = readFileSync(fixturePath('clip.mp4'));
    const { location, asset_uid } = await createUploadOfSize(clip.length, 'clip.mp4');
    expect((await patch(location, 0, clip.subarray(0, -1))).status).toBe(204);
    disk.fill({ leavingBytes: Math.floor(clip.length / 2) }); // room for the last byte and the store, but not for the segments
    expect((await patch(location, clip.length - 1, clip.subarray(-1))).status).toBe(204);
    while (!/waiting for storage, retrying in .*: /.test(service.output())) await sleep(20);
    expect(isAlive()).toBe(true);
    disk.empty();
    expect(await waitUntilProcessed(asset_uid)).toBe('ready');
    const assetFolder = join(disk.dataDir, 'media', asset_uid);
    expect(readFileSync(join(assetFolder, 'source')).equals(clip)).toBe(true);
    expect(existsSync(join(assetFolder, 'hls/master.m3u8'))).toBe(true);
    expect(service.output()).not.toContain(`asset ${asset_uid} failed`);
  });

  it('the sandbox prints one error line and exits with 1 when it starts on a full disk', async () => {
    const mount = temporaryFolder();
    const fill = `dd if=/dev/zero of=${mount}/filler bs=64k 2>/dev/null`;
    const script = `mount -t tmpfs -o size=1m none ${mount} && { ${fill}; exec "$@"; }`;
    const args = [sandboxFile, JSON.stringify({ dataDir: join(mount, 'data'), port: 0 })];
    const ended = spawnSync('unshare', ['-rm', 'sh', '-c', script, 'sh', program, ...args]);
    expect([ended.status, ended.stderr.toString()]).toEqual([1, `no disk space for the sandbox in ${mount}/data\n`]);
  });
});

it('the sandbox completes uploads while another program locks its database for seconds', async () => {
  const dataDir = join(temporaryFolder(), 'data');
  mkdirSync(dataDir);
  const started = startProgram(program, [sandboxFile, JSON.stringify({ dataDir, port: 0 })]);
  const { createUploadOfSize, postUploadOfSize, patch, offsetOf, waitUntilProcessed, isAlive } = await connectTo(
    started,
    dataDir,
  );
  const clip = readFileSync(fixturePath('clip.mp4'));
  const firstUpload = await createUploadOfSize(clip.length, 'clip.mp4');
  const secondUpload = await createUploadOfSize(clip.length, 'clip.mp4');
  expect((await patch(firstUpload.location, 0, clip)).status).toBe(204); // processing starts now
  const otherProgram = openDatabase(join(dataDir, 'sandbox.db'));
  otherProgram.exec('PRAGMA busy_timeout = 2000; BEGIN IMMEDIATE');
  const response = await patch(secondUpload.location, 0, clip.subarray(0, -1));
  expect(response.status).toBe(204); // storing bytes does not write to the store
  const lastByte = patch(secondUpload.location, clip.length - 1, clip.subarray(-1));
  expect((await postUploadOfSize(5)).status).toBe(503);
  await sleep(1_500);
  expect(isAlive()).toBe(true);
  otherProgram.exec('ROLLBACK');
  otherProgram.close();
  expect((await lastByte).status).toBe(204);
  expect(await offsetOf(secondUpload.location)).toBe(clip.length);
  for (const { asset_uid } of [firstUpload, secondUpload]) expect(await waitUntilProcessed(asset_uid)).toBe('ready');
  expect((await postUploadOfSize(5)).status).toBe(201);
  expect(isAlive()).toBe(true);
});
