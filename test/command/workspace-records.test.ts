import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { testKey } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';

/* Tables, the history and the receipts of downloads know the workspace of what they are about. */

const uidOf = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;
const [main, side, own, foreign] = [1, 2, 3, 4].map(uidOf) as [string, string, string, string];

type Shown = { records: boolean; lists: boolean };

/** Starts a service with two workspaces, of which Main is primary, and an asset in each. */
async function startTwo(shown: Shown) {
  const names = new Map([own, foreign].map((uid) => [uid, 'a']));
  const record = (uid: string, shows: boolean) => ({
    ...{ uid, name: names.get(uid), description: '', tags: [], status: 'ready', parent: null },
    ...(shows && { workspace_uid: uid === own ? main : side }),
  });
  const { url, requests } = await startRecordingServer(({ method, path, query, body }) => {
    if (path.endsWith('/workspaces/'))
      return {
        body: [
          { uid: main, name: 'Main', is_primary: true },
          { uid: side, name: 'Side' },
        ],
      };
    if (path.endsWith('/folders/')) return { body: [] };
    const uid = [own, foreign].find((each) => path.endsWith(`/${each}/`));
    if (uid && method === 'PATCH') names.set(uid, (body as { name: string }).name);
    if (uid) return { body: record(uid, shown.records) };
    return { body: { items: query.offset === '0' ? [own, foreign].map((each) => record(each, shown.lists)) : [] } };
  });
  const cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: url });
  const writes = () => requests.filter(({ method }) => method === 'PATCH').map(({ path }) => path.split('/').at(-2));
  return { cli, writes };
}

describe('a table', () => {
  const renameAll = (path: string) => writeFileSync(path, readFileSync(path, 'utf8').replaceAll(',a,', ',b,'));

  it.each([
    ['the list', { records: true, lists: true }],
    ['the record alone', { records: true, lists: false }],
  ])('leaves rows of another workspace, as %s shows it', async (_where, shown) => {
    const { cli, writes } = await startTwo(shown);
    const path = join(cli.home, 'table.csv');
    expect((await cli.run(['export', '-o', path])).code).toBe(0);
    renameAll(path);
    const { stdout, stderr } = await cli.run(['apply', path, '--yes', '--json']);
    expect(writes(), stderr).toEqual([own]);
    // A list that shows workspaces leaves the other one out of the table.
    if (!shown.lists) expect(stdout).toContain('it is in another workspace');
  });

  it('asks about rows of which nobody knows the workspace, and a script ends with 2', async () => {
    const { cli, writes } = await startTwo({ records: false, lists: false });
    const path = join(cli.home, 'table.csv');
    expect((await cli.run(['export', '-o', path])).code).toBe(0);
    renameAll(path);
    const { code, stderr } = await cli.run(['apply', path, '--yes']);
    expect([code, stderr, writes()]).toEqual([
      2,
      expect.stringContaining('does not show the workspace of 2 assets'),
      [],
    ]);
  });

  it('that was exported in another workspace is not applied in this one', async () => {
    const { cli, writes } = await startTwo({ records: false, lists: false });
    const path = join(cli.home, 'table.csv');
    const row = `uid,name,was\n${own},b,`;
    await cli.run(['login', '--with-key'], { stdin: testKey });
    await cli.run(['export', '-o', path], { environment: { MEDIACTL_WORKSPACE: main } });
    const was = readFileSync(path, 'utf8').match(/v3\.\S+/)?.[0] ?? '';
    writeFileSync(path, `${row}${was.replace(/[^.]+$/, 'AAAAAAAA')}\n`);
    const { stdout } = await cli.run(['apply', path, '--yes', '--json']);
    expect([stdout.includes('it is in another workspace'), writes()]).toEqual([true, []]);
  });
});

describe('the history', () => {
  it('has the workspace of a change, also if none is configured', async () => {
    const { cli } = await startTwo({ records: true, lists: true });
    await cli.run(['rename', 'a', 'b']);
    expect(await cli.json(['history'])).toMatchObject([{ workspace_uid: main }]);
    await cli.run(['tag', own, foreign, '--add', 'seen', '--yes']);
    expect((await cli.json(['history']))[0]).toMatchObject({ workspace_uid: null });
  });

  it('a change of an unknown workspace is undone by its id only, in a script', async () => {
    const { cli, writes } = await startTwo({ records: false, lists: false });
    await cli.run(['update', own, '--name', 'b'], { tty: true });
    const [{ change_id: id, workspace_uid: workspace }] = await cli.json(['history']);
    expect(workspace).toBeNull();
    const last = await cli.run(['undo', '--yes']);
    expect([last.code, last.stderr]).toEqual([2, expect.stringContaining(`mediactl undo ${id}`)]);
    expect(writes()).toEqual([own]);
    expect((await cli.run(['undo', id, '--yes'])).code).toBe(0);
    expect(writes()).toEqual([own, own]);
  });
});

it('a download of a folder replaces no file that came from another workspace', async () => {
  const files: Record<string, string> = { [own]: 'of Main', [foreign]: 'of Side' };
  const { url } = await startRecordingServer(({ path, query, body, headers }) => {
    if (path.endsWith('/workspaces/'))
      return {
        body: [
          { uid: main, name: 'Main' },
          { uid: side, name: 'Side' },
        ],
      };
    if (path.includes('/folders/')) return { body: [{ uid: path.includes(main) ? uidOf(5) : uidOf(6), name: 'F' }] };
    if (path.startsWith('/file/'))
      return { body: files[path.slice(6)], headers: { 'content-type': 'application/octet-stream' } };
    const uid = [own, foreign].find((each) => path.includes(each));
    if (path.endsWith('/player/')) return { body: { uid, playback_token: `t-${uid}` } };
    if (path.includes('/playback/info/')) {
      const asked = [own, foreign].find((each) => JSON.stringify([path, query, body, headers]).includes(each)) ?? own;
      return { body: { type: 'document', url: `${url}/file/${asked}`, source_url: `${url}/file/${asked}` } };
    }
    const record = (each: string) => ({ uid: each, name: 'a.bin', type: 'document', status: 'ready', size: 7 });
    if (uid) return { body: record(uid) };
    const inFolder = query.parent === uidOf(5) ? [record(own)] : query.parent === uidOf(6) ? [record(foreign)] : [];
    return { body: { items: query.offset === '0' ? inFolder : [], count: inFolder.length } };
  });
  const cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: url });
  const directory = join(cli.home, 'out');
  mkdirSync(directory);
  const download = (workspace: string) =>
    cli.run(['download', '/F', '-d', directory], {
      environment: { MEDIACTL_WORKSPACE: workspace, MEDIACTL_PRIMARY_WORKSPACE: workspace },
    });
  const first = await download(main);
  expect(first.code, first.stderr).toBe(0);
  expect(readFileSync(join(directory, 'a.bin'), 'utf8')).toBe('of Main');
  const second = await download(side);
  expect(second.code).not.toBe(0);
  expect(second.stderr).toContain('already exists and may be another file');
  expect(second.stderr).not.toContain('no longer has');
  expect(readFileSync(join(directory, 'a.bin'), 'utf8')).toBe('of Main');
});
