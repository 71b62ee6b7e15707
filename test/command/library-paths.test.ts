import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AssetsApi } from '../../src/client/api/assets.ts';
import type { Transport } from '../../src/client/http/transport.ts';
import type { NameOverrides } from '../../src/contract/assumptions.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { respond, startServer } from '../support/http-server.ts';
import { Interposer, respondWith } from '../support/interposer.ts';
import { rawHttp } from '../support/raw-http.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

/* Paths that begin with a slash are folders of the library, and paths and globs of its assets. */

let sandbox: TestSandbox;
let cli: Cli;
/** Folder at the top level in which a test keeps what it creates. */
let top: string;
let count = 0;
beforeAll(async () => {
  sandbox = await startSandbox({ strict: false, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
});
afterAll(() => sandbox.end());
const { create } = rawHttp(() => sandbox);
const account = () => ({
  MEDIACTL_API_KEY: sandbox.key,
  MEDIACTL_BASE_URL: sandbox.url,
  MEDIACTL_WORKSPACE: sandbox.workspace,
});
beforeEach(async () => {
  cli = new Cli(account());
  top = `/T${count++}`;
  await cli.json(['folders', 'create', top]);
});

/** Writes files with content of their own below a new directory, and returns the directory. */
function directoryOf(...paths: string[]): string {
  const directory = join(cli.home, `rushes${count}`);
  for (const path of paths) {
    mkdirSync(join(directory, path, '..'), { recursive: true });
    writeFileSync(join(directory, path), `${top}/${path}`);
  }
  return directory;
}

/** Uploads files to the folder of the test, with the directories as subfolders. */
async function fill(...paths: string[]): Promise<void> {
  expect((await cli.run(['upload', directoryOf(...paths), top, '--create-folders'])).code).toBe(0);
}

/** Lists the paths of all assets below a folder. */
async function assetPaths(folder = top): Promise<string[]> {
  const folders: { uid: string; path: string }[] = await cli.json(['folders', 'ls', '-r']);
  const pathOf = new Map(folders.map(({ uid, path }) => [uid, path]));
  const assets: { name: string; parent: string | null }[] = await cli.json(['ls', folder, '-r', '--all']);
  return assets.map(({ name, parent }) => `${(parent && pathOf.get(parent)) || ''}/${name}`.replace(top, '')).sort();
}

const names = async (...args: string[]) =>
  (await cli.json(['ls', '--all', ...args])).map(({ name }: { name: string }) => name).sort();

describe('ls', () => {
  it('ls lists a folder, a folder tree with -r, the matches of a glob, and a single path', async () => {
    await fill('a.mov', 'day1/b.mov', 'day1/c.txt', 'day2/deep/d.mov');
    expect(await names(top)).toEqual(['a.mov']);
    expect(await names(top, '-r')).toEqual(['a.mov', 'b.mov', 'c.txt', 'd.mov']);
    expect(await names(`${top}/**/*.mov`)).toEqual(['a.mov', 'b.mov', 'd.mov']);
    expect(await names(`${top}/day?/*`)).toEqual(['b.mov', 'c.txt']);
    expect(await names(`${top}/day1/b.mov`)).toEqual(['b.mov']);
    expect(await names(`${top}/{a,x}.mov`)).toEqual(['a.mov']);
    expect((await cli.run(['ls', `${top}/**`, '--count'])).stdout).toBe('4\n');
    expect((await cli.run(['ls', `${top}/none`])).code).toBe(3);
    expect(await names(`${top}/none*`)).toEqual([]);
    expect(await names(`folder:${top}`)).toEqual(['a.mov']);
  });

  it('ls searches for words in the folder of a path, and exits with 2 for two folders', async () => {
    await fill('harbour.txt', 'quay.txt', 'day1/harbour.txt');
    expect(await names(top, 'harbour')).toEqual(['harbour.txt']);
    expect(await names('harbour', top)).toEqual(['harbour.txt']);
    expect((await cli.run(['ls', top, '--folder', top])).code).toBe(2);
    expect((await cli.run(['ls', top, '/other'])).code).toBe(2);
  });
});

describe('asset paths', () => {
  it('get and rename accept the path of an asset, and get explains a missing path or a folder', async () => {
    await fill('a.txt', 'day1/a.txt');
    const [{ uid }] = await cli.json(['get', `${top}/day1/a.txt`]);
    expect((await cli.json(['rename', `${top}/day1/a.txt`, 'b.txt'])).uid).toBe(uid);
    expect(await assetPaths()).toEqual(['/a.txt', '/day1/b.txt']);
    const missing = await cli.run(['get', `${top}/day1/a.txt`]);
    expect([missing.code, missing.stderr]).toEqual([
      3,
      expect.stringContaining(`no asset or folder at ${top}/day1/a.txt`),
    ]);
    const folder = await cli.run(['get', `${top}/day1`]);
    expect([folder.code, folder.stderr]).toEqual([2, expect.stringContaining(`${top}/day1 is a folder`)]);
  });

  it('get exits with 2 if two assets have the same path', async () => {
    await fill('a.txt', 'b.txt');
    await cli.json(['rename', `${top}/b.txt`, 'a.txt']);
    const { code, stderr } = await cli.run(['get', `${top}/a.txt`]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`2 assets are at ${top}/a.txt`)]);
  });

  it('ls and rm treat brackets and parentheses in a name literally', async () => {
    await fill('clip [1].txt', 'clip 1.txt', 'clip (1).txt', 'clip (1) b.txt');
    expect(await names(`${top}/clip [1].txt`)).toEqual(['clip [1].txt']);
    expect(await names(`${top}/clip (1)*`)).toEqual(['clip (1) b.txt', 'clip (1).txt']);
    for (const code of [0, 3]) expect((await cli.run(['rm', 'clip [1].txt', '--yes'])).code).toBe(code);
    for (const code of [0, 3]) expect((await cli.run(['rm', `${top}/clip (1).txt`, '--yes'])).code).toBe(code);
    expect(await assetPaths()).toEqual(['/clip (1) b.txt', '/clip 1.txt']);
  });

  it('get and rm prefer an asset whose name is a glob to the matches of the glob', async () => {
    await fill('a*.txt', 'ab.txt');
    await fill('x.txt'); // later
    expect(await cli.json(['get', `${top}/a*.txt`])).toMatchObject([{ name: 'a*.txt' }]);
    await cli.json(['update', `${top}/x.txt`, '--name', 'a*.txt']);
    expect((await cli.run(['rm', `${top}/a*.txt`, '--yes'])).code).toBe(2);
    expect(await cli.json(['rm', `${top}/a*.txt`, '--newest', '-n'])).toHaveLength(1);
  });

  it('videos rm matches only videos, and videos ls suggests ls --type video for a folder', async () => {
    await fill('a.txt');
    expect((await cli.run(['videos', 'rm', `${top}/*`, '--yes'])).code).toBe(3);
    expect((await cli.run(['videos', 'ls', top])).stderr).toContain(`mediactl ls ${top} --type video`);
  });

  it('paths match regardless of repeated slashes and Unicode normalization', async () => {
    await fill('e\u0301te\u0301/a.txt');
    expect(await cli.json(['get', `/${top}//\u00e9t\u00e9/a.txt`])).toMatchObject([{ name: 'a.txt' }]);
    expect(await names(`${top}/\u00e9*/*`)).toEqual(['a.txt']);
  });

  it('rm exits with 6 and deletes nothing if the service returns an asset of another folder', async () => {
    const folders = ['In', 'Out'].map((name, at) => ({ uid: `00000000-0000-4000-8000-0000000000f${at}`, name }));
    const asset = { uid: '00000000-0000-4000-8000-000000000001', name: 'a.txt', parent: folders[1]?.uid };
    const deleted: string[] = [];
    const url = await startServer((request, response) => {
      if (request.method === 'DELETE') deleted.push(request.url ?? '');
      if (/\/workspaces\/(\?|$)/.test(request.url ?? ''))
        return respond(response, 200, { items: [{ uid: sandbox.workspace }] });
      return respond(response, 200, request.url?.includes('/folders/') ? folders : { items: [asset], count: 1 });
    });
    for (const id of ['/In/a.txt', '/In/a*'])
      expect((await cli.run(['rm', id, '--yes'], { environment: { MEDIACTL_BASE_URL: url } })).code).toBe(6);
    expect(deleted).toEqual([]);
  });
});

it('upload --duplicates skip-anywhere reports the current path of a duplicate that was moved', async () => {
  await fill('A/a.txt');
  await cli.json(['mv', `${top}/A/a.txt`, `${top}/B`, '--create-folders']);
  const path = join(directoryOf('copy.txt'), 'copy.txt');
  writeFileSync(path, `${top}/A/a.txt`);
  const skip = ['upload', path, `${top}/A`, '--duplicates', 'skip-anywhere'];
  for (const args of [['-n'], []])
    expect(await cli.json([...skip, ...args])).toMatchObject([
      { outcome: 'duplicate', duplicate_of: `${top}/B/a.txt` },
    ]);
});

describe('glob arguments', () => {
  it('rm lists the matches of a glob in its prompt, and --yes answers it', async () => {
    await fill('A001.txt', 'A002.txt', 'B001.txt', 'day1/A003.txt');
    const asked = await cli.run(['rm', `${top}/A00*`], { tty: true, stdin: 'n\n' });
    expect([asked.code, asked.stderr]).toEqual([130, expect.stringContaining('Move 2 assets to the trash?')]);
    expect(asked.stderr).toContain('A001.txt');
    expect((await cli.run(['rm', `${top}/A00*`])).code).toBe(2);
    expect((await cli.run(['rm', `${top}/A00*`, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/B001.txt', '/day1/A003.txt']);
    // A glob begins with a slash, so that a script that deletes by name deletes nothing else.
    const bare = await cli.run(['rm', 'A00*', '--yes']);
    expect([bare.code, bare.stderr]).toEqual([3, expect.stringContaining("'/**/A00*' matches in all folders")]);
    expect((await cli.run(['rm', `${top}/**/A00*`, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/B001.txt']);
    expect((await cli.run(['rm', `${top}/B*`, '--newest', '--yes'])).code).toBe(2);
  });

  it('rm - treats a glob on stdin as a literal name', async () => {
    await fill('A001.txt', 'A002.txt');
    expect((await cli.run(['rm', '-', '--yes'], { stdin: 'A00*\n' })).code).toBe(3);
    expect(await assetPaths()).toEqual(['/A001.txt', '/A002.txt']);
  });

  it('rm of more than 100 matches requires --max-delete', async () => {
    const { uid: parent_folder_uid } = (await cli.json(['folders', 'ls'])).find(
      ({ path }: { path: string }) => path === top,
    );
    await Promise.all(Array.from({ length: 101 }, (_, n) => create(5, { asset_name: `${n}.txt`, parent_folder_uid })));
    expect((await cli.run(['rm', `${top}/*`, '--yes'])).code).toBe(2);
    expect((await cli.run(['rm', `${top}/*`, '--yes', '--max-delete', '101'])).code).toBe(0);
  });

  it('update, tag and mv require --yes for a glob, and wait and download accept it', async () => {
    await fill('a.txt', 'b.txt', 'c.md');
    expect((await cli.run(['tag', `${top}/*.txt`, '--add', 'sea'])).code).toBe(2);
    expect((await cli.run(['tag', `${top}/*.txt`, '--add', 'sea', '--yes'])).code).toBe(0);
    expect(await names(top, '--tag', 'sea')).toEqual(['a.txt', 'b.txt']);
    expect((await cli.run(['tag', `${top}/a.txt`, '--remove', 'sea'])).code).toBe(0);
    expect(await names(top, '--tag', 'sea')).toEqual(['b.txt']);
    // A glob asks even if it matches one asset.
    for (const args of [
      ['tag', `${top}/b*`, '--add', 'x'],
      ['mv', `${top}/b*`, '/'],
      ['update', `${top}/b*`, '--name', 'x'],
    ])
      expect((await cli.run(args)).code).toBe(2);
    expect(await cli.json(['wait', `${top}/*`])).toHaveLength(3);
    expect(await cli.json(['wait', '--tag', 'sea', '--folder', top])).toHaveLength(1);
    const out = join(cli.home, 'out');
    expect(await cli.json(['download', `${top}/*.txt`, '-d', out])).toHaveLength(2);
  });
});

describe('upload to a folder', () => {
  const upload = async (args: string[], options?: CliOptions) => cli.run(['upload', ...args], options);

  it('upload mirrors a directory, and creates missing folders after a single prompt', async () => {
    const directory = directoryOf('a.txt', 'day1/b.txt', 'day2/c.txt');
    const target = `${top}/News/2026`;
    const refused = await upload([directory, target]);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('--create-folders')]);
    const declined = await upload([directory, target], { tty: true, stdin: 'n\n' });
    expect(declined.code).toBe(130);
    expect(declined.stderr).toContain(`4 folders do not exist, such as ${top}/News. Create them? [y/N]`);
    expect(await assetPaths()).toEqual([]);
    const agreed = await upload([directory, target], { tty: true, stdin: 'y\n' });
    expect([agreed.code, agreed.stderr.match(/\[y\/N\]/g)]).toEqual([0, ['[y/N]']]);
    expect(await assetPaths()).toEqual(['/News/2026/a.txt', '/News/2026/day1/b.txt', '/News/2026/day2/c.txt']);
  });

  it('upload accepts several files and a new folder with --yes instead of --create-folders', async () => {
    const directory = directoryOf('a.txt', 'b.txt');
    const files = ['a.txt', 'b.txt'].map((name) => join(directory, name));
    expect((await upload([...files, `${top}/Inbox`, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/Inbox/a.txt', '/Inbox/b.txt']);
  });

  it('upload --flatten puts all files into one folder', async () => {
    expect((await upload(['--flatten', directoryOf('a.txt', 'day1/b.txt'), '--folder', top])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/a.txt', '/b.txt']);
  });

  it('upload mirrors a directory into a folder that --folder names by uid', async () => {
    const { uid } = await cli.json(['folders', 'create', '-p', `${top}/In`]);
    const args = [directoryOf('a.txt', 'day1/b.txt'), '--folder', uid, '--create-folders'];
    expect((await upload(args)).code).toBe(0);
    expect(await assetPaths()).toEqual(['/In/a.txt', '/In/day1/b.txt']);
  });

  it('upload treats existing paths as local, and exits with 2 for a mistyped one even with --yes', async () => {
    const directory = directoryOf('a.txt', 'b.txt');
    const [a, b] = ['a.txt', 'b.txt'].map((name) => join(directory, name)) as [string, string];
    expect((await cli.json(['upload', a, b])).map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      'uploaded',
      'uploaded',
    ]);
    const typo = join(directory, 'b.tyt');
    for (const consent of ['--yes', '--create-folders']) {
      const { code, stderr } = await upload([a, typo, consent]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('neither a local file nor a folder')]);
      expect(stderr).toContain(`folder:${typo}`);
    }
    const folders: { path: string }[] = await cli.json(['folders', 'ls', '-r']);
    expect(folders.map(({ path }) => path)).not.toContain(typo);
  });

  it('upload accepts a folder that looks like a local path if it exists or has the prefix folder:', async () => {
    const directory = directoryOf('a.txt', 'b.txt');
    const [a, b] = ['a.txt', 'b.txt'].map((name) => join(directory, name)) as [string, string];
    const path = join(directory, 'Library');
    expect((await upload([a, `folder:${path}`, '--create-folders'])).code).toBe(0);
    expect((await upload([b, path])).code).toBe(0);
    expect(await names(path)).toEqual(['a.txt', 'b.txt']);
  });

  it('upload refuses a target that is both local and remote, a glob or a file name, but accepts brackets', async () => {
    const directory = directoryOf('a.txt', 'sub/b.txt');
    const both = join(directory, 'sub');
    await cli.json(['folders', 'create', '-p', both]);
    for (const consent of ['--yes', '--create-folders'])
      expect((await upload([join(directory, 'a.txt'), both, consent])).stderr).toContain('both a local directory and');
    expect((await upload([join(directory, 'a.txt'), `${top}/Job [2]`, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/Job [2]/a.txt']);
    const glob = await upload([join(directory, 'a.txt'), '/No*Folder', '--yes']);
    expect([glob.code, glob.stderr]).toEqual([2, expect.stringContaining('a glob names no folder')]);
    expect((await upload([both])).stderr).toContain('both a local directory and');
    expect((await upload(['/'])).code).toBe(2);
    const name = await upload([join(directory, 'a.txt'), `${top}/new/b.txt`, '--yes']);
    expect([name.code, name.stderr]).toEqual([2, expect.stringContaining('it looks like a file name')]);
  });

  it('sync prompts before it creates the target folder, but not for its subfolders', async () => {
    const directory = directoryOf('a.txt', 'day1/b.txt');
    const typo = await cli.run(['sync', directory, `${top}/Typo`], { tty: true, stdin: 'n\n' });
    expect([typo.code, await assetPaths()]).toEqual([130, []]);
    const known = await cli.run(['sync', directory, top], { tty: true, stdin: '' });
    expect([known.code, await assetPaths()]).toEqual([0, ['/a.txt', '/day1/b.txt']]);
  });

  it('upload exits with 2 for two target folders, and treats a single path as local', async () => {
    const directory = directoryOf('a.txt');
    expect((await upload([directory, top, '--folder', top])).code).toBe(2);
    const one = await upload([top]);
    expect([one.code, one.stderr]).toEqual([2, expect.stringContaining(`no such file: ${top}`)]);
  });

  it('sync and check accept the folder as their last argument', async () => {
    const directory = directoryOf('a.txt', 'day1/b.txt');
    const target = `${top}/Mirror`;
    expect((await cli.run(['check', directory, top])).code).toBe(11);
    expect((await cli.run(['sync', directory, target])).code).toBe(0);
    expect((await cli.run(['check', directory, target])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/Mirror/a.txt', '/Mirror/day1/b.txt']);
    expect((await cli.run(['check', directory, target, '--folder', top])).code).toBe(2);
  });
});

describe('mv', () => {
  it('mv moves assets by path, glob, filter and uid', async () => {
    await fill('a.txt', 'b.txt', 'c.md', 'd.md');
    await cli.run(['tag', `${top}/d.md`, '--add', `tag-${count}`]);
    const to = `${top}/Archive`;
    const refused = await cli.run(['mv', `${top}/a.txt`, to]);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('--create-folders')]);
    expect(await cli.json(['mv', `${top}/a.txt`, to, '--create-folders'])).toMatchObject([
      { name: 'a.txt', outcome: 'moved', error: null },
    ]);
    expect(await cli.json(['get', `${to}/a.txt`])).toMatchObject([{ name: 'a.txt' }]);
    expect(await cli.json(['mv', `${top}/*.txt`, `${top}/c.md`, to, '--yes'])).toHaveLength(2);
    expect((await cli.run(['mv', '--tag', `tag-${count}`, to, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/Archive/a.txt', '/Archive/b.txt', '/Archive/c.md', '/Archive/d.md']);
    const [{ uid }] = await cli.json(['get', `${to}/a.txt`]);
    await cli.json(['mv', uid, '/Root', '--create-folders']);
    expect(await cli.json(['get', '/Root/a.txt'])).toMatchObject([{ uid }]);
    await cli.json(['rm', uid, '--yes']);
  });

  it('mv moves a folder into an existing folder, or renames it to a path that does not exist', async () => {
    await fill('Old/day1/a.txt');
    await cli.json(['folders', 'create', `${top}/In`]);
    expect((await cli.json(['mv', `${top}/Old`, `${top}/In`])).path).toBe(`${top}/In/Old`);
    expect((await cli.json(['mv', `${top}/In/Old`, `${top}/New`])).path).toBe(`${top}/New`);
    expect((await cli.json(['rename', `${top}/New`, 'Newer'])).path).toBe(`${top}/Newer`);
    expect(await assetPaths()).toEqual(['/Newer/day1/a.txt']);
    expect((await cli.run(['mv', `${top}/Newer`, `${top}/Newer/day1`])).code).toBe(2);
    expect((await cli.run(['mv', `${top}/Newer`, `${top}/Newer/new`])).code).toBe(2);
    const dry = await cli.json(['mv', `${top}/Newer`, `${top}/no/such`, '-n']);
    expect(dry).toMatchObject([{ method: 'PATCH', body: { name: 'such' } }]);
  });

  it('mv refuses to move a folder with filters, into itself or beside an equal name, and creates nothing', async () => {
    await fill('In/a.txt', 'Out/In/b.txt');
    const folders = async () => (await cli.json(['folders', 'ls', '-r', top])).length;
    const before = await folders();
    const refused: [string[], number][] = [
      [[`${top}/In`, `${top}/Out`, '--tag', 'x'], 2],
      [[`${top}/In`, `${top}/In/new/deep`, '--create-folders'], 2],
      [[`${top}/In`, `${top}/Out`], 6],
      [[`${top}/In`, `${top}/..`], 2],
      [[`${top}/In`, `${top}/In*`], 2],
      [[`${top}/In`, `${top}/a.mp4`], 2],
    ];
    for (const [args, code] of refused) expect([args, (await cli.run(['mv', ...args])).code]).toEqual([args, code]);
    for (const [name, code] of [
      ['..', 2],
      ['Out', 6],
    ] as const)
      expect((await cli.run(['rename', `${top}/In`, name])).code).toBe(code);
    expect(await folders()).toBe(before);
  });

  it('mv, get and rm -r accept a folder with glob characters in its name', async () => {
    await cli.json(['folders', 'create', '-p', `${top}/X{a,b}*`]);
    await fill('a.txt');
    expect(await cli.json(['mv', `${top}/a.txt`, `${top}/X{a,b}*`])).toMatchObject([
      { name: 'a.txt', outcome: 'moved', error: null },
    ]);
    expect(await cli.json(['get', `${top}/X{a,b}*/a.txt`])).toMatchObject([{ name: 'a.txt' }]);
    expect((await cli.run(['rm', '-r', `${top}/X{a,b}*`, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual([]);
  });

  it('mv exits with 2 if the target is not a folder', async () => {
    await fill('a.txt');
    const name = await cli.run(['mv', `${top}/a.txt`, `${top}/b.txt`, '--yes']);
    expect([name.code, name.stderr]).toEqual([2, expect.stringContaining('looks like an asset')]);
    expect(await cli.json(['mv', `${top}/a.txt`, `${top}/new/deep`, '-n'])).toHaveLength(3);
    expect((await cli.run(['rename', `${top}/a.txt`, '/x/b.txt'])).code).toBe(2);
    expect((await cli.run(['mv', 'a.txt', 'b.txt'])).code).toBe(2);
    expect((await cli.run(['mv', `${top}/a.txt`])).code).toBe(2);
  });

  it('mv prints one error and stops after the first requests if the service refuses to move assets', async () => {
    await fill('a.txt', 'b.txt');
    const strict = await Interposer.start(sandbox.url, ({ method }) =>
      method === 'PATCH'
        ? respondWith(422, { error: { code: 'validation_failed', message: 'unknown field' } })
        : undefined,
    );
    const environment = { MEDIACTL_BASE_URL: strict.url };
    const one = await cli.run(['mv', `${top}/a.txt`, '/'], { environment });
    expect([one.code, one.stderr]).toEqual([6, expect.stringContaining('the service refused to move a.txt')]);
    expect(one.stderr).toContain('field_names.asset_parent');
    const many = await cli.run(['mv', `${top}/*`, '/', '--yes', '--json'], { environment });
    expect(many.code).not.toBe(0);
    expect(strict.methods.filter((method) => method === 'PATCH').length).toBeLessThanOrEqual(1 + 2);
  });

  it('mv exits with 6 if the service did not move the asset, even if the record shows no folder', async () => {
    const asset = { uid: '00000000-0000-4000-8000-000000000001', name: 'a.txt' };
    const folder = { uid: '00000000-0000-4000-8000-0000000000f1', name: 'In', children: [] };
    let isIn = false;
    const url = await startServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
      if (pathname.endsWith('/folders/')) return respond(response, 200, [folder]);
      if (pathname.endsWith('/workspaces/')) return respond(response, 200, { items: [{ uid: sandbox.workspace }] });
      const isListed = !searchParams.has('parent') || isIn;
      if (pathname.endsWith('/assets/')) return respond(response, 200, { items: isListed ? [asset] : [], count: 1 });
      return respond(response, 200, asset);
    });
    const move = () => cli.run(['mv', asset.uid, '/In'], { environment: { MEDIACTL_BASE_URL: url } });
    const ignored = await move();
    expect([ignored.code, ignored.stderr]).toEqual([6, expect.stringContaining('did not move a.txt')]);
    isIn = true;
    expect((await move()).code).toBe(0);
  });

  it('mv writes the folder field that the settings name, or else the one that the record shows', () => {
    const fieldsOf = (names: NameOverrides) =>
      new AssetsApi({} as Transport, names).folderFields({ uid: 'a', folder_uid: null }, 'f');
    expect(fieldsOf({})).toEqual({ folder_uid: 'f' });
    expect(fieldsOf({ asset_parent: 'directory' })).toEqual({ directory: 'f' });
  });
});

describe('rm -r', () => {
  it('rm -r counts the content in its prompt, moves the assets to the trash and deletes the folders', async () => {
    await fill('Old/a.txt', 'Old/day1/b.txt', 'kept.txt');
    const without = await cli.run(['rm', `${top}/Old`, '--yes']);
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining(`mediactl rm -r ${top}/Old`)]);
    const asked = await cli.run(['rm', '-r', `${top}/Old`], { tty: true, stdin: 'n\n' });
    expect(asked.code).toBe(130);
    expect(asked.stderr).toContain('Move 2 assets to the trash and delete 2 folders? [y/N]');
    expect((await cli.run(['rm', '-r', `${top}/Old`])).code).toBe(2);
    const dry = await cli.json(['rm', '-r', `${top}/Old`, '-n']);
    expect(dry.map(({ method }: { method: string }) => method)).toEqual(['DELETE', 'DELETE', 'DELETE', 'DELETE']);
    expect((await cli.run(['rm', '-r', `${top}/Old`, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/kept.txt']);
    expect((await cli.run(['folders', 'ls', `${top}/Old`])).code).toBe(3);
  });

  it('rm -r requires --yes for an empty folder, and always refuses the top level, assets and filters', async () => {
    await cli.json(['folders', 'create', `${top}/Empty`]);
    expect((await cli.run(['rm', '-r', `${top}/Empty`])).code).toBe(2);
    expect((await cli.run(['rm', '-r', `${top}/Empty`, '--yes'])).code).toBe(0);
    expect((await cli.run(['rm', '-r', '/', '--yes'])).code).toBe(2);
    expect((await cli.run(['rm', '-r', 'a.txt', '--yes'])).code).toBe(2);
    await cli.json(['folders', 'create', `${top}/Tagged`]);
    const filtered = await cli.run(['rm', '-r', `${top}/Tagged`, '--tag', 'draft', '--yes']);
    expect([filtered.code, filtered.stderr]).toEqual([2, expect.stringContaining('folders and filters')]);
  });

  it('rm -r keeps assets that another command moves out of the folder during the prompt', async () => {
    await fill('Old/a.txt', 'Old/b.txt', 'Old/day1/c.txt', 'Keep/d.txt');
    const stdin = new PassThrough();
    let moved: Promise<unknown> | undefined;
    const { code } = await cli.run(['rm', '-r', `${top}/Old`], {
      tty: true,
      stdin,
      onStderr: (text) => {
        if (!text.includes('[y/N]')) return;
        const move = async (path: string) => cli.json(['mv', `${top}/Old/${path}`, `${top}/Keep`]);
        moved ??= move('a.txt')
          .then(() => move('day1'))
          .finally(() => stdin.end('y\n'));
      },
    });
    await moved;
    expect(code).toBe(11);
    expect(await assetPaths()).toEqual(['/Keep/a.txt', '/Keep/d.txt', '/Keep/day1/c.txt']);
  });

  it('rm -r keeps the folder if an asset cannot be deleted, or if an asset or a folder is added meanwhile', async () => {
    await fill('Old/a.txt', 'Old/b.txt');
    const failing = await Interposer.start(sandbox.url, ({ method, path }) =>
      method === 'DELETE' && path.includes('/assets/')
        ? respondWith(409, { error: { code: 'busy', message: 'busy' } })
        : undefined,
    );
    const environment = { MEDIACTL_BASE_URL: failing.url };
    expect((await cli.run(['rm', '-r', `${top}/Old`, '--yes'], { environment })).code).not.toBe(0);
    expect(await assetPaths()).toEqual(['/Old/a.txt', '/Old/b.txt']);
    expect(failing.requests.filter(({ method, path }) => method === 'DELETE' && path.includes('/folders/'))).toEqual(
      [],
    );
    const late = join(directoryOf('late.txt'), 'late.txt');
    let arrives = () => cli.json(['upload', late, `${top}/Old`]);
    const busy = await Interposer.start(sandbox.url, ({ method, path }) =>
      method === 'DELETE' && path.includes('/assets/')
        ? {
            beforeResponse: async () => {
              const arriving = arrives;
              arrives = async () => undefined; // once, though assets are deleted at the same time
              await arriving();
            },
          }
        : undefined,
    );
    const { code } = await cli.run(['rm', '-r', `${top}/Old`, '--yes'], {
      environment: { MEDIACTL_BASE_URL: busy.url },
    });
    expect(code).toBe(11);
    expect(await assetPaths()).toEqual(['/Old/late.txt']);
    arrives = () => cli.json(['folders', 'create', `${top}/Old/late`]);
    const again = await cli.run(['rm', '-r', `${top}/Old`, '--yes'], { environment: { MEDIACTL_BASE_URL: busy.url } });
    expect(again.code).toBe(11);
    expect(await cli.json(['folders', 'ls', `${top}/Old`])).toMatchObject([{ path: `${top}/Old/late` }]);
  });

  it('rm -r sends no delete request for a folder that contains a kept folder', async () => {
    await fill('Old/day1/a.txt', 'Old/day2/b.txt');
    const late = join(directoryOf('late.txt'), 'late.txt');
    let arrival: Promise<unknown> | undefined; // once, though assets are deleted at the same time
    const busy = await Interposer.start(sandbox.url, ({ method, path }) =>
      method === 'DELETE' && path.includes('/assets/')
        ? {
            beforeResponse: async () => {
              arrival ??= cli.json(['upload', late, `${top}/Old/day1`]);
              await arrival;
            },
          }
        : undefined,
    );
    const { code } = await cli.run(['rm', '-r', `${top}/Old`, '--yes'], {
      environment: { MEDIACTL_BASE_URL: busy.url },
    });
    expect(code).toBe(11);
    expect(await assetPaths()).toEqual(['/Old/day1/late.txt']);
    const deletions = busy.requests.filter(({ method, path }) => method === 'DELETE' && path.includes('/folders/'));
    expect(deletions).toHaveLength(1); // of day2; a service might delete a folder with its content
  });
});
