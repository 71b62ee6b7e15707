import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { Api } from '../../src/client/api/api.ts';
import type { MediactlError } from '../../src/client/errors.ts';
import { Transport } from '../../src/client/http/transport.ts';
import { openUpload } from '../../src/client/upload/session/upload.ts';
import type { Uploaded } from '../../src/client/upload/session/upload-job.ts';
import { RangeSource } from '../../src/client/upload/sources/range-source.ts';
import { describeChange, type UploadSource } from '../../src/client/upload/sources/source.ts';
import { StreamSource } from '../../src/client/upload/sources/stream-source.ts';
import { StateDatabase } from '../../src/client/upload/store/state-database.ts';
import { LocalUploadStore } from '../../src/client/upload/store/upload-store.ts';
import { acceleratedClock } from '../support/clock.ts';
import { type Fault, FaultProxy, type ProxiedRequest, respondWith } from '../support/fault-proxy.ts';
import { FileServer } from '../support/file-server.ts';
import { pseudoRandomBytes } from '../support/files.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Uploads of sources that are no local files, to a real service, over connections that drop. */

const chunkBytes = 256 * 1024;
const bytes = pseudoRandomBytes(4 * chunkBytes + 1000);

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

let proxy: FaultProxy;
let store: LocalUploadStore;
let fault: (seen: ProxiedRequest) => Fault | undefined;
beforeEach(async () => {
  fault = () => undefined;
  proxy = await FaultProxy.start(sandbox.url, (seen) => fault(seen));
  const database = await StateDatabase.open(temporaryFolder());
  onTestFinished(() => database.close());
  store = new LocalUploadStore(database, process.pid);
});

/** Uploads one source as one run of the program. */
async function runUpload(openSource: (transport: Transport) => Promise<UploadSource>): Promise<Uploaded> {
  const options = {
    clock: acceleratedClock(),
    userAgent: 'test',
    requestTimeoutMs: 10_000,
    maxWaitMs: 600_000,
    baseUrl: new URL(proxy.url),
  };
  const own = new Transport({ ...options, apiKey: sandbox.key });
  const keyless = new Transport(options);
  const opened = await openUpload(
    { path: 'a-source', workspace: sandbox.workspace, filename: 'day 1.mp4' },
    {
      chunkBytes,
      idleTimeoutMs: 10_000,
      force: false,
      duplicates: 'skip',
      onSessionExpired: 'restart',
      requireChecksum: true,
    },
    {
      api: new Api(own, {}),
      store,
      profile: 'none',
      onEvent: () => {},
      maxReceiptId: 0,
      openSource: () => openSource(keyless),
      orphans: undefined,
      confirmNewAsset: async (refusal) => {
        throw refusal;
      },
    },
  );
  try {
    const { uploaded, persisted } = await opened.run();
    await persisted;
    return uploaded;
  } finally {
    await opened.close();
    await Promise.all([own.close(), keyless.close()]);
  }
}

const storedBytes = ({ assetUid }: Uploaded) => readFileSync(join(sandbox.dataDir, 'media', assetUid, 'source'));

/** Fails the third chunk, which ends the run as Ctrl-C or a crash would. */
const failThirdChunk = ({ method, nth }: ProxiedRequest) =>
  method === 'PATCH' && nth === 3 ? respondWith(402, { error: {} }) : undefined;

it('a remote file is uploaded completely when connections break on either side', async () => {
  const server = await FileServer.start(bytes);
  server.fault = ({ nth }) => (nth % 3 === 2 ? { cutAfterBytes: 50_000 } : undefined);
  fault = ({ method, nth }) => (method === 'PATCH' && nth % 2 === 1 ? { cutAfterBytes: 100_000 } : undefined);
  const uploaded = await runUpload((transport) => RangeSource.open(server.url, transport));
  expect(uploaded).toMatchObject({ verified: true, sizeBytes: bytes.length });
  expect(storedBytes(uploaded).equals(bytes)).toBe(true);
});

it('a later run resumes a remote file by a URL with a new signature', async () => {
  const server = await FileServer.start(bytes);
  const openWithSignature = (signature: string) => (transport: Transport) =>
    RangeSource.open(`${server.url}?X-Amz-Signature=${signature}`, transport);
  fault = failThirdChunk;
  await expect(runUpload(openWithSignature('one'))).rejects.toThrow('credit balance');
  fault = () => undefined;
  const uploaded = await runUpload(openWithSignature('two'));
  expect(uploaded).toMatchObject({ verified: true, resumedFrom: 2 * chunkBytes });
  expect(storedBytes(uploaded).equals(bytes)).toBe(true);
  const entries = await store.list();
  expect(JSON.stringify(entries)).not.toMatch(/Signature/);
});

it('a later run detects that the server now has a different file', async () => {
  const server = await FileServer.start(bytes);
  const openSource = (transport: Transport) => RangeSource.open(server.url, transport);
  fault = failThirdChunk;
  await expect(runUpload(openSource)).rejects.toThrow('credit balance');
  fault = () => undefined;
  server.bytes = pseudoRandomBytes(bytes.length, 'other');
  const requestsBefore = proxy.requests.length;
  await expect(runUpload(openSource)).rejects.toMatchObject({ explanation: { code: 'file_changed' } });
  expect(proxy.requests.slice(requestsBefore).map(({ method }) => method)).not.toContain('PATCH');
});

it('an upload fails with file_changed when the remote file changes during the upload', async () => {
  const server = await FileServer.start(bytes);
  fault = ({ method, nth }) => {
    if (method === 'PATCH' && nth === 3) server.bytes = pseudoRandomBytes(bytes.length, 'other');
    return undefined;
  };
  const uploading = runUpload((transport) => RangeSource.open(server.url, transport));
  await expect(uploading).rejects.toMatchObject({ explanation: { code: 'file_changed' } });
});

it('a missing source file is not mistaken for a lost upload session', async () => {
  const server = await FileServer.start(bytes);
  server.fault = ({ nth }) => (nth > 5 ? { respond: (response) => response.writeHead(404).end() } : undefined);
  const uploading = runUpload((transport) => RangeSource.open(server.url, transport));
  await expect(uploading).rejects.toMatchObject({ explanation: { code: 'file_missing' } });
  expect(proxy.methods.filter((method) => method === 'POST')).toEqual(['POST']);
});

const openStdin = (stdin: Buffer) => async () => {
  const pieces = Array.from({ length: Math.ceil(stdin.length / 65_536) }, (_, n) =>
    stdin.subarray(n * 65_536, (n + 1) * 65_536),
  );
  const options = { sizeBytes: bytes.length, chunkBytes, realPath: 'stdin-of-this-test' };
  return new StreamSource(Readable.from(pieces), options);
};

it('stdin is uploaded completely when the connection breaks', async () => {
  fault = ({ method, nth }) => (method === 'PATCH' && nth % 2 === 1 ? { cutAfterBytes: 100_000 } : undefined);
  const uploaded = await runUpload(openStdin(bytes));
  expect(uploaded).toMatchObject({ verified: true, resumedFrom: null });
  expect(storedBytes(uploaded).equals(bytes)).toBe(true);
});

it('an upload of stdin resumes where an earlier run stopped when the same input is piped again', async () => {
  fault = failThirdChunk;
  await expect(runUpload(openStdin(bytes))).rejects.toThrow('credit balance');
  fault = () => undefined;
  const otherInput = Buffer.concat([bytes.subarray(0, 10), Buffer.from('x'), bytes.subarray(11)]);
  await expect(runUpload(openStdin(otherInput))).rejects.toMatchObject({ explanation: { code: 'file_changed' } });
  const uploaded = await runUpload(openStdin(bytes));
  expect(uploaded).toMatchObject({ verified: true, resumedFrom: 2 * chunkBytes });
  expect(storedBytes(uploaded).equals(bytes)).toBe(true);
});

it('stdin whose upload has no receipt yet is not uploaded twice, and other input of its size is not mistaken for it', async () => {
  const finishWithoutReceipt: typeof store.finish = (entry) => store.write(entry);
  store.finish = finishWithoutReceipt;
  const firstUpload = await runUpload(openStdin(bytes));
  const secondUpload = await runUpload(openStdin(bytes));
  expect(secondUpload).toMatchObject({ assetUid: firstUpload.assetUid, bytesSent: 0 });
  const otherInput = Buffer.concat([bytes.subarray(1), Buffer.from('x')]);
  await expect(runUpload(openStdin(otherInput))).rejects.toMatchObject({ explanation: { code: 'file_missing' } });
});

it('a remote file counts as changed by its ETag, or by its modification time if it has no ETag', () => {
  const identity = { sizeBytes: 1, mtimeNs: '1', validator: '"a"' };
  expect(describeChange(identity, { ...identity, validator: '"b"' })).toBe('the server has a different version of it');
  expect(describeChange(identity, { ...identity, mtimeNs: '2' })).toBeUndefined();
  expect(describeChange({ sizeBytes: 1, mtimeNs: '1' }, { ...identity, mtimeNs: '2' })).toBeDefined();
});

it.each([-1, 1])('an upload of stdin fails when its length differs from the declared size by %d byte', async (more) => {
  const stdin = more > 0 ? Buffer.concat([bytes, Buffer.alloc(more)]) : bytes.subarray(0, more);
  const failure = await runUpload(openStdin(stdin)).catch((error) => error as MediactlError);
  expect(failure).toMatchObject({ kind: 'usage', explanation: { code: 'stdin_size_differs' } });
  const entries = await store.list();
  const endOfLastFullChunk = bytes.length - (bytes.length % chunkBytes);
  expect(entries).toMatchObject([{ state: 'open', offset: endOfLastFullChunk }]);
});
