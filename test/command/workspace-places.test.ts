import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/sdk/index.ts';
import { Cli } from '../support/cli.ts';
import { stoppedClock } from '../support/clock.ts';
import { testKey } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Where assets and folders may go: an asset into folders of its own workspace, and a folder away only once somebody has looked into it. */

const uidOf = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;
const [main, side, own, foreign, folder, sideFolder] = [1, 2, 3, 4, 5, 6].map(uidOf) as [
  string,
  string,
  string,
  string,
  string,
  string,
];

type LibraryShape = { showsPlaces?: boolean; contentOf?: (folder: string) => object[]; refusals?: number };

/**
 * Starts a service with two workspaces, of which Main is primary, a folder in each, and an asset in each. It answers the
 * first `refusals` deletions with 429.
 */
async function startLibrary({ showsPlaces = true, contentOf = () => [], refusals = 0 }: LibraryShape = {}) {
  const record = (uid: string, workspace: string, parent: string | null = null) => ({
    ...{ uid, name: `${uid[0]}.mp4`, tags: [], status: 'ready' },
    ...(showsPlaces && { workspace_uid: workspace, parent }),
  });
  let assets = [record(own, main), record(foreign, side)];
  let folders = [
    { uid: folder, name: 'F', parent_uid: null, workspace: main },
    { uid: sideFolder, name: 'S', parent_uid: null, workspace: side },
  ];
  const { url, requests } = await startRecordingServer(({ method, path, query, body }) => {
    if (path.endsWith('/workspaces/'))
      return {
        body: [
          { uid: main, name: 'Main', is_primary: true },
          { uid: side, name: 'Side' },
        ],
      };
    if (method === 'DELETE') {
      if (refusals-- > 0) return { status: 429, headers: { 'retry-after': '1' }, body: { error: {} } };
      folders = folders.filter(({ uid }) => !path.includes(uid));
      assets = assets.filter(({ uid }) => !path.includes(uid));
      return { status: 204 };
    }
    if (path.endsWith('/folders/')) return { body: folders.filter(({ workspace }) => path.includes(workspace)) };
    const found = assets.find(({ uid }) => path.endsWith(`/${uid}/`));
    const { parent, ...shown } = { parent: undefined, ...(body as object) } as { parent?: string };
    if (found) return { body: { ...found, ...shown, ...(showsPlaces && parent !== undefined && { parent }) } };
    const listed = query.parent === undefined ? assets : contentOf(query.parent);
    return { body: { items: query.offset === '0' ? listed : [], count: listed.length } };
  });
  const cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: url });
  const client = createClient({ apiKey: testKey, baseUrl: url, stateDir: temporaryFolder() });
  onTestFinished(() => client.close());
  const writes = () => requests.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`);
  return { cli, client, writes };
}

describe('an asset goes only into a folder of its own workspace', () => {
  it.each([
    ['mv', ['mv', foreign, '/F']],
    ['mv -n', ['mv', foreign, '/F', '-n']],
    ['mv to the top level', ['mv', foreign, '/']],
  ])('%s of the uid of an asset of another workspace exits with 2 before any write', async (_what, args) => {
    const { cli, writes } = await startLibrary();
    await cli.run(['login', '--with-key'], { stdin: testKey });
    const { code, stderr } = await cli.run(args);
    expect([code, writes()], stderr).toEqual([2, []]);
    expect(stderr).toContain('is in another workspace than the folder');
  });

  it('the package refuses it too', async () => {
    const { client, writes } = await startLibrary();
    await expect(client.assets.move(foreign, '/F')).rejects.toMatchObject({ code: 'usage' });
    expect(writes()).toEqual([]);
    expect(await client.assets.move(own, '/F')).toMatchObject({ uid: own, parent: folder });
  });

  it('a uid is moved as named where its record shows no workspace, and -n says the same as the run', async () => {
    const { cli, writes } = await startLibrary({ showsPlaces: false });
    const planned = await cli.run(['mv', foreign, '/S', '-w', 'Side', '-n']);
    expect([planned.code, writes()], planned.stderr).toEqual([0, []]);
    const { code, stderr } = await cli.run(['mv', foreign, '/S', '-w', 'Side']);
    expect([code, writes().length], stderr).toEqual([0, 1]);
    expect(stderr).toContain('cannot verify the change');
  });
});

it('rm -r of a path needs no --any-workspace where records show no workspace', async () => {
  const inside = { uid: own, name: '3.mp4', tags: [] };
  const library = await startLibrary({
    showsPlaces: false,
    contentOf: (parent) => (parent === folder && library.writes().length === 0 ? [inside] : []),
  });
  const { cli, writes } = library;
  const { code, stderr } = await cli.run(['rm', '-r', '/F', '--yes']);
  expect([code, writes().length], stderr).toEqual([0, 2]);
});

describe('a folder is deleted only after somebody has looked into it', () => {
  it('rm of a folder that the API cannot list exits with 2 in a script', async () => {
    const { cli, writes } = await startLibrary();
    const { code, stderr } = await cli.run(['rm', '/S', '-w', 'Side', '--yes']);
    expect([code, writes()], stderr).toEqual([2, []]);
    expect(stderr).toContain('cannot tell whether /S is empty');
  });

  it.each([
    ['no', 130, 0],
    ['yes', 0, 1],
  ])('rm of it on a terminal asks; the answer %s ends with %i', async (answer, exit, count) => {
    const { cli, writes } = await startLibrary();
    const { code, stderr } = await cli.run(['rm', '/S', '-w', 'Side'], { tty: true, stdin: `${answer}\n` });
    expect([code === 0, writes().length], stderr).toEqual([exit === 0, count]);
  });

  it('the package deletes a folder with content, or one that it cannot list, only with recursive', async () => {
    const { client, writes } = await startLibrary({ contentOf: () => [{ uid: own, name: 'a', parent: folder }] });
    await expect(client.folders.remove('/F')).rejects.toMatchObject({
      message: expect.stringContaining('/F was not deleted'),
    });
    expect(writes()).toEqual([]);
    await client.folders.remove('/F', { recursive: true });
    expect(writes()).toHaveLength(1);
  });

  it('the package deletes a folder with content also if the deletion has to wait for the rate limit', async () => {
    const inside = [{ uid: own, name: 'a', parent: folder }];
    const { client, writes } = await startLibrary({ contentOf: () => inside, refusals: 1 });
    await client.folders.remove('/F', { recursive: true });
    expect(writes()).toHaveLength(2);
  });

  it('the writer looks into it once more before it is deleted', async () => {
    let looks = 0;
    const late = { uid: own, name: 'a', parent: folder };
    const { cli, writes } = await startLibrary({
      contentOf: (parent) => (parent !== folder || looks++ === 0 ? [] : [late]),
    });
    const { code, stderr } = await cli.run(['rm', '/F', '--yes'], { clock: stoppedClock() });
    expect([code, writes()], stderr).toEqual([6, []]);
    expect(stderr).toContain('/F was not deleted');
  });
});
