import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { Api } from '../../src/client/api/api.ts';
import { Transport } from '../../src/client/http/transport.ts';
import { StateDatabase } from '../../src/client/state/state-database.ts';
import { decideByEntry } from '../../src/client/upload/decide/by-entry.ts';
import { sendNew } from '../../src/client/upload/decide/decision.ts';
import { defaultSettings } from '../../src/client/upload/decide/upload-settings.ts';
import type { Uploaded } from '../../src/client/upload/session/file-outcome.ts';
import { FirstCreation } from '../../src/client/upload/session/first-creation.ts';
import { openUpload, upload } from '../../src/client/upload/session/upload.ts';
import { describeChange, isUnchanged, matchesReceipt } from '../../src/client/upload/sources/file-identity.ts';
import { RangeSource } from '../../src/client/upload/sources/range-source.ts';
import type { UploadSource } from '../../src/client/upload/sources/source.ts';
import { fileAt } from '../../src/client/upload/sources/upload-file.ts';
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
    { ...fileAt('a-source'), filename: 'day 1.mp4', target: { workspace: sandbox.workspace } },
    { ...defaultSettings, chunkBytes, idleTimeoutMs: 10_000, requireChecksum: true },
    {
      api: new Api(own, {}),
      store,
      profile: 'none',
      signal: new AbortController().signal,
      firstCreation: new FirstCreation(),
      onEvent: () => {},
      decide: async (subject) => (await decideByEntry(subject, sendNew, store)) ?? sendNew,
      openSource: () => openSource(keyless),
      orphans: undefined,
      confirmNewAsset: async (refusal) => {
        throw refusal;
      },
    },
  );
  try {
    const { uploaded, persisted } = await upload(opened);
    await persisted;
    return uploaded;
  } finally {
    await opened.source.close();
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

it('a later run uploads a remote file anew if the server now has a different file', async () => {
  const server = await FileServer.start(bytes);
  const openSource = (transport: Transport) => RangeSource.open(server.url, transport);
  fault = failThirdChunk;
  await expect(runUpload(openSource)).rejects.toThrow('credit balance');
  fault = () => undefined;
  server.bytes = pseudoRandomBytes(bytes.length, 'other');
  const uploaded = await runUpload(openSource);
  expect([uploaded.resumedFrom, storedBytes(uploaded).equals(server.bytes)]).toEqual([null, true]);
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
  await expect(uploading).rejects.toMatchObject({ explanation: { code: 'file_unusable' } });
  expect(proxy.methods.filter((method) => method === 'POST')).toEqual(['POST']);
});

it('a remote file counts as changed by its ETag, or by its modification time if it has no ETag', () => {
  const identity = { sizeBytes: 1, mtimeNs: '1', validator: '"a"' };
  expect(describeChange(identity, { ...identity, validator: '"b"' })).toBe('the server has a different version of it');
  expect(describeChange(identity, { ...identity, mtimeNs: '2' })).toBeUndefined();
  expect(describeChange({ sizeBytes: 1, mtimeNs: '1' }, { ...identity, mtimeNs: '2' })).toBeDefined();
});

it('a modification time of 0 does not show that a file is unchanged, but an ETag beside it does', () => {
  const identity = { sizeBytes: 1, mtimeNs: '0' };
  const receipt = { sizeBytes: 1, mtimeNs: '0', ctimeNs: null };
  expect([isUnchanged(identity, identity), matchesReceipt(receipt, identity)]).toEqual([false, false]);
  const tagged = { ...identity, validator: '"a"' };
  expect([isUnchanged(tagged, tagged), matchesReceipt({ ...receipt, mtimeNs: '"a"' }, tagged)]).toEqual([true, true]);
});

it('a local file is unchanged if nothing that is known of it differs', () => {
  const file = { sizeBytes: 1, mtimeNs: '5', ctimeNs: '6', ino: '7', dev: '8' };
  const changed = [{ sizeBytes: 2 }, { mtimeNs: '6' }, { ctimeNs: '7' }, { ino: '8' }];
  expect(changed.map((change) => isUnchanged(file, { ...file, ...change }))).toEqual([false, false, false, false]);
  const unknown = [{ ctimeNs: undefined }, { ctimeNs: null }, { dev: '9' }];
  expect(unknown.map((change) => isUnchanged(file, { ...file, ...change }))).toEqual([true, true, true]);
});
