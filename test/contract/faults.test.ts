import { describe, expect, it, onTestFinished } from 'vitest';
import { pseudoRandomBytes } from '../support/files.ts';
import { rawHttp } from '../support/raw-http.ts';
import { rawSocket, requestHead } from '../support/raw-socket.ts';
import { startSandbox } from '../support/sandbox.ts';

/** Starts a sandbox with faults; returns its log lines and functions for raw requests. */
async function startWithFaults(...faults: string[]) {
  const lines: string[] = [];
  const sandbox = await startSandbox({ faults, log: (line) => lines.push(line) });
  onTestFinished(() => sandbox.end());
  const http = rawHttp(() => sandbox);
  const firedFaults = () => lines.filter((line) => line.startsWith('fault '));
  const activeFaults = async () =>
    ((await (await fetch(`${sandbox.url}/health`)).json()) as { faults: unknown }).faults;
  const createSession = async (size: number) => (await (await http.createUploadOfSize(size)).json()).location;
  return { sandbox, ...http, firedFaults, activeFaults, createSession };
}

describe('cut-after', () => {
  it('the fault cut-after drops the connection at the given byte as often as requested, and keeps earlier bytes', async () => {
    const { patch, createSession, offsetOf, firedFaults, activeFaults } =
      await startWithFaults('cut-after=300000,times=2');
    const bytes = pseudoRandomBytes(1_000_000);
    const location = await createSession(bytes.length);
    await expect(patch(location, 0, bytes)).rejects.toThrow();
    expect(await offsetOf(location)).toBe(300_000);
    expect(await activeFaults()).toEqual([{ fault: 'cut-after=300000,times=2', remaining_count: 1 }]);
    await expect(patch(location, 300_000, bytes.subarray(300_000))).rejects.toThrow();
    expect(await offsetOf(location)).toBe(600_000);
    expect((await patch(location, 600_000, bytes.subarray(600_000))).status).toBe(204);
    expect(firedFaults()).toEqual(Array(2).fill(`fault cut-after=300000,times=2 at PATCH ${location}`));
    expect(await activeFaults()).toEqual([]);
  });

  it('the fault cut-after does not affect shorter request bodies', async () => {
    const { patch, createSession, firedFaults } = await startWithFaults('cut-after=11');
    const response = await patch(await createSession(10), 0, pseudoRandomBytes(10));
    expect([response.status, firedFaults()]).toEqual([204, []]);
  });
});

it('the fault silent-after stalls the connection after the given number of bytes and does not close it', async () => {
  const { sandbox, createSession, offsetOf, patch } = await startWithFaults('silent-after=100KiB,times=1');
  const bytes = pseudoRandomBytes(24_000_000); // more than the socket buffers of both sides hold
  const location = await createSession(bytes.length);
  const { socket, received, closed } = await rawSocket(sandbox.url);
  socket.write(
    requestHead(sandbox.url, `PATCH ${location}`, {
      Authorization: `Bearer ${sandbox.key}`,
      'Tus-Resumable': '1.0.0',
      'Upload-Offset': 0,
      'Content-Type': 'application/offset+octet-stream',
      'Content-Length': bytes.length,
    }),
  );
  const flushed = new Promise((resolve) => socket.write(bytes, () => resolve('flushed')));
  await expect.poll(() => offsetOf(location)).toBeGreaterThanOrEqual(102_400);
  const stillOpen = new Promise((resolve) => setTimeout(resolve, 500, 'open'));
  expect(await Promise.race([flushed, closed, stillOpen])).toBe('open');
  expect([await offsetOf(location), received()]).toEqual([102_400, '']);
  // The upload resumes at its offset, as after any stalled connection.
  expect((await patch(location, 102_400, bytes.subarray(102_400))).status).toBe(204);
});

describe('status', () => {
  it('the fault status fails matching requests as often as requested, in the error format of the endpoint', async () => {
    const { call, createUploadOfSize, firedFaults } = await startWithFaults(
      'status=503,path=/upload/,times=1',
      'status=429,method=GET,times=1',
    );
    const uploadError = await createUploadOfSize(5);
    expect([uploadError.status, uploadError.headers.get('content-type')]).toEqual([
      503,
      expect.stringMatching(/^text\/plain/),
    ]);
    expect((await createUploadOfSize(5)).status).toBe(201);
    const apiError = await call('GET', '/assets/');
    expect([apiError.status, apiError.headers.get('Retry-After')]).toEqual([429, '1']);
    expect((await apiError.json()).error).toHaveProperty('message');
    expect((await call('GET', '/assets/')).status).toBe(200);
    expect(firedFaults()).toHaveLength(2);
  });

  it('the fault status fails a request before it is executed and after it is authenticated', async () => {
    const { call, createUploadOfSize, firedFaults } = await startWithFaults('status=503,method=DELETE');
    const path = `/assets/${(await (await createUploadOfSize(5)).json()).asset_uid}/`;
    expect((await call('DELETE', path, { key: '' })).status).toBe(401);
    expect(firedFaults()).toEqual([]);
    expect((await call('DELETE', path)).status).toBe(503);
    expect((await call('GET', path)).status).toBe(200);
  });
});

it('the fault latency delays only matching requests', async () => {
  const { call, firedFaults } = await startWithFaults('latency=300ms,path=/workspaces/');
  await call('GET', '/assets/');
  expect(firedFaults()).toEqual([]);
  const startedAt = performance.now();
  await call('GET', '/workspaces/');
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(299);
  expect(firedFaults()).toHaveLength(1);
});

it('the fault expire-sessions expires a session permanently at its next PATCH or HEAD request', async () => {
  const { createSession, patch, head, firedFaults } = await startWithFaults('expire-sessions,times=1');
  const expiredSession = await createSession(10);
  expect((await head(expiredSession)).status).toBe(404);
  expect((await patch(expiredSession, 0, pseudoRandomBytes(10))).status).toBe(404);
  expect((await patch(await createSession(10), 0, pseudoRandomBytes(10))).status).toBe(204);
  expect(firedFaults()).toEqual([`fault expire-sessions,times=1 at HEAD ${expiredSession}`]);
});

describe('checksums', () => {
  const lastPatchWithFaults = async (...faults: string[]) => {
    const { createSession, patch } = await startWithFaults(...faults);
    const response = await patch(await createSession(10), 0, pseudoRandomBytes(10));
    return [response.status, response.headers.get('X-Checksum-Blake3')] as const;
  };

  it('the fault bad-checksum returns the checksum of different bytes', async () => {
    const [, correctChecksum] = await lastPatchWithFaults();
    const [status, otherChecksum] = await lastPatchWithFaults('bad-checksum');
    expect([status, otherChecksum]).toEqual([204, expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(otherChecksum).not.toBe(correctChecksum);
  });

  it('the fault no-checksum omits the checksum header', async () => {
    expect(await lastPatchWithFaults('no-checksum')).toEqual([204, null]);
  });
});

it('the fault lost-answer executes the request and drops the connection before the response', async () => {
  const { call, createUploadOfSize, firedFaults } = await startWithFaults(
    'lost-answer,method=POST,path=/upload/,times=1',
  );
  await expect(createUploadOfSize(5)).rejects.toThrow();
  expect((await (await call('GET', '/assets/')).json()).items).toHaveLength(1);
  expect(firedFaults()).toHaveLength(1);
  expect((await createUploadOfSize(5)).status).toBe(201);
});

it('the sandbox does not start if a fault has invalid syntax', async () => {
  await expect(startSandbox({ faults: ['cut-after'] })).rejects.toThrow("invalid 'cut-after'");
});
