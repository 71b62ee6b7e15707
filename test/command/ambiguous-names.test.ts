import { beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { testKey } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';

/* Ambiguous names without a terminal; test/process/prompts-and-pager.test.ts has the prompts. */

const uidOfDigit = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;
const workspace = uidOfDigit(9);
const folder = uidOfDigit(8);
const namesakes = [1, 2, 3].map((n) => ({
  uid: uidOfDigit(n),
  name: 'clip.mp4',
  type: 'video',
  status: 'ready',
  size: n * 1024,
  created_at: `2026-0${n === 2 ? 9 : n}-01T12:00:00Z`,
  parent: n === 1 ? folder : null,
}));

const startService = () =>
  startRecordingServer(({ path, query }) => {
    if (path.endsWith('/folders/')) return { body: [{ uid: folder, name: 'Press', parent_uid: null, children: [] }] };
    if (path.endsWith('/workspaces/'))
      return { body: { items: [1, 2].map((n) => ({ uid: uidOfDigit(n), name: 'Twin' })), count: 2 } };
    const requestedAsset = namesakes.find((asset) => path.endsWith(`/${asset.uid}/`));
    if (requestedAsset) return { body: requestedAsset };
    if (path.endsWith('/assets/'))
      return { body: { items: query.offset === '0' ? namesakes : [], count: namesakes.length } };
    return undefined;
  });

let cli: Cli;
let requests: Awaited<ReturnType<typeof startRecordingServer>>['requests'];
beforeEach(async () => {
  const recorded = await startService();
  requests = recorded.requests;
  cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_WORKSPACE: workspace, MEDIACTL_BASE_URL: recorded.url });
});

describe('ambiguous names', () => {
  it.each(['get', 'rm', 'download', 'assets wait', 'assets player-data', 'assets thumb', 'play'])(
    '%s exits with 2 and lists the candidates for an ambiguous name with time, size and folder',
    async (verb) => {
      const { code, stderr } = await cli.run([...verb.split(' '), 'clip.mp4']);
      expect(code).toBe(2);
      expect(stderr.split('\n')).toEqual([
        ...(verb === 'rm' ? ['reading 3 assets to see their workspace, at one request each'] : []),
        'error: 3 assets are named clip.mp4',
        `  cause: 2026-01-01T12:00:00Z  1.0 KiB  /Press  ready  ${uidOfDigit(1)}`,
        `         2026-09-01T12:00:00Z  2.0 KiB  /  ready  ${uidOfDigit(2)}`,
        `         2026-03-01T12:00:00Z  3.0 KiB  /  ready  ${uidOfDigit(3)}`,
        '  try:   use the uid of one of them, or --newest',
        '',
      ]);
    },
  );

  it('the prompt on a terminal escapes control characters in a name', async () => {
    const name = 'x\u001b]0;t\u0007\u009b2K\rclip\u202e';
    const named = namesakes.map((asset) => ({ ...asset, name }));
    const service = await startRecordingServer(({ path }) => ({
      body: named.find(({ uid }) => path.endsWith(`/${uid}/`)) ?? { items: named, count: 3 },
    }));
    const { stderr } = await cli.run(['assets', 'get', name], {
      tty: true,
      stdin: '\r',
      environment: { MEDIACTL_BASE_URL: service.url },
    });
    expect(stderr).toContain('x\\u001b]0;t\\u0007\\u009b2K\\rclip\\u202e. Which one?');
    for (const raw of ['\u001b]0;t', '\u009b2K', '\u202e']) expect(stderr).not.toContain(raw);
  });

  it('assets that a glob matches are listed by their names, and rename asks for one, with the way to rename many', async () => {
    const named = namesakes.map((asset, at) => ({ ...asset, parent: null, name: `f${at}.bin` }));
    const service = await startRecordingServer(({ path }) => {
      if (path.endsWith('/folders/')) return { body: [] };
      if (path.endsWith('/workspaces/')) return { body: { items: [{ uid: workspace, name: 'Main' }], count: 1 } };
      return { body: named.find(({ uid }) => path.endsWith(`/${uid}/`)) ?? { items: named, count: 3 } };
    });
    const environment = { MEDIACTL_BASE_URL: service.url };
    const { stderr } = await cli.run(['play', '/*.bin'], { environment });
    expect(stderr).toMatch(/cause: f0\.bin {2}2026-/);
    expect((await cli.run(['rename', '/*.bin', 'NEW.bin'], { environment, tty: true })).stderr).toContain(
      "mediactl export '/*.bin' names.csv; edit the column name; mediactl apply names.csv",
    );
  });

  it('get --json lists the uids of the candidates in the error details', async () => {
    const { stderr } = await cli.run(['get', 'clip.mp4', '--json']);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'usage',
      details: { uids: [uidOfDigit(1), uidOfDigit(2), uidOfDigit(3)] },
    });
  });

  it('get --newest selects the asset that was created last', async () => {
    expect(await cli.json(['get', 'clip.mp4', '--newest'])).toMatchObject([{ uid: uidOfDigit(2) }]);
  });

  it('rm --newest exits with 2 and deletes nothing if the assets have the same creation time', async () => {
    const sameTimeAssets = namesakes.map((asset) => ({ ...asset, created_at: '2026-01-01T12:00:00Z' }));
    const service = await startRecordingServer(({ path }) => ({
      body: sameTimeAssets.find(({ uid }) => path.includes(uid)) ?? { items: sameTimeAssets, count: 3 },
    }));
    const { code } = await cli.run(['rm', 'clip.mp4', '--newest', '--yes'], {
      environment: { MEDIACTL_BASE_URL: service.url },
    });
    expect([code, new Set(service.requests.map(({ method }) => method))]).toEqual([2, new Set(['GET'])]);
  });

  it('workspaces use exits with 2 and lists the candidates for an ambiguous name', async () => {
    const { code, stderr } = await cli.run(['workspaces', 'use', 'Twin']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`2 workspaces are named Twin\n  cause: Twin  ${uidOfDigit(1)}`),
    ]);
  });
});

it.each([['get'], ['assets player-data'], ['play'], ['download'], ['rm'], ['auth switch'], ['workspaces use']])(
  '%s without an argument exits with 2 and sends no request',
  async (verb) => {
    const { code } = await cli.run(verb.split(' '));
    expect([code, requests]).toEqual([2, []]);
  },
);

describe('abbreviated uids', () => {
  const terminal = { tty: true, columns: 100 };

  it('get accepts the first digits of a uid that a terminal has shown, and sends one request', async () => {
    await cli.run(['ls'], terminal);
    requests.length = 0;
    expect(await cli.json(['get', '22222222'])).toMatchObject([{ uid: uidOfDigit(2) }]);
    expect(requests.map(({ path }) => path)).toEqual([`/api/external/v1/assets/${uidOfDigit(2)}/`]);
  });

  it('get exits with 3 for the first digits of a uid that no terminal has shown', async () => {
    await cli.run(['ls']);
    const { code, stderr } = await cli.run(['get', '222222']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('no recently shown uid begins with it')]);
  });

  it('rm exits with 2 and deletes nothing if six digits are both an asset name and the start of a uid', async () => {
    const uidLikeName = { ...namesakes[0], uid: uidOfDigit(4), name: '222222' };
    const service = await startRecordingServer(({ path }) =>
      path.endsWith('/assets/')
        ? { body: { items: [...namesakes, uidLikeName], count: 4 } }
        : { status: 204, body: {} },
    );
    const environment = { MEDIACTL_BASE_URL: service.url };
    await cli.run(['ls'], { ...terminal, environment });
    const { code, stderr } = await cli.run(['rm', '222222', '--yes'], { environment });
    expect([code, stderr]).toEqual([2, expect.stringContaining('222222 is the name of an asset and the start of uid')]);
    expect(service.requests.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('get treats five digits as a name, not as an abbreviated uid', async () => {
    await cli.run(['ls'], terminal);
    expect((await cli.run(['get', '22222'])).code).toBe(3);
  });

  it('rm exits with 2 and deletes nothing if two uids begin with the same digits', async () => {
    const otherUid = '22222222-1111-4000-8000-000000000000';
    const service = await startRecordingServer(() => ({
      body: { items: [{ uid: otherUid }, namesakes[1]], count: 2 },
    }));
    await cli.run(['ls'], { ...terminal, environment: { MEDIACTL_BASE_URL: service.url } });
    const { code, stderr } = await cli.run(['rm', '22222222', '--yes'], {
      environment: { MEDIACTL_BASE_URL: service.url },
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining('2 assets begin with 22222222')]);
    expect(service.requests).toHaveLength(1);
  });

  it('get does not accept an abbreviated uid that only another service has shown', async () => {
    await cli.run(['ls'], terminal);
    const otherService = await startService();
    const { code } = await cli.run(['get', '222222'], {
      environment: { MEDIACTL_BASE_URL: otherService.url },
    });
    expect(code).toBe(3);
  });

  it('folders and workspaces accept abbreviated uids after a terminal has shown them', async () => {
    expect((await cli.run(['folders', 'rm', folder.slice(0, 6), '-n'])).code).toBe(3);
    expect((await cli.run(['workspaces', 'use', uidOfDigit(2).slice(0, 8)])).code).toBe(3);
    await cli.run(['folders', 'ls'], terminal);
    await cli.run(['workspaces', 'ls'], terminal);
    expect(await cli.json(['folders', 'ls', folder.slice(0, 6)])).toEqual([]);
    expect((await cli.run(['workspaces', 'use', uidOfDigit(2).slice(0, 8), '-n'])).stderr).toContain(uidOfDigit(2));
  });
});

describe('folder names in tables', () => {
  const wideTerminal = { tty: true, columns: 160 };
  const countFolderRequests = () => requests.filter(({ path }) => path.endsWith('/folders/')).length;

  it('ls requests the folder names once for several tables on a terminal, and never in a pipe', async () => {
    await cli.run(['ls']);
    expect(countFolderRequests()).toBe(0);
    for (let n = 0; n < 3; n++) expect((await cli.run(['ls'], wideTerminal)).stdout).toContain('/Press');
    expect(countFolderRequests()).toBe(1);
  });

  it('ls requests the folder names only once if the service refuses them (403)', async () => {
    const assets = Array.from({ length: 250 }, (_, n) => ({
      uid: `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`,
      name: `${n}`,
      parent: `${String(n).padStart(8, '0')}-1111-4000-8000-000000000000`,
    }));
    const service = await startRecordingServer(({ path, query }) =>
      path.endsWith('/folders/')
        ? { status: 403, body: { error: {} } }
        : {
            body: {
              items: assets.slice(Number(query.offset), Number(query.offset) + 100),
              count: 250,
            },
          },
    );
    const environment = { MEDIACTL_BASE_URL: service.url };
    const { code, stdout } = await cli.run(['ls', '--all', '--no-pager'], { ...wideTerminal, environment });
    expect([code, stdout.split('\n').length]).toEqual([0, 252]); // with the header and the final line break
    expect(service.requests.filter(({ path }) => path.endsWith('/folders/'))).toHaveLength(1);
  });

  it('ls without a workspace prints folder uids and does not prompt', async () => {
    const environment = { MEDIACTL_WORKSPACE: undefined };
    const { code, stdout, stderr } = await cli.run(['ls'], { ...wideTerminal, environment });
    expect([code, stderr]).toEqual([0, 'all workspaces\n']);
    expect(stdout).toContain(folder.slice(0, 8));
  });
});
