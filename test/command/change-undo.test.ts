import { describe, expect, it } from 'vitest';
import { editCells, setUpChanges } from '../support/change-setup.ts';
import { respondWith } from '../support/fault-proxy.ts';
import { rawHttp } from '../support/raw-http.ts';
import { anyWorkspace, isStrict } from '../support/sandbox.ts';

/* What an undo reads and writes, and what it and a change say that they cost. */

const changes = setUpChanges();
const { setup, run, colleague, createAssets, get, namesOf, tagsOf, history, answerAfter, exportTag } = changes;
const { stopAfter, stopAfterEffect, forgetOutcomes } = changes;
const { call } = rawHttp(() => setup.sandbox);

let counter = 0;
let word = '';
const create = async (count: number) => {
  word = `undo-${++counter}`;
  return createAssets(
    word,
    Array.from({ length: count }, (_, n) => `${word} ${n}`),
  );
};
const tagAll = (...edit: string[]) => ['tag', '--tag', word, ...anyWorkspace, ...edit, '--yes'];

it('undo of a tag takes it off although another one was added since, and keeps the other', async () => {
  const uids = await create(2);
  await run(tagAll('--add', 'alpha'));
  const [{ change_id: id }] = await history();
  await run(tagAll('--add', 'beta'));
  await colleague('tag', uids[0] as string, '--add', 'gamma');
  expect((await run(['undo', id, '--yes'])).code).toBe(0);
  expect([await tagsOf(uids[0] as string), await tagsOf(uids[1] as string)]).toEqual([
    ['beta', 'gamma', word],
    ['beta', word],
  ]);
});

it('undo of a change that was cancelled before its first write sends no request', async () => {
  await create(3);
  expect((await stopAfter(0, 'PATCH', tagAll('--add', 'alpha'))).code).toBe(11);
  const [{ change_id: id }] = await history();
  setup.proxy.requests.length = 0;
  expect((await run(['undo', id, '--yes'])).code).toBe(0);
  expect(setup.proxy.requests).toEqual([]);
  expect(await run(['undo', '--yes'])).toMatchObject({ code: 3 }); // a change that wrote nothing is not the last one
});

it('undo of a stopped change reads what was written, and nothing else', async () => {
  await create(8);
  expect((await stopAfter(2, 'PATCH', tagAll('--add', 'alpha'))).code).toBe(11);
  const [{ change_id: id }] = await history();
  setup.proxy.requests.length = 0;
  const undone = await run(['undo', id, '--yes']);
  expect([undone.code, undone.stderr]).toEqual([0, expect.stringContaining('about 4 requests, after 2 to read')]);
  const { methods } = setup.proxy;
  expect(methods.filter((method) => method === 'PATCH')).toHaveLength(2);
  expect(methods.length).toBeLessThanOrEqual(6);
});

it('undo --dry-run exits with 11, as undo does, if others have changed an asset since', async () => {
  const [uid = ''] = await create(2);
  expect((await run(['update', `${word} 0`, `${word} 1`, ...anyWorkspace, '--description', 'one', '--yes'])).code).toBe(
    0,
  );
  const [{ change_id: id }] = await history();
  await colleague('update', uid, '--description', 'two');
  const dryRun = await run(['undo', id, '--dry-run', '--json']);
  const outcomes = JSON.parse(dryRun.stdout).map(({ outcome }: { outcome: string }) => outcome);
  expect([dryRun.code, outcomes.sort()]).toEqual([11, ['conflict', 'planned']]);
  const undone = await run(['undo', id, '--yes', '--format', 'tsv']);
  expect([undone.code, undone.stdout.includes('\tupdated')]).toEqual([11, true]);
});

it.each(['killed before its write', 'killed and resumed'])(
  'undo of a tag that was %s leaves the tags that the assets had before',
  async (how) => {
    const uids = await create(6);
    await colleague(...tagAll('--add', 'alpha'));
    await stopAfter(how === 'killed and resumed' ? 1 : 0, 'PATCH', tagAll('--add', 'alpha', '--add', 'beta'));
    forgetOutcomes();
    const [{ change_id: id }] = await history();
    if (how === 'killed and resumed') expect((await run(['history', id, '--resume', '--yes'])).code).toBe(0);
    expect((await run(['undo', id, '--yes'])).code).toBe(0);
    for (const uid of uids) expect(await tagsOf(uid)).toEqual(['alpha', word]);
  },
);

describe('an asset that shows a tag without its slug', () => {
  /** Hides the slug of the first tag of an asset from the user. */
  const hideSlug = async (uid: string) => {
    const record = await get(uid);
    const [, ...others] = record.tags;
    setup.fault = ({ method, path }) =>
      method === 'GET' && path.includes(uid)
        ? respondWith(200, { ...record, tags: [{ name: 'Sea Side' }, ...others] })
        : undefined;
  };
  const expectKept = async (uid: string, tags: readonly string[], args: readonly string[]) => {
    await hideSlug(uid);
    const { code, stdout, stderr } = await run([...args, '--json']);
    expect([code, stderr]).toEqual([6, expect.stringContaining('does not show')]);
    expect(stdout + stderr).toContain(uid);
    expect(await tagsOf(uid)).toEqual(tags);
  };

  it('is named by undo of a tag, and keeps all its tags', async () => {
    const [uid = ''] = await create(1);
    await run(tagAll('--add', 'alpha', '--add', 'beta'));
    await expectKept(uid, ['alpha', 'beta', word], ['undo', '--yes']);
  });

  it('is named by a resume of a tag, and keeps all its tags', async () => {
    const [uid = ''] = await create(1);
    await colleague('tag', uid, '--add', 'alpha');
    await stopAfter(0, 'PATCH', tagAll('--add', 'beta'));
    const [{ change_id: id }] = await history();
    await expectKept(uid, ['alpha', word], ['history', id, '--resume']);
  });
});

describe('a write that the service accepted, and whose check was refused, is taken back by undo', () => {
  const outcomes = async () => {
    const [{ change_id: id }] = await history();
    return (await setup.cli.json(['history', id])).map(({ outcome }: { outcome: string }) => outcome);
  };

  it.skipIf(isStrict)('if it renames a folder, and the folders cannot be read', async () => {
    await create(0);
    await colleague('folders', 'create', `/${word} old`);
    let isWritten = false;
    setup.fault = ({ method }) => {
      isWritten ||= method === 'PATCH';
      return isWritten && method === 'GET' ? respondWith(403, { error: {} }) : undefined;
    };
    expect((await run(['folders', 'rename', `/${word} old`, `${word} new`])).code).not.toBe(0);
    setup.fault = undefined;
    expect((await run(['folders', 'ls', `/${word} new`])).code).toBe(0);
    expect(await outcomes()).toEqual(['unknown']);
    expect((await run(['undo', '--yes'])).code).toBe(0);
    expect((await run(['folders', 'ls', `/${word} old`])).code).toBe(0);
  });

  it('if it renames an asset, and the asset is not found', async () => {
    const [uid = ''] = await create(1);
    let isWritten = false;
    setup.fault = ({ method }) => {
      if (method === 'PATCH') {
        isWritten = true;
        return { replaceResponse: { status: 200, body: JSON.stringify({ uid }), type: 'application/json' } };
      }
      return isWritten ? respondWith(404, { error: {} }) : undefined;
    };
    expect((await run(['update', uid, '--name', 'new'], { tty: true })).code).not.toBe(0);
    setup.fault = undefined;
    expect([await namesOf([uid]), await outcomes()]).toEqual([['new'], ['unknown']]);
    expect((await run(['undo', '--yes'])).code).toBe(0);
    expect(await namesOf([uid])).toEqual([`${word} 0`]);
  });
});

it.skipIf(isStrict)(
  'a move that was killed after its effect, into a folder that others rename, is done for a resume and undone by undo',
  async () => {
    const uids = await create(2);
    await colleague('folders', 'create', `/${word} target`);
    await stopAfterEffect(['mv', ...uids, `/${word} target`, '--yes']);
    const [{ change_id: id }] = await history();
    const folders = () => Promise.all(uids.map(async (uid) => (await get(uid)).parent));
    const target = await folders();
    expect(target).not.toContain(null);
    await colleague('folders', 'rename', `/${word} target`, `${word} renamed`);
    expect(await run(['history', id, '--resume', '--yes'])).toMatchObject({ code: 0 });
    expect(await folders()).toEqual(target);
    expect(await run(['undo', id, '--yes'])).toMatchObject({ code: 0 });
    expect(await folders()).toEqual([null, null]);
  },
);

it('undo of update NAME on a terminal restores a field that the list of assets does not show', async () => {
  const [uid = ''] = await create(1);
  const { description: _, ...listed } = await get(uid);
  setup.fault = ({ method, path }) =>
    method === 'GET' && path.includes('/assets/?') ? respondWith(200, { items: [listed], total: 1 }) : undefined;
  const updated = await run(['update', `${word} 0`, '--description', 'mine', ...anyWorkspace], { tty: true });
  expect(updated.code, updated.stderr).toBe(0);
  expect((await get(uid)).description).toBe('mine');
  expect((await run(['undo', '--yes'])).code).toBe(0);
  expect((await get(uid)).description).toBe('at first');
});

describe('the cost that is told before a change', () => {
  /** Shows the client a limit of ten requests an hour, which the service does not enforce. */
  const showLimit = () => {
    setup.fault = () => ({
      headers: (headers) => ({ ...headers, 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '9' }),
    });
  };

  it('of an apply counts a read and a write of each asset, and the hours that the limit makes of it', async () => {
    const uids = await create(5);
    const path = await exportTag(word);
    editCells(path, ...uids.map((_, at) => [at + 1, 'name', `edited ${at}`] as const));
    expect((await run(['apply', path, ...anyWorkspace, '--dry-run'])).stderr).toContain(
      '5 cells to change in 5 assets; about 10 requests, after 5 to read\n',
    );
    showLimit();
    expect((await run(['apply', path, ...anyWorkspace, '--dry-run'])).stderr).toContain(
      'about 10 requests, about 1 h at 10 requests per hour, after 5 to read\n',
    );
  });

  it('of an undo counts the same, and so does the history', async () => {
    await create(5);
    await run(tagAll('--add', 'sea'));
    expect((await history())[0]).toMatchObject({ item_count: 5, request_count: 10 });
    expect((await run(['undo', '--dry-run'])).stderr).toContain('about 10 requests, after 5 to read');
    showLimit();
    expect((await run(['undo', '--dry-run'])).stderr).toContain(
      'about 10 requests, about 1 h at 10 requests per hour, after 5 to read',
    );
  });

  const edits: Record<string, (path: string) => Promise<[column: string, text: string]>> = {
    names: async () => ['name', 'edited'],
    tags: async () => ['tags', 'edited'],
    ...(!isStrict && {
      folders: async () => {
        await colleague('folders', 'create', `/${word} target`);
        return ['folder', `/${word} target`];
      },
    }),
  };

  it.each(Object.entries(edits))('is what an apply of %s and its undo take', async (_, edit) => {
    const uids = await create(5);
    const path = await exportTag(word);
    const [column, text] = await edit(path);
    editCells(path, ...uids.map((_uid, at) => [at + 1, column, text] as const));
    for (const args of [['apply', path, ...anyWorkspace], ['undo']]) {
      const atQuestion = async () => {
        setup.proxy.requests.length = 0;
      };
      const { code, stderr } = await answerAfter(atQuestion, args);
      const [, told] = /about (\d+) requests/.exec(stderr) ?? [];
      expect([code, setup.proxy.requests.length <= Number(told)], `${told}, ${setup.proxy.methods}`).toEqual([0, true]);
    }
  });
});

describe.skipIf(isStrict)('a change of a folder, after another workspace was chosen', () => {
  /** Renames a folder of the second workspace, and returns a function that runs a command in a workspace. */
  async function renameFolder() {
    word = `undo-${++counter}`;
    const { items } = await (await call('GET', '/workspaces/')).json();
    const [main, second] = [
      setup.sandbox.workspace,
      items.find(({ uid }: { uid: string }) => uid !== setup.sandbox.workspace),
    ];
    const runIn = (workspace: string | undefined, ...args: string[]) =>
      run(args, { environment: { MEDIACTL_WORKSPACE: workspace } });
    const folders = async () => {
      const { stdout } = await runIn(second.uid, 'folders', 'ls', '/', '--json');
      return JSON.parse(stdout)
        .map(({ name }: { name: string }) => name)
        .filter((name: string) => name.startsWith(word));
    };
    await runIn(second.uid, 'folders', 'create', `/${word} a`);
    return { main, second, runIn, folders, rename: ['folders', 'rename', `/${word} a`, `${word} b`] };
  }

  it('undo finds it in the workspace of the change if none is chosen', async () => {
    const { second, runIn, folders, rename } = await renameFolder();
    expect((await runIn(second.uid, ...rename)).code).toBe(0);
    expect(await runIn(undefined, 'undo', '--yes')).toMatchObject({ code: 0 });
    expect(await folders()).toEqual([`${word} a`]);
  });

  it.each(['uid', 'name'])(
    'undo with the %s of the other one exits with 2 and names the option to use',
    async (how) => {
      const { main, second, runIn, folders, rename } = await renameFolder();
      await runIn(second.uid, ...rename);
      const { items } = await (await call('GET', '/workspaces/')).json();
      const { name } = items.find(({ uid }: { uid: string }) => uid === main);
      expect(await runIn(how === 'uid' ? main : name, 'undo', '--yes')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`--workspace ${second.uid}`),
      });
      expect(await folders()).toEqual([`${word} b`]);
    },
  );

  it('a resume finds it in the workspace of the change', async () => {
    const { second, runIn, folders, rename } = await renameFolder();
    let isStopped = false;
    setup.fault = ({ method }) => {
      isStopped ||= method === 'PATCH';
      return method === 'PATCH' ? respondWith(401) : undefined;
    };
    await runIn(second.uid, ...rename);
    setup.fault = undefined;
    expect(isStopped).toBe(true);
    const [{ change_id: id }] = await history();
    expect(await runIn(undefined, 'history', id, '--resume')).toMatchObject({ code: 0 });
    expect(await folders()).toEqual([`${word} b`]);
  });
});

it.skipIf(isStrict)(
  'a folder whose deletion was stopped is not deleted by a resume if it got an asset or a folder meanwhile',
  async () => {
    word = `undo-${++counter}`;
    const [uid = ''] = await createAssets(word, [word]);
    for (const content of ['asset', 'folder', 'nothing']) {
      const path = `/${word} ${content}`;
      await colleague('folders', 'create', path);
      expect((await stopAfter(0, 'DELETE', ['folders', 'rm', path, '--yes'])).code).toBe(4);
      const [{ change_id: id }] = await history();
      if (content === 'asset') await colleague('mv', uid, path);
      if (content === 'folder') await colleague('folders', 'create', `${path}/below`);
      setup.proxy.requests.length = 0;
      const resumed = await run(['history', id, '--resume']);
      expect(resumed.code, resumed.stderr).toBe(content === 'nothing' ? 0 : 6);
      // A service may delete the content, too, so it is not asked to.
      expect(setup.proxy.methods.filter((method) => method === 'DELETE')).toHaveLength(content === 'nothing' ? 1 : 0);
      expect((await run(['folders', 'ls', path])).code).toBe(content === 'nothing' ? 3 : 0);
    }
  },
);
