import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { Cli } from '../support/cli.ts';
import { setUpCli } from '../support/cli-setup.ts';
import { errorInTable, errorOf } from '../support/errors.ts';
import { FaultProxy, respondWith } from '../support/fault-proxy.ts';
import { rawHttp } from '../support/raw-http.ts';
import { anyWorkspace, isStrict } from '../support/sandbox.ts';
import { changeState } from '../support/state-database.ts';

const { setup, account } = setUpCli();
const { createUploadOfSize } = rawHttp(() => setup.sandbox);

let word = 0;
let tag: string;
beforeEach(() => {
  tag = `history-${++word}`;
});

/** Creates assets without bytes, with a tag of this test. */
async function createAssets(count: number): Promise<string[]> {
  const uids: string[] = [];
  for (let n = 0; n < count; n++) {
    const { asset_uid } = await (await createUploadOfSize(5, { asset_name: `${tag} ${n}` })).json();
    await new Cli(account()).run(['tag', asset_uid, '--set', tag]);
    uids.push(asset_uid);
  }
  return uids;
}
/** Names of the assets that `createAssets` creates. */
const namesOf = (count: number) => Array.from({ length: count }, (_, n) => `${tag} ${n}`);
const get = async (uid: string) => (await setup.cli.json(['get', uid]))[0];
const tagsOf = async (uid: string) => {
  const { tags } = await get(uid);
  return tags.map((each: { slug?: string } | string) => (typeof each === 'string' ? each : each.slug)).sort();
};
const history = () => setup.cli.json(['history']);
const run = (...args: string[]) => setup.cli.run([...args, '--json', '--yes']);
const failure = async (...args: string[]) => errorOf(await run(...args));

describe('history', () => {
  it('history is empty at first and creates no file', async () => {
    expect(await history()).toEqual([]);
    expect(await failure('undo')).toEqual({ ...errorInTable('not_found'), hint: expect.any(String) });
  });

  it('history names the asset of a change of one asset, and none for a change of several', async () => {
    const uids = await createAssets(2);
    await run('tag', ...uids, '--add', 'sea');
    await run('tag', uids[0] as string, '--add', 'night');
    expect((await history()).slice(0, 2)).toMatchObject([{ item_name: `${tag} 0` }, { item_name: null }]);
    expect((await setup.cli.run(['history'])).stdout).toContain(`add tag night: ${tag} 0`);
  });

  it('history lists a change with its counts, and history CHANGE the old and the new value of each item', async () => {
    const uids = await createAssets(2);
    await run('tag', '--tag', tag, ...anyWorkspace, '--add', 'sea');
    const [change] = await history();
    expect(change).toMatchObject({
      ...{ command: 'tag', summary: 'add tag sea', base_url: setup.sandbox.url, state: 'finished' },
      ...{ item_count: 2, done_count: 2, failed_count: 0, conflict_count: 0, undo_of: null, undone_by: null },
    });
    const items = await setup.cli.json(['history', change.change_id.slice(0, 6)]);
    expect(items.map(({ uid }: { uid: string }) => uid).sort()).toEqual([...uids].sort());
    expect(items[0]).toMatchObject({ before: { tags: [tag] }, add_tags: ['sea'], remove_tags: [], outcome: 'done' });
  });

  it('update by uid in a pipe sends one request, and its old value is unknown; on a terminal, it can be undone', async () => {
    const [uid = ''] = await createAssets(1);
    const proxy = await FaultProxy.start(setup.sandbox.url);
    const environment = { MEDIACTL_BASE_URL: proxy.url };
    await setup.cli.run(['update', uid, '--name', 'piped'], { environment });
    expect(proxy.methods).toEqual(['PATCH']);
    const undone = await setup.cli.run(['undo', '--yes'], { environment });
    expect([undone.code, undone.stderr]).toEqual([6, expect.stringContaining('its old value is unknown')]);
    await setup.cli.run(['update', uid, '--name', 'typed'], { tty: true });
    expect(await run('undo')).toMatchObject({ code: 0 });
    expect(await get(uid)).toMatchObject({ name: 'piped' });
  });

  it('history --profile lists the changes of that profile only, and refuses one that does not exist', async () => {
    const cli = new Cli({ MEDIACTL_KEY_STORE: 'file' });
    const { MEDIACTL_API_KEY: key = '', MEDIACTL_BASE_URL: url = '' } = account();
    for (const name of ['one', 'other'])
      await cli.run(['login', '--profile', name, '--base-url', url, '--with-key'], { stdin: key });
    const [uid = ''] = await createAssets(1);
    expect((await cli.run(['tag', uid, '--add', 'night', '--profile', 'one'])).code).toBe(0);
    const count = async (...args: string[]) => (await cli.json(['history', ...args])).length;
    expect([await count(), await count('--profile', 'one'), await count('--profile', 'other')]).toEqual([1, 1, 0]);
    expect(errorOf(await cli.run(['history', '--profile', 'nope', '--json']))).toMatchObject({ code: 'not_logged_in' });
  });

  it('history never contains the API key', async () => {
    const [uid = ''] = await createAssets(1);
    await run('update', uid, '--name', setup.sandbox.key.slice(0, 5));
    const [change] = await history();
    const { stdout } = await setup.cli.run(['history', change.change_id, '--json']);
    expect(JSON.stringify(change) + stdout).not.toContain(setup.sandbox.key);
  });

  it('a change is made with a warning if the history cannot be written', async () => {
    const [uid = ''] = await createAssets(1);
    writeFileSync(join(setup.cli.home, 'state'), 'a file in place of the folder');
    const { code, stderr } = await run('update', uid, '--name', 'unrecorded');
    expect([code, stderr]).toEqual([0, expect.stringContaining('this change cannot be undone')]);
    expect(await get(uid)).toMatchObject({ name: 'unrecorded' });
  });

  it('a new change deletes changes older than 90 days, except the last 20', async () => {
    const [uid = ''] = await createAssets(1);
    for (const name of ['expired', 'old']) await run('update', uid, '--name', name);
    const old = new Date(Date.now() - 91 * 86_400_000).toISOString();
    changeState(join(setup.cli.home, 'state'), 'UPDATE changes SET started_at = ?, seq = iif(seq = 1, 1, 100)', old);
    await run('update', uid, '--name', 'new');
    expect((await history()).map(({ started_at }: { started_at: string }) => started_at === old)).toEqual([
      false,
      true,
    ]);
  });

  it.each([
    [['history', 'ffffffff'], 'not_found'],
    [['undo', 'ffffffff'], 'not_found'],
    [['history', '--resume'], 'usage'],
  ] as const)('mediactl %j fails with the error code %s', async (args, code) => {
    expect(await failure(...args)).toMatchObject({ code });
  });
});

describe('undo', () => {
  it('undo writes the old values, is a change itself, and undo of that change takes it back', async () => {
    const [uid = ''] = await createAssets(1);
    await run('tag', '--tag', tag, ...anyWorkspace, '--add', 'sea');
    expect(await run('undo')).toMatchObject({ code: 0 });
    expect(await tagsOf(uid)).toEqual([tag]);
    const [undo, change] = await history();
    expect([undo.undo_of, change.undone_by]).toEqual([change.change_id, undo.change_id]);
    expect(await failure('undo')).toMatchObject({ code: 'not_found' });
    expect(await run('undo', undo.change_id)).toMatchObject({ code: 0 });
    expect(await tagsOf(uid)).toEqual(['sea', tag].sort());
  });

  it('undo leaves and names what others have changed meanwhile, and exits with 11', async () => {
    const [mine = '', theirs = ''] = await createAssets(2);
    await setup.cli.run(['update', mine, theirs, '--description', 'sea'], { tty: true });
    await new Cli(account()).run(['update', theirs, '--description', 'other']);
    const { code, stdout } = await run('undo');
    expect(code).toBe(11);
    const [conflict] = JSON.parse(stdout).filter(({ uid }: { uid: string }) => uid === theirs);
    expect(conflict.error).toMatchObject({
      code: 'changed_meanwhile',
      message: expect.stringContaining('changed meanwhile'),
    });
    expect([(await get(mine)).description, (await get(theirs)).description]).toEqual(['', 'other']);
    // Since not all was undone, the same command names it again.
    expect(await run('undo')).toMatchObject({ code: 6, stdout: expect.stringContaining(theirs) });
  });

  it('undo of a change with several fields writes those that others have left', async () => {
    const [uid = ''] = await createAssets(1);
    await setup.cli.run(['update', uid, '--name', 'new', '--description', 'new'], { tty: true });
    await new Cli(account()).run(['update', uid, '--name', 'of others']);
    expect((await run('undo')).code).toBe(11);
    expect(await get(uid)).toMatchObject({ name: 'of others', description: '' });
  });

  it('a second undo after a partial failure reverts the rest, not the change before it', async () => {
    const [one = '', two = ''] = await createAssets(2);
    for (const word of ['earlier', 'later']) await run('tag', '--tag', tag, ...anyWorkspace, '--add', word);
    const proxy = await FaultProxy.start(setup.sandbox.url, ({ method, path }) =>
      method === 'PATCH' && path.includes(two) ? respondWith(422, { error: {} }) : undefined,
    );
    const state = join(setup.cli.home, 'state');
    changeState(state, 'UPDATE changes SET service = ?', proxy.url);
    const failed = await setup.cli.run(['undo', '--yes'], { environment: { MEDIACTL_BASE_URL: proxy.url } });
    expect(failed.code).toBe(11);
    changeState(state, 'UPDATE changes SET service = ?', setup.sandbox.url);
    expect(await run('undo')).toMatchObject({ code: 0 });
    for (const uid of [one, two]) expect(await tagsOf(uid)).toEqual(['earlier', tag].sort());
    expect(await run('undo')).toMatchObject({ code: 0 });
    for (const uid of [one, two]) expect(await tagsOf(uid)).toEqual([tag]);
  });

  it.each(['pending', 'unknown'])(
    'an undo of which an item is %s is not complete, so the next undo reverts that item, not the change before',
    async (outcome) => {
      const [one = '', two = ''] = await createAssets(2);
      for (const word of ['earlier', 'later']) await run('tag', '--tag', tag, ...anyWorkspace, '--add', word);
      expect(await run('undo')).toMatchObject({ code: 0 });
      // As if the undo had been killed before this write.
      await new Cli(account()).run(['tag', one, '--add', 'later']);
      const [{ change_id: undo }] = await history();
      const update = 'UPDATE change_items SET state = ? WHERE change_id = ? AND uid = ?';
      changeState(join(setup.cli.home, 'state'), update, outcome, undo, one);
      expect(await run('undo')).toMatchObject({ code: 0 });
      for (const uid of [one, two]) expect(await tagsOf(uid)).toEqual(['earlier', tag].sort());
    },
  );

  it('undo of several interrupted applies of one table, which the next apply continues, restores the first values', async () => {
    const [uid = ''] = await createAssets(1);
    const { name } = await get(uid);
    const table = join(setup.cli.home, 'table.csv');
    expect(await run('export', '--tag', tag, '-o', table)).toMatchObject({ code: 0 });
    const exported = readFileSync(table, 'utf8');
    for (const word of ['first', 'second', 'third']) {
      // As if the first two had run at once, and had both been killed.
      if (word === 'third') changeState(join(setup.cli.home, 'state'), "UPDATE changes SET state = 'running'");
      writeFileSync(table, exported.replace(name, word));
      expect(await run('apply', table, ...anyWorkspace)).toMatchObject({ code: 0 });
    }
    expect((await history()).length).toBe(1);
    expect((await get(uid)).name).toBe('third');
    expect(await run('undo')).toMatchObject({ code: 0 });
    expect((await get(uid)).name).toBe(name);
  });

  it('after the undo of an undo, undo reverts the original change again', async () => {
    const [uid = ''] = await createAssets(1);
    await run('tag', '--tag', tag, ...anyWorkspace, '--add', 'sea');
    await run('undo');
    await run('undo', (await history())[0].change_id);
    expect(await tagsOf(uid)).toEqual(['sea', tag].sort());
    expect(await run('undo')).toMatchObject({ code: 0 });
    expect(await tagsOf(uid)).toEqual([tag]);
  });

  it('undo --dry-run lists what it would write and writes nothing', async () => {
    const [uid = ''] = await createAssets(1);
    await run('tag', '--tag', tag, ...anyWorkspace, '--add', 'sea');
    const { code, stdout } = await run('undo', '--dry-run');
    expect([code, JSON.parse(stdout).length]).toEqual([0, 1]);
    expect(await tagsOf(uid)).toEqual(['sea', tag].sort());
  });

  it('undo without a terminal and --yes exits with 2', async () => {
    await createAssets(1);
    await run('tag', '--tag', tag, ...anyWorkspace, '--add', 'sea');
    expect(await setup.cli.run(['undo'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  });

  it('undo of rm names the local file of an asset that this machine uploaded', async () => {
    const path = join(setup.cli.home, 'local.bin');
    writeFileSync(path, `unique content of ${tag}`);
    const [{ asset_uid: uid }] = JSON.parse((await run('upload', path)).stdout);
    await run('rm', uid);
    expect(await setup.cli.run(['undo'])).toMatchObject({
      code: 6,
      stderr: expect.stringMatching(/in the trash.*uploaded from .*local\.bin/),
    });
    const error = errorOf(await run('undo'));
    expect(error).toEqual({ ...errorInTable('cannot_undo') });
  });

  it('undo for a change of another service exits with 2', async () => {
    await createAssets(1);
    await run('tag', '--tag', tag, ...anyWorkspace, '--add', 'sea');
    const [{ change_id }] = await history();
    const proxy = await FaultProxy.start(setup.sandbox.url);
    const result = await setup.cli.run(['undo', change_id, '--yes'], { environment: { MEDIACTL_BASE_URL: proxy.url } });
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(`was made at ${setup.sandbox.url}`) });
  });

  // In strict mode no folder can be listed, so that a script deletes none.
  it.skipIf(isStrict)(
    'a deleted folder whose deletion cannot be verified is a finished change, not an interrupted one',
    async () => {
      await run('folders', 'create', `/${tag}`);
      let isDeleted = false;
      const proxy = await FaultProxy.start(setup.sandbox.url, ({ method }) => {
        isDeleted ||= method === 'DELETE';
        return isDeleted && method === 'GET' ? respondWith(403) : undefined;
      });
      const environment = { MEDIACTL_BASE_URL: proxy.url };
      expect((await setup.cli.run(['folders', 'rm', `/${tag}`, '--yes'], { environment })).code).toBe(5);
      expect(await history()).toMatchObject([{ command: 'rm', state: 'finished', done_count: 1 }]);
    },
  );

  it.skipIf(isStrict)('undo moves assets and folders back, and renames them back', async () => {
    const [uid = ''] = await createAssets(1);
    await run('folders', 'create', '-p', `/${tag}/a`);
    const { uid: folder } = (await setup.cli.json(['folders', 'ls', `/${tag}`]))[0];
    await run('mv', '--tag', tag, `/${tag}/a`);
    await run('mv', `/${tag}/a`, `/${tag} b`);
    await run('rename', `/${tag} b`, `${tag} c`);
    const folderAt = async (path: string) => (await setup.cli.json(['folders', 'ls', path]))[0]?.uid;
    expect(await run('undo')).toMatchObject({ code: 0 });
    await run('folders', 'create', `/${tag}/a`);
    expect(await run('undo')).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('another folder has its old path'),
    });
    await run('folders', 'rm', `/${tag}/a`);
    const [{ change_id: moved }] = (await history()).filter(({ summary }: { summary: string }) =>
      summary.startsWith('move /'),
    );
    expect(await run('undo', moved)).toMatchObject({ code: 0 });
    expect(await folderAt(`/${tag}`)).toBe(folder);
    expect((await get(uid)).parent).toBe(folder);
    const [{ change_id: filled }] = (await history())
      .filter(({ command }: { command: string }) => command === 'mv')
      .slice(-1);
    expect(await run('undo', filled)).toMatchObject({ code: 0 });
    expect((await get(uid)).parent).toBeNull();
  });
});

it('a change of tags whose question stays open for minutes keeps the tags that others set meanwhile', async () => {
  const uids = await createAssets(2);
  let minutes = 0;
  const clock = { ...systemClock, now: () => Date.now() + minutes * 60_000 };
  const stdin = new PassThrough();
  let isAsked = false;
  const onStderr = (text: string) => {
    if (isAsked || !text.includes('[y/N]')) return;
    isAsked = true;
    minutes = 5;
    void new Cli(account()).run(['tag', uids[0] as string, '--set', 'other']).then(() => stdin.end('y\n'));
  };
  const args = ['tag', '--tag', tag, ...anyWorkspace, '--add', 'sea'];
  expect(await setup.cli.run(args, { tty: true, stdin, onStderr, clock })).toMatchObject({ code: 0 });
  const tags = [await tagsOf(uids[0] as string), await tagsOf(uids[1] as string)];
  expect(tags).toEqual([['other', 'sea'], ['sea', tag].sort()]);
  expect(await run('undo')).toMatchObject({ code: 0 });
  expect([await tagsOf(uids[0] as string), await tagsOf(uids[1] as string)]).toEqual([['other'], [tag]]);
});

describe('a change that is stopped', () => {
  /** Tags assets through a proxy that stops after some writes by an answer that ends the run. */
  async function stopAfter(writes: number, change = ['tag', '--tag', tag, '--add', 'sea']): Promise<string> {
    const proxy = await FaultProxy.start(setup.sandbox.url, ({ method, nth }) =>
      method === 'PATCH' && nth > writes ? respondWith(401, { error: {} }) : undefined,
    );
    const environment = { MEDIACTL_BASE_URL: proxy.url };
    const { code, stderr } = await setup.cli.run([...change, ...anyWorkspace, '--yes'], { environment });
    expect([code, stderr]).toEqual([
      11,
      expect.stringMatching(/stopped after \d of 6; to continue: mediactl history \w+/),
    ]);
    changeState(join(setup.cli.home, 'state'), 'UPDATE changes SET service = ?', setup.sandbox.url);
    return (await history())[0].change_id;
  }

  it('history CHANGE --resume writes what is left, and names what others have changed meanwhile', async () => {
    const uids = await createAssets(6);
    const id = await stopAfter(2, ['update', ...namesOf(6), '--description', 'sea']);
    expect((await history())[0]).toMatchObject({ state: 'interrupted', done_count: 2, unknown_count: 0 });
    const pending = (await setup.cli.json(['history', id])).filter(
      ({ outcome }: { outcome: string }) => outcome === 'pending',
    );
    const [changed] = pending;
    await new Cli(account()).run(['update', changed.uid, '--description', 'other']);
    const { code, stdout, stderr } = await run('history', id, '--resume');
    expect([code, JSON.parse(stdout).length]).toEqual([11, 4]);
    expect(stderr).toContain('was changed meanwhile');
    for (const uid of uids) expect((await get(uid)).description).toBe(uid === changed.uid ? 'other' : 'sea');
    expect((await history())[0]).toMatchObject({ state: 'finished', done_count: 5, conflict_count: 1 });
    expect(await failure('history', id, '--resume')).toMatchObject({ code: 'usage' });
  });

  it('resume of a single item that is in conflict fails with changed_meanwhile', async () => {
    await createAssets(6);
    const id = await stopAfter(5, ['update', ...namesOf(6), '--description', 'sea']);
    const [{ uid: left }] = (await setup.cli.json(['history', id])).filter(
      ({ outcome }: { outcome: string }) => outcome === 'pending',
    );
    await new Cli(account()).run(['update', left, '--description', 'other']);
    const hint = `mediactl get ${left}, to see it now`;
    expect(await failure('history', id, '--resume')).toEqual({ ...errorInTable('changed_meanwhile'), hint });
    expect((await get(left)).description).toBe('other');
  });

  it('undo right after a kill takes back the items whose outcome is unknown', async () => {
    const uids = await createAssets(3);
    await run('tag', '--tag', tag, ...anyWorkspace, '--add', 'sea');
    const state = join(setup.cli.home, 'state');
    changeState(state, "UPDATE change_items SET state = 'unknown' WHERE uid <> ?", uids[0] as string);
    changeState(state, "UPDATE changes SET state = 'running'");
    expect(await run('undo')).toMatchObject({ code: 0 });
    for (const uid of uids) expect(await tagsOf(uid)).toEqual([tag]);
  });

  it('history CHANGE --resume names the conflicts of an earlier attempt, too', async () => {
    const uids = await createAssets(6);
    const id = await stopAfter(2, ['update', ...uids, '--description', 'sea']);
    const [{ uid: left }] = (await setup.cli.json(['history', id])).filter(
      ({ outcome }: { outcome: string }) => outcome === 'pending',
    );
    await new Cli(account()).run(['update', left, '--description', 'other']);
    const set = "UPDATE change_items SET state = 'conflict', error = 'was changed meanwhile' WHERE uid = ?";
    changeState(join(setup.cli.home, 'state'), set, left);
    const { code, stdout } = await run('history', id, '--resume');
    const conflicts = JSON.parse(stdout).filter(({ outcome }: { outcome: string }) => outcome === 'conflict');
    expect([code, conflicts]).toMatchObject([11, [{ uid: left }]]);
    for (const uid of uids) expect((await get(uid)).description).toBe(uid === left ? 'other' : 'sea');
  });

  it('resume of an update that never read its assets does not take the value that it wrote for the old one', async () => {
    const [written = '', unwritten = ''] = await createAssets(2);
    await setup.cli.run(['update', written, unwritten, '--name', 'piped']);
    await new Cli(account()).run(['update', unwritten, '--name', 'old']);
    const state = join(setup.cli.home, 'state');
    changeState(state, "UPDATE change_items SET state = 'unknown'");
    changeState(state, "UPDATE changes SET state = 'running'");
    const [{ change_id }] = await history();
    expect(await run('history', change_id, '--resume')).toMatchObject({ code: 0 });
    const { code, stderr } = await run('undo', change_id);
    expect([code, stderr]).toEqual([11, expect.stringContaining(`${written}: not reverted: its old value is unknown`)]);
    expect([(await get(written)).name, (await get(unwritten)).name]).toEqual(['piped', 'old']);
  });

  it.each(['pending', 'failed'])(
    'undo of a stopped change takes back what was written, and its %s items can no longer be resumed',
    async (state) => {
      const uids = await createAssets(6);
      const id = await stopAfter(3);
      changeState(join(setup.cli.home, 'state'), "UPDATE change_items SET state = ? WHERE state = 'pending'", state);
      expect(await run('undo')).toMatchObject({ code: 0 });
      for (const uid of uids) expect(await tagsOf(uid)).toEqual([tag]);
      expect(await failure('history', id, '--resume')).toMatchObject({ code: 'usage' });
      expect((await history())[1]).toMatchObject({ change_id: id, state: 'finished', done_count: 3 });
    },
  );

  it('Ctrl-C stops a change, which no other process can resume while it runs, and history CHANGE --resume continues it', async () => {
    const uids = await createAssets(6);
    const abort = new AbortController();
    const interrupt = async () => {
      const [{ change_id, state }] = await history();
      expect(state).toBe('running');
      const resumed = await setup.cli.run(['history', change_id, '--resume', '--json'], { environment: environment() });
      expect(errorOf(resumed)).toEqual({ ...errorInTable('locked') });
      abort.abort(new CodedError('interrupted', { code: 'interrupted' }));
    };
    let interrupting: Promise<void> | undefined;
    const beforeResponse = () => {
      interrupting ??= interrupt();
      return interrupting;
    };
    const proxy = await FaultProxy.start(setup.sandbox.url, ({ method }) =>
      method === 'PATCH' ? { beforeResponse } : undefined,
    );
    const environment = () => ({ MEDIACTL_BASE_URL: proxy.url });
    const args = ['tag', '--tag', tag, ...anyWorkspace, '--add', 'sea', '--yes'];
    const { code, stderr } = await setup.cli.run(args, { environment: environment(), signal: abort.signal });
    await interrupting;
    expect([code, stderr]).toEqual([
      130,
      expect.stringMatching(/stopped after \d of 6; to continue: mediactl history/),
    ]);
    const [{ change_id, state }] = await history();
    expect(state).toBe('interrupted');
    const resumed = await setup.cli.run(['history', change_id, '--resume'], { environment: environment() });
    expect(resumed.code).toBe(0);
    for (const uid of uids) expect(await tagsOf(uid)).toEqual(['sea', tag].sort());
    expect((await history())[0]).toMatchObject({ state: 'finished', done_count: 6 });
  });
});
