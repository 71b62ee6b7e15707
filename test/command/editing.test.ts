import { describe, expect, it } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import type { CliOptions } from '../support/cli.ts';
import { setUpCli } from '../support/cli-setup.ts';
import { acceleratedClockInProcess } from '../support/clock.ts';
import { respond, startServer } from '../support/http-server.ts';
import { rawHttp } from '../support/raw-http.ts';
import { anyWorkspace, forSandboxMode, isStrict } from '../support/sandbox.ts';
import { mediactl } from '../support/spawn.ts';

const { account, setup } = setUpCli();
const { createUploadOfSize } = rawHttp(() => setup.sandbox);

/** Creates assets without bytes, which is fast; each test finds its own by a unique word in the name. */
const createAssets = async ({ count, word }: { count: number; word: string }) => {
  const uids = Array.from({ length: count }, async (_, n) => {
    const response = await createUploadOfSize(5, { asset_name: `${word} ${n}` });
    return (await response.json()).asset_uid as string;
  });
  return Promise.all(uids);
};
const countAssets = async (word: string) => (await setup.cli.json(['assets', 'ls', word, '--all'])).length;

describe('assets rm', () => {
  it('assets rm lists the assets in its prompt and deletes nothing if the answer is no', async () => {
    await createAssets({ count: 2, word: 'asked' });
    const options: CliOptions = { tty: true, stdin: 'n\n' };
    const { code, stderr } = await setup.cli.run(['assets', 'rm', '--search', 'asked', ...anyWorkspace], options);
    expect(code).toBe(130);
    expect(stderr).toContain('Move 2 assets to the trash? The API cannot restore them. [y/N]');
    expect(stderr).toContain('asked 0');
    expect(await countAssets('asked')).toBe(2);
  });

  it('assets rm without a terminal exits with 2 and deletes nothing unless --yes is given', async () => {
    const [uid] = await createAssets({ count: 1, word: 'unasked' });
    const { code, stderr } = await setup.cli.run(['assets', 'rm', uid as string]);
    expect(code).toBe(2);
    expect(stderr).toContain('--yes');
    expect((await setup.cli.run(['assets', 'rm', uid as string, '--yes'])).code).toBe(0);
    expect(await countAssets('unasked')).toBe(0);
  });

  it('assets rm exits with 2 above the limit of --max-changes, for filters and uids, even on a terminal', async () => {
    const uids = await createAssets({ count: 4, word: 'bulky' });
    for (const selection of [['--search', 'bulky', ...anyWorkspace], uids]) {
      const args = ['assets', 'rm', ...selection, '--max-changes', '3'];
      for (const options of [{}, { tty: true, stdin: '4\n' }] satisfies CliOptions[]) {
        const { code, stdout, stderr } = await setup.cli.run([...args, '--yes'], options);
        expect([code, stdout]).toEqual([2, '']);
        expect(stderr).toContain('more than 3 assets match, and --max-changes is 3');
      }
    }
    expect(await countAssets('bulky')).toBe(4);
    expect((await setup.cli.run(['assets', 'rm', ...uids, '--max-changes', '4', '-y'])).code).toBe(0);
  });

  it('assets rm of more than 100 assets requires their number to be typed; --yes is not enough', async () => {
    const uids = await createAssets({ count: 101, word: 'many' });
    const args = ['assets', 'rm', '--search', 'many', ...anyWorkspace];
    expect((await setup.cli.run([...args, '--yes'])).code).toBe(2);
    expect((await setup.cli.run(['assets', 'rm', '-', '-y'], { stdin: uids.join('\n') })).code).toBe(2);
    expect((await setup.cli.run(args, { tty: true, stdin: '100\n' })).code).toBe(2);
    expect(await countAssets('many')).toBe(101);
    const { code, stderr } = await setup.cli.run(args, { tty: true, stdin: '101\n' });
    expect([code, stderr]).toEqual([0, expect.stringContaining('Type 101 to continue')]);
    expect(await countAssets('many')).toBe(0);
  });

  it.each([
    ['--search', ''],
    ['--tag', ' '],
    ['--status', ''],
    ['--folder', ''],
    ['--created-before', ''],
  ])('assets download and rm exit with 2 if the filter %s is empty: "%s"', async (flag, value) => {
    for (const verb of [['download'], ['rm', '-y']]) {
      const { code, stderr } = await setup.cli.run(['assets', ...verb, flag, value]);
      expect([code, stderr.split('\n')[0]]).toEqual([2, `error: ${flag} is empty`]);
    }
  });

  it.skipIf(isStrict)(
    'assets rm -w leaves out what a filter finds in other workspaces, and takes a uid as named',
    async () => {
      const [uid] = await createAssets({ count: 1, word: 'elsewhere' });
      const rm = (selected: string) => setup.cli.run(['assets', 'rm', ...selected.split(' '), '-w', 'Archive', '-y']);
      expect((await rm('--search elsewhere')).code).toBe(0);
      expect(await countAssets('elsewhere')).toBe(1);
      expect((await rm(uid as string)).code).toBe(0);
      expect(await countAssets('elsewhere')).toBe(0);
    },
  );

  it('assets rm exits with 10 and deletes nothing if the service returns a uid that alters the request path', async () => {
    const paths: string[] = [];
    const service = await startServer(({ method, url = '' }, response) => {
      if (method === 'DELETE') paths.push(url);
      respond(response, 200, { items: [{ uid: '..', name: 'n' }], count: 1 });
    });
    const { code } = await setup.cli.run(['assets', 'rm', '--search', 'n', '--yes'], {
      environment: { MEDIACTL_BASE_URL: service },
    });
    expect([code, paths]).toEqual([10, []]);
  });

  it('assets rm exits with 130 and prints "nothing was changed", but no error, if the answer is no', async () => {
    const [uid] = await createAssets({ count: 1, word: 'declined' });
    for (const stdin of ['n\n', '\n', 'maybe\n']) {
      const { code, stderr } = await setup.cli.run(['assets', 'rm', uid as string], { tty: true, stdin });
      expect([code, stderr.trimEnd().split('\n').at(-1)]).toEqual([130, 'nothing was changed']);
      expect(stderr).not.toContain('error');
    }
    expect(await countAssets('declined')).toBe(1);
  });

  it('assets rm exits with 2 if neither or both of a name and a filter are given', async () => {
    expect((await setup.cli.run(['assets', 'rm', '--yes'])).code).toBe(2);
    expect((await setup.cli.run(['assets', 'rm', 'x', '--search', 'y', '--yes'])).code).toBe(2);
  });

  it('assets rm exits with 11, names each asset that fails and deletes the others', async () => {
    const [first, second] = await createAssets({ count: 2, word: 'partly' });
    const unknownUid = '00000000-0000-4000-8000-000000000000';
    const { code, stdout, stderr } = await setup.cli.run(['assets', 'rm', '-', '--yes', '--json'], {
      stdin: `${first}\n${unknownUid}\n${second}\n`,
    });
    expect(code).toBe(11);
    expect(JSON.parse(stdout).map(({ uid, outcome }: { uid: string; outcome: string }) => [uid, outcome])).toEqual([
      [first, 'deleted'],
      [unknownUid, 'failed'],
      [second, 'deleted'],
    ]);
    const { error } = JSON.parse(stderr);
    expect([error.exit_code, error.details.length]).toEqual([11, 1]);
    expect(error.cause).toContain(unknownUid);
    expect(await countAssets('partly')).toBe(0);
  });

  it('assets rm stops after the first 403 if the key lacks the scope, and exits with 11', async () => {
    const uids = await createAssets({ count: 20, word: 'kept' });
    const key = setup.sandbox.createKey('read', ['Read Assets']);
    const { code, stdout, stderr } = await setup.cli.run(['assets', 'rm', ...uids, '--yes', '--json', '--debug'], {
      environment: { MEDIACTL_API_KEY: key },
    });
    expect(code).toBe(11);
    const attempted = JSON.parse(stdout).filter(
      ({ error }: { error: { message: string } }) => error.message !== 'not attempted',
    );
    expect(attempted.length).toBeLessThanOrEqual(4);
    expect(stderr).toContain('lacks the scope \\"Delete Assets\\"');
    expect(await countAssets('kept')).toBe(20);
  });

  it('assets rm deletes the matches of a filter on all pages and nothing else', async () => {
    await createAssets({ count: 130, word: 'deep' });
    await createAssets({ count: 1, word: 'other' });
    const { code } = await setup.cli.run([
      'assets',
      'rm',
      '--search',
      'deep',
      ...anyWorkspace,
      '--max-changes',
      '200',
      '-y',
    ]);
    expect(code).toBe(0);
    expect([await countAssets('deep'), await countAssets('other')]).toEqual([0, 1]);
  });
});

it('assets rm exits with 130 if it is interrupted, and prints a record for every asset', async () => {
  const uids = await createAssets({ count: 30, word: 'stopped' });
  const interruption = new AbortController();
  const service = await startServer(async (_request, response) => {
    interruption.abort(new CodedError('interrupted', { code: 'interrupted' }));
    await new Promise((resolve) => setTimeout(resolve, 20));
    respond(response, 204);
  });
  const { code, stdout } = await setup.cli.run(['assets', 'rm', ...uids, '--yes', '--json'], {
    signal: interruption.signal,
    environment: { MEDIACTL_BASE_URL: service },
  });
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toHaveLength(30);
});

it('assets get exits with 11, names the missing assets and prints the others', async () => {
  const [first, second] = await createAssets({ count: 2, word: 'shown' });
  const unknownUid = '00000000-0000-4000-8000-000000000000';
  const args = ['assets', 'get', first as string, unknownUid, second as string, '--json'];
  const { code, stdout, stderr } = await setup.cli.run(args);
  expect([code, JSON.parse(stdout).map(({ uid }: { uid: string }) => uid)]).toEqual([11, [first, second]]);
  expect(JSON.parse(stderr).error.cause).toContain(unknownUid);
});

it('assets ls prints a hint if there are more assets than it shows', async () => {
  await createAssets({ count: 25, word: 'cut' });
  const listing = await setup.cli.run(['assets', 'ls', 'cut']);
  expect(listing.stdout.trimEnd().split('\n')).toHaveLength(20);
  const ofTotal = forSandboxMode({ normal: '20 of 25; --all for all, --limit for more; ', strict: '' });
  expect(listing.stderr).toBe(`${ofTotal}all workspaces\n`);
  expect((await setup.cli.run(['assets', 'ls', 'cut', '--limit', '5'])).stderr).toBe('all workspaces\n');
});

describe('assets update', () => {
  it('assets update changes the name and the description of an asset, and assets tag its tags', async () => {
    const [uid] = await createAssets({ count: 1, word: 'updating' });
    const args = ['assets', 'update', uid as string, '--name', 'After', '--description', 'words'];
    expect(await setup.cli.json(args)).toEqual([{ uid, name: 'After', outcome: 'updated', error: null }]);
    await setup.cli.json(['assets', 'tag', uid as string, '--add', 'sea']);
    expect(await setup.cli.json(['assets', 'get', uid as string])).toMatchObject([
      { uid, name: 'After', description: 'words', tags: ['sea'] },
    ]);
    expect(await setup.cli.json(['assets', 'tag', uid as string, '--set', ''])).toEqual([
      { uid, name: 'After', outcome: 'updated', error: null },
    ]);
    expect((await setup.cli.json(['assets', 'get', uid as string]))[0].tags).toEqual([]);
  });

  it('assets update - exits with 2 above --max-changes, and changes only the assets that ls has listed', async () => {
    await createAssets({ count: 3, word: 'relabel' });
    await createAssets({ count: 1, word: 'bystander' });
    const { stdout: stdin } = await setup.cli.run(['assets', 'ls', 'relabel', '-q']);
    const args = ['assets', 'update', '-', '--set', 'tags=new'];
    expect((await setup.cli.run([...args, '--max-changes', '2'], { stdin })).code).toBe(2);
    expect(await setup.cli.json(['assets', 'ls', '--tag', 'new'])).toHaveLength(0);
    expect(await setup.cli.json(args, { stdin })).toHaveLength(3);
    expect(await setup.cli.json(['assets', 'ls', '--tag', 'new'])).toHaveLength(3);
  });

  it('assets update - exits with 2 for more than 100 ids, unless --max-changes allows them', async () => {
    const uids = Array.from({ length: 101 }, () => crypto.randomUUID());
    const update = (...args: string[]) =>
      setup.cli.run(['assets', 'update', '-', '--name', 'x', '--dry-run', '-q', ...args], { stdin: uids.join('\n') });
    const { code, stderr } = await update();
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('more than 100 assets match, and --max-changes is 100'),
    ]);
    expect((await update('--max-changes', '101')).code).toBe(0);
  });

  it('assets tag adds and removes single tags, and with --set prints the tags that it replaces', async () => {
    const [uid] = await createAssets({ count: 1, word: 'tagged' });
    const tag = (...args: string[]) => setup.cli.run(['assets', 'tag', uid as string, ...args]);
    const tags = async () => (await setup.cli.json(['assets', 'get', uid as string]))[0].tags;
    await tag('--add', 'sea', '--add', 'day');
    await tag('--add', 'night', '--remove', 'day');
    expect(await tags()).toEqual(['sea', 'night']);
    const { stderr } = await tag('--set', 'night,city');
    expect(stderr).toContain(`${uid}  tags: sea, night → night, city`);
    expect(await tags()).toEqual(['night', 'city']);
    const setTags = ['assets', 'tag', '--search', 'tagged', ...anyWorkspace, '--set', 'new'];
    const { code, stderr: prompt } = await setup.cli.run(setTags, { tty: true, stdin: 'n\n' });
    expect([code, prompt]).toEqual([130, expect.stringContaining('tags: night, city → new')]);
  });

  it.each([
    [[], 'no change was given'],
    [['--set', 'novalue'], "--set does not accept 'novalue'"],
    [['--set-json', 'a={'], '--set-json a: not JSON: {'],
  ])('assets update exits with 2 for the arguments %j', async (args, problem) => {
    const id = '00000000-0000-4000-8000-000000000000';
    const { code, stderr } = await setup.cli.run(['assets', 'update', id, ...args], { stdin: '{}' });
    expect([code, stderr.split('\n')[0]]).toEqual([2, `error: ${problem}`]);
  });
});

it.each([
  [[], 'no change was given'],
  [['--set', 'a', '--add', 'b'], '--set and --add or --remove cannot be used together'],
  [['--set', '', '--remove', 'b'], '--set and --add or --remove cannot be used together'],
  [['--set', 'a,'], "--set does not accept 'a,'"],
  [['--set', ' '], "--set does not accept ' '"],
])('assets tag exits with 2 for the arguments %j', async (args, problem) => {
  const { code, stderr } = await setup.cli.run(['assets', 'tag', '00000000-0000-4000-8000-000000000000', ...args]);
  expect([code, stderr.split('\n')[0]]).toEqual([2, `error: ${problem}`]);
});

it('assets tag --set of several assets prints the tags that each of them loses', async () => {
  const uids: string[] = [];
  for (const uid of await createAssets({ count: 2, word: 'tagged' })) {
    await setup.cli.run(['assets', 'tag', uid, '--set', 'sea']);
    uids.push(uid);
  }
  const { stderr } = await setup.cli.run(['assets', 'tag', ...uids, '--set', 'night']);
  for (const uid of uids) expect(stderr).toContain(`${uid}  tags: sea → night`);
});

it('assets update with two invalid fields exits with 2 and does not crash', async () => {
  const args = ['assets', 'update', 'x', '--set', 'bad', '--set-json', 'x=nojson'];
  const { code, signal } = await mediactl(args, account()).finished;
  expect([code, signal]).toEqual([2, null]);
});

it.each([
  ['big=1234567890', 0, ''],
  ['big=5', 6, 'big is 1234567890, not 5'],
  ['order=[1,2]', 6, 'order is [2,1], not [1,2]'],
])(
  'assets update --set-json %s sends the value as typed and compares it with the response',
  async (field, code, reason) => {
    const uid = '0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c1';
    let sentBody = '';
    const service = await startServer(async (request, response) => {
      for await (const part of request) sentBody += part;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`{"uid":"${uid}","big":1234567890,"order":[2,1]}`);
    });
    const result = await setup.cli.run(['assets', 'update', uid, '--set-json', field], {
      environment: { MEDIACTL_BASE_URL: service },
      clock: acceleratedClockInProcess(),
    });
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(reason)]);
    const [name, value] = field.split('=');
    expect(sentBody).toBe(`{"${name}":${value}}`);
  },
);

it('assets thumb exits with 3 if the asset has no thumbnail', async () => {
  const [uid] = await createAssets({ count: 1, word: 'bare' });
  expect((await setup.cli.run(['assets', 'thumb', uid as string])).code).toBe(3);
});
