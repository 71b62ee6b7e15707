import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { b3sum, pseudoRandomBytes } from '../support/files.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());
const { call, createUploadOfSize, head, offsetOf, patch, waitUntilProcessed } = rawHttp(() => sandbox);

const createSession = async (size: number, metadata?: Record<string, string>) =>
  (await createUploadOfSize(size, metadata)).json() as Promise<{
    uid: string;
    location: string;
    asset_uid: string;
    total_size: number;
    expires_at: string;
  }>;

describe('§4 POST /upload/', () => {
  it('upload creation returns 201 with Location and the session, and creates the asset at once', async () => {
    const response = await createUploadOfSize(1234, {
      filename: 'a clip.mp4',
      asset_name: 'Naïve clip',
      description: 'two words',
      content_type: 'video/mp4',
    });
    expect(response.status).toBe(201);
    const session = await response.json();
    expect(session).toEqual({
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      location: `/api/external/v1/upload/${session.uid}/`,
      asset_uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      total_size: 1234,
      expires_at: expect.any(String),
    });
    expect(response.headers.get('Location')).toBe(session.location);
    // "sessions expire after 24 hours"
    const hours = (Date.parse(session.expires_at) - Date.now()) / 3_600_000;
    expect(hours).toBeCloseTo(24, 1);
    const asset = await (await call('GET', `/assets/${session.asset_uid}/`)).json();
    expect(asset).toMatchObject({ name: 'Naïve clip', description: 'two words', size: 1234 });
    expect(asset.status).not.toBe('ready');
  });

  const workspace = 'workspace_uid MDAwMDAwMDAtMDAwMC00MDAwLTgwMDAtMDAwMDAwMDAwMDAw';
  it.each([
    ['Tus-Resumable is missing', { 'Tus-Resumable': '' }, 412],
    ['Tus-Resumable is not 1.0.0', { 'Tus-Resumable': '0.2.2' }, 412],
    ['Upload-Length is missing', { 'Upload-Length': '' }, 400],
    ['Upload-Length is negative', { 'Upload-Length': '-1' }, 400],
    ['Upload-Metadata is missing', { 'Upload-Metadata': '' }, 400],
    ['filename is missing', { 'Upload-Metadata': workspace }, 400],
    ['workspace_uid is missing', { 'Upload-Metadata': 'filename YS5iaW4=' }, 400],
    ['a value is not Base64', { 'Upload-Metadata': `filename a.bin,${workspace}` }, 400],
    ['a value is not UTF-8', { 'Upload-Metadata': `filename Y2Fm6Q==,${workspace}` }, 400],
    ['the workspace does not exist', { 'Upload-Metadata': `filename YS5iaW4=,${workspace}` }, 404],
  ])('upload creation fails with a text/plain error when %s', async (_what, headers, status) => {
    const response = await createUploadOfSize(10, {}, { headers });
    expect(response.status).toBe(status);
    expect(response.headers.get('Content-Type')).toMatch(/^text\/plain/);
    expect((await response.text()).length).toBeGreaterThan(5);
  });

  it('a description has the same maximum length in an upload creation as in an update', async () => {
    const longest = 'x'.repeat(10_000);
    expect((await createUploadOfSize(10, { description: longest })).status).toBe(201);
    expect((await createUploadOfSize(10, { description: `${longest}x` })).status).toBe(400);
  });

  it('upload creation with an unknown parent folder returns 404', async () => {
    const missing = { parent_folder_uid: '00000000-0000-4000-8000-000000000000' };
    expect((await createUploadOfSize(10, missing)).status).toBe(404);
  });
});

it('an upload over the maximum size returns 413, and one over the free space returns 507, as text/plain', async () => {
  const small = await startSandbox({ maxUploadBytes: 1000 });
  try {
    const tooLarge = await rawHttp(() => small).createUploadOfSize(1001);
    expect([tooLarge.status, await tooLarge.text()]).toEqual([413, 'an upload must be at most 1000 bytes\n']);
  } finally {
    await small.end();
  }
  const tooMuch = await createUploadOfSize(1e15 - 1);
  expect([tooMuch.status, await tooMuch.text()]).toEqual([507, 'insufficient storage space\n']);
});

describe('§4 PATCH and HEAD {location}', () => {
  it('PATCH returns 204 with the new offset, and the last PATCH also returns the checksum', async () => {
    const bytes = pseudoRandomBytes(3000);
    const { location, asset_uid } = await createSession(3000);
    const first = await patch(location, 0, bytes.subarray(0, 1000));
    expect([first.status, first.headers.get('Upload-Offset')]).toEqual([204, '1000']);
    expect(first.headers.get('X-Checksum-Blake3')).toBeNull();
    const second = await patch(location, 1000, bytes.subarray(1000));
    expect([second.status, second.headers.get('Upload-Offset')]).toEqual([204, '3000']);
    expect(second.headers.get('X-Checksum-Blake3')).toMatch(/^[0-9a-f]{64}$/);
    const source = join(sandbox.dataDir, 'media', asset_uid, 'source');
    expect(readFileSync(source).equals(bytes)).toBe(true);
    expect(statSync(source).mode & 0o777).toBe(0o600);
  });

  it('the checksum of a complete upload equals the output of b3sum', { tags: 'b3sum' }, async () => {
    const bytes = pseudoRandomBytes(3000);
    const { location } = await createSession(3000);
    await patch(location, 0, bytes.subarray(0, 1000));
    const { headers } = await patch(location, 1000, bytes.subarray(1000));
    const path = join(temporaryFolder(), 'bytes');
    writeFileSync(path, bytes);
    expect(headers.get('X-Checksum-Blake3')).toBe(b3sum(path));
  });

  it('HEAD returns Upload-Offset and, as tus requires, Upload-Length', async () => {
    const { location } = await createSession(10);
    await patch(location, 0, Buffer.from('abc'));
    const response = await head(location);
    expect([response.status, response.headers.get('Upload-Offset')]).toEqual([200, '3']);
    expect(response.headers.get('Upload-Length')).toBe('10');
    expect(response.headers.get('Cache-Control')).toBe('no-store');
  });

  it('"409 means the sent Upload-Offset differs": the response header has the correct offset', async () => {
    const { location } = await createSession(10);
    await patch(location, 0, Buffer.from('abc'));
    for (const wrong of [0, 4]) {
      const response = await patch(location, wrong, Buffer.from('x'));
      expect([response.status, response.headers.get('Upload-Offset')]).toEqual([409, '3']);
    }
  });

  it('"at most 50 MiB per request": a larger PATCH, or one beyond Upload-Length, returns 413', async () => {
    const { location } = await createSession(60 * 1024 * 1024);
    const tooMuch = await patch(location, 0, Buffer.alloc(50 * 1024 * 1024 + 1));
    expect(tooMuch.status).toBe(413);
    const small = await createSession(3);
    expect((await patch(small.location, 0, Buffer.from('four'))).status).toBe(413);
    expect((await head(small.location)).headers.get('Upload-Offset')).toBe('0');
  });

  it.each([
    ['Tus-Resumable', '', 412],
    ['Content-Type', 'application/json', 400],
    ['Upload-Offset', 'x', 400],
  ])('PATCH with the invalid header %s: %j returns %d', async (name, value, status) => {
    const { location } = await createSession(3);
    const response = await patch(location, 0, Buffer.from('abc'), { [name]: value });
    expect(response.status).toBe(status);
    expect(response.headers.get('Tus-Resumable')).toBe('1.0.0');
  });

  it('PATCH keeps the bytes that arrived before the connection dropped', async () => {
    const { location } = await createSession(2_000_000);
    const bytes = pseudoRandomBytes(2_000_000);
    const outgoing = request(sandbox.url + location, {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${sandbox.key}`,
        'tus-resumable': '1.0.0',
        'upload-offset': '0',
        'content-type': 'application/offset+octet-stream',
        'content-length': String(bytes.length),
      },
    });
    const closed = new Promise((resolve) => outgoing.once('close', resolve));
    outgoing.on('error', () => {}); // this test resets the connection
    outgoing.write(bytes.subarray(0, 500_000));
    await expect.poll(() => offsetOf(location)).toBe(500_000);
    outgoing.destroy();
    await closed;
    const offset = await offsetOf(location);
    expect(offset).toBe(500_000);
    const last = await patch(location, offset, bytes.subarray(offset));
    expect(last.headers.get('Upload-Offset')).toBe('2000000');
  });

  it('only one of several concurrent PATCH requests at the same offset succeeds', async () => {
    const { location, asset_uid } = await createSession(400_000);
    const bytes = pseudoRandomBytes(400_000);
    const results = await Promise.allSettled([
      patch(location, 0, bytes),
      patch(location, 0, bytes),
      patch(location, 0, bytes),
    ]);
    const statuses = results.map((result) => (result.status === 'fulfilled' ? result.value.status : 0));
    expect(statuses.filter((status) => status === 204)).toHaveLength(1);
    const source = join(sandbox.dataDir, 'media', asset_uid, 'source');
    expect(readFileSync(source).equals(bytes)).toBe(true);
  });

  it.each([
    ['PATCH', (location: string) => patch(location, 1, Buffer.from('bc'))],
    ['HEAD', (location: string) => head(location)],
  ])('%s of an upload whose asset was deleted returns 404', async (_method, sendRequest) => {
    const { location, asset_uid } = await createSession(3);
    await patch(location, 0, Buffer.from('a'));
    expect((await call('DELETE', `/assets/${asset_uid}/`)).status).toBe(204);
    expect((await sendRequest(location)).status).toBe(404);
  });

  it('PATCH and HEAD of an expired upload session return 404', async () => {
    const sandboxWithExpiredSessions = await startSandbox({ sessionSeconds: 0 });
    const http = rawHttp(() => sandboxWithExpiredSessions);
    try {
      const { location } = await (await http.createUploadOfSize(3)).json();
      expect((await http.head(location)).status).toBe(404);
      expect((await http.patch(location, 0, Buffer.from('abc'))).status).toBe(404);
    } finally {
      await sandboxWithExpiredSessions.end();
    }
  });
});

describe('restarts', () => {
  it('an upload resumes at its offset after a restart of the sandbox, whose checksum then covers the whole file', async () => {
    const before = await startSandbox();
    const bytes = pseudoRandomBytes(5000);
    const raw = rawHttp(() => before);
    const { location } = await (await raw.createUploadOfSize(5000)).json();
    const checksum = async (target: TestSandbox, offset: number) => {
      const { patch: patchNow } = rawHttp(() => target);
      return (await patchNow(location, offset, bytes.subarray(offset))).headers.get('X-Checksum-Blake3');
    };
    await raw.patch(location, 0, bytes.subarray(0, 2000));
    await before.close();
    const after = await startSandbox({ dataDir: before.dataDir });
    try {
      const { head: headAfter } = rawHttp(() => after);
      expect((await headAfter(location)).headers.get('Upload-Offset')).toBe('2000');
      const { location: otherLocation } = await createSession(5000);
      const wholeUpload = await patch(otherLocation, 0, bytes);
      expect(await checksum(after, 2000)).toBe(wholeUpload.headers.get('X-Checksum-Blake3'));
    } finally {
      await after.end();
    }
  });

  it('a restart completes an upload whose last bytes were written before a crash', async () => {
    const before = await startSandbox();
    const raw = rawHttp(() => before);
    const bytes = readFileSync(fixturePath('clip.mp4'));
    const { uid, asset_uid } = await (await raw.createUploadOfSize(bytes.length)).json();
    await before.close();
    // The state after a crash between the last write and the response.
    writeFileSync(join(before.dataDir, 'uploads', uid), bytes);
    const after = await startSandbox({ dataDir: before.dataDir });
    try {
      expect(await rawHttp(() => after).waitUntilProcessed(asset_uid)).toMatchObject({ status: 'ready' });
    } finally {
      await after.end();
    }
  });
});

describe('§3 Processing', () => {
  const uploadContent = async (name: string, bytes: Uint8Array) => {
    const { location, asset_uid } = await createSession(bytes.length, { filename: name });
    await patch(location, 0, bytes);
    return waitUntilProcessed(asset_uid);
  };

  it.each([
    ['random bytes named .mp4', 'a.mp4', () => pseudoRandomBytes(20_000), 'unsupported'],
    ['a truncated video', 'b.mp4', () => readFileSync(fixturePath('clip.mp4')).subarray(0, 300_000), 'truncated'],
    [
      'a video with its index in front that lacks its last bytes',
      'c.mp4',
      () => readFileSync(fixturePath('clip.mp4')).subarray(0, -1_000),
      'truncated: its last 1000 bytes are missing',
    ],
  ])('processing of %s fails with a reason', async (_what, name, bytes, reason) => {
    const asset = await uploadContent(name, bytes());
    expect(asset.status).toBe('failed');
    expect(asset.failure_reason).toContain(reason);
  });

  it('processing of an empty file fails at once', async () => {
    const { asset_uid } = await createSession(0);
    expect(await waitUntilProcessed(asset_uid)).toMatchObject({
      status: 'failed',
      failure_reason: 'the file is empty',
    });
  });

  it('the asset type is detected by content, not by file name', async () => {
    const asset = await uploadContent('really-a-clip.txt', readFileSync(fixturePath('clip.mp4')));
    expect(asset).toMatchObject({ type: 'video', status: 'ready' });
    const pdf = await uploadContent('paper.mp4', Buffer.from('%PDF-1.7\n%âãÏÓ\n1 0 obj\n'));
    expect(pdf).toMatchObject({ type: 'document', content_type: 'application/pdf' });
    const notes = await uploadContent('notes.md', Buffer.from('# Notes\n'));
    expect(notes).toMatchObject({ type: 'document', status: 'ready' });
  });
});

it('a second sandbox on the same data folder is refused', async () => {
  await expect(startSandbox({ dataDir: sandbox.dataDir })).rejects.toThrow('another sandbox is already running in');
});
