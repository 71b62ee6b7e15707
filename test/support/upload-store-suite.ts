import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { blake3 } from '@napi-rs/blake-hash';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Api } from '../../src/client/api/api.ts';
import { asCodedError, type CodedError } from '../../src/client/errors.ts';
import { Transport } from '../../src/client/http/transport.ts';
import { OwnFiles } from '../../src/client/own-files.ts';
import { decideByEntry } from '../../src/client/upload/decide/by-entry.ts';
import { Decider } from '../../src/client/upload/decide/decide.ts';
import { sendNew } from '../../src/client/upload/decide/decision.ts';
import { defaultSettings } from '../../src/client/upload/decide/upload-settings.ts';
import type { Uploaded } from '../../src/client/upload/session/file-outcome.ts';
import { FirstCreation } from '../../src/client/upload/session/first-creation.ts';
import { findEmptyAssets } from '../../src/client/upload/session/lost-creations.ts';
import { openUpload, upload } from '../../src/client/upload/session/upload.ts';
import { FileSource } from '../../src/client/upload/sources/source.ts';
import { fileAt, type TargetedFile, uploadIdOf } from '../../src/client/upload/sources/upload-file.ts';
import type { Receipts } from '../../src/client/upload/store/receipts.ts';
import type { OpenEntry, Orphan, UploadEntry } from '../../src/client/upload/store/upload-entry.ts';
import {
  type ListableUploadStore,
  LocalUploadStore,
  type UploadStore,
} from '../../src/client/upload/store/upload-store.ts';
import type { Clock } from '../../src/shared/clock.ts';
import { acceleratedClock } from './clock.ts';
import { errorInTable, seenError } from './errors.ts';
import { FakeService } from './fake-service.ts';
import { writeRandomFile } from './files.ts';
import { temporaryFolder } from './temporary-folder.ts';

/* The test suite of every store with which an upload survives a crash. */

const chunkBytes = 64 * 1024;
const workspace = '00000000-0000-4000-8000-00000000000a';

/** A process that uploads a file: its store, and the receipts of its machine. */
export type StoreProcess = {
  store: UploadStore;
  /** Undefined for a queue, whose worker replaces the entry with a receipt. */
  receipts: Receipts | undefined;
};

export type StoreAdapter = {
  /** True if the store belongs to a queue: an attempt reads the entry of its own job only, which has no column. */
  isQueue: boolean;
  /** Removes everything that is stored. */
  reset(): Promise<void>;
  /** Starts a process that uploads a file. @param clock clock of its lease */
  open(id: string, clock?: Clock): Promise<StoreProcess>;
  /** Ends a process as a kill does, without any cleanup of its rows. */
  end(storeProcess: StoreProcess): Promise<void>;
  close(): Promise<void>;
};

/** A file to upload, and the id of its upload. */
type TestFile = { path: string; id: string; bytes: Buffer; blake3: string };

type TestUpload = {
  uploaded: Uploaded | undefined;
  error: CodedError | undefined;
  /** Messages for the user. */
  notices: string[];
  /** Assets that the upload may have left incomplete. */
  orphans: Orphan[];
  /** Empty assets that the run names at its end, because the response to their creation was lost. */
  emptyAssets: Orphan[];
};

const fileName = 'day 1.mov';

const targetedFile = (path: string): TargetedFile => ({ ...fileAt(path), target: { workspace } });

function createFile(service: FakeService, size: number): TestFile {
  const path = join(realpathSync(temporaryFolder()), fileName);
  const bytes = writeRandomFile(path, { size, seed: path });
  const id = uploadIdOf(targetedFile(path), path, new URL(service.url));
  return { path, id, bytes, blake3: Buffer.from(blake3(bytes)).toString('hex') };
}

/** Uploads a file once, as one of several files or as a worker does. Never throws. */
async function uploadOnce(
  service: FakeService,
  { path, id }: Pick<TestFile, 'path' | 'id'>,
  { store, receipts }: StoreProcess,
): Promise<TestUpload> {
  const transport = new Transport({
    clock: acceleratedClock(),
    userAgent: 'test',
    requestTimeoutMs: 1_000_000,
    maxWaitMs: 600_000,
    baseUrl: new URL(service.url),
    apiKey: 'a-key',
  });
  const api = new Api(transport, {});
  const notices: string[] = [];
  const orphans: Orphan[] = [];
  const emptyAssets: Orphan[] = [];
  const { signal } = new AbortController();
  const openSource = (from: string) => FileSource.open(from, new OwnFiles({}));
  const decider = new Decider(defaultSettings, {
    ...{ api, receipts, signal },
    comparison: { library: { folders: () => Promise.reject(new Error('no folder is compared')) } },
    store: 'list' in store ? (store as ListableUploadStore) : undefined,
    workspace: '',
    mark: 0,
    folders: { find: () => null, findOrCreate: async () => undefined },
    openSource,
  });
  const opened = await openUpload(
    { ...targetedFile(path), ...(!receipts && { id }) },
    { ...defaultSettings, chunkBytes, idleTimeoutMs: 1_000_000 },
    {
      api,
      store,
      receipts,
      signal,
      profile: 'none',
      firstCreation: new FirstCreation(),
      // As the worker does, whose store has one entry.
      decide: async (subject) =>
        'list' in store
          ? decider.decide(subject, subject.file, api)
          : ((await decideByEntry(subject, sendNew, store)) ?? sendNew),
      onEvent: (event) => {
        if (event.event === 'warning') notices.push(event.message);
      },
      openSource,
      orphans: {
        saveOrphan: async (service, orphan) => {
          await receipts?.saveOrphan(service, orphan);
          orphans.push(orphan);
        },
      },
      confirmNewAsset: (refusal) => Promise.reject(refusal),
    },
  );
  expect(opened.id).toBe(id);
  try {
    const { uploaded, persisted } = await upload(opened);
    const error = await persisted;
    const noEntries = { list: async () => [] };
    if (receipts) emptyAssets.push(...(await findEmptyAssets({ api, store: noEntries, receipts }, [workspace])));
    return { uploaded, error, notices, orphans, emptyAssets };
  } catch (error) {
    return { uploaded: undefined, error: asCodedError(error), notices, orphans, emptyAssets };
  } finally {
    await opened.source.close();
    await transport.close();
  }
}

/** Lists the entries of a store of this machine. A queue's worker reads the entry of its own job only. */
const listEntries = async (store: UploadStore) => (store instanceof LocalUploadStore ? store.list() : undefined);

/** The write to the store at which a process dies, counted from 1. */
type Death = { moment: 'before' | 'after'; write: number };
type CallKind = 'read' | 'write' | 'release';

/** Wraps each call of a store. */
const wrapStore = (
  store: UploadStore,
  around: <T>(call: () => Promise<T>, kind: CallKind) => Promise<T | undefined>,
): UploadStore => {
  const wrap = <T>(call: () => Promise<T>, kind: CallKind = 'read') => around(call, kind) as Promise<T>;
  return {
    lock: async (id, path) => {
      const release = await wrap(() => store.lock(id, path));
      return () => wrap(release, 'release');
    },
    read: (id) => wrap(() => store.read(id)),
    write: (entry, isDurable) => wrap(() => store.write(entry, isDurable), 'write'),
    finish: (entry, receipt) => wrap(() => store.finish(entry, receipt), 'write'),
    remove: (id) => wrap(() => store.remove(id)),
  };
};

type MortalStore = {
  store: UploadStore;
  readonly calls: number;
  readonly isDead: boolean;
  /** Resolves once every call before the death has taken effect. */
  settle(): Promise<void>;
};

/**
 * Wraps a store for a process that dies at a write: just before it takes effect, or once it has. Every later
 * call fails, and locks stay.
 */
function dieAtWrite(store: UploadStore, { moment, write }: Death): MortalStore {
  let calls = 0;
  let isDead = false;
  const pending: Promise<unknown>[] = [];
  const around = async <T>(call: () => Promise<T>, kind: CallKind): Promise<T | undefined> => {
    if (isDead && kind === 'release') return undefined;
    if (isDead) throw new Error('the process is dead');
    const isLast = kind === 'write' && ++calls === write;
    if (isLast) isDead = true;
    if (isLast && moment === 'before') throw new Error('the process died');
    const result = call();
    pending.push(result.catch(() => {}));
    await result;
    if (isLast) throw new Error('the process died');
    return result;
  };
  return {
    get calls() {
      return calls;
    },
    get isDead() {
      return isDead;
    },
    settle: async () => void (await Promise.all(pending)),
    store: wrapStore(store, around),
  };
}

/** Wraps a store so that `work` is done just before the n-th write. Later writes wait for it too. */
function interruptAtWrite(store: UploadStore, nthWrite: number, work: () => Promise<unknown>): UploadStore {
  let calls = 0;
  let working: Promise<unknown> | undefined;
  return wrapStore(store, async (call, kind) => {
    if (kind === 'write' && ++calls === nthWrite) working = work();
    if (kind === 'write') await working;
    return call();
  });
}

const base = {
  id: '0123456789abcdef',
  path: 'm/day 1.mov',
  realPath: '/media/day 1.mov',
  file: { sizeBytes: 5 * chunkBytes, mtimeNs: '1700000000123456789', dev: '66', ino: '1234567', ctimeNs: '17' },
  baseUrl: 'https://media.example.com',
  profile: 'office',
  metadata: { filename: 'day 1.mov', workspace_uid: workspace, description: "“Ünïcode” \u0000 \n ' \\ 👩‍🎬" },
  begunAt: '2026-02-03T04:05:06.789Z',
} as const;
const session = {
  uid: 'session-1',
  url: 'https://media.example.com/upload/session-1/',
  assetUid: '00000000-0000-4000-8000-0000000000aa',
  expiresAt: '2026-02-04T04:05:06.789Z',
};
const digest = 'ab'.repeat(32);
/** The write of an upload that stores its new session. */
const sessionWrite = 2;

/** An upload in each state. */
const entries: [name: string, entry: UploadEntry][] = [
  ['planned', { ...base, state: 'planned' }],
  ['planned for stdin', { ...base, state: 'planned', identity: `${digest} 5`, path: 'stdin' }],
  ['intended', { ...base, state: 'intended' }],
  ['open', { ...base, state: 'open', session, offset: 0, mayBeWhole: false }],
  [
    'open with the digest of its first chunks',
    {
      ...{ ...base, state: 'open', session, offset: 3 * chunkBytes, mayBeWhole: false },
      prefix: { offset: 2 * chunkBytes, blake3: digest },
    },
  ],
  ['open and refused', { ...base, state: 'open', session, offset: 0, mayBeWhole: true, isRefused: true }],
  ['whole and verified', { ...base, state: 'whole', session, blake3: digest, verified: true }],
  [
    'whole with a different checksum',
    { ...base, state: 'whole', session, blake3: digest, verified: false, serviceBlake3: 'cd'.repeat(32) },
  ],
  ['whole without a checksum', { ...base, state: 'whole', session, blake3: digest, verified: null }],
];

/** An upload whose session accepts bytes. */
export const openEntry: OpenEntry = { ...base, state: 'open', session, offset: 0, mayBeWhole: false };

/** Sizes of the files, and how often a whole upload of each writes to the store. */
const sizes = [
  ['five chunks', 7, 4 * chunkBytes + 1000],
  ['a single chunk', 3, 5000],
] as const;
const writeCases = sizes.flatMap(([what, writes, size]) =>
  Array.from({ length: writes }, (_, index) => [what, index + 1, size] as const),
);
const crashCases = writeCases.flatMap(([what, n, size]) =>
  (['before', 'after'] as const).map((moment) => [what, moment, n, size] as const),
);

/**
 * Describes the tests of one store.
 *
 * @param start starts its server, if it has one
 * @param testMore describes further tests, with a function that returns the adapter of the running test
 */
export function testUploadStore(
  start: () => Promise<StoreAdapter>,
  testMore: (current: () => StoreAdapter) => void,
): void {
  let adapter: StoreAdapter;
  beforeAll(async () => {
    adapter = await start();
  });
  afterAll(() => adapter?.close());
  beforeEach(() => adapter.reset());
  const running = new Set<StoreProcess>();
  const openStoreProcess = async (id: string, clock?: Clock): Promise<StoreProcess> => {
    const storeProcess = await adapter.open(id, clock);
    running.add(storeProcess);
    return storeProcess;
  };
  const killStoreProcess = async (storeProcess: StoreProcess): Promise<void> => {
    if (running.delete(storeProcess)) await adapter.end(storeProcess);
  };
  afterEach(async () => {
    for (const storeProcess of running) await killStoreProcess(storeProcess);
  });
  /** Returns an entry as the store returns it: a queue omits what differs between machines. */
  const asStored = (entry: UploadEntry): UploadEntry => {
    const { sizeBytes, mtimeNs } = entry.file;
    return adapter.isQueue ? { ...entry, file: { sizeBytes, mtimeNs } } : entry;
  };
  /** Runs one upload in a process of its own, which ends as a kill does. */
  const uploadAndEnd = async (
    service: FakeService,
    file: TestFile,
    wrap = (store: UploadStore): Pick<MortalStore, 'store' | 'settle'> => ({ store, settle: async () => {} }),
  ) => {
    const storeProcess = await openStoreProcess(file.id);
    const { store, settle } = wrap(storeProcess.store);
    const result = await uploadOnce(service, file, { ...storeProcess, store });
    await settle();
    await killStoreProcess(storeProcess);
    return result;
  };
  const uploadAndDie = async (service: FakeService, file: TestFile, death: Death) => {
    let mortal: MortalStore | undefined;
    const result = await uploadAndEnd(service, file, (store) => {
      mortal = dieAtWrite(store, death);
      return mortal;
    });
    return { ...result, calls: mortal?.calls, isDead: mortal?.isDead };
  };
  const incompleteAssetUids = (service: FakeService) =>
    [...service.assets.values()].filter(({ completedAt }) => completedAt === undefined).map(({ uid }) => uid);
  /** Expects that a run has named each incomplete asset. A worker only reports that there may be one. */
  const expectOrphansNamed = (service: FakeService, { orphans, emptyAssets }: TestUpload) => {
    const incompleteUids = incompleteAssetUids(service);
    if (incompleteUids.length > 0) expect(orphans).toMatchObject([{ name: fileName, assetUid: null }]);
    if (!adapter.isQueue) expect(emptyAssets.map(({ assetUid }) => assetUid)).toEqual(incompleteUids);
  };
  const expectOneComplete = (service: FakeService, file: TestFile) =>
    expect(service.completeAssets).toMatchObject([{ blake3: file.blake3, size: file.bytes.length }]);

  describe('upload entries', () => {
    it.each(entries)('an upload entry that is %s is read as it was written', async (_name, entry) => {
      const storeProcess = await openStoreProcess(entry.id);
      const release = await storeProcess.store.lock(entry.id);
      expect(await storeProcess.store.read(entry.id)).toBeUndefined();
      await storeProcess.store.write(entry);
      expect(await storeProcess.store.read(entry.id)).toEqual(asStored(entry));
      await release();
      await killStoreProcess(storeProcess);
      const { store } = await openStoreProcess(entry.id);
      expect(await store.read(entry.id)).toEqual(asStored(entry));
      if (!adapter.isQueue) expect(await listEntries(store)).toEqual([asStored(entry)]);
      await store.remove(entry.id);
      expect(await store.read(entry.id)).toBeUndefined();
      if (!adapter.isQueue) expect(await listEntries(store)).toEqual([]);
      await killStoreProcess(storeProcess);
      expect(await (await openStoreProcess(entry.id)).store.read(entry.id)).toBeUndefined();
    });

    it('a write or removal changes only the upload entry with the same ID', async () => {
      const written = entries.map(([, entry], n) => ({ ...entry, id: `${n}`.padStart(16, '0') }));
      for (const entry of written) {
        const { store } = await openStoreProcess(entry.id);
        await store.write({ ...base, id: entry.id, state: 'planned' });
        await store.write(entry);
      }
      const [first] = written as [UploadEntry];
      const readAll = () => Promise.all(written.map(async ({ id }) => (await openStoreProcess(id)).store.read(id)));
      expect(await readAll()).toEqual(written.map(asStored));
      await (await openStoreProcess(first.id)).store.remove(first.id);
      expect(await readAll()).toEqual([undefined, ...written.slice(1).map(asStored)]);
    });

    it('an upload entry contains the last of many concurrent writes', async () => {
      for (let round = 0; round < 5; round++) {
        const storeProcess = await openStoreProcess(openEntry.id);
        const offsets = Array.from({ length: 30 }, (_, n) => n);
        await Promise.all(offsets.map((offset) => storeProcess.store.write({ ...openEntry, offset })));
        await killStoreProcess(storeProcess);
        expect(await (await openStoreProcess(openEntry.id)).store.read(openEntry.id)).toMatchObject({ offset: 29 });
      }
      const { store } = await openStoreProcess(openEntry.id);
      await Promise.all([store.write(openEntry), store.write(openEntry), store.remove(openEntry.id)]);
      expect(await (await openStoreProcess(openEntry.id)).store.read(openEntry.id)).toBeUndefined();
    });

    it('an upload entry keeps its timestamps regardless of the system clock', async () => {
      const times: [begunAt: string, expiresAt: string][] = [
        ['1970-01-01T00:00:00.000Z', '1970-01-02T00:00:00.000Z'],
        ['9999-12-31T00:00:00.000Z', '1970-01-01T00:00:00.000Z'],
        ['9999-12-30T00:00:00.000Z', '9999-12-31T00:00:00.000Z'],
      ];
      for (const [begunAt, expiresAt] of times) {
        const entry: OpenEntry = { ...openEntry, begunAt, session: { ...session, expiresAt } };
        const storeProcess = await openStoreProcess(entry.id);
        await storeProcess.store.write(entry);
        await killStoreProcess(storeProcess);
        expect(await (await openStoreProcess(entry.id)).store.read(entry.id)).toEqual(asStored(entry));
      }
    });
  });

  describe('crashes', () => {
    it.each(sizes)('an upload of %s makes %i writes to the store', async (_what, writes, size) => {
      const service = await FakeService.start();
      const file = createFile(service, size);
      const { error, calls, isDead } = await uploadAndDie(service, file, { moment: 'before', write: writes + 1 });
      expect({ error, calls, isDead }).toEqual({ error: undefined, calls: writes, isDead: false });
      expectOneComplete(service, file);
    });

    it.each(crashCases)(
      'an upload of %s that is killed %s write %i resumes and leaves one complete asset',
      async (_what, moment, write, size) => {
        const service = await FakeService.start();
        const file = createFile(service, size);
        const first = await uploadAndDie(service, file, { moment, write });
        expect(first.isDead).toBe(true);
        expect(first.error).toBeDefined();
        const hasSession = write > sessionWrite || (write === sessionWrite && moment === 'after');
        const [firstAssetUid] = [...service.assets.keys()];
        const second = await uploadAndEnd(service, file);
        expect(second.error).toBeUndefined();
        expectOneComplete(service, file);
        const { assetUid } = second.uploaded as Uploaded;
        expect(service.completeAssets.map(({ uid }) => uid)).toEqual([assetUid]);
        if (hasSession) expect(assetUid).toBe(firstAssetUid);
        // Only what was created and not yet recorded is created again, and what it left is named.
        const isLost = write === sessionWrite && moment === 'before';
        expect(service.assets.size).toBe(isLost ? 2 : 1);
        expectOrphansNamed(service, second);
        const requestsBefore = service.requestCount;
        const third = await uploadAndEnd(service, file);
        expect(third).toMatchObject({ error: undefined, uploaded: { assetUid, bytesSent: 0, blake3: file.blake3 } });
        if (!adapter.isQueue) expect(service.requestCount).toBe(requestsBefore); // its receipt shows it
        expectOneComplete(service, file);
        const remainingEntry = await (await openStoreProcess(file.id)).store.read(file.id);
        expect(remainingEntry?.state).toBe(adapter.isQueue ? 'whole' : undefined);
      },
    );

    it('an upload whose process is killed repeatedly leaves one asset', async () => {
      const service = await FakeService.start();
      const file = createFile(service, 4 * chunkBytes + 1000);
      let runs = 0;
      let result: TestUpload | undefined;
      for (; !result?.uploaded || result.error; runs++) {
        if (runs > 20) throw new Error('it does not end');
        result = await uploadAndDie(service, file, { moment: runs % 2 === 0 ? 'after' : 'before', write: 3 });
      }
      expect(runs).toBeGreaterThan(2);
      expect(service.assets.size).toBe(1);
      expectOneComplete(service, file);
    });
  });

  describe('concurrent processes', () => {
    it.each(writeCases)(
      'two processes that upload %s, the second from write %i of the first, create one complete asset',
      async (_what, nthWrite, size) => {
        const service = await FakeService.start();
        const file = createFile(service, size);
        let secondUpload: ReturnType<typeof uploadAndEnd> | undefined;
        const first = await uploadAndEnd(service, file, (store) => ({
          store: interruptAtWrite(store, nthWrite, () => {
            secondUpload = uploadAndEnd(service, file);
            return secondUpload;
          }),
          settle: async () => {},
        }));
        const second = await (secondUpload as ReturnType<typeof uploadAndEnd> | undefined);
        if (!second) throw new Error('the second has not started');
        const failures = [first, second].map(({ error }) => error && seenError(error));
        const leaseLost = errorInTable('taken_over');
        expect(failures).toEqual(
          adapter.isQueue
            ? [leaseLost, undefined]
            : [undefined, expect.objectContaining({ code: 'upload_in_progress' })],
        );
        expectOneComplete(service, file);
        expect(service.assets.size).toBe(adapter.isQueue && nthWrite === sessionWrite ? 2 : 1);
        expectOrphansNamed(service, second);
      },
    );
  });

  describe('locks', () => {
    it('the lock of a dead process is free at once, and its upload entry remains', async () => {
      const killedProcess = await openStoreProcess(openEntry.id);
      await killedProcess.store.lock(openEntry.id);
      await killedProcess.store.write(openEntry);
      await killStoreProcess(killedProcess);
      const { store } = await openStoreProcess(openEntry.id);
      const release = await store.lock(openEntry.id);
      expect(await store.read(openEntry.id)).toEqual(asStored(openEntry));
      await store.write({ ...openEntry, offset: 7 });
      await release();
      expect(await store.read(openEntry.id)).toMatchObject({ offset: 7 });
    });

    it('a lock can be released twice, and the upload entry remains', async () => {
      const { store } = await openStoreProcess(openEntry.id);
      const release = await store.lock(openEntry.id);
      await store.write(openEntry);
      await release();
      await release();
      expect(await store.read(openEntry.id)).toEqual(asStored(openEntry));
      await (await store.lock(openEntry.id))();
    });
  });

  testMore(() => adapter);
}
