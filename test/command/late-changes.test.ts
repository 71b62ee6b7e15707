import { expect, it } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import { type Clock, systemClock } from '../../src/shared/clock.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import {
  assetUid,
  FakeLibrary,
  folderUid,
  type LibraryOptions,
  numberedUid,
  testKey,
  workspaceUid,
} from '../support/fake-library.ts';
import { type RecordedRequest, type Responder, startRecordingServer } from '../support/recording-server.ts';

/* A service that shows each change only from the second look on, as one with a cache does. */

function createFakeLibrary(options: LibraryOptions): FakeLibrary {
  const library = new FakeLibrary({ assets: [{ uid: assetUid, name: 'Quay', description: '', tags: [] }], ...options });
  library.folders.push({ uid: folderUid, name: 'Campaigns', parent: undefined });
  library.folders.push({ uid: numberedUid(99), name: 'Archive', parent: undefined });
  return library;
}

/** Creates a library whose response to a change of an asset, or else the first read after a change, shows the old state. */
function createLateLibrary(options: LibraryOptions): Responder {
  const [current, shown] = [createFakeLibrary(options), createFakeLibrary(options)];
  const hidden: RecordedRequest[] = [];
  const read = (request: RecordedRequest) => {
    const response = shown.respond({ ...request, method: 'GET', body: null });
    for (const change of hidden.splice(0)) shown.respond(change);
    return response;
  };
  return (request) => {
    if (request.method === 'GET') return read(request);
    const response = current.respond(request);
    hidden.push(request);
    return request.method === 'PATCH' && request.path.includes('/assets/') ? read(request) : response;
  };
}

async function runWith(responder: Responder, args: readonly string[], more: CliOptions = {}) {
  const { url, requests } = await startRecordingServer(responder);
  const cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: url, MEDIACTL_WORKSPACE: workspaceUid });
  const clock = acceleratedClock();
  const result = await cli.run([...args, '--json'], { clock, ...more });
  const afterWrite = requests.slice(requests.findLastIndex(({ method }) => method !== 'GET') + 1);
  return { ...result, sleptMs: clock.sleptMs, readsAfterWrite: afterWrite.length };
}

const changes = [
  ['update', assetUid, '--name', 'Other'],
  ['tag', assetUid, '--add', 'sea'],
  ['mv', assetUid, '/Campaigns'],
  ['folders', 'create', '/New'],
  ['folders', 'rename', '/Campaigns', 'Old'],
  ['folders', 'mv', '/Campaigns', '/Archive'],
  ['folders', 'rm', '/Campaigns', '--yes'],
  ['rm', '-r', '/Campaigns', '--yes'],
  ['embed', 'restrict'],
  ['embed', 'domains', 'add', 'new.example'],
  ['embed', 'domains', 'rm', 'old.example'],
].map((args) => [args.join(' '), args] as const);

const options: LibraryOptions = { shows: ['parent'] };

it.each(changes)('%s reads once more after a second if the service shows the change late', async (_, args) => {
  const { code, stderr, sleptMs } = await runWith(createLateLibrary(options), args);
  expect([code, stderr.includes('"error":{'), sleptMs]).toEqual([0, false, [1_000]]);
});

it.each(changes)('%s does not wait if the service shows the change at once', async (_, args) => {
  const library = createFakeLibrary(options);
  const { code, sleptMs } = await runWith((request) => library.respond(request), args);
  expect([code, sleptMs]).toEqual([0, []]);
});

it.each(changes)('%s exits with 6 or 11 after two reads if the service ignores the change', async (_, args) => {
  const [acting, unchanged] = [createFakeLibrary(options), createFakeLibrary(options)];
  const responder: Responder = (request) =>
    request.method === 'GET' || request.path.includes('/assets/')
      ? unchanged.respond({ ...request, method: 'GET', body: null })
      : acting.respond(request);
  const { code, stderr, sleptMs, readsAfterWrite } = await runWith(responder, args);
  expect([code, sleptMs]).toEqual([expect.toBeOneOf([6, 11]), [1_000]]);
  expect(stderr).toMatch(/did not|does not contain/);
  expect(readsAfterWrite).toBe(args.includes(assetUid) ? 1 : 2); // the response of a PATCH is the first look
});

it('mv reads the list of the folder once more if no record shows the folder', async () => {
  const library = createFakeLibrary({});
  let looks = 0;
  let isMoved = false;
  const { code, sleptMs } = await runWith(
    (request) => {
      isMoved ||= request.method === 'PATCH';
      const isList = request.method === 'GET' && request.query.parent === folderUid && isMoved;
      return isList && ++looks === 1 ? { body: { items: [], count: 0 } } : library.respond(request);
    },
    ['mv', assetUid, '/Campaigns'],
  );
  expect([code, sleptMs, looks]).toEqual([0, [1_000], 2]);
});

it('an update that the service ignores is an error with a key that cannot read, too', async () => {
  const { code, stderr } = await runWith(
    ({ method }) =>
      method === 'PATCH' ? { body: { uid: assetUid, name: 'Quay' } } : { status: 403, body: { error: {} } },
    ['update', assetUid, '--name', 'Other'],
  );
  expect([code, stderr]).toEqual([6, expect.stringContaining('did not apply name')]);
});

it('an interruption ends the wait for a late change, whose outcome stays unknown', async () => {
  const library = createFakeLibrary(options);
  const interruption = new AbortController();
  const sleep: Clock['sleep'] = (delayMs, signal) => {
    interruption.abort(new CodedError('interrupted', { code: 'interrupted' }));
    return systemClock.sleep(delayMs, signal);
  };
  const { code, stderr, readsAfterWrite } = await runWith(
    (request) => library.respond(request.method === 'PATCH' ? { ...request, body: null } : request),
    ['update', assetUid, '--name', 'Other'],
    { clock: { ...acceleratedClock(), sleep }, signal: interruption.signal },
  );
  expect([code, stderr.includes('did not apply'), readsAfterWrite]).toEqual([130, false, 0]);
});

it('mv moves an asset whose folder no record shows, also if it was read long ago', async () => {
  const library = createFakeLibrary({});
  const { url } = await startRecordingServer((request) => library.respond(request));
  const cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: url, MEDIACTL_WORKSPACE: workspaceUid });
  let steadyMs = 0;
  const clock = { ...systemClock, steady: () => (steadyMs += 60_000) };
  expect(await cli.run(['mv', assetUid, '/Campaigns', '--json'], { clock })).toMatchObject({ code: 0 });
});
