import { existsSync, mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { acceleratedClock } from '../support/clock.ts';
import { respondWith } from '../support/fault-proxy.ts';
import { writeRandomFile } from '../support/files.ts';
import { respond, startServer } from '../support/http-server.ts';
import { createLatch } from '../support/latch.ts';
import { findSchemaErrors } from '../support/output-schema.ts';
import { isStrict } from '../support/sandbox.ts';
import { databaseFile, failWrites } from '../support/state-database.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

const setup = setUpUploader();
const apiPrefix = '/api/external/v1';
const uid = '00000000-0000-4000-8000-000000000001';
const stdin = 'precious'.repeat(100);

const assetUidIn = (path: string) => /assets\/([0-9a-f-]{36})\//.exec(path)?.[1];
/** Waits until the receipt is stored; from then on the run polls the asset. */
async function waitUntilReceiptIsStored() {
  const isSent = async () => {
    const { stdout } = await setup.run(['uploads', 'ls', '--finished', '-q']);
    return stdout !== '' && setup.unfinishedIds().length === 0;
  };
  while (!(await isSent())) await sleep(10);
}
/** Creates a fault that responds to a GET of one asset with the given status. */
const respondWithAssetStatus = ({ method, path }: { method: string; path: string }, status: string) =>
  method === 'GET' && assetUidIn(path) ? respondWith(200, { uid: assetUidIn(path), status }) : undefined;

describe('one asset per file', () => {
  it('upload does not send a file again if an earlier run failed because of another file name that is not valid UTF-8', async () => {
    const folder = join(setup.cli.home, 'dir');
    mkdirSync(folder);
    writeRandomFile(join(folder, 'a.bin'), { size: 1000, seed: setup.path });
    const badPath = Buffer.concat([Buffer.from(`${folder}/x`), Buffer.from([0xff])]);
    writeFileSync(badPath, 'some');
    const firstRun = await setup.run(['upload', '--flatten', folder, '--json']);
    expect(firstRun.code).toBe(11);
    renameSync(badPath, join(folder, 'good.bin'));
    const secondRun = await setup.run(['upload', '--flatten', folder, '--json']);
    expect(secondRun.code).toBe(0);
    const uidOf = (stdout: string) =>
      JSON.parse(stdout).find(({ path }: { path: string }) => path.endsWith('a.bin')).asset_uid;
    expect(uidOf(secondRun.stdout)).toBe(uidOf(firstRun.stdout));
  });

  it('upload ignores a file name that is not valid UTF-8 if --exclude matches it', async () => {
    const folder = join(setup.cli.home, 'dir');
    mkdirSync(folder);
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/x`), Buffer.from([0xff])]), 'some');
    const args = ['upload', '--flatten', folder, '--exclude', 'x*'];
    const runWithoutFiles = await setup.run(args);
    expect([runWithoutFiles.code, runWithoutFiles.stderr]).toEqual([2, expect.stringContaining('no files found')]);
    writeRandomFile(join(folder, 'a.bin'), { size: 100, seed: setup.path });
    expect((await setup.run(args)).code).toBe(0);
  });

  it.each(['queued', 'processing', 'ready'])(
    'upload exits with 3 in each run if a new session returns status 404 and its asset has the status %s',
    async (status) => {
      setup.fault = (request) =>
        request.path.startsWith(`${apiPrefix}/upload/`) && request.method !== 'POST'
          ? respondWith(404, { error: {} })
          : respondWithAssetStatus(request, status);
      const { code, record } = await setup.upload(['--chunk-size', '50MiB']);
      expect([code, record.error.code]).toEqual([3, 'session_unknown']);
      expect(setup.unfinishedIds()).toHaveLength(1);
      const secondRun = await setup.upload(['--chunk-size', '50MiB']);
      expect([secondRun.code, secondRun.record.error.code]).toEqual([3, 'session_unknown']);
      expect(secondRun.stderr).not.toContain('waiting until asset');
    },
  );

  it.each([
    ['becomes', 'ready', 0, undefined],
    ['stays', 'queued', 3, 'session_unknown'],
  ])(
    'after the response to the last chunk is lost and the session is gone, upload polls the queued asset, which %s %s, and exits with %i',
    async (_what, finalStatus, exitCode, errorCode) => {
      let pollCount = 0;
      setup.fault = (request) => {
        if (request.method === 'PATCH') return { dropResponse: true };
        if (request.method === 'HEAD') return respondWith(404, { error: {} });
        return respondWithAssetStatus(request, ++pollCount > 2 ? finalStatus : 'queued');
      };
      const uploadRun = await setup.upload(['--chunk-size', '50MiB'], { clock: acceleratedClock() });
      expect([uploadRun.code, uploadRun.record.error?.code]).toEqual([exitCode, errorCode]);
      expect(await setup.findAssets()).toHaveLength(1);
    },
  );

  it('upload --wait does not change the stored upload of another run of the same file', async () => {
    let isReady = false;
    let holdsPatch = false;
    const patchStarted = createLatch();
    setup.fault = (request) => {
      if (request.method !== 'PATCH' || !holdsPatch)
        return respondWithAssetStatus(request, isReady ? 'ready' : 'processing');
      patchStarted.open();
      return { respond: () => {} };
    };
    const waitingRun = setup.run(['upload', setup.path, '--wait', '--json'], { clock: undefined });
    await waitUntilReceiptIsStored();
    writeRandomFile(setup.path, { size: 5000, seed: 'edited' });
    holdsPatch = true;
    const stop = new AbortController();
    const otherRun = setup.upload(['--chunk-size', '50MiB'], { signal: stop.signal });
    await patchStarted.opened;
    const entry = setup.storedEntry();
    isReady = true;
    expect((await waitingRun).code).toBe(0);
    expect(setup.storedEntry()).toEqual(entry);
    stop.abort(new Error('killed'));
    await otherRun;
    holdsPatch = false;
    const { record } = await setup.upload(['--chunk-size', '50MiB']);
    expect(record.asset_uid).toBe(entry.session.assetUid);
  });

  it('upload keeps its temporary copy of stdin until both runs that use it have finished', async () => {
    let isReady = false;
    let holdsPatch = false;
    const patchReleased = createLatch();
    const patchStarted = createLatch();
    setup.fault = (request) => {
      if (request.method !== 'PATCH' || !holdsPatch)
        return respondWithAssetStatus(request, isReady ? 'ready' : 'processing');
      holdsPatch = false;
      patchStarted.open();
      return { beforeResponse: () => patchReleased.opened };
    };
    const waitingRun = setup.run(['upload', '-', '--wait', '--json'], { stdin, clock: undefined });
    await waitUntilReceiptIsStored();
    holdsPatch = true;
    const otherRun = setup.run(['upload', '-', '--existing', 'upload', '--json'], { stdin });
    await patchStarted.opened;
    isReady = true;
    expect((await waitingRun).code).toBe(0);
    expect(setup.spoolFiles()).toHaveLength(1);
    patchReleased.open();
    expect((await otherRun).code).toBe(0);
    expect([setup.spoolFiles(), setup.unfinishedIds()]).toEqual([[], []]);
  });

  it('upload treats a connection error after it has sent a session creation as a lost response, whatever the error code', async () => {
    setup.fault = ({ method, nth }) => ({
      ...(method === 'POST' &&
        nth === 1 && {
          beforeResponse: async () => {
            // biome-ignore lint/suspicious/noExplicitAny: Node has no other way to a client's own socket
            for (const handle of (process as any)._getActiveHandles() as Socket[])
              if (handle.remotePort === Number(new URL(setup.faultProxy.url).port))
                handle.destroy(
                  Object.assign(new Error('read EHOSTUNREACH'), { code: 'EHOSTUNREACH', syscall: 'read' }),
                );
            await sleep(20);
          },
        }),
    });
    const { record, stderr } = await setup.upload([], { inProcess: 'breaks a socket of this process' });
    await setup.expectUploaded(record);
    expect(stderr).toMatch(/asset [0-9a-f-]{36} may be empty/);
    expect(await setup.findAssets()).toHaveLength(2);
  });

  it('upload names the empty asset of a lost response even if the service ignores the requested sort order', async () => {
    const assets = Array.from({ length: 350 }, (_, at) => ({
      uid: `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`,
      name: `old${at}`,
      status: 'ready',
      created_at: '2020-01-01T00:00:00Z',
    }));
    const emptyAssetUid = '00000000-0000-4000-8000-00000000beef';
    setup.fault = ({ method, path, nth }) => {
      if (method === 'POST' && nth === 1) {
        const created_at = new Date().toISOString();
        assets.push({ uid: emptyAssetUid, name: basename(setup.path), status: 'uploading', created_at });
        return { respond: (_response, request) => void request.socket.destroy() };
      }
      const { searchParams } = new URL(path, 'http://service');
      const [offset = 0, limit = 0] = ['offset', 'limit'].map((name) => Number(searchParams.get(name)));
      return method === 'GET' && path.includes('/assets/?')
        ? respondWith(200, { items: assets.slice(offset, offset + limit), count: assets.length })
        : undefined;
    };
    expect((await setup.upload()).stderr).toContain(`asset ${emptyAssetUid} may be empty`);
  });

  it('uploads resume resumes the upload of a moved file whose old path is a symbolic link to it', async () => {
    await setup.interruptAfterTwoChunks();
    const { id } = setup.storedEntry();
    const moved = join(setup.cli.home, 'archive.bin');
    renameSync(setup.path, moved);
    symlinkSync(moved, setup.path);
    const [record] = JSON.parse((await setup.run(['uploads', 'resume', id, '--json'])).stdout);
    expect(record).toMatchObject({ verified: true, resumed_from_bytes: 2 * 64 * 1024 });
    expect(await findSchemaErrors(setup.cli, 'uploads resume', [record])).toEqual([]);
    expect(setup.faultProxy.methods).not.toContain('POST');
    expect(setup.unfinishedIds()).toEqual([]);
  });

  it('upload names the previous asset of an edited file even if the earlier run could not print its result', async () => {
    const first = await setup.upload(['--progress', 'none'], { stdoutError: 'ENOSPC' });
    const [asset] = await setup.findAssets();
    expect(first.stdout + first.stderr).not.toContain(asset?.uid);
    writeRandomFile(setup.path, { size: 900, seed: 'edited' });
    const { stderr } = await setup.run(['upload', setup.path]);
    expect(stderr).toContain(`previously uploaded as asset ${asset?.uid}`);
  });
});

describe('state database', () => {
  const size = 200 * 1024 * 1024;

  /** Starts a service that only counts bytes, and refuses PATCH from a given byte on. */
  async function startCountingService(refusesFrom: () => number, onPatch: () => void) {
    let stored = 0;
    const location = `${apiPrefix}/upload/${uid}/`;
    return startServer(async (request, response) => {
      if (request.method === 'POST') return respond(response, 201, { uid, asset_uid: uid, location }, { location });
      if (request.method === 'GET' && request.url?.includes('?')) return respond(response, 200, { items: [] });
      if (request.method === 'GET') return respond(response, 200, { uid, status: 'uploading' });
      if (request.method === 'PATCH') {
        onPatch();
        if (stored >= refusesFrom()) {
          request.resume();
          return respond(response, 402, { error: {} });
        }
        for await (const part of request) stored += part.length;
      }
      respond(response, request.method === 'HEAD' ? 200 : 204, undefined, { 'upload-offset': String(stored) });
    });
  }

  it('upload exits with 14 if its state database disappears, and resumes once the database is back', async () => {
    let refusesFrom = 150 * 1024 * 1024;
    const [database, movedDatabase] = [databaseFile(setup.stateDir), join(setup.cli.home, 'elsewhere.db')];
    const service = await startCountingService(
      () => refusesFrom,
      () => {
        const isFirst = refusesFrom !== Number.POSITIVE_INFINITY && !existsSync(movedDatabase);
        if (isFirst) renameSync(database, movedDatabase);
      },
    );
    truncateSync(setup.path, size);
    const environment = setup.environment(service);
    const firstRun = await setup.upload(['--chunk-size', '50MiB'], { environment });
    expect([firstRun.code, firstRun.record.error.code]).toEqual([14, 'state_unusable']);
    renameSync(movedDatabase, database);
    refusesFrom = Number.POSITIVE_INFINITY;
    const secondRun = await setup.upload(['--chunk-size', '50MiB'], { environment });
    expect(secondRun.record).toMatchObject({ error: null, verified: null });
    expect([50, 100].map((MiB) => MiB * 1024 * 1024)).toContain(secondRun.record.resumed_from_bytes);
  });
});

it('upload exits with 14 before it sends the whole file if it cannot store its progress, and the next run completes the upload', async () => {
  const chunkCount = 40;
  setup.bytes = writeRandomFile(setup.path, { size: chunkCount * chunkBytes, seed: setup.path });
  let allowWrites = () => {};
  const failOffsetWrites = () => {
    allowWrites = failWrites(setup.stateDir, `json_extract(NEW.entry, '$.offset') > 0`);
  };
  setup.fault = ({ method, nth }) => {
    if (method === 'POST') return { beforeResponse: failOffsetWrites };
    return { beforeResponse: () => sleep(nth) }; // the failed write is noticed meanwhile
  };
  const firstRun = await setup.upload();
  expect([firstRun.code, firstRun.record.error.code]).toEqual([14, 'state_unusable']);
  expect(setup.patchRequests().length).toBeLessThan(chunkCount / 2);
  allowWrites();
  setup.fault = () => undefined;
  await setup.expectUploaded((await setup.upload()).record);
  expect(await setup.findAssets()).toHaveLength(1);
});

it('upload exits with 14 before it sends the last chunk if it cannot record that chunk, and the next run sends the chunk', async () => {
  let allowWrites = () => {};
  const failLastChunkWrites = () => {
    allowWrites = failWrites(setup.stateDir, `json_extract(NEW.entry, '$.mayBeWhole')`);
  };
  setup.fault = ({ method }) => (method === 'POST' ? { beforeResponse: failLastChunkWrites } : undefined);
  const firstRun = await setup.upload();
  expect([firstRun.code, firstRun.record.error.code]).toEqual([14, 'state_unusable']);
  allowWrites();
  setup.fault = () => undefined;
  const { record } = await setup.upload();
  await setup.expectUploaded(record);
  expect(record.resumed_from_bytes).toBe(4 * chunkBytes);
  expect(await setup.findAssets()).toHaveLength(1);
  expect((await setup.run(['uploads', 'resume', '--all', '--json'])).stdout.trim()).toBe('[]');
});

it.skipIf(isStrict)(
  'upload skips a file if mv moved its asset to the target folder, and uploads it again to the original folder',
  async () => {
    const { record } = await setup.upload();
    await setup.run(['folders', 'create', '/Archive']);
    expect((await setup.run(['mv', record.asset_uid, '/Archive'])).code).toBe(0);
    expect((await setup.upload(['--folder', '/Archive'])).record).toMatchObject({
      outcome: 'skipped',
      asset_uid: record.asset_uid,
    });
    expect((await setup.upload()).record.outcome).toBe('uploaded');
  },
);
