import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  eachObject,
  type Json,
  renameField,
  type ServiceChange,
  startChangedService,
} from '../support/changed-service.ts';
import { Cli } from '../support/cli.ts';
import { acceleratedClockInProcess } from '../support/clock.ts';
import { playbackInfos } from '../support/read-commands.ts';
import type { RecordedRequest } from '../support/recording-server.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

/* `doctor --service` against the sandbox, and against services that choose otherwise where the specification is silent. */

type Finding = {
  assumption: string;
  status: 'holds' | 'does_not_hold' | 'not_tried';
  detail: string;
  hint: string | null;
};

let sandbox: TestSandbox;
/** A folder with a subfolder, and an asset in that one. */
let nested: { folder: string; asset: Json };
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 60, strict: false, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  const cli = new Cli(accountOf(sandbox.url));
  await cli.run(['folders', 'create', '/Campaigns/Inner']);
  const [first] = await cli.json(['ls', '/Campaigns', '--all']);
  await cli.run(['mv', first.uid, '/Campaigns/Inner']);
  const folders: { path: string; uid: string }[] = await cli.json(['folders', 'ls']);
  nested = { folder: folders.find(({ path }) => path === '/Campaigns')?.uid ?? '', asset: first };
  await cli.run(['embed', 'domains', 'add', 'news.example']);
});
afterAll(() => sandbox.end());

const accountOf = (url: string) => ({
  MEDIACTL_BASE_URL: url,
  MEDIACTL_API_KEY: sandbox.key,
  MEDIACTL_WORKSPACE: sandbox.workspace,
});

/** For waits between retries, and for what does not show; a file is still processed within two minutes. */
const quickClock = () => acceleratedClockInProcess({ speed: 10 });

async function check(change: ServiceChange, environment: Record<string, string> = {}) {
  const { url, requests } = await startChangedService(sandbox.url, change);
  const cli = new Cli({ ...accountOf(url), ...environment });
  const ran = await cli.run(['doctor', '--service', '--json'], { clock: quickClock() });
  const findings: Finding[] = ran.stdout === '' ? [] : JSON.parse(ran.stdout);
  const withStatus = (wanted: string) =>
    findings.filter(({ status }) => status === wanted).map(({ assumption }) => assumption);
  return { ...ran, url, requests, findings, holding: withStatus('holds'), failing: withStatus('does_not_hold') };
}

const isList = ({ path, method }: RecordedRequest) => method === 'GET' && path.endsWith('/assets/');
const isFolders = ({ path }: RecordedRequest) => path.endsWith('/folders/');
const isEmbed = ({ path }: RecordedRequest) => path.endsWith('/embed-settings/');
const isWorkspaces = ({ path }: RecordedRequest) => path.endsWith('/workspaces/');

/** Changes the JSON of the responses to some requests. */
const changing = (
  isMeant: (request: RecordedRequest) => boolean,
  change: (body: Json, request: RecordedRequest) => unknown,
): ServiceChange => ({
  response: (response, request) => {
    if (!isMeant(request) || response.status >= 300) return;
    response.body = change(response.body as Json, request) ?? response.body;
  },
});
/** Changes each object in them. */
const changingEach = (isMeant: (request: RecordedRequest) => boolean, change: (object: Json) => void) =>
  changing(isMeant, (body) => eachObject(body, change));

const renaming = (isMeant: (request: RecordedRequest) => boolean, from: string, to: string) =>
  changingEach(isMeant, (object) => renameField(object, from, to));

/** Responds to playback info with samples of each type, changed by `change`. */
function playingSamples(change: (info: Json) => void = () => {}): ServiceChange {
  let nth = 0;
  return {
    request: ({ path, body, headers }) => {
      if (path.endsWith('/player/')) return { body: { uid: 'x', playback_token: 'token-of-this-test' } };
      if (!path.endsWith('/playback/info/') || (body as Json).playback_token === 'not-a-token') return undefined;
      const info = JSON.parse(
        JSON.stringify(playbackInfos[nth++ % playbackInfos.length]).replaceAll('HERE', `http://${headers.host}`),
      );
      change(info);
      return { body: info };
    },
  };
}

const flat = (folders: Json[], parent: unknown = null): Json[] =>
  folders.flatMap(({ children, ...folder }) => [
    { ...folder, parent_uid: parent },
    ...flat(children as Json[], folder.uid),
  ]);

/** Assumptions that hold for the sandbox with samples, whose playback info has no files. */
const always = 'A01 A03 A05 A06 A09 A10 A11 A12 A13 A19 A24 A26 A29 A30 A35'.split(' ');

describe('right services', () => {
  const rightServices: [string, ServiceChange, string[]?][] = [
    ['shows what the sandbox shows', {}],
    ['counts in total', renaming(isList, 'count', 'total')],
    [
      'shows a next address in place of a total',
      changing(isList, (body, { query }) => {
        const isMore = Number(query.offset ?? 0) + (body.items as unknown[]).length < Number(body.count);
        return { items: body.items, next: isMore ? '/more' : null };
      }),
    ],
    [
      'sends at most 25 assets in a page',
      {
        request: (request) =>
          void (isList(request) && Number(request.query.limit) > 25 && Object.assign(request.query, { limit: '25' })),
      },
    ],
    [
      'shows workspaces and lists as plain arrays',
      changing(
        (request) => isWorkspaces(request) || isList(request),
        ({ items }) => items,
      ),
    ],
    [
      'shows folders as subfolders, and a parent as an object',
      changingEach(isFolders, (folder) => {
        renameField(folder, 'children', 'subfolders');
        if (typeof folder.parent_uid === 'string') folder.parent_uid = { uid: folder.parent_uid };
      }),
    ],
    [
      'names the embed settings otherwise, with domains as objects',
      changing(isEmbed, ({ enabled, domains }) => ({
        restriction_enabled: enabled,
        shows_logo: true,
        allowed_domains: (domains as string[]).map((hostname) => ({ hostname })),
      })),
    ],
    ['calls the primary workspace the default one', renaming(isWorkspaces, 'is_primary', 'is_default')],
    [
      'explains errors in a text',
      {
        response: (response) =>
          void (
            response.status >= 400 &&
            Object.assign(response, { body: 'no, because of this', headers: { 'content-type': 'text/plain' } })
          ),
      },
    ],
    [
      'shows uids in capitals without dashes',
      {
        ...changingEach(
          () => true,
          (object) => {
            for (const field of ['uid', 'parent', 'parent_uid'])
              if (typeof object[field] === 'string') object[field] = object[field].replaceAll('-', '').toUpperCase();
          },
        ),
        request: (request) => {
          const dashed = (text: string) =>
            text
              .replace(/\b([0-9A-F]{8})([0-9A-F]{4})([0-9A-F]{4})([0-9A-F]{4})([0-9A-F]{12})\b/, '$1-$2-$3-$4-$5')
              .toLowerCase();
          request.path = dashed(request.path);
          if (request.query.parent) request.query.parent = dashed(request.query.parent);
          return undefined;
        },
      },
    ],
    [
      'shows statuses in capitals, and tags as objects',
      changingEach(isList, (asset) => {
        if (typeof asset.status === 'string') asset.status = asset.status.toUpperCase();
        if (Array.isArray(asset.tags)) asset.tags = asset.tags.map((slug) => ({ slug, name: `Tag ${slug}` }));
      }),
    ],
    [
      'shows only the fields that the specification names',
      changingEach(isList, (asset) => {
        for (const field of ['type', 'size', 'parent', 'updated_at', 'width', 'height']) delete asset[field];
      }),
    ],
    [
      'takes a limit of 0 for the default one',
      { request: ({ query }) => void (query.limit === '0' && Object.assign(query, { limit: '20' })) },
    ],
    ['plays each type', playingSamples(), ['A14', 'A15', 'A16']],
    [
      'plays each type with other forms of addresses',
      playingSamples((info) => {
        if (info.source) info.source = (info.source as Json).url;
        for (const variant of (info.variants ?? []) as Json[])
          Object.assign(variant, { width: undefined, height: undefined, size: '10x20' });
        for (const track of (info.subtitle_tracks ?? []) as Json[]) renameField(track, 'url', 'src');
        if (info.thumbnails) info.thumbnails = [{ page: 1, url: '/media/1.jpg' }, '/media/2.jpg'];
      }),
      ['A14', 'A15', 'A16'],
    ],
    [
      'has no page past the end',
      {
        response: (response, request) => {
          const { items } = (response.body ?? {}) as { items?: unknown[] };
          if (isList(request) && Number(request.query.offset) > 0 && items?.length === 0)
            Object.assign(response, { status: 404, body: { error: { message: 'no such page' } } });
        },
      },
    ],
  ];
  it.each(rightServices)(
    'doctor --service finds nothing wrong with a service that %s',
    async (_, change, also = []) => {
      const { code, stderr, holding, failing, requests } = await check(change);
      // When the samples were created depends on the time of the test.
      const steady = holding.filter((id) => id !== 'A32');
      expect({ code, failing, holding: steady }, stderr).toEqual({
        code: 0,
        failing: [],
        holding: [...always, ...also].sort(),
      });
      expect(requests.length).toBeLessThanOrEqual(120);
      expect(requests.filter(({ method, path }) => method !== 'GET' && !path.endsWith('/playback/info/'))).toEqual([]);
    },
  );
});

describe('wrong services', () => {
  const wrongServices: [string, ServiceChange, string[]][] = [
    [
      'counts five assets more than it lists',
      changing(isList, (body) => void Object.assign(body, { count: Number(body.count) + 5 })),
      ['A01'],
    ],
    [
      'counts five assets less than it lists',
      changing(isList, (body) => void Object.assign(body, { count: Number(body.count) - 5 })),
      ['A01'],
    ],
    [
      'ignores the offset',
      { request: ({ query }) => void (query.offset && Object.assign(query, { offset: '0', limit: '20' })) },
      ['A01'],
    ],
    [
      'refuses a limit above 50',
      {
        request: (request) =>
          Number(request.query.limit) > 50 ? { status: 422, body: { error: { message: 'at most 50' } } } : undefined,
      },
      ['A01'],
    ],
    ['counts in a field of another name', renaming(isList, 'count', 'hits'), ['A01']],
    ['shows subfolders in a field of another name', renaming(isFolders, 'children', 'nodes'), ['A03']],
    ['lists folders without nesting them', changing(isFolders, (body) => flat(body as unknown as Json[])), ['A03']],
    ['names folders by a title', renaming(isFolders, 'name', 'title'), ['A03']],
    ['shows the parent of a folder in a field of another name', renaming(isFolders, 'parent_uid', 'inside'), ['A02']],
    [
      'names the embed settings as nobody would',
      changing(isEmbed, ({ enabled, domains }) => ({ closed: enabled, open: true, hosts: domains })),
      ['A05', 'A06'],
    ],
    [
      'shows no primary workspace of two',
      changingEach(isWorkspaces, (workspace) => delete workspace.is_primary),
      ['A10'],
    ],
    [
      'calls ready assets completed',
      changingEach(isList, (asset) => void (asset.status === 'ready' && Object.assign(asset, { status: 'completed' }))),
      ['A11', 'A12'],
    ],
    [
      'has other types of assets',
      {
        request: ({ query }) =>
          query.type === 'generic' ? { status: 422, body: { error: { message: 'no such type' } } } : undefined,
      },
      ['A12'],
    ],
    ['ignores the filter by status', { request: ({ query }) => void delete query.status }, ['A12']],
    [
      'ignores the filter by type, and shows none',
      { ...changingEach(isList, (asset) => delete asset.type), request: ({ query }) => void delete query.type },
      ['A12'],
    ],
    [
      'explains errors in a field of another name',
      {
        response: (response) =>
          void (response.status >= 400 && Object.assign(response, { body: { error: { id: 7, words: 'no' } } })),
      },
      ['A13'],
    ],
    [
      'needs no key',
      {
        request: ({ headers, path }) =>
          void (path.endsWith('/assets/') && Object.assign(headers, { authorization: `Bearer ${sandbox.key}` })),
      },
      ['A13'],
    ],
    [
      'plays each type in forms that nobody expects',
      playingSamples((info) => {
        if (info.source) info.source = { href: (info.source as Json).url };
        for (const variant of (info.variants ?? []) as Json[]) renameField(variant, 'url', 'href');
        for (const track of (info.subtitle_tracks ?? []) as Json[]) renameField(track, 'url', 'file');
      }),
      ['A14', 'A15', 'A16'],
    ],
    [
      'refuses a wrong token with 400',
      {
        response: (response, { path }) =>
          void (path.endsWith('/playback/info/') && Object.assign(response, { status: 400 })),
      },
      ['A19'],
    ],
    ['has numbers for uids', changingEach(isFolders, (folder) => Object.assign(folder, { uid: 12 })), ['A24']],
    [
      'shows sizes in words',
      changingEach(isList, (asset) => void (asset.size && Object.assign(asset, { size: '12 MB' }))),
      ['A09'],
    ],
    ['ignores the filter by folder', { request: ({ query }) => void delete query.parent }, ['A26']],
    [
      'ignores the filter by folder, and shows none',
      { ...changingEach(isList, (asset) => delete asset.parent), request: ({ query }) => void delete query.parent },
      ['A26'],
    ],
    [
      'lists the assets of subfolders, and shows no folders',
      changing(isList, (body, { query }) => {
        const items = body.items as Json[];
        if (query.parent === nested.folder) items.unshift({ ...nested.asset });
        for (const asset of items) delete asset.parent;
      }),
      ['A26'],
    ],
    [
      'finds no words of names with a comma',
      { request: (request) => (request.query.search?.includes(',') ? { body: { items: [], count: 0 } } : undefined) },
      ['A30'],
    ],
    [
      'has days of a time zone far from UTC',
      changingEach(isList, (asset) => {
        if (asset.created_at)
          asset.created_at = new Date(Date.parse(String(asset.created_at)) + 12 * 3600_000).toISOString();
      }),
      ['A32'],
    ],
    [
      'redirects lists to another path',
      {
        request: (request) => {
          if (request.path.endsWith('/assets/')) {
            const query = new URLSearchParams(request.query);
            return { status: 307, headers: { location: `/api/external/v1/files/?${query}` } };
          }
          request.path = request.path.replace('/files/', '/assets/');
          return undefined;
        },
      },
      ['A35'],
    ],
    [
      'refuses the embed settings to a key that reads assets',
      { request: (request) => (isEmbed(request) ? { status: 403, body: { error: { message: 'no' } } } : undefined) },
      ['A17'],
    ],
  ];
  it.each(wrongServices)('doctor --service says what is wrong with a service that %s', async (_, change, wrong) => {
    const { code, failing, findings, requests } = await check(change);
    expect({ code, failing }, JSON.stringify(findings, null, 1)).toEqual({ code: 11, failing: wrong });
    expect(requests.length).toBeLessThanOrEqual(120);
  });
});

describe('what must be true to go on', () => {
  it('doctor --service stops with the next step if the service cannot be reached, rejects the key or is another', async () => {
    const cli = new Cli(accountOf(sandbox.url));
    const run = (environment: Record<string, string>) => cli.run(['doctor', '--service'], { environment });
    const unreachable = await run({ MEDIACTL_BASE_URL: 'http://127.0.0.1:9' });
    expect([unreachable.code, unreachable.stdout]).toEqual([10, '']);
    const rejected = await run({ MEDIACTL_API_KEY: 'not-a-key' });
    expect(rejected).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('mediactl auth login') });
    const { url } = await startChangedService(sandbox.url, { request: () => ({ status: 404, body: '<html>' }) });
    expect((await run({ MEDIACTL_BASE_URL: url })).stdout).toBe('');
  });

  it('doctor --service stops if it cannot tell which of two workspaces is meant', async () => {
    const change = changingEach(isWorkspaces, (workspace) => delete workspace.is_primary);
    const { code, stdout, stderr } = await check(change, { MEDIACTL_WORKSPACE: '' });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('--workspace NAME');
  });
});

it('the report names no key, address, token, or name of the library', async () => {
  const { stdout, stderr, url, code } = await check({});
  const [asset] = await new Cli(accountOf(sandbox.url)).json(['ls', '--limit', '1']);
  expect(code).toBe(0);
  for (const secret of [sandbox.key, url, new URL(url).host, sandbox.workspace, asset.name, asset.uid, 'Campaigns'])
    expect(stdout).not.toContain(secret);
  expect(stderr).toMatch(/^sends at most 120 requests/);
  const failing = await check({
    response: (response, { path }) =>
      void (isEmbed({ path } as RecordedRequest) && Object.assign(response, { status: 500 })),
  });
  expect(failing.stdout).not.toContain(new URL(failing.url).host);
});

it('assets that were created near midnight show that days are of UTC', async () => {
  const times = ['2026-03-01T00:30:00Z', '2026-03-02T23:30:00Z'];
  const { findings } = await check({
    request: (request) => {
      if (!isList(request)) return undefined;
      const { created_after, created_before = '9999' } = request.query;
      const all = times.map((created_at, n) => ({
        uid: `0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c${n}`,
        name: 'clip',
        status: 'ready',
        created_at,
      }));
      const items = all.filter(
        ({ created_at }) =>
          created_at.slice(0, 10) >= (created_after ?? '') && created_at.slice(0, 10) <= created_before,
      );
      return { body: { items, count: items.length } };
    },
  });
  expect(findings.find(({ assumption }) => assumption === 'A32')?.status).toBe('holds');
});

it.each([
  ['doctor --service', ['doctor', '--service'], ['A01', 'A05', 'A06', 'A13', 'A19', 'A24', 'A35'], ['A10']],
  [
    'doctor --write',
    ['doctor', '--write', '/', '--yes'],
    'A01 A02 A04 A05 A06 A08 A11 A13 A18 A19 A20 A21 A22 A24 A26 A27 A31 A35'.split(' '),
    ['A10', 'A28'],
  ],
])('%s gives each assumption its verdict for the strict sandbox as it comes', async (_, args, holding, failing) => {
  const strict = await startSandbox({ strict: true });
  const cli = new Cli({
    MEDIACTL_BASE_URL: strict.url,
    MEDIACTL_API_KEY: strict.key,
    MEDIACTL_WORKSPACE: strict.workspace,
  });
  const { stdout, code } = await cli.run([...args, '--json']);
  await strict.end();
  const findings: Finding[] = JSON.parse(stdout);
  const withStatus = (wanted: string) =>
    findings.filter(({ status }) => status === wanted).map(({ assumption }) => assumption);
  expect({ code, holding: withStatus('holds'), failing: withStatus('does_not_hold') }).toEqual({
    code: 11,
    holding,
    failing,
  });
});

describe('with --write', () => {
  /** What the library has, to compare. */
  const snapshot = async () => {
    const cli = new Cli(accountOf(sandbox.url));
    return [
      await cli.json(['ls', '--all', '--fields', 'uid,name,tags,parent']),
      await cli.json(['folders', 'ls', '-r']),
    ];
  };

  async function checkByWrites(change: ServiceChange, folder = '/Campaigns') {
    const before = await snapshot();
    const { url, requests } = await startChangedService(sandbox.url, change);
    const cli = new Cli(accountOf(url));
    const args = ['doctor', '--write', folder, '--yes', '--json'];
    const { code, stdout, stderr } = await cli.run(args, { clock: quickClock() });
    expect(await snapshot(), stderr).toEqual(before);
    expect(requests.length).toBeLessThanOrEqual(120);
    const findings: Finding[] = JSON.parse(stdout);
    const failing = findings.filter(({ status }) => status === 'does_not_hold').map(({ assumption }) => assumption);
    return { code, failing, findings, stderr };
  }
  const byWrites = ['A02', 'A04', 'A08', 'A11', 'A18', 'A20', 'A21', 'A22', 'A26', 'A27', 'A28', 'A31'];
  const isAsset = ({ path, method }: RecordedRequest) => /\/assets\/[\w-]+\/$/.test(path) && method !== 'DELETE';
  const isChunk = ({ path, method }: RecordedRequest) => /\/upload\/.+/.test(path) && method === 'PATCH';

  it.each([
    ['shows what the sandbox shows', '/Campaigns', {}],
    ['is used at its top level', '/', {}],
    ['is used in a nested folder', '/Campaigns/Inner', {}],
    [
      'names its sessions by a whole address',
      '/Campaigns',
      {
        response: ({ headers }, { headers: { host } }) =>
          void (headers.location && Object.assign(headers, { location: `http://${host}${headers.location}` })),
      },
    ],
    [
      'shows a checksum in Base64',
      '/Campaigns',
      {
        response: ({ headers }) =>
          void (
            headers['x-checksum-blake3'] &&
            Object.assign(headers, {
              'x-checksum-blake3': Buffer.from(headers['x-checksum-blake3'], 'hex').toString('base64'),
            })
          ),
      },
    ],
    [
      'shows no folder of an asset',
      '/Campaigns',
      changingEach(
        (request) => isAsset(request) || isList(request),
        (asset) => delete asset.parent,
      ),
    ],
    [
      'answers 200 to deletions of folders',
      '/Campaigns',
      {
        response: (response, { method, path }) =>
          void (
            method === 'DELETE' &&
            path.includes('/folders/') &&
            Object.assign(response, { status: 200, body: {} })
          ),
      },
    ],
  ] as [string, string, ServiceChange][])(
    'doctor --write finds nothing wrong with a service that %s',
    async (_, folder, change) => {
      const { code, failing, findings, stderr } = await checkByWrites(change, folder);
      expect({ code, failing }, stderr + JSON.stringify(findings)).toEqual({ code: 0, failing: [] });
      const holding = findings.filter(({ status }) => status === 'holds').map(({ assumption }) => assumption);
      expect(holding).toEqual(expect.arrayContaining(byWrites));
    },
  );

  function ignoringFirstDeletion(): ServiceChange {
    let deletions = 0;
    return {
      request: ({ method, path }) =>
        method === 'DELETE' && path.includes('/assets/') && ++deletions === 1 ? { status: 204 } : undefined,
    };
  }
  const withoutFields = (...fields: string[]): ServiceChange => ({
    request: ({ body, method }) => {
      if (method === 'POST' || method === 'PATCH') for (const field of fields) delete ((body ?? {}) as Json)[field];
    },
  });
  it.each([
    ['ignores the parent of a new folder', withoutFields('parent_uid'), ['A02']],
    [
      'ignores the new name of a folder',
      {
        request: ({ method, path, body }) =>
          void (method === 'PATCH' && path.includes('/folders/') && delete (body as Json).name),
      },
      ['A02'],
    ],
    [
      'ignores tags',
      { request: ({ method, body }) => void (method === 'PATCH' && body && delete (body as Json).tags) },
      ['A08'],
    ],
    [
      'refuses descriptions',
      {
        request: ({ method, body }) =>
          method === 'PATCH' && (body as Json | null)?.description
            ? { status: 422, body: { error: { message: 'no' } } }
            : undefined,
      },
      ['A08'],
    ],
    ['sends no checksum', { response: ({ headers }) => void delete headers['x-checksum-blake3'] }, ['A18']],
    [
      'sends another checksum',
      {
        response: ({ headers }) =>
          void (headers['x-checksum-blake3'] && Object.assign(headers, { 'x-checksum-blake3': '0'.repeat(64) })),
      },
      ['A18'],
    ],
    ['ignores the new folder of an asset', withoutFields('parent'), ['A20']],
    [
      'names its sessions at another host',
      {
        response: (response) => {
          const { headers, body } = response;
          if (headers.location) Object.assign(headers, { location: 'https://uploads.example/1' });
          const session = body as Json | undefined;
          if (session && !Buffer.isBuffer(session) && 'location' in session)
            session.location = 'https://uploads.example/1';
        },
      },
      ['A21'],
    ],
    ['knows no HEAD', { request: ({ method }) => (method === 'HEAD' ? { status: 405 } : undefined) }, ['A22']],
    [
      'stores other bytes than were sent',
      {
        request: (request) => {
          if (isChunk(request)) request.bytes.fill(120);
        },
      },
      ['A18', 'A27'],
    ],
    [
      'shows sizes in kilobytes',
      changingEach(
        (request) => isAsset(request) || isList(request),
        (asset) => void (typeof asset.size === 'number' && Object.assign(asset, { size: asset.size / 1000 })),
      ),
      ['A28'],
    ],
    ['only says that it deletes an asset', ignoringFirstDeletion(), ['A31']],
    [
      'shows no sizes',
      changingEach(
        (request) => isAsset(request) || isList(request),
        (asset) => delete asset.size,
      ),
      ['A28'],
    ],
    [
      'ignores the folder of an upload',
      {
        request: ({ headers }) => {
          const metadata = headers['upload-metadata'];
          if (metadata)
            headers['upload-metadata'] = String(metadata)
              .split(',')
              .filter((pair) => !pair.startsWith('parent_folder_uid'))
              .join(',');
        },
      },
      ['A26'],
    ],
  ] as [string, ServiceChange, string[]][])(
    'doctor --write says what is wrong with a service that %s, and leaves nothing',
    async (_, change, wrong) => {
      const { failing, findings, stderr } = await checkByWrites(change);
      expect(failing, stderr + JSON.stringify(findings)).toEqual(wrong);
    },
  );

  it('doctor --write with a key that may not delete exits with 11, and creates nothing more until that is deleted', async () => {
    const before = await snapshot();
    let mayDelete = false;
    const { url, requests } = await startChangedService(sandbox.url, {
      request: ({ method }) => (mayDelete || method !== 'DELETE' ? undefined : { status: 403, body: { error: {} } }),
    });
    const cli = new Cli(accountOf(url));
    const check = () => cli.run(['doctor', '--write', '/Campaigns', '--yes']);
    const isCreation = ({ method, path }: RecordedRequest) => method === 'POST' && !path.endsWith('/playback/info/');
    const refused = expect.stringContaining('the service did not delete all that begins with mediactl-check-');
    expect(await check()).toMatchObject({ code: 11, stderr: refused });
    const created = requests.filter(isCreation).length;
    expect(await check()).toMatchObject({ code: 11, stderr: refused });
    expect(requests.filter(isCreation)).toHaveLength(created);
    mayDelete = true;
    expect((await check()).code).toBe(0);
    expect(await snapshot()).toEqual(before);
  });

  it('doctor --write asks first, and changes nothing without an answer or with --dry-run', async () => {
    const { url, requests } = await startChangedService(sandbox.url, {});
    const cli = new Cli(accountOf(url));
    expect((await cli.run(['doctor', '--write', '/Campaigns'])).code).toBe(2);
    expect((await cli.run(['doctor', '--write', '/Campaigns', '-n'])).code).toBe(0);
    expect((await cli.run(['doctor', '--write', '/Nowhere', '--yes'])).code).toBe(3);
    expect(requests.filter(({ method, path }) => method !== 'GET' && !path.endsWith('/playback/info/'))).toEqual([]);
  });
});

describe('with --learn', () => {
  /** Logs in to a service with a profile. */
  async function userOf(change: ServiceChange) {
    const { url } = await startChangedService(sandbox.url, change);
    const cli = new Cli();
    const login = await cli.run(['auth', 'login', '--profile', 'p', '--base-url', url, '--with-key'], {
      stdin: sandbox.key,
    });
    expect(login.code, login.stderr).toBe(0);
    return cli;
  }
  const ofAssets = (request: RecordedRequest) => isList(request) || /\/assets\/[\w-]+\/$/.test(request.path);

  it('doctor --learn saves the names of fields that it finds, and the next run finds nothing wrong', async () => {
    const cli = await userOf({
      response: (response, request) => {
        if (response.status >= 300) return;
        if (isList(request)) renameField(response.body as Json, 'count', 'hits');
        if (ofAssets(request))
          eachObject(response.body, (asset) => {
            renameField(asset, 'tags', 'labels');
            renameField(asset, 'parent', 'inside');
            renameField(asset, 'workspace', 'home');
          });
        if (isFolders(request))
          eachObject(response.body, (folder) => {
            renameField(folder, 'name', 'title');
            renameField(folder, 'children', 'nodes');
            renameField(folder, 'parent_uid', 'above');
          });
        if (isEmbed(request)) renameField(response.body as Json, 'domains', 'hosts');
      },
    });
    // A name is needed to find the others.
    for (let runs = 0; runs < 3; runs++) await cli.run(['doctor', '--learn']);
    const names = await cli.json(['config', 'ls']);
    const saved = names
      .filter(({ origin }: Json) => origin === 'profile p')
      .map(({ key, value }: Json) => `${key}=${value}`);
    expect(saved).toEqual(
      expect.arrayContaining([
        'field_names.page_total=hits',
        'field_names.folder_name=title',
        'field_names.folder_children=nodes',
        'field_names.folder_parent=above',
        'field_names.embed_domains=hosts',
        'field_names.asset_tags=labels',
        'field_names.asset_parent=inside',
        'field_names.asset_workspace=home',
      ]),
    );
    const { code, stdout } = await cli.run(['doctor', '--service']);
    expect([code, stdout]).toEqual([0, expect.not.stringContaining('does not hold')]);
  });

  it('doctor shows what was settled for the profile, also what a later run did not try', async () => {
    const cli = await userOf({});
    const detail = async () =>
      (await cli.json(['doctor'])).find(({ check: name }: { check: string }) => name === 'assumptions').detail;
    expect(await detail()).toContain('not checked: mediactl doctor --service --learn');
    await cli.run(['doctor', '--write', '/Campaigns', '--learn', '--yes']);
    const settled = await detail();
    expect(settled).toMatch(/^2\d of \d+ hold; checked/);
    await cli.run(['doctor', '--learn']);
    expect((await detail()).split(';')[0]).toBe(settled.split(';')[0]);
  });

  it('doctor --learn without a profile is a usage error', async () => {
    const { code, stderr } = await new Cli(accountOf(sandbox.url)).run(['doctor', '--learn']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('mediactl auth login')]);
  });
});
