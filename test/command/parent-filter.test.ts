import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { testKey } from '../support/fake-library.ts';
import { type RecordedRequest, startRecordingServer } from '../support/recording-server.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

/* "A parent folder uid in the primary workspace, or the literal root" (§4). */

describe('paths in a secondary workspace', () => {
  let sandbox: TestSandbox;
  let cli: Cli;
  let countAssets: () => Promise<number>;
  beforeAll(async () => {
    sandbox = await startSandbox({ strict: false });
  });
  afterAll(() => sandbox.end());
  beforeEach(async () => {
    cli = new Cli({ MEDIACTL_API_KEY: sandbox.key, MEDIACTL_BASE_URL: sandbox.url });
    const file = join(cli.home, 'same.md');
    writeFileSync(file, `# ${cli.home}`);
    // The same name at the top level of both workspaces.
    for (const workspace of ['Main', 'Archive'])
      expect((await cli.run(['upload', file, '--existing', 'upload', '--workspace', workspace])).code).toBe(0);
    countAssets = async () => (await cli.json(['ls', 'same', '--all'])).length;
  });

  it.each([
    ['rm', '/same.md', '--yes'],
    ['rm', '/*', '--yes'],
    ['rm', '--folder', '/', '--yes'],
    ['rm', '-r', '/Side', '--yes'],
    ['mv', '/same.md', '/Side', '--create-folders'],
    ['update', '/same.md', '--name', 'other'],
    ['tag', '/*', '--add', 'x', '--yes'],
    ['get', '/same.md'],
    ['ls', '/'],
    ['ls', '/', '-r'],
    ['download', '/same.md', '-o', 'x'],
    ['check', '.', '/Side'],
  ])('mediactl %s %s exits with 2 in a secondary workspace and changes nothing', async (...args) => {
    const before = await countAssets();
    await cli.run(['folders', 'create', '/Side', '--workspace', 'Archive']);
    const { code, stderr } = await cli.run(args, {
      environment: { MEDIACTL_WORKSPACE: 'Archive' },
      cwd: cli.home,
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining('workspace Archive is not the primary one')]);
    expect(stderr).toMatch(/--workspace '?Main/);
    expect(await countAssets()).toBe(before);
  });

  it('rm and get exit with 3 if the named asset is in another workspace', async () => {
    const inArchive = { environment: { MEDIACTL_WORKSPACE: 'Archive' } };
    const name = `only-main-${cli.home.slice(-6)}.md`;
    const file = join(cli.home, name);
    writeFileSync(file, '# in Main');
    await cli.run(['upload', file, '--workspace', 'Main']);
    const rmRun = await cli.run(['rm', name, '--newest', '--yes'], inArchive);
    expect([rmRun.code, rmRun.stderr]).toEqual([3, expect.stringContaining('in another workspace')]);
    expect((await cli.run(['get', name], inArchive)).code).toBe(3);
  });

  it('folders tree and get by uid work in a secondary workspace, and ls / works in the primary one', async () => {
    const inArchive = { environment: { MEDIACTL_WORKSPACE: 'Archive' } };
    expect((await cli.run(['folders', 'tree'], inArchive)).code).toBe(0);
    const [{ uid }] = await cli.json(['ls', 'same']);
    expect((await cli.run(['get', uid], inArchive)).code).toBe(0);
    expect((await cli.run(['ls', '/', '--workspace', 'Main'])).code).toBe(0);
  });
});

describe('a service that lists the assets of subfolders too', () => {
  const uid = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;
  const [workspace, folder, subfolder] = [uid(9), uid(1), uid(2)];
  const assets = [
    { uid: uid(3), name: 'still.jpg', in: folder },
    { uid: uid(4), name: 'deep.mp4', in: subfolder },
  ];
  const startService = async (isRecursive: boolean) => {
    const gone = new Set<(typeof assets)[number]>();
    const recorded = await startRecordingServer(({ method, path, query }) => {
      if (path.includes('/folders/'))
        return {
          body: [{ uid: folder, name: 'Campaigns', children: [{ uid: subfolder, name: '2026', children: [] }] }],
        };
      if (path.includes('/workspaces/'))
        return { body: { items: [{ uid: workspace, name: 'Main', is_primary: true }], count: 1 } };
      const deleted = assets.find((asset) => method === 'DELETE' && path.endsWith(`${asset.uid}/`));
      if (deleted) gone.add(deleted);
      if (method !== 'GET') return { status: 204, body: {} };
      const one = assets.find((asset) => path.endsWith(`${asset.uid}/`));
      if (one) return { body: { uid: one.uid, name: one.name } };
      const { parent, search } = query;
      const matchingAssets = assets.filter(
        (asset) =>
          !gone.has(asset) &&
          (!parent || asset.in === parent || (isRecursive && parent === folder && asset.in === subfolder)) &&
          (!search || asset.name.includes(search)),
      );
      return { body: { items: matchingAssets.map(({ in: _, ...asset }) => asset), count: matchingAssets.length } };
    });
    const cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: recorded.url, MEDIACTL_WORKSPACE: workspace });
    return { cli, requests: recorded.requests };
  };
  const writesIn = (requests: RecordedRequest[]) => requests.filter(({ method }) => method !== 'GET');

  it.each([
    ['rm', '/Campaigns/*', '--yes'],
    ['rm', '--folder', '/Campaigns', '--yes'],
    ['tag', '--folder', '/Campaigns', '--add', 'x', '--yes'],
    ['rm', '/Campaigns/deep.mp4', '--yes'],
    ['mv', '/Campaigns/deep.mp4', '/', '--yes'],
    ['update', '/Campaigns/deep.mp4', '--name', 'x'],
    ['tag', '/Campaigns/deep.mp4', '--add', 'x'],
    ['rename', '/Campaigns/deep.mp4', 'x'],
  ])('%s %s %s exits with 6 and changes nothing if the service lists assets of subfolders too', async (...args) => {
    const { cli, requests } = await startService(true); // lists the assets of subfolders too
    const { code, stderr } = await cli.run(args);
    expect([code, stderr]).toEqual([6, expect.stringContaining(`it lists ${uid(4)}, which is in a folder below`)]);
    expect(writesIn(requests)).toEqual([]);
  });

  it.each([
    ['get', '/Campaigns/2026/deep.mp4'],
    ['ls', '/Campaigns', '-r', '--fields', 'name'],
    ['ls', '/Campaigns/**', '--fields', 'name'],
    ['export', '/Campaigns', '-r', '--format', 'csv'],
    ['check', '.', '/Campaigns'],
    ['stats', '/Campaigns', '--csv'],
  ])('%s %s has an asset once, in the deepest folder that lists it', async (...args) => {
    const { cli } = await startService(true);
    const { stdout } = await cli.run(args, { cwd: cli.home });
    if (args[0] === 'stats') expect(stdout).toMatch(/^total,.*,2,/m);
    else expect(stdout.match(/deep\.mp4/g)).toHaveLength(1);
  });

  it('get of a path is not found where only the list of the folder above has the asset', async () => {
    const { cli } = await startService(true);
    expect((await cli.run(['get', '/Campaigns/deep.mp4'])).code).toBe(3);
    expect((await cli.run(['get', '/Campaigns/still.jpg'])).code).toBe(0);
  });

  it('rm /Campaigns/* deletes the assets of the folder if the service lists no assets of subfolders', async () => {
    const { cli, requests } = await startService(false);
    expect((await cli.run(['rm', '/Campaigns/*', '--yes'])).code).toBe(0);
    expect(writesIn(requests).map(({ path }) => path)).toEqual([expect.stringContaining(uid(3))]);
  });
});
