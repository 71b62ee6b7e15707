import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { testKey, workspaceUid } from '../support/fake-library.ts';
import { type Responder, startRecordingServer } from '../support/recording-server.ts';

/* Services that format values differently from the specification's examples. */

const uid = '0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c1';
const uidWithoutDashes = uid.replaceAll('-', '');

async function cliWithService(responder: Responder) {
  const { url, requests } = await startRecordingServer(responder);
  const cli = new Cli({
    MEDIACTL_API_KEY: testKey,
    MEDIACTL_BASE_URL: url,
    MEDIACTL_WORKSPACE: workspaceUid,
    NO_COLOR: '1',
  });
  return { cli, requests, url };
}

/** Creates a library with this one asset. */
const libraryWith =
  (asset: Record<string, unknown>): Responder =>
  ({ path, method }) =>
    method === 'DELETE'
      ? { status: 204 }
      : path.includes(String(asset.uid))
        ? { body: asset }
        : { body: { items: [asset], count: 1 } };

describe('durations', () => {
  it.each([
    [12.5, '12.5', '13s'],
    ['12.500', '12.500', '13s'],
    ['P0DT00H00M12.5S', 'P0DT00H00M12.5S', 'P0DT00H00M12.5S'],
    ['about a minute', 'about a minute', 'about a minute'],
    [null, '', undefined],
  ])('assets ls prints the duration %j as %j to a pipe', async (duration, piped, shown) => {
    const { cli } = await cliWithService(libraryWith({ uid, name: 'clip', type: 'video', status: 'ready', duration }));
    const columns = (await cli.run(['assets', 'ls'])).stdout.replace('\n', '').split('\t');
    expect(columns[4]).toBe(piped);
    const { stdout } = await cli.run(['assets', 'ls'], { tty: true, columns: 150 });
    expect(stdout.split('\n')[1]?.split(/ {2,}/)[4]).toBe(shown);
  });
});

describe('uids without dashes', () => {
  it('assets get and rm accept uids without dashes as the service lists them', async () => {
    const respond = libraryWith({ uid: uidWithoutDashes, name: 'clip', status: 'ready' });
    let isDeleted = false;
    const { cli, requests } = await cliWithService((request) => {
      if (isDeleted) return { status: 404, body: { error: {} } };
      isDeleted = request.method === 'DELETE';
      return respond(request);
    });
    expect((await cli.run(['assets', 'ls', '-q'])).stdout).toBe(`${uidWithoutDashes}\n`);
    expect((await cli.json(['assets', 'get', uidWithoutDashes]))[0].uid).toBe(uidWithoutDashes);
    expect((await cli.run(['assets', 'rm', uidWithoutDashes, '--yes'])).code).toBe(0);
    expect(requests.at(-2)).toMatchObject({ method: 'DELETE', path: `/api/external/v1/assets/${uidWithoutDashes}/` });
  });

  it('@last finds an uploaded asset whose uid has no dashes', async () => {
    const respondAsLibrary = libraryWith({ uid: uidWithoutDashes, name: 'clip', status: 'ready' });
    const location = '/api/external/v1/upload/s/';
    const { cli } = await cliWithService((request) => {
      const { method, path } = request;
      if (method === 'POST')
        return { status: 201, body: { asset_uid: uidWithoutDashes, location }, headers: { location } };
      return path === location ? { status: 204, headers: { 'upload-offset': '4' } } : respondAsLibrary(request);
    });
    writeFileSync(join(cli.home, 'f.txt'), 'four');
    await cli.json(['upload', join(cli.home, 'f.txt')]);
    expect((await cli.json(['assets', 'get', '@last']))[0].uid).toBe(uidWithoutDashes);
  });
});

it('upload --wait matches uids regardless of case', async () => {
  const uids = [1, 2].map((n) => `0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c${n}`);
  const records = uids.map((each) => ({ uid: each, name: 'f', status: 'ready' }));
  let createdCount = 0;
  const { cli } = await cliWithService(({ method, path }) => {
    const session = `/api/external/v1/upload/${createdCount}/`;
    if (method === 'PATCH') return { status: 204, headers: { 'upload-offset': '4' } };
    if (method !== 'POST') return { body: records.find((record) => path.includes(record.uid)) ?? { items: records } };
    const asset_uid = uids[createdCount++]?.toUpperCase();
    return { status: 201, body: { asset_uid, location: session } };
  });
  const files = ['a', 'b'].map((name) => join(cli.home, name));
  for (const file of files) writeFileSync(file, 'four');
  const uploadedRecords = await cli.json(['upload', ...files, '--wait']);
  expect(uploadedRecords.map(({ asset_status }: { asset_status: string }) => asset_status)).toEqual(['ready', 'ready']);
});

it('assets wait polls a thousand assets by pages of the list instead of one by one', async () => {
  const uids = Array.from({ length: 1000 }, (_, n) => `0c6f2a52-3c35-4f3e-9a51-${String(n).padStart(12, '0')}`);
  let rounds = 0;
  const { cli, requests } = await cliWithService(({ query }) => {
    const offset = Number(query.offset);
    if (offset === 0) rounds++;
    const status = rounds < 3 ? 'processing' : 'ready';
    const items = uids.slice(offset, offset + 100).map((each) => ({ uid: each, name: 'f', status }));
    return { body: { items, count: uids.length } };
  });
  const stdin = uids.join('\n');
  const { code } = await cli.run(['assets', 'wait', '-', '-q'], { stdin, clock: acceleratedClock() });
  expect([code, requests.length]).toEqual([0, 30]);
});

it.each([9, 10, 20, 25, 100])('workspaces ls lists %i workspaces if the service ignores paging', async (count) => {
  const workspaces = Array.from({ length: count }, (_, n) => ({
    uid: `7b1f4d0e-58a4-4c8e-9a0b-${String(n).padStart(12, '0')}`,
    name: `w${n}`,
  }));
  const responseBodies = [workspaces, ...(count < 100 ? [{ items: workspaces, count }] : [])];
  for (const body of responseBodies) {
    const { cli } = await cliWithService(({ path }) =>
      path === '/api/external/v1/workspaces/' ? { body } : undefined,
    );
    expect(await cli.json(['workspaces', 'ls'])).toHaveLength(count);
  }
});

describe('lists without a total', () => {
  const createAssets = (count: number) =>
    Array.from({ length: count }, (_, n) => ({
      uid: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
      name: `clip ${n}`,
    }));
  const pagedLibrary =
    (allAssets: object[], maxPageSize: number, moreFields: (isMore: boolean) => object): Responder =>
    ({ query }) => {
      const offset = Number(query.offset);
      const items = allAssets.slice(offset, offset + Math.min(maxPageSize, Number(query.limit)));
      return { body: { items, ...moreFields(offset + items.length < allAssets.length) } };
    };
  const withoutNext = () => ({});
  const withNullNext = () => ({ next: null });
  const withCorrectNext = (isMore: boolean) => ({ next: isMore ? '/more' : null });

  it.each([
    ['pages of 60', 60, withoutNext, 5],
    ['pages of 75', 75, withoutNext, 4],
    ['pages of 99', 99, withoutNext, 3],
    ['full pages and a next that is always null', 100, withNullNext, 3],
    ['pages of 60 and a next that is always null', 60, withNullNext, 5],
    ['pages of 125 cut to 100, and a correct next', 125, withCorrectNext, 3],
  ])('assets ls --all lists all 250 assets of a service with %s', async (_, maxPageSize, moreFields, requestCount) => {
    const service = await cliWithService(pagedLibrary(createAssets(250), maxPageSize, moreFields));
    const { code, stdout } = await service.cli.run(['assets', 'ls', '--all', '-q']);
    expect(code).toBe(0);
    expect(stdout.trim().split('\n')).toHaveLength(250);
    expect(service.requests).toHaveLength(requestCount);
  });

  it('assets ls --all sends one extra request if a short list has no total', async () => {
    const service = await cliWithService(pagedLibrary(createAssets(7), 100, withoutNext));
    const { code, stdout } = await service.cli.run(['assets', 'ls', '--all', '-q']);
    expect([code, stdout.trim().split('\n').length, service.requests.length]).toEqual([0, 7, 2]);
  });

  it('assets ls --all treats a 404 for an offset past the end as the end of the list', async () => {
    const respondAsLibrary = pagedLibrary(createAssets(7), 100, withoutNext);
    const service = await cliWithService((request) =>
      Number(request.query.offset) < 7 ? respondAsLibrary(request) : { status: 404, body: {} },
    );
    const { code, stdout } = await service.cli.run(['assets', 'ls', '--all', '-q']);
    expect([code, stdout.trim().split('\n').length]).toEqual([0, 7]);
  });

  it.each([7, 20])(
    'assets ls --all exits with 10 if the service repeats its %i assets at every offset',
    async (count) => {
      const service = await cliWithService(() => ({ body: { items: createAssets(count) } }));
      const { code, stderr } = await service.cli.run(['assets', 'ls', '--all', '-q']);
      expect([code, stderr]).toEqual([10, expect.stringContaining('the same items on every page')]);
    },
  );
});

describe('a service that ignores a filter', () => {
  const asset = {
    uid,
    name: 'clip',
    type: 'video',
    status: 'ready',
    tags: ['kept'],
    parent: null,
    created_at: '2026-03-01T11:00:00Z',
  };
  it.each([
    ['status', ['--status', 'failed']],
    ['type', ['--type', 'audio']],
    ['tag', ['--tag', 'draft']],
    ['created_after', ['--created-after', '2026-06-01']],
    ['created_before', ['--created-before', '2020-01-01']],
    ['parent', ['/Campaigns']],
  ])('assets ls warns and lists the returned assets if the service ignores the filter %s', async (name, filter) => {
    const { cli } = await cliWithService((request) =>
      request.path.endsWith('/workspaces/')
        ? { body: { items: [{ uid: workspaceUid }] } }
        : request.path.endsWith('/folders/')
          ? { body: [{ uid: workspaceUid, name: 'Campaigns', children: [] }] }
          : libraryWith(asset)(request),
    );
    for (const paging of [[], ['--all']]) {
      const { code, stdout, stderr } = await cli.run(['assets', 'ls', ...filter, ...paging]);
      expect(code).toBe(0);
      expect(stdout).toContain(uid);
      const warning = `warning: the service ignored a filter (${name}): it lists ${uid}, which does not match\n`;
      expect(stderr).toBe(name === 'parent' ? warning : `${warning}all workspaces\n`);
    }
  });

  it('assets ls does not warn about an ignored filter if the assets match it', async () => {
    const { cli } = await cliWithService(libraryWith(asset));
    const { stderr } = await cli.run(['assets', 'ls', '--status', 'ready', '--tag', 'kept']);
    expect(stderr).toBe('all workspaces\n');
  });
});
