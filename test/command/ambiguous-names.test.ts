import { beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { testKey } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';

/* Ambiguous names without a terminal; test/process/prompts-and-pager.test.ts has the prompts. */

const uid = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;
const workspace = uid(9);
const folder = uid(8);
const twins = [1, 2, 3].map((n) => ({
  uid: uid(n),
  name: 'clip.mp4',
  type: 'video',
  status: 'ready',
  size: n * 1024,
  created_at: `2026-0${n === 2 ? 9 : n}-01T12:00:00Z`,
  parent: n === 1 ? folder : null,
}));

const service = () =>
  startRecordingServer(({ path, query }) => {
    if (path.endsWith('/folders/')) return { body: [{ uid: folder, name: 'Press', parent_uid: null, children: [] }] };
    if (path.endsWith('/workspaces/'))
      return { body: { items: [1, 2].map((n) => ({ uid: uid(n), name: 'Twin' })), count: 2 } };
    const one = twins.find((asset) => path.endsWith(`/${asset.uid}/`));
    if (one) return { body: one };
    if (path.endsWith('/assets/')) return { body: { items: query.offset === '0' ? twins : [], count: twins.length } };
    return undefined;
  });

let cli: Cli;
let requests: Awaited<ReturnType<typeof startRecordingServer>>['requests'];
beforeEach(async () => {
  const recorded = await service();
  requests = recorded.requests;
  cli = new Cli({
    MEDIACTL_API_KEY: testKey,
    MEDIACTL_WORKSPACE: workspace,
    MEDIACTL_BASE_URL: recorded.url,
  });
});

describe('a name that is not unique', () => {
  it.each(['get', 'rm', 'download', 'assets wait', 'assets player-data', 'assets thumb', 'play'])(
    '%s: the candidates, with what tells them apart',
    async (verb) => {
      const { code, stderr } = await cli.run([...verb.split(' '), 'clip.mp4']);
      expect(code).toBe(2);
      expect(stderr.split('\n')).toEqual([
        'error: 3 assets are named clip.mp4',
        `  cause: 2026-01-01T12:00:00Z  1.0 KiB  /Press  ready  ${uid(1)}`,
        `         2026-09-01T12:00:00Z  2.0 KiB  /  ready  ${uid(2)}`,
        `         2026-03-01T12:00:00Z  3.0 KiB  /  ready  ${uid(3)}`,
        '  try:   use the uid of one of them, or --newest',
        '',
      ]);
    },
  );

  it('on a terminal the question spells out a name that would drive it', async () => {
    const name = 'x\u001b]0;t\u0007\u009b2K\rclip\u202e';
    const other = await startRecordingServer(() => ({
      body: { items: twins.map((asset) => ({ ...asset, name })), count: 3 },
    }));
    const { stderr } = await cli.run(['assets', 'get', name], {
      tty: true,
      stdin: '\r',
      environment: { MEDIACTL_BASE_URL: other.url },
    });
    expect(stderr).toContain('x\\u001b]0;t\\u0007\\u009b2K\\rclip\\u202e. Which one?');
    for (const raw of ['\u001b]0;t', '\u009b2K', '\u202e']) expect(stderr).not.toContain(raw);
  });

  it('as JSON: their uids in details', async () => {
    const { stderr } = await cli.run(['get', 'clip.mp4', '--json']);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'usage',
      details: { uids: [uid(1), uid(2), uid(3)] },
    });
  });

  it('--newest is the one created last', async () => {
    expect(await cli.json(['get', 'clip.mp4', '--newest'])).toMatchObject([{ uid: uid(2) }]);
  });

  it('--newest of several of one moment is none of them', async () => {
    const same = twins.map((asset) => ({ ...asset, created_at: '2026-01-01T12:00:00Z' }));
    const other = await startRecordingServer(() => ({ body: { items: same, count: 3 } }));
    const { code } = await cli.run(['rm', 'clip.mp4', '--newest', '--yes'], {
      environment: { MEDIACTL_BASE_URL: other.url },
    });
    expect([code, other.requests.length]).toEqual([2, 1]);
  });

  it('a workspace: its candidates', async () => {
    const { code, stderr } = await cli.run(['workspaces', 'use', 'Twin']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`2 workspaces are named Twin\n  cause: Twin  ${uid(1)}`),
    ]);
  });
});

it.each([['get'], ['assets player-data'], ['play'], ['download'], ['rm'], ['auth switch'], ['workspaces use']])(
  '%s without saying which: exit 2, and no request',
  async (verb) => {
    const { code } = await cli.run(verb.split(' '));
    expect([code, requests]).toEqual([2, []]);
  },
);

describe('a uid that is typed short', () => {
  const terminal = { tty: true, columns: 100 };

  it('is one that a terminal has shown; asking for it costs no request more', async () => {
    await cli.run(['ls'], terminal);
    requests.length = 0;
    expect(await cli.json(['get', '22222222'])).toMatchObject([{ uid: uid(2) }]);
    expect(requests.map(({ path }) => path)).toEqual([`/api/external/v1/assets/${uid(2)}/`]);
  });

  it('that was never shown, or in a pipe alone, is a name: the error says so', async () => {
    await cli.run(['ls']);
    const { code, stderr } = await cli.run(['get', '222222']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('no recently shown uid begins with it')]);
  });

  it('of six digits may be a name too: then neither is taken', async () => {
    const named = { ...twins[0], uid: uid(4), name: '222222' };
    const other = await startRecordingServer(({ path }) =>
      path.endsWith('/assets/') ? { body: { items: [...twins, named], count: 4 } } : { status: 204, body: {} },
    );
    const environment = { MEDIACTL_BASE_URL: other.url };
    await cli.run(['ls'], { ...terminal, environment });
    const { code, stderr } = await cli.run(['rm', '222222', '--yes'], { environment });
    expect([code, stderr]).toEqual([2, expect.stringContaining('222222 is the name of an asset and the start of uid')]);
    expect(other.requests.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('of five digits is a name', async () => {
    await cli.run(['ls'], terminal);
    expect((await cli.run(['get', '22222'])).code).toBe(3);
  });

  it('that fits two is told so, and neither is taken', async () => {
    const twin = '22222222-1111-4000-8000-000000000000';
    const other = await startRecordingServer(() => ({
      body: { items: [{ uid: twin }, twins[1]], count: 2 },
    }));
    await cli.run(['ls'], { ...terminal, environment: { MEDIACTL_BASE_URL: other.url } });
    const { code, stderr } = await cli.run(['rm', '22222222', '--yes'], {
      environment: { MEDIACTL_BASE_URL: other.url },
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining('2 assets begin with 22222222')]);
    expect(other.requests).toHaveLength(1);
  });

  it('shown of one service means nothing at another', async () => {
    await cli.run(['ls'], terminal);
    const other = await service();
    const { code } = await cli.run(['get', '222222'], {
      environment: { MEDIACTL_BASE_URL: other.url },
    });
    expect(code).toBe(3);
  });

  it('is taken for a folder and for a workspace too, once a terminal has shown them', async () => {
    expect((await cli.run(['folders', 'rm', folder.slice(0, 6), '-n'])).code).toBe(3);
    expect((await cli.run(['workspaces', 'use', uid(2).slice(0, 8)])).code).toBe(3);
    await cli.run(['folders', 'ls'], terminal);
    await cli.run(['workspaces', 'ls'], terminal);
    expect(await cli.json(['folders', 'ls', folder.slice(0, 6)])).toEqual([]);
    expect((await cli.run(['workspaces', 'use', uid(2).slice(0, 8), '-n'])).stderr).toContain(uid(2));
  });
});

describe('names of folders, for people', () => {
  const wide = { tty: true, columns: 160 };
  const trees = () => requests.filter(({ path }) => path.endsWith('/folders/')).length;

  it('cost one request, kept for the next tables, and none in a pipe', async () => {
    await cli.run(['ls']);
    expect(trees()).toBe(0);
    for (let n = 0; n < 3; n++) expect((await cli.run(['ls'], wide)).stdout).toContain('/Press');
    expect(trees()).toBe(1);
  });

  it('that cannot be had are not asked for again, and the uid stands', async () => {
    const pages = Array.from({ length: 250 }, (_, n) => ({
      uid: `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`,
      name: `${n}`,
      parent: `${String(n).padStart(8, '0')}-1111-4000-8000-000000000000`,
    }));
    const poor = await startRecordingServer(({ path, query }) =>
      path.endsWith('/folders/')
        ? { status: 403, body: { error: {} } }
        : {
            body: {
              items: pages.slice(Number(query.offset), Number(query.offset) + 100),
              count: 250,
            },
          },
    );
    const environment = { MEDIACTL_BASE_URL: poor.url };
    const { code, stdout } = await cli.run(['ls', '--all', '--no-pager'], { ...wide, environment });
    expect([code, stdout.split('\n').length]).toEqual([0, 252]);
    expect(poor.requests.filter(({ path }) => path.endsWith('/folders/'))).toHaveLength(1);
  });

  it('never ask a question: without a workspace there are none', async () => {
    const environment = { MEDIACTL_WORKSPACE: undefined };
    const { code, stdout, stderr } = await cli.run(['ls'], { ...wide, environment });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(folder.slice(0, 8));
  });
});
