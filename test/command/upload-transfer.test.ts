import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acceleratedClock } from '../support/clock.ts';
import { type Fault, type ProxiedRequest, respondWith } from '../support/fault-proxy.ts';
import { writeRandomFile } from '../support/files.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

const setup = setUpUploader();

describe('a fresh upload', () => {
  it('upload sends one POST, one PATCH per chunk and no HEAD', async () => {
    const { code, record } = await setup.upload();
    expect(code).toBe(0);
    expect(setup.faultProxy.uploadRequests.map(({ method }) => method)).toEqual(['POST', ...Array(5).fill('PATCH')]);
    expect(record).toMatchObject({
      request_count: 6,
      bytes_sent: setup.bytes.length,
      resumed_from_bytes: null,
      size_bytes: setup.bytes.length,
    });
    await setup.expectUploaded(record);
  });

  it.each([0, 1, chunkBytes, chunkBytes + 1])('upload sends a file of %i bytes', async (size) => {
    setup.bytes = writeRandomFile(setup.path, { size, seed: `size ${size}` });
    const { code, record } = await setup.upload();
    expect(code).toBe(0);
    expect(setup.faultProxy.uploadRequests.length).toBe(1 + Math.ceil(size / chunkBytes));
    if (size === 0) expect(record).toMatchObject({ verified: null, size_bytes: 0 });
    else await setup.expectUploaded(record);
  });

  it.each(['夜明けの港.mp4', 'größe – ½ "quoted".mov', 'ملف.bin', '-dash.bin', '🎬.mp4'])(
    'upload keeps the file name %s as the asset name',
    async (name) => {
      setup.path = join(setup.cli.home, name);
      setup.bytes = writeRandomFile(setup.path, { size: 1000 });
      const { code, record } = await setup.upload();
      expect(code).toBe(0);
      expect(record.asset_name).toBe(name);
      await setup.expectUploaded(record);
    },
  );
});

describe('rate limit', () => {
  it.each(['POST', 'PATCH', 'HEAD'])(
    'upload waits for Retry-After on a 429 to %s, and then continues',
    async (method) => {
      const clock = acceleratedClock();
      setup.fault = (request: ProxiedRequest): Fault | undefined => {
        if (method === 'HEAD' && request.method === 'PATCH' && request.nth === 2) return { cutAfterBytes: 100 };
        if (request.method !== method || request.nth > 3) return undefined;
        return respondWith(429, { error: { message: 'slow down' } }, { 'retry-after': '7' });
      };
      const { code, record, stderr } = await setup.upload(['--progress', 'json'], { clock });
      expect(code).toBe(0);
      await setup.expectUploaded(record);
      expect(clock.sleptMs.filter((delay) => delay === 7000)).toHaveLength(3);
      const waits = stderr.split('\n').filter((line) => line.includes('"kind":"rate_limited"'));
      expect(waits).toHaveLength(3);
    },
  );

  it('upload exits with 9 if a rate limit exceeds --max-wait, and the same command resumes it', async () => {
    setup.fault = (request) =>
      request.method === 'PATCH' && request.nth >= 3
        ? respondWith(429, { error: {} }, { 'retry-after': '3600' })
        : undefined;
    const { code, record } = await setup.upload(['--max-wait', '10m']);
    expect(code).toBe(9);
    expect(record.error).toMatchObject({ code: 'rate_limited', retryable: true, retry_after_seconds: 3600 });
    expect(setup.unfinishedIds()).toHaveLength(1);
    setup.fault = () => undefined;
    const nextRun = await setup.upload();
    expect(nextRun.record.resumed_from_bytes).toBe(2 * chunkBytes);
    await setup.expectUploaded(nextRun.record);
  });
});

describe('dropped connections and server errors', () => {
  it('upload resumes at the acknowledged offset after dropped connections', async () => {
    setup.fault = (request) =>
      request.method === 'PATCH' && [2, 4].includes(request.nth) ? { cutAfterBytes: 20_000 } : undefined;
    const { code, record } = await setup.upload();
    expect(code).toBe(0);
    await setup.expectUploaded(record);
    expect(record.bytes_sent).toBeLessThanOrEqual(setup.bytes.length + 2 * chunkBytes);
    expect(setup.faultProxy.methods.filter((method) => method === 'HEAD')).toHaveLength(2);
  });

  it('upload does not resend a chunk if only its response was lost', async () => {
    setup.fault = (request) => (request.method === 'PATCH' && request.nth === 2 ? { dropResponse: true } : undefined);
    const { record } = await setup.upload();
    await setup.expectUploaded(record);
    expect(record.bytes_sent).toBe(setup.bytes.length);
  });

  it('upload retries with backoff up to 60 s, and exits with 10 after 10 attempts', async () => {
    const clock = acceleratedClock({ speed: 10_000 });
    setup.fault = ({ nth, method }) =>
      nth > 1 && ['PATCH', 'HEAD'].includes(method) ? respondWith(503, 'no') : undefined;
    const { code, record } = await setup.upload([], { clock });
    expect(code).toBe(10);
    expect(record.error).toMatchObject({ http_status: 503, retryable: true });
    expect(record.error.hint).toContain('uploads resume');
    expect(clock.sleptMs.map((delay) => Math.ceil(delay / 1000))).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    setup.fault = () => undefined;
    const nextRun = await setup.upload();
    expect(nextRun.record.resumed_from_bytes).toBe(chunkBytes);
    await setup.expectUploaded(nextRun.record);
  });

  it.each([
    [423, 'a dead connection holds the session'],
    [425, 'too early'],
    [460, 'damaged on the way'],
    [408, 'slow'],
  ])('upload retries a chunk after status %i (%s)', async (status, reason) => {
    setup.fault = ({ method, nth }) => (method === 'PATCH' && nth === 2 ? respondWith(status, reason) : undefined);
    await setup.expectUploaded((await setup.upload()).record);
  });

  it('upload reconnects and resumes if the service is silent for longer than --request-timeout', async () => {
    await setup.interruptAfterTwoChunks(); // the idle timeout is too short for a creation on a slow machine
    setup.fault = (request) =>
      request.method === 'PATCH' && request.nth === 2
        ? { respond: (_response, request) => void request.resume() }
        : undefined;
    const args = ['--request-timeout', '1s', '--progress', 'json'];
    const { code, record, stderr } = await setup.upload(args);
    expect(code).toBe(0);
    expect(stderr).toContain('timed out');
    await setup.expectUploaded(record);
  });

  it.each([
    ['102 Processing without end', 'headers'],
    ['a response byte by byte', 'body'],
  ])('upload resumes after a timeout if the service sends %s', async (_what, part) => {
    await setup.interruptAfterTwoChunks();
    // On a busy machine a pause between two bytes can be a timeout of its own; the fault ends with the expected one.
    let isReported = false;
    setup.fault = (request) =>
      request.method === 'PATCH' && !isReported
        ? {
            respond: (response, request) => {
              request.resume();
              if (part === 'body') response.writeHead(200, { 'upload-offset': '1' });
              const sendSlowly = () => (part === 'body' ? response.write(' ') : response.writeProcessing());
              const timer = setInterval(sendSlowly, 20);
              request.socket.once('close', () => clearInterval(timer));
            },
          }
        : undefined;
    const onStderr = (text: string) => {
      isReported = text.includes('is too slow');
    };
    const { code, record } = await setup.upload(['--request-timeout', '200ms', '--progress', 'json'], { onStderr });
    expect([code, isReported]).toEqual([0, true]);
    await setup.expectUploaded(record);
  });
});

describe('offsets', () => {
  it('upload resumes at the offset of a 409 response without a HEAD request', async () => {
    setup.fault = (request) =>
      request.method === 'PATCH' && request.nth === 2
        ? respondWith(409, { error: {} }, { 'upload-offset': String(chunkBytes) })
        : undefined;
    const { code, record } = await setup.upload();
    expect(code).toBe(0);
    await setup.expectUploaded(record);
    expect(setup.faultProxy.methods).not.toContain('HEAD');
  });

  it.each([204, 409])('upload exits with 10 after five %i responses with the same offset', async (status) => {
    setup.fault = (request) =>
      request.method === 'PATCH' ? respondWith(status, undefined, { 'upload-offset': '0' }) : undefined;
    const { code, record } = await setup.upload();
    expect(code).toBe(10);
    expect(record.error.message).toBe('the upload is stuck at byte 0');
    expect(setup.patchRequests()).toHaveLength(5);
  });

  it.each([204, 409])('upload exits with 10 if %i responses set the offset back five times', async (status) => {
    setup.fault = ({ method, nth }) => {
      if (method !== 'PATCH') return undefined;
      const acknowledgeChunk = respondWith(204, undefined, { 'upload-offset': String(chunkBytes) });
      return nth % 2 === 1 ? acknowledgeChunk : respondWith(status, undefined, { 'upload-offset': '0' });
    };
    const { code, record } = await setup.upload();
    expect(code).toBe(10);
    expect(record.error.message).toBe(`the upload is stuck at byte ${chunkBytes}`);
    expect(setup.patchRequests()).toHaveLength(10);
  });

  it('upload exits with 10 after five responses that acknowledge one byte each', async () => {
    setup.fault = ({ method, nth }) =>
      method === 'PATCH' ? respondWith(204, undefined, { 'upload-offset': String(nth) }) : undefined;
    const { code, record } = await setup.upload();
    expect(code).toBe(10);
    expect(record.error.message).toBe('the upload is stuck at byte 5');
    expect(setup.patchRequests()).toHaveLength(5);
  });

  it('upload accepts an offset header that appears twice with one value', async () => {
    setup.fault = ({ method }) =>
      method === 'PATCH'
        ? {
            headers: (headers) => ({
              ...headers,
              'upload-offset': `${headers['upload-offset']}, ${headers['upload-offset']}`,
            }),
          }
        : undefined;
    await setup.expectUploaded((await setup.upload()).record);
  });

  it('upload resumes and verifies the file if the service has more bytes than the stored offset', async () => {
    const abort = new AbortController();
    setup.fault = (request) =>
      request.method === 'PATCH' && request.nth === 3
        ? { beforeResponse: () => abort.abort(new Error('stop')), dropResponse: true }
        : undefined;
    const firstRun = await setup.upload([], { signal: abort.signal, inProcess: 'is not aborted by a signal' });
    expect(firstRun.code).toBe(1);
    expect(setup.storedEntry()).toMatchObject({ state: 'open', offset: 2 * chunkBytes });
    const nextRun = await setup.upload();
    expect(nextRun.record.resumed_from_bytes).toBe(3 * chunkBytes);
    await setup.expectUploaded(nextRun.record);
  });
});

/**
 * Lying services. Each row is a faulty response to a method from the nth request on. The upload completes all
 * the same or ends with that exit code; it never reports success for bytes that were not acknowledged.
 */
const size = 4 * chunkBytes + 1000;
const respondWithOffset = (status: number, offset: string) =>
  respondWith(status, undefined, { 'upload-offset': offset });
const droppedConnection: Fault = { cutAfterBytes: 20_000 };
const faultyResponses: [what: string, planFault: (request: ProxiedRequest) => Fault | undefined, exit: number][] = [
  ...['', 'x', '-1', '1.5', '0x10000', '1e5', '65536, 0', '99999999999999999999'].flatMap(
    (offset): (typeof faultyResponses)[number][] => [
      [`204 with an offset of '${offset}'`, faultOnPatch(respondWithOffset(204, offset)), 10],
      [`409 with an offset of '${offset}'`, faultOnPatch(respondWithOffset(409, offset)), 10],
      [`HEAD with an offset of '${offset}'`, faultOnHead(respondWithOffset(200, offset)), 10],
    ],
  ),
  ...[String(size + 1), '99999999'].flatMap((offset): (typeof faultyResponses)[number][] => [
    [`204 past the end: ${offset}`, faultOnPatch(respondWithOffset(204, offset)), 13],
    [`409 past the end: ${offset}`, faultOnPatch(respondWithOffset(409, offset)), 13],
    [`HEAD past the end: ${offset}`, faultOnHead(respondWithOffset(200, offset)), 13],
  ]),
  ...[String(size), String(3 * chunkBytes)].flatMap((offset): (typeof faultyResponses)[number][] => [
    [`204 past what was sent: ${offset}`, faultOnPatch(respondWithOffset(204, offset)), 13],
    [`409 past what was sent: ${offset}`, faultOnPatch(respondWithOffset(409, offset)), 13],
  ]),
  [`HEAD past what was sent: ${size}`, faultOnHead(respondWithOffset(200, String(size))), 13],
  ...[200, 201, 202, 206].map((status): (typeof faultyResponses)[number] => [
    `${status} without an offset`,
    faultOnPatch(respondWith(status, {})),
    10,
  ]),
  ['204 without an offset', faultOnPatch(respondWith(204)), 10],
  ['409 without an offset', faultOnPatch(respondWith(409, { error: {} })), 10],
  ...[301, 302, 307, 308].map((status): (typeof faultyResponses)[number] => [
    `${status} to another place`,
    faultOnPatch(respondWith(status, undefined, { location: 'http://127.0.0.1:9/elsewhere' })),
    10,
  ]),
  ...[
    [400, 6],
    [401, 4],
    [402, 7],
    [403, 5],
    [405, 1],
    [412, 6],
    [413, 6],
    [415, 1],
    [422, 6],
    [431, 6],
    [501, 10],
    [507, 7],
  ].map(([status, exit]): (typeof faultyResponses)[number] => [
    `PATCH answered ${status}`,
    faultOnPatch(respondWith(status as number, { error: { message: 'no' } })),
    exit as number,
  ]),
  ...[500, 502, 503, 504, 520, 599].map((status): (typeof faultyResponses)[number] => [
    `PATCH answered ${status} for ever`,
    faultOnPatch(respondWith(status, 'no')),
    10,
  ]),
  ...[500, 502, 503, 504].map((status): (typeof faultyResponses)[number] => [
    `HEAD answered ${status} for ever`,
    faultOnHead(respondWith(status, 'no')),
    10,
  ]),
  ...[401, 403].map((status): (typeof faultyResponses)[number] => [
    `HEAD answered ${status}`,
    faultOnHead(respondWith(status, undefined)),
    status === 401 ? 4 : 5,
  ]),
  ['a web page for a PATCH', faultOnPatch(respondWith(200, '<html><title>Log in</title></html>')), 10],
  ['a web page with 404 for a PATCH', faultOnPatch(respondWith(404, '<html><title>No route</title></html>')), 10],
];

/** Injects the fault from the second PATCH on. */
function faultOnPatch(fault: Fault) {
  return ({ method, nth }: ProxiedRequest) => (method === 'PATCH' && nth >= 2 ? fault : undefined);
}

/** Drops the connection once, in the second PATCH, and injects the fault into HEAD. */
function faultOnHead(fault: Fault) {
  return ({ method, nth }: ProxiedRequest) => {
    if (method === 'PATCH' && nth === 2) return droppedConnection;
    return method === 'HEAD' ? fault : undefined;
  };
}

it.each(faultyResponses)(
  'upload fails with an error code and stays resumable after a faulty response: %s',
  async (_what, planFault, exit) => {
    setup.fault = planFault;
    const { code, record } = await setup.upload([], { clock: acceleratedClock({ speed: 10_000 }) });
    expect([code, record.error?.code]).toEqual([exit, expect.any(String)]);
    expect(record.error.code).not.toBe('unclassified');
    expect(setup.faultProxy.requests.length).toBeLessThanOrEqual(5 + 3 * 5 + 10);
    expect(setup.unfinishedIds()).toHaveLength(1);
  },
);
