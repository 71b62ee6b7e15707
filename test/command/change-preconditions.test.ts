import { mkdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { setUpChanges } from '../support/change-setup.ts';
import { stoppedClock } from '../support/clock.ts';
import { assetUid } from '../support/fake-library.ts';
import { startProfileCli } from '../support/profile-cli.ts';
import { isStrict } from '../support/sandbox.ts';

/* What a change was planned on is read, stored, and compared before anything is written later. */

const { setup, run, colleague, createAssets, get, namesOf, exists, stopAfter, history } = setUpChanges();

let counter = 0;
let word = '';
/** Creates assets with these names and a tag of their own; returns their uids. */
const create = async (...names: string[]) => {
  word = `planned-${++counter}`;
  return createAssets(
    word,
    names.map((name) => `${word} ${name}`),
  );
};
const pathsOf = (...names: string[]) => names.map((name) => `/${word} ${name}`);
const existing = async (uids: readonly string[]) => {
  const found = await Promise.all(uids.map(exists));
  return uids.filter((_, at) => found[at]);
};
const lastId = async (): Promise<string> => (await history())[0].change_id;
const resume = async (...options: string[]) => run(['history', await lastId(), '--resume', ...options]);

describe('rm by uid, which is stopped before it has read its assets', () => {
  async function stop() {
    const uids = await create('a', 'b', 'c');
    const stopped = await stopAfter(1, 'DELETE', ['rm', ...uids, '--yes']);
    expect([stopped.code, stopped.stderr]).toEqual([11, expect.stringContaining('to continue: mediactl history')]);
    const left = await existing(uids);
    expect(left).toHaveLength(2);
    await colleague('update', left[0] as string, '--name', 'KEEP');
    return { left: left as [string, string], id: await lastId() };
  }

  it('a resume without a terminal is refused with the command to type, and deletes nothing', async () => {
    const { left, id } = await stop();
    const { code, stderr } = await resume();
    expect([code, stderr]).toEqual([2, expect.stringContaining('has not read 2 assets that it is to write')]);
    expect(stderr).toContain(`mediactl history ${id} --resume --yes`);
    expect(await existing(left)).toEqual(left);
  });

  it('a resume on a terminal shows the assets as they are now, and deletes them only after a yes', async () => {
    const { left } = await stop();
    const ask = async (answer: string) =>
      run(['history', await lastId(), '--resume'], { tty: true, columns: 200, stdin: `${answer}\n` });
    for (let n = 0; n < 2; n++) {
      const declined = await ask('n');
      expect([declined.code, declined.stderr]).toEqual([
        130,
        expect.stringContaining('Move 2 assets to the trash that change'),
      ]);
      expect(declined.stdout + declined.stderr).toContain('KEEP');
      expect(await existing(left)).toEqual(left);
    }
    // The values that were shown to somebody who said no are not those that the change was planned on.
    expect((await resume()).code).toBe(2);
    expect((await ask('y')).code).toBe(0);
    expect(await existing(left)).toEqual([]);
  });

  it('a resume with --yes deletes them', async () => {
    const { left } = await stop();
    expect((await resume('--yes')).code).toBe(0);
    expect(await existing(left)).toEqual([]);
  });
});

describe.skipIf(isStrict)('a change by path, name or glob, which has read its assets', () => {
  it('a resume of rm leaves and names what others have renamed, tagged or described', async () => {
    const uids = await create('a', 'b', 'c', 'd', 'e');
    const ids = [...pathsOf('a', 'b', 'c'), `${word} d`, `${word} e`];
    const stopped = await stopAfter(1, 'DELETE', ['rm', ...ids, '--yes']);
    expect(stopped.code).toBe(11);
    const left = await existing(uids);
    expect(left).toHaveLength(4);
    const [renamed = '', tagged = '', described = '', untouched = ''] = left;
    const items: { uid: string; name: string }[] = await setup.cli.json(['history', await lastId()]);
    expect(items.map(({ name }) => name).sort()).toEqual(['a', 'b', 'c', 'd', 'e'].map((name) => `${word} ${name}`));
    await colleague('update', renamed, '--name', 'KEEP');
    await colleague('tag', tagged, '--add', 'approved');
    await colleague('update', described, '--description', 'published');
    const { code, stderr } = await resume();
    expect([code, stderr]).toEqual([11, expect.stringContaining('changed meanwhile')]);
    expect(await existing(left)).toEqual([renamed, tagged, described]);
    expect(await exists(untouched)).toBe(false);
  });

  it('a resume of update leaves and names what others have described meanwhile', async () => {
    const uids = await create('a', 'b', 'c');
    const paths = pathsOf('a', 'b', 'c');
    expect((await stopAfter(1, 'PATCH', ['update', ...paths, '--description', 'mine', '--yes'])).code).toBe(11);
    const descriptions = async () => Promise.all(uids.map(async (uid) => (await get(uid)).description));
    const at = (await descriptions()).indexOf('at first');
    await colleague('update', uids[at] as string, '--description', 'of a colleague');
    const { code, stderr } = await resume();
    expect([code, stderr]).toEqual([11, expect.stringContaining('changed meanwhile')]);
    expect(await descriptions()).toEqual(uids.map((_, n) => (n === at ? 'of a colleague' : 'mine')));
    expect((await run(['undo', '--yes'])).code).toBe(0);
    expect(await descriptions()).toEqual(uids.map((_, n) => (n === at ? 'of a colleague' : 'at first')));
  });

  it.each([
    ['rename PATH', ['PATCH'], () => ['rename', ...pathsOf('a'), 'new name']],
    ['rename NAME', ['GET', 'PATCH'], () => ['rename', `${word} a`, 'new name']],
    ['update PATH', ['PATCH'], () => ['update', ...pathsOf('a'), '--name', 'new name']],
    ['update NAME', ['GET', 'PATCH'], () => ['update', `${word} a`, '--name', 'new name']],
  ])('%s can be undone without a terminal, since the lookup has read the asset', async (_, methods, args) => {
    const uids = await create('a');
    setup.proxy.requests.length = 0;
    expect((await run(args(), { clock: stoppedClock() })).code).toBe(0);
    expect(
      setup.proxy.requests.filter(({ path }) => path.includes(uids[0] as string)).map(({ method }) => method),
    ).toEqual(methods);
    expect(await namesOf(uids)).toEqual(['new name']);
    expect((await run(['undo', '--yes'])).code).toBe(0);
    expect(await namesOf(uids)).toEqual([`${word} a`]);
  });
});

it('a resume of update by uid outside a terminal is refused, and overwrites nothing', async () => {
  const uids = await create('a', 'b', 'c');
  expect((await stopAfter(1, 'PATCH', ['update', ...uids, '--description', 'mine'])).code).toBe(11);
  const descriptions = async () => Promise.all(uids.map(async (uid) => (await get(uid)).description));
  const at = (await descriptions()).indexOf('at first');
  await colleague('update', uids[at] as string, '--description', 'of a colleague');
  expect((await resume()).code).toBe(2);
  expect((await descriptions())[at]).toBe('of a colleague');
  // After a yes, the value that was read is known, so that undo writes it back.
  const written = (await descriptions()).indexOf('mine');
  expect((await resume('--yes')).code).toBe(0);
  expect(await run(['undo', await lastId(), '--yes'])).toMatchObject({
    code: 11,
    stderr: expect.stringContaining('its old value is unknown'),
  });
  expect(await descriptions()).toEqual(
    uids.map((_, n) => (n === at ? 'of a colleague' : n === written ? 'mine' : 'at first')),
  );
});

it.skipIf(isStrict)(
  'a prune that was stopped is not resumed: the same command decides again, and keeps what was moved or is back',
  async () => {
    const directory = join(setup.cli.home, 'rushes');
    mkdirSync(directory);
    const names = ['a.bin', 'b.bin', 'c.bin', 'stays.bin'];
    const write = (name: string) => writeFileSync(join(directory, name), `prune ${name}`);
    names.forEach(write);
    const sync = ['sync', directory, '/Pruned', '--create-folders', '--prune', '--yes'];
    const uploaded: { asset_uid: string }[] = JSON.parse((await run([...sync, '--json'])).stdout);
    const uids = uploaded.map(({ asset_uid }) => asset_uid);
    for (const name of names.slice(0, 3)) unlinkSync(join(directory, name));
    const stopped = await stopAfter(1, 'DELETE', sync);
    expect([stopped.code, stopped.stderr]).toEqual([
      expect.any(Number),
      expect.stringContaining('stopped after 1 of 3; to continue: run the same command again'),
    ]);
    const left = await existing(uids);
    expect(left).toHaveLength(3);
    names.slice(0, 3).forEach(write);
    await colleague('folders', 'create', '/Keep');
    const moved = left.find((uid) => uid !== uids[3]) as string;
    await colleague('mv', moved, '/Keep');
    const refused = await resume('--yes');
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining(`with the options that it had: mediactl sync ${directory} /Pruned --prune`),
    ]);
    expect(await existing(left)).toEqual(left);
    expect((await run(sync)).code).toBe(0);
    expect(await existing(left)).toEqual(left);
  },
);

it('a resume writes no field whose old value the service did not show, once it shows another one', async () => {
  let asset: Record<string, unknown> = { uid: assetUid, name: 'old', tags: [] };
  let isRefused = true;
  const { cli, writeRequests } = await startProfileCli(({ method, body }) => {
    if (method !== 'PATCH') return { body: asset };
    if (isRefused) return { status: 401, body: { error: {} } };
    asset = { ...asset, ...(body as object) };
    return { body: asset };
  });
  await cli.run(['update', assetUid, '--name', 'new', '--description', 'mine'], { tty: true });
  isRefused = false;
  asset.description = 'of a colleague';
  const [{ change_id: id }] = await cli.json(['history']);
  const { code, stderr } = await cli.run(['history', id, '--resume']);
  expect([code, stderr]).toEqual([6, expect.stringContaining('description is "of a colleague"')]);
  expect(writeRequests().at(-1)?.body).toEqual({ name: 'new' });
});
