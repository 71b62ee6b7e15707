import { describe, expect, it } from 'vitest';
import { MediactlError } from '../../src/client/errors.ts';
import type { CliOptions } from '../support/cli.ts';
import { setUpCli } from '../support/cli-setup.ts';
import { respond, startServer } from '../support/http-server.ts';
import { rawHttp } from '../support/raw-http.ts';
import { unlessStrict } from '../support/sandbox.ts';
import { mediactl } from '../support/spawn.ts';

const { account, world } = setUpCli();
const { create } = rawHttp(() => world.sandbox);

/** Creates assets without bytes, which is fast; each test finds its own by a unique word in the name. */
const make = async (count: number, word: string) => {
  const made = Array.from({ length: count }, async (_, n) => {
    const response = await create(5, { asset_name: `${word} ${n}` });
    return (await response.json()).asset_uid as string;
  });
  return Promise.all(made);
};
const count = async (word: string) => (await world.cli.json(['assets', 'ls', '--search', word, '--all'])).length;

describe('assets rm', () => {
  it('asks, names what would go, and takes no for an answer', async () => {
    await make(2, 'asked');
    const options: CliOptions = { tty: true, stdin: 'n\n' };
    const { code, stderr } = await world.cli.run(['assets', 'rm', '--search', 'asked'], options);
    expect(code).toBe(130);
    expect(stderr).toContain('Move 2 assets to the trash? [y/N]');
    expect(stderr).toContain('asked 0');
    expect(await count('asked')).toBe(2);
  });

  it('without a terminal: exit 2 without --yes, and nothing is gone', async () => {
    const [uid] = await make(1, 'unasked');
    const { code, stderr } = await world.cli.run(['assets', 'rm', uid as string]);
    expect(code).toBe(2);
    expect(stderr).toContain('--yes');
    expect((await world.cli.run(['assets', 'rm', uid as string, '--yes'])).code).toBe(0);
    expect(await count('unasked')).toBe(0);
  });

  it('--max-delete is a limit, for filters and ids, whoever sits there', async () => {
    const uids = await make(4, 'bulky');
    for (const which of [['--search', 'bulky'], uids]) {
      const args = ['assets', 'rm', ...which, '--max-delete', '3'];
      for (const options of [{}, { tty: true, stdin: '4\n' }] satisfies CliOptions[]) {
        const { code, stdout, stderr } = await world.cli.run([...args, '--yes'], options);
        expect([code, stdout]).toEqual([2, '']);
        expect(stderr).toContain('more than 3 assets match, and --max-delete is 3');
      }
    }
    expect(await count('bulky')).toBe(4);
    expect((await world.cli.run(['assets', 'rm', ...uids, '--max-delete', '4', '-y'])).code).toBe(0);
  });

  it('more than the usual hundred: --yes is not enough; the number typed is', async () => {
    const uids = await make(101, 'many');
    const args = ['assets', 'rm', '--search', 'many'];
    expect((await world.cli.run([...args, '--yes'])).code).toBe(2);
    expect((await world.cli.run(['assets', 'rm', '-', '-y'], { stdin: uids.join('\n') })).code).toBe(2);
    expect((await world.cli.run(args, { tty: true, stdin: '100\n' })).code).toBe(2);
    expect(await count('many')).toBe(101);
    const { code, stderr } = await world.cli.run(args, { tty: true, stdin: '101\n' });
    expect([code, stderr]).toEqual([0, expect.stringContaining('Type 101 to continue')]);
    expect(await count('many')).toBe(0);
  });

  it.each([
    ['--search', ''],
    ['--tag', ' '],
    ['--status', ''],
    ['--folder', ''],
    ['--created-before', ''],
  ])('%s "%s": an empty filter is exit 2, and not everything', async (flag, value) => {
    for (const verb of [['ls'], ['rm', '-y']]) {
      const { code, stderr } = await world.cli.run(['assets', ...verb, flag, value]);
      expect([code, stderr.split('\n')[0]]).toEqual([2, `error: ${flag} is empty`]);
    }
  });

  it('-w would promise what the API cannot keep', async () => {
    const [uid] = await make(1, 'elsewhere');
    for (const which of [[uid as string], ['--search', 'elsewhere']])
      expect((await world.cli.run(['assets', 'rm', ...which, '-w', 'Archive', '-y'])).code).toBe(2);
    expect(await count('elsewhere')).toBe(1);
  });

  it('a uid from the service that would make another request is refused', async () => {
    const paths: string[] = [];
    const service = await startServer(({ method, url = '' }, response) => {
      if (method === 'DELETE') paths.push(url);
      respond(response, 200, { items: [{ uid: '..', name: 'n' }], count: 1 });
    });
    const { code } = await world.cli.run(['assets', 'rm', '--search', 'n', '--yes'], {
      environment: { MEDIACTL_BASE_URL: service },
    });
    expect([code, paths]).toEqual([10, []]);
  });

  it('who answers no is told that nothing was changed, which is no error', async () => {
    const [uid] = await make(1, 'declined');
    for (const stdin of ['n\n', '\n', 'maybe\n']) {
      const { code, stderr } = await world.cli.run(['assets', 'rm', uid as string], {
        tty: true,
        stdin,
      });
      expect([code, stderr.trimEnd().split('\n').at(-1)]).toEqual([130, 'nothing was changed']);
      expect(stderr).not.toContain('error');
    }
    expect(await count('declined')).toBe(1);
  });

  it('neither ids nor filters: exit 2; everything would match', async () => {
    expect((await world.cli.run(['assets', 'rm', '--yes'])).code).toBe(2);
    expect((await world.cli.run(['assets', 'rm', 'x', '--search', 'y', '--yes'])).code).toBe(2);
  });

  it('some fail: each is named, the others are gone, exit 11', async () => {
    const [first, second] = await make(2, 'partly');
    const nobody = '00000000-0000-4000-8000-000000000000';
    const { code, stdout, stderr } = await world.cli.run(['assets', 'rm', '-', '--yes', '--json'], {
      stdin: `${first}\n${nobody}\n${second}\n`,
    });
    expect(code).toBe(11);
    expect(JSON.parse(stdout).map(({ uid, outcome }: { uid: string; outcome: string }) => [uid, outcome])).toEqual([
      [first, 'deleted'],
      [nobody, 'failed'],
      [second, 'deleted'],
    ]);
    const [, line] = stderr.trimEnd().split('\n');
    const { error } = JSON.parse(line as string);
    expect([error.exit_code, error.details.length]).toEqual([11, 1]);
    expect(error.cause).toContain(nobody);
    expect(await count('partly')).toBe(0);
  });

  it('a key that may not: one 403 and no more, the rest is not tried', async () => {
    const uids = await make(20, 'kept');
    const key = world.sandbox.createKey('read', ['Read Assets']);
    const { code, stdout, stderr } = await world.cli.run(['assets', 'rm', ...uids, '--yes', '--json', '--debug'], {
      environment: { MEDIACTL_API_KEY: key },
    });
    expect(code).toBe(11);
    const tried = JSON.parse(stdout).filter(
      ({ error }: { error: { message: string } }) => error.message !== 'not attempted',
    );
    expect(tried.length).toBeLessThanOrEqual(4);
    expect(stderr).toContain('lacks the scope \\"Delete Assets\\"');
    expect(await count('kept')).toBe(20);
  });

  it('by filter, pages deep: all that matched and nothing else', async () => {
    await make(130, 'deep');
    await make(1, 'other');
    const { code } = await world.cli.run(['assets', 'rm', '--search', 'deep', '--max-delete', '200', '-y']);
    expect(code).toBe(0);
    expect([await count('deep'), await count('other')]).toEqual([0, 1]);
  });
});

it('an interruption is exit 130, whatever was done', async () => {
  const uids = await make(30, 'stopped');
  const interruption = new AbortController();
  const service = await startServer(async (_request, response) => {
    interruption.abort(new MediactlError('interrupted', { code: 'interrupted', exitCode: 130 }));
    await new Promise((resolve) => setTimeout(resolve, 20));
    respond(response, 204);
  });
  const { code, stdout } = await world.cli.run(['assets', 'rm', ...uids, '--yes', '--json'], {
    signal: interruption.signal,
    environment: { MEDIACTL_BASE_URL: service },
  });
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toHaveLength(30);
});

it('assets get: the ones that are not there are named, the others shown, exit 11', async () => {
  const [first, second] = await make(2, 'shown');
  const nobody = '00000000-0000-4000-8000-000000000000';
  const args = ['assets', 'get', first as string, nobody, second as string, '--json'];
  const { code, stdout, stderr } = await world.cli.run(args);
  expect([code, JSON.parse(stdout).map(({ uid }: { uid: string }) => uid)]).toEqual([11, [first, second]]);
  expect(JSON.parse(stderr).error.cause).toContain(nobody);
});

it('assets ls says where there are more than it shows', async () => {
  await make(25, 'cut');
  const cut = await world.cli.run(['assets', 'ls', 'cut']);
  expect(cut.stdout.trimEnd().split('\n')).toHaveLength(20);
  expect(cut.stderr).toBe(unlessStrict('20 of 25; --all for all, --limit for more\n', ''));
  expect((await world.cli.run(['assets', 'ls', '--search', 'cut', '--limit', '5'])).stderr).toBe('');
});

describe('assets update', () => {
  it('shows the record as it is then', async () => {
    const [uid] = await make(1, 'updating');
    const args = ['assets', 'update', uid as string, '--name', 'After', '--description', 'words'];
    expect(await world.cli.json([...args, '--add-tag', 'sea'])).toEqual([
      { uid, name: 'After', outcome: 'updated', error: null },
    ]);
    expect(await world.cli.json(['assets', 'get', uid as string])).toMatchObject([
      { uid, name: 'After', description: 'words', tags: ['sea'] },
    ]);
    expect(await world.cli.json(['assets', 'update', uid as string, '--no-tags'])).toEqual([
      { uid, name: 'After', outcome: 'updated', error: null },
    ]);
    expect((await world.cli.json(['assets', 'get', uid as string]))[0].tags).toEqual([]);
  });

  it('by filter: asks for more than --max-changes, and touches only what matches', async () => {
    await make(3, 'relabel');
    await make(1, 'bystander');
    const args = ['assets', 'update', '--search', 'relabel', '--add-tag', 'new', '--yes'];
    expect((await world.cli.run([...args, '--max-changes', '2'])).code).toBe(2);
    expect(await world.cli.json(args)).toHaveLength(3);
    expect(await world.cli.json(['assets', 'ls', '--tag', 'new'])).toHaveLength(3);
  });

  it('adds and takes off single tags, and says which others go', async () => {
    const [uid] = await make(1, 'tagged');
    const update = (...args: string[]) => world.cli.run(['assets', 'update', uid as string, ...args]);
    const tags = async () => (await world.cli.json(['assets', 'get', uid as string]))[0].tags;
    await update('--add-tag', 'sea', '--add-tag', 'day');
    await update('--add-tag', 'night', '--remove-tag', 'day');
    expect(await tags()).toEqual(['sea', 'night']);
    const { stderr } = await update('--set-tags', 'night,city');
    expect(stderr).toContain(`${uid}  tags: sea, night → night, city`);
    expect(await tags()).toEqual(['night', 'city']);
    const asked = ['assets', 'update', '--search', 'tagged', '--set-tags', 'new'];
    const { code, stderr: said } = await world.cli.run(asked, { tty: true, stdin: 'n\n' });
    expect([code, said]).toEqual([130, expect.stringContaining('tags: night, city → new')]);
  });

  it.each([
    [[], 'no change was given'],
    [['--name', 'x', '--body', '-'], '--body and other fields cannot be used together'],
    [['--set', 'novalue'], "--set does not accept 'novalue'"],
    [['--set-json', 'a={'], '--set-json a: not JSON: {'],
    [['--set-tags', 'a', '--no-tags'], '--set-tags, --no-tags cannot be used together'],
    [['--set-tags', 'a,'], "--set-tags does not accept 'a,'"],
    [['--add-tag', 'a', '--remove-tag', 'a'], '--add-tag and --remove-tag both name a'],
  ])('%j: exit 2', async (args, problem) => {
    const id = '00000000-0000-4000-8000-000000000000';
    const { code, stderr } = await world.cli.run(['assets', 'update', id, ...args], {
      stdin: '{}',
    });
    expect([code, stderr.split('\n')[0]]).toEqual([2, `error: ${problem}`]);
  });
});

it('tags that several ids lose are said', async () => {
  const uids: string[] = [];
  for (const uid of await make(2, 'tagged')) {
    await world.cli.run(['assets', 'update', uid, '--set-tags', 'sea']);
    uids.push(uid);
  }
  const { stderr } = await world.cli.run(['assets', 'update', ...uids, '--set-tags', 'night']);
  for (const uid of uids) expect(stderr).toContain(`${uid}  tags: sea → night`);
});

it('two wrong fields are one error', async () => {
  const args = ['assets', 'update', 'x', '--set', 'bad', '--set-json', 'x=nojson'];
  const { code, signal } = await mediactl(args, account()).finished;
  expect([code, signal]).toEqual([2, null]);
});

it.each([
  ['big=1234567890', 0, ''],
  ['big=5', 6, 'big is 1234567890, not 5'],
  ['order=[1,2]', 6, 'order is [2,1], not [1,2]'],
])('--set-json %s is sent and compared as it was typed', async (field, code, reason) => {
  const uid = '0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c1';
  let sent = '';
  const service = await startServer(async (request, response) => {
    for await (const part of request) sent += part;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`{"uid":"${uid}","big":1234567890,"order":[2,1]}`);
  });
  const ran = await world.cli.run(['assets', 'update', uid, '--set-json', field], {
    environment: { MEDIACTL_BASE_URL: service },
  });
  expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(reason)]);
  const [name, value] = field.split('=');
  expect(sent).toBe(`{"${name}":${value}}`);
});

it('assets thumb: exit 3 where there is none', async () => {
  const [uid] = await make(1, 'bare');
  expect((await world.cli.run(['assets', 'thumb', uid as string])).code).toBe(3);
});
