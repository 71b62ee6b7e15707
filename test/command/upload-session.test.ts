import { mkdirSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { acceleratedClock } from '../support/clock.ts';
import { type Fault, type ProxiedRequest, respondWith } from '../support/fault-proxy.ts';
import { pseudoRandomBytes, writeRandomFile } from '../support/files.ts';
import { respond } from '../support/http-server.ts';
import { forSandboxMode } from '../support/sandbox.ts';
import { changeStoredUpload } from '../support/state-database.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

const setup = setUpUploader();
const postRequests = () => setup.faultProxy.methods.filter((method) => method === 'POST');

describe('location of an upload session', () => {
  /** Creates a real session but returns another location for it, in the header and in the body. */
  const returnLocation = (inHeader: (real: string) => string | undefined, inBody = inHeader) => {
    setup.fault = ({ method }) =>
      method === 'POST'
        ? { respond: (response, request) => void createSession(request, response, inHeader, inBody) }
        : undefined;
  };
  async function createSession(
    request: IncomingMessage,
    response: ServerResponse,
    inHeader: (real: string) => string | undefined,
    inBody: (real: string) => string | undefined,
  ) {
    const real = await fetch(`${setup.sandbox.url}/api/external/v1/upload/`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${setup.sandbox.key}`,
        'tus-resumable': '1.0.0',
        'upload-length': String(request.headers['upload-length']),
        'upload-metadata': String(request.headers['upload-metadata']),
      },
    });
    const { location, ...session } = (await real.json()) as { location: string };
    const header = inHeader(location);
    respond(response, 201, { ...session, location: inBody(location) }, header ? { location: header } : {});
  }

  it.each([
    ['a path', (real: string) => real],
    ['a path without its slash', (real: string) => real.slice(1)],
    ['an absolute URL', (real: string) => setup.faultProxy.url + real],
  ])('upload follows a session location that is %s', async (_what, rewrite) => {
    returnLocation(rewrite);
    const { code, record } = await setup.upload();
    expect(code).toBe(0);
    await setup.expectUploaded(record);
  });

  it('upload prefers the Location header to the location in the response body', async () => {
    for (const inBody of [() => undefined, () => '/api/external/v1/upload/not-this-one/']) {
      writeRandomFile(setup.path, { size: 5000, seed: String(inBody()) });
      setup.bytes = pseudoRandomBytes(5000, String(inBody()));
      returnLocation((real) => real, inBody);
      await setup.expectUploaded((await setup.upload()).record);
    }
  });

  it('upload accepts a session location in the response body only, and exits with 10 if the response has no location', async () => {
    returnLocation(
      () => undefined,
      (real) => real,
    );
    await setup.expectUploaded((await setup.upload()).record);
    returnLocation(() => undefined);
    setup.bytes = writeRandomFile(setup.path, { size: 5000, seed: 'another' });
    const { code, record } = await setup.upload();
    expect([code, record.error.details.asset_uid]).toEqual([10, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  });

  it('upload uses the path in the response body if the Location header names another origin', async () => {
    returnLocation(
      (real) => `https://elsewhere.example${real}`,
      (real) => real,
    );
    const { code, record } = await setup.upload();
    expect(code).toBe(0);
    await setup.expectUploaded(record);
  });

  it.each([
    ['several files at once', ['--transfers', '8']],
    ['several files one by one', ['--transfers', '1']],
  ])(
    'upload of %s to sessions on another origin leaves one empty asset, which uploads cleanup lists',
    async (_how, args) => {
      returnLocation((real) => `https://elsewhere.example${real}`);
      const folder = join(setup.cli.home, 'many');
      mkdirSync(folder);
      const names = Array.from({ length: 12 }, (_, at) => `file-${at}-${basename(setup.path)}`);
      for (const name of names) writeRandomFile(join(folder, name), { size: 5000, seed: name });
      const findAll = async () => (await Promise.all(names.map((name) => setup.findAssets(name)))).flat();
      const { code, stderr } = await setup.run(['upload', folder, '--json', ...args]);
      expect([code, JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error]).toMatchObject([
        13,
        {
          code: 'origin_mismatch',
          message: 'the service named an address on another origin for the upload: https://elsewhere.example',
          cause: 'the service, or a proxy in front of it, names a wrong address; your API key is not sent there',
        },
      ]);
      const [emptyAsset, ...others] = await findAll();
      expect(others).toEqual([]);
      expect(setup.unfinishedIds()).toEqual([]);
      const { stdout } = await setup.run(['uploads', 'cleanup', '-n', '--json']);
      expect(JSON.parse(stdout)).toMatchObject([{ asset_uid: emptyAsset?.uid }]);
      setup.fault = () => undefined;
      expect((await setup.run(['upload', folder])).code).toBe(0);
      expect(await findAll()).toHaveLength(names.length + 1);
    },
  );

  it('upload exits with 13 and sends no data to a session location on another origin', async () => {
    const otherOrigin = await setup.startFaultProxy(() => undefined);
    returnLocation((real) => otherOrigin.url + real);
    const { code, record } = await setup.upload();
    expect(code).toBe(13);
    expect(record.error.code).toBe('origin_mismatch');
    expect(record.error.details.asset_uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(otherOrigin.requests).toEqual([]);
    expect(setup.patchRequests()).toEqual([]);
  });
});

describe('refused session creation', () => {
  it.each([
    [400, 6, 'rejected'],
    [402, 7, 'credits_depleted'],
    [404, 3, 'not_found'],
    [412, 6, 'rejected'],
    [413, 6, 'rejected'],
    [431, 6, 'rejected'],
    [507, 7, 'storage_full'],
  ])(
    'upload does not retry a session creation that returns status %i, and exits with %i',
    async (status, exitCode, errorCode) => {
      setup.fault = ({ method }) => (method === 'POST' ? respondWith(status, `reason for ${status}`) : undefined);
      const uploadRun = await setup.upload();
      expect(uploadRun.code).toBe(exitCode);
      expect(uploadRun.record.error).toMatchObject({ code: errorCode, http_status: status });
      expect(uploadRun.record.error.cause).toBe(`reason for ${status}`);
      expect(setup.faultProxy.uploadRequests).toHaveLength(1);
      expect(setup.unfinishedIds()).toEqual([]);
    },
  );

  it('upload retries a session creation after a 503 response of type text/plain', async () => {
    setup.fault = ({ method, nth }) =>
      method === 'POST' && nth <= 2 ? respondWith(503, 'storage not configured') : undefined;
    await setup.expectUploaded((await setup.upload()).record);
    expect(postRequests()).toHaveLength(3);
  });
});

describe('refused chunks', () => {
  it.each([
    [401, 4],
    [402, 7],
    [403, 5],
  ])(
    'upload does not retry a chunk that returns status %i, exits with %i and suggests how to resume',
    async (status, exit) => {
      setup.fault = ({ method, nth }) =>
        method === 'PATCH' && nth === 3 ? respondWith(status, { error: { message: 'no more' } }) : undefined;
      const { code, record } = await setup.upload();
      expect(code).toBe(exit);
      expect(record.error.hint).toMatch(/run the same command again, or mediactl uploads resume \w+/);
      expect(record.error.hint.match(/run the same command/g)).toHaveLength(1);
      setup.fault = () => undefined;
      const nextRun = await setup.upload();
      expect(nextRun.record.resumed_from_bytes).toBe(2 * chunkBytes);
      await setup.expectUploaded(nextRun.record);
    },
  );

  it('upload resumes an interrupted upload with a new API key of the same organization', async () => {
    await setup.interruptAfterTwoChunks();
    const environment = { MEDIACTL_API_KEY: setup.sandbox.createKey('rotated') };
    const { record } = await setup.upload([], { environment });
    expect(record.resumed_from_bytes).toBe(2 * chunkBytes);
    await setup.expectUploaded(record);
    expect(postRequests()).toEqual([]);
  });

  it('upload reports that a chunk is too large if the chunk returns status 413', async () => {
    setup.fault = ({ method }) => (method === 'PATCH' ? respondWith(413, 'too much') : undefined);
    const { record } = await setup.upload();
    expect(record.error).toMatchObject({
      code: 'rejected',
      message: expect.stringContaining('the chunk is too large'),
    });
  });
});

describe('upload sessions that no longer exist', () => {
  it.each([404, 410])(
    'upload creates a new session and names the incomplete asset of the old one if the old session returns status %i',
    async (status) => {
      await setup.interruptAfterTwoChunks();
      const { session } = setup.storedEntry();
      setup.fault = ({ method, nth }) => (method === 'HEAD' && nth === 1 ? respondWith(status) : undefined);
      const { record, stderr } = await setup.upload();
      expect(stderr).toContain(`asset ${session.assetUid} stays incomplete`);
      expect(record.asset_uid).not.toBe(session.assetUid);
      expect(record.resumed_from_bytes).toBeNull();
      await setup.expectUploaded(record);
    },
  );

  it.each([
    ['an expires_at in the past', { session: true }],
    ['a clock a day ahead', { clock: true }],
  ])(
    'upload asks the service for the offset and resumes if the session seems expired because of %s',
    async (_what, { session, clock }: { session?: boolean; clock?: boolean }) => {
      const id = await setup.interruptAfterTwoChunks();
      if (session)
        changeStoredUpload(setup.stateDir, id, (entry) => ({
          ...entry,
          session: { ...entry.session, expiresAt: '2020-01-01T00:00:00Z' },
        }));
      const clockNow = acceleratedClock();
      const clockADayAhead = { ...clockNow, now: () => clockNow.now() + 25 * 3_600_000 };
      const { record } = await setup.upload([], clock ? { clock: clockADayAhead } : {});
      expect(setup.faultProxy.methods).toContain('HEAD');
      expect(record.resumed_from_bytes).toBe(2 * chunkBytes);
      await setup.expectUploaded(record);
      expect(postRequests()).toEqual([]);
    },
  );

  it('upload --existing upload creates a new asset and names the incomplete asset of the interrupted upload', async () => {
    await setup.interruptAfterTwoChunks();
    const { session } = setup.storedEntry();
    const { record, stderr } = await setup.upload(['--existing', 'upload']);
    expect(stderr).toContain(`asset ${session.assetUid} stays incomplete`);
    expect(record.asset_uid).not.toBe(session.assetUid);
    await setup.expectUploaded(record);
  });

  it('upload exits with 0 and reports verified null if the response to the last chunk is lost and the session no longer exists', async () => {
    setup.fault = ({ method, nth }) => {
      if (method === 'PATCH' && nth === 5) return { dropResponse: true };
      return method === 'HEAD' ? respondWith(404) : undefined;
    };
    const { code, record } = await setup.upload([], { clock: acceleratedClock({ speed: 10 }) });
    expect([code, record.verified]).toEqual([0, null]);
    expect(setup.storedBytes(record.asset_uid).equals(setup.bytes)).toBe(true);
    expect((await setup.findAssets()).map(({ uid }) => uid)).toEqual([record.asset_uid]);
    expect(setup.unfinishedIds()).toEqual([]);
  });

  it('upload exits with 3 and names the same asset in each run if a new session returns status 404', async () => {
    setup.fault = ({ method, path }) =>
      path.includes('/upload/') && (method === 'PATCH' || method === 'HEAD') ? respondWith(404) : undefined;
    const runs = [await setup.upload(), await setup.upload(), await setup.upload()];
    const [asset, ...otherAssets] = await setup.findAssets();
    expect(otherAssets).toEqual([]);
    for (const { code, record } of runs)
      expect([code, record.asset_uid, record.error.code]).toEqual([3, asset?.uid, 'session_unknown']);
    expect(postRequests()).toHaveLength(1);
    const { code } = await setup.upload(['--yes']);
    expect([code, (await setup.findAssets()).length]).toEqual([3, 2]);
  });

  it('upload exits with 3 and creates no second asset if the session no longer exists but its asset may be complete', async () => {
    // The only chunk was in flight when the process was killed: the service may have stored it.
    setup.bytes = writeRandomFile(setup.path, { size: 1000 });
    setup.fault = ({ method }) => (method === 'PATCH' ? respondWith(402, {}) : undefined);
    await setup.upload();
    const { session } = setup.storedEntry();
    const withAssetStatus =
      (status: string) =>
      ({ method, path }: ProxiedRequest): Fault | undefined => {
        if (method === 'HEAD') return respondWith(404);
        return path.includes(session.assetUid) ? respondWith(200, { uid: session.assetUid, status }) : undefined;
      };
    setup.fault = withAssetStatus('transcoding');
    const { code, record } = await setup.upload([], { clock: acceleratedClock() });
    expect([code, record.asset_uid, record.error.code]).toEqual([...[3, session.assetUid, 'session_unknown']]);
    expect(await setup.findAssets()).toHaveLength(1);
    setup.fault = withAssetStatus('ready');
    const nextRun = await setup.upload();
    expect([nextRun.code, nextRun.record.asset_uid]).toEqual([0, session.assetUid]);
    expect(await setup.findAssets()).toHaveLength(1);
  });

  it('upload creates a new session if the asset of the old session is in the trash', async () => {
    await setup.interruptAfterTwoChunks();
    const { session } = setup.storedEntry();
    await setup.cli.run(['assets', 'rm', session.assetUid, '--yes'], { environment: setup.environment() });
    setup.fault = ({ method }) => (method === 'HEAD' && postRequests().length === 0 ? respondWith(404) : undefined);
    const { record, stderr } = await setup.upload();
    expect(stderr).toContain('no longer exist; starting over');
    await setup.expectUploaded(record);
  });

  it('upload exits with 3 and keeps its stored session if every request returns status 404', async () => {
    await setup.interruptAfterTwoChunks();
    const before = setup.storedEntry();
    setup.fault = () => respondWith(404, { error: { message: 'no such thing' } });
    const { code } = await setup.upload();
    expect(code).toBe(3);
    expect(setup.storedEntry()).toMatchObject({ state: 'open', session: before.session });
  });
});

describe.each([3 * chunkBytes + 1, 9 * chunkBytes])(
  'a session that no longer exists before all %i bytes are sent',
  (size) => {
    const statuses = ['processing', 'queued', 'pending', 'uploading', 'ready'];

    /** Makes the service forget the first session from a request on, and sets its asset's status. */
    function forgetSession(status: string, isGone: (request: ProxiedRequest) => boolean) {
      let session: string | undefined;
      let isForgotten = false;
      setup.fault = (request) => {
        const { method, path } = request;
        if (method === 'PATCH' || method === 'HEAD') session ??= path;
        if (path === session) isForgotten ||= isGone(request);
        if (path === session && isForgotten) return respondWith(404, { error: {} });
        const [, uid] = /assets\/([0-9a-f-]{36})\//.exec(path) ?? [];
        return method === 'GET' && uid ? respondWith(200, { uid, status }) : undefined;
      };
    }

    async function expectNewSession({ code, record, stderr }: Awaited<ReturnType<typeof upload>>) {
      expect([code, record.error]).toEqual([0, null]);
      await setup.expectUploaded(record);
      const assetUids = (await setup.findAssets()).map(({ uid }) => uid);
      expect(assetUids).toEqual(expect.arrayContaining([record.asset_uid]));
      const [orphanUid, ...others] = assetUids.filter((uid) => uid !== record.asset_uid);
      expect(others).toEqual([]);
      expect(stderr).toContain(`asset ${orphanUid} stays incomplete`);
      expect(stderr).not.toMatch(/waiting until asset|answer was lost/);
      setup.fault = () => undefined;
      const orphans = JSON.parse((await setup.run(['uploads', 'cleanup', '--json'])).stdout);
      expect(orphans).toMatchObject([{ asset_uid: orphanUid, protected_until: null }]);
    }
    const upload = () => setup.upload();

    beforeEach(() => {
      setup.bytes = writeRandomFile(setup.path, { size, seed: setup.path });
    });

    it.each(statuses)(
      'upload creates a new session if the old one disappears during a run and its asset has the status %s',
      async (status) => {
        forgetSession(status, ({ method, nth }) => method === 'PATCH' && nth === 2);
        await expectNewSession(await upload());
        expect(postRequests()).toHaveLength(2);
      },
    );

    it.each(statuses)(
      'upload creates a new session if the old one disappears between two runs and its asset has the status %s',
      async (status) => {
        await setup.interruptAfterTwoChunks();
        forgetSession(status, () => true);
        await expectNewSession(await upload());
        expect(postRequests()).toHaveLength(1);
      },
    );

    it('the stored upload does not mark the asset as possibly complete before the last chunk is sent', async () => {
      await setup.interruptAfterTwoChunks();
      expect(setup.storedEntry()).toMatchObject({ offset: 2 * chunkBytes, mayBeWhole: size === 3 * chunkBytes });
    });
  },
);

it.each<[string, Fault]>([
  ['the connection breaks', { dropResponse: true }],
  ...[408, 504].map((status): [string, Fault] => [
    `a gateway returns status ${status}`,
    { replaceResponse: { status, body: 'timeout', type: 'text/plain' } },
  ]),
])(
  'upload exits with 3 if %s after the last chunk is sent, the session no longer exists and the asset is processing',
  async (_what, fault) => {
    setup.fault = ({ method, path, nth }) => {
      if (method === 'PATCH' && nth === 5) return fault;
      if (method === 'HEAD') return respondWith(404);
      const [, uid] = /assets\/([0-9a-f-]{36})\//.exec(path) ?? [];
      return method === 'GET' && uid ? respondWith(200, { uid, status: 'processing' }) : undefined;
    };
    const { code, record } = await setup.upload([], { clock: acceleratedClock() });
    expect([code, record.error.code]).toEqual([3, 'session_unknown']);
    expect(record.error.cause).toContain('the last response was lost');
    expect(await setup.findAssets()).toHaveLength(1);
  },
);

describe('lost response to a session creation', () => {
  /** Injects a fault, by default the loss of the response to a creation that is carried out, into the next creations. */
  const loseCreationResponses = (count: number, fault: Fault = { dropResponse: true }) => {
    const end = postRequests().length + count;
    setup.fault = ({ method, nth }) => (method === 'POST' && nth <= end ? fault : undefined);
  };
  /** Expects one whole asset, and that each other asset is named by the run and by `uploads cleanup`. */
  async function expectEmptyAssetsNamed({ record, stderr }: Awaited<ReturnType<typeof setup.upload>>, count: number) {
    await setup.expectUploaded(record);
    const emptyUids = (await setup.findAssets()).map(({ uid }) => uid).filter((uid) => uid !== record.asset_uid);
    expect(emptyUids).toHaveLength(count);
    for (const uid of emptyUids)
      expect(stderr.split(`asset ${uid} may be empty, because the response to its creation was lost`)).toHaveLength(2);
    const orphans = await setup.cli.json(['uploads', 'cleanup'], { environment: setup.environment() });
    expect(orphans.map(({ asset_uid }: { asset_uid: string }) => asset_uid).sort()).toEqual(emptyUids.sort());
    for (const { protected_until } of orphans) expect(Date.parse(protected_until)).toBeGreaterThan(Date.now());
  }

  it('upload retries a session creation if its response is lost, and names each asset that may be empty', async () => {
    loseCreationResponses(2);
    await expectEmptyAssetsNamed(await setup.upload(), 2);
    expect(postRequests()).toHaveLength(3);
  });

  it('upload exits with 10 after three lost responses to a session creation; the next run uploads the file, and uploads cleanup lists the empty assets', async () => {
    loseCreationResponses(3);
    const first = await setup.upload();
    expect([first.code, setup.storedEntry().state]).toEqual([10, 'intended']);
    const [pending] = await setup.cli.json(['uploads', 'ls'], { environment: setup.environment() });
    expect(pending).toMatchObject({ state: 'unconfirmed', asset_uid: null });
    await setup.expectUploaded((await setup.upload()).record);
    expect(await setup.cli.json(['uploads', 'cleanup'], { environment: setup.environment() })).toHaveLength(3);
  });

  it('uploads cleanup lists the empty assets of lost responses even after uploads forget', async () => {
    loseCreationResponses(3);
    await setup.upload(['--name', 'Final']);
    const environment = setup.environment();
    await setup.run(['uploads', 'forget', '--all', '--yes']);
    expect(await setup.cli.json(['uploads', 'cleanup'], { environment })).toHaveLength(3);
  });

  /** Lets the service create the asset, and replaces its response by a gateway's error. */
  const gatewayError = (status: number, type: string): Fault => ({
    replaceResponse: { status, body: type === 'text/html' ? '<html></html>' : 'no', type },
  });

  it.each([
    ...[408, 499, 500, 502, 504, 520, 522, 524, 530, 599].map((status) => [status, 'text/plain'] as const),
    [503, 'text/html'] as const, // §4: the service's own is text/plain
  ])(
    'upload names the asset that may be empty if a gateway responds to a session creation with status %i of type %s',
    async (status, type) => {
      loseCreationResponses(1, gatewayError(status, type));
      const first = await setup.upload();
      await expectEmptyAssetsNamed(first.code === 0 ? first : await setup.upload(), 1);
    },
  );

  it.each(['🎬.mp4', '---.mp4', '_.mp4', '…!!.mov', ' trimmed .mp4'])(
    'upload names the empty asset of a lost response if the file name is “%s”',
    async (name) => {
      setup.path = join(setup.cli.home, name);
      setup.bytes = writeRandomFile(setup.path, { size: 1000, seed: name });
      loseCreationResponses(1);
      const uploadRun = await setup.upload();
      await setup.expectUploaded(uploadRun.record);
      expect(uploadRun.stderr).toMatch(/asset [0-9a-f-]{36} may be empty/);
    },
  );

  it('upload finds the empty asset of a lost response on the fifth page of the asset list', async () => {
    const items = Array.from({ length: 450 }, (_, n) => ({
      uid: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
      name: n === 449 ? basename(setup.path) : `other ${n}`,
      status: 'processing',
      created_at: new Date().toISOString(),
    }));
    setup.fault = ({ method, path, nth }) => {
      if (method === 'POST') return nth === 1 ? { dropResponse: true } : undefined;
      const { searchParams } = new URL(path, 'http://x');
      const offset = Number(searchParams.get('offset'));
      return method === 'GET' && path.includes('/assets/?')
        ? respondWith(200, { items: items.slice(offset, offset + 100), count: items.length })
        : undefined;
    };
    expect((await setup.upload()).stderr).toContain(`asset ${items[449]?.uid} may be empty`);
  });

  it('upload names an empty asset of a lost response in one run only, and uploads cleanup lists those of all runs', async () => {
    loseCreationResponses(1);
    await setup.upload();
    writeRandomFile(setup.path, { size: 900, seed: 'edited' });
    loseCreationResponses(1);
    const { stderr } = await setup.upload();
    expect(stderr.match(/asset [0-9a-f-]{36} may be empty/g)).toHaveLength(1);
    expect(await setup.cli.json(['uploads', 'cleanup'], { environment: setup.environment() })).toHaveLength(2);
  });

  it('upload names no empty asset if the connection breaks before the service creates one', async () => {
    setup.fault = ({ method, nth }) =>
      method === 'POST' && nth === 1 ? { respond: (_response, request) => void request.socket.destroy() } : undefined;
    await expectEmptyAssetsNamed(await setup.upload(), 0);
  });

  it('upload reports a lost response without an asset uid if the API key may not list assets, and uploads cleanup finds the asset later', async () => {
    setup.fault = ({ method, path, nth }) => {
      if (method === 'POST') return nth === 1 ? { dropResponse: true } : undefined;
      return method === 'GET' && path.includes('/assets/?') ? respondWith(403, { error: {} }) : undefined;
    };
    const { record, stderr } = await setup.upload();
    await setup.expectUploaded(record);
    expect(stderr).toContain(
      'the response to a creation was lost, and may have left an empty asset; mediactl uploads cleanup, to list it',
    );
    setup.fault = () => undefined;
    expect(await setup.cli.json(['uploads', 'cleanup'], { environment: setup.environment() })).toHaveLength(1);
  });
});

it('the hint of a failed upload contains its own id, not the id of another upload of the same file', async () => {
  setup.fault = ({ method, nth }) => (method === 'PATCH' && nth > 1 ? respondWith(402, {}) : undefined);
  const idsInHints = [];
  for (const folder of ['/a', '/b']) {
    const { record } = await setup.upload([folder, '--create-folders']);
    idsInHints.push(/resume (\w+)/.exec(record.error.hint)?.[1]);
  }
  expect(new Set(idsInHints).size).toBe(2);
  expect(idsInHints.sort()).toEqual(setup.unfinishedIds().sort());
});

it('uploads ls shows the path, state, offset and profile of an interrupted upload', async () => {
  await setup.interruptAfterTwoChunks();
  const pending = await setup.cli.json(['uploads', 'ls'], { environment: setup.environment() });
  expect(pending).toMatchObject([{ path: setup.path, state: 'resumable', offset_bytes: 2 * chunkBytes }]);
  expect(forSandboxMode({ normal: pending[0].profile, strict: 'environment' })).toBe('environment');
});
