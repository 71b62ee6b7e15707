import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AssetsApi } from '../../src/client/api/assets.ts';
import type { Transport } from '../../src/client/http/transport.ts';
import type { NameOverrides } from '../../src/contract/assumptions.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { acceleratedClockInProcess } from '../support/clock.ts';
import { FaultProxy, respondWith } from '../support/fault-proxy.ts';
import { respond, startServer } from '../support/http-server.ts';
import { rawHttp } from '../support/raw-http.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

/* Paths that begin with a slash are folders of the library, and paths and globs of its assets. */

let sandbox: TestSandbox;
let cli: Cli;
/** Folder at the top level in which a test keeps what it creates. */
let folder: string;
let testCount = 0;
beforeAll(async () => {
  sandbox = await startSandbox({ strict: false, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
});
afterAll(() => sandbox.end());
const { createUploadOfSize } = rawHttp(() => sandbox);
const account = () => ({
  MEDIACTL_API_KEY: sandbox.key,
  MEDIACTL_BASE_URL: sandbox.url,
  MEDIACTL_WORKSPACE: sandbox.workspace,
});
beforeEach(async () => {
  cli = new Cli(account());
  folder = `/T${testCount++}`;
  await cli.json(['folders', 'create', folder]);
});

/** Writes files with content of their own below a new directory, and returns the directory. */
function createDirectory(...paths: string[]): string {
  const directory = join(cli.home, `rushes${testCount}`);
  for (const path of paths) {
    mkdirSync(join(directory, path, '..'), { recursive: true });
    writeFileSync(join(directory, path), `${folder}/${path}`);
  }
  return directory;
}

/** Uploads files to the folder of the test, with the directories as subfolders. */
async function uploadFiles(...paths: string[]): Promise<void> {
  expect((await cli.run(['upload', createDirectory(...paths), folder, '--create-folders'])).code).toBe(0);
}

/** Lists the paths of all assets below a folder. */
async function assetPaths(parent = folder): Promise<string[]> {
  const folders: { uid: string; path: string }[] = await cli.json(['folders', 'ls', '-r']);
  const pathOf = new Map(folders.map(({ uid, path }) => [uid, path]));
  const assets: { name: string; parent: string | null }[] = await cli.json(['ls', parent, '-r', '--all']);
  return assets.map(({ name, parent: uid }) => `${(uid && pathOf.get(uid)) || ''}/${name}`.replace(folder, '')).sort();
}

const listNames = async (...args: string[]) =>
  (await cli.json(['ls', '--all', ...args])).map(({ name }: { name: string }) => name).sort();

describe('ls', () => {
  it('ls lists a folder, a folder tree with -r, the matches of a glob, and a single path', async () => {
    await uploadFiles('a.mov', 'day1/b.mov', 'day1/c.txt', 'day2/deep/d.mov');
    expect(await listNames(folder)).toEqual(['a.mov']);
    expect(await listNames(folder, '-r')).toEqual(['a.mov', 'b.mov', 'c.txt', 'd.mov']);
    expect(await listNames(`${folder}/**/*.mov`)).toEqual(['a.mov', 'b.mov', 'd.mov']);
    expect(await listNames(`${folder}/day?/*`)).toEqual(['b.mov', 'c.txt']);
    expect(await listNames(`${folder}/day1/b.mov`)).toEqual(['b.mov']);
    expect(await listNames(`${folder}/{a,x}.mov`)).toEqual(['a.mov']);
    expect((await cli.run(['ls', `${folder}/**`, '--count'])).stdout).toBe('4\n');
    expect((await cli.run(['ls', `${folder}/none`])).code).toBe(3);
    expect(await listNames(`folder:${folder}`)).toEqual(['a.mov']);
  });

  it('ls searches for words in the folder of a path, and exits with 2 for two folders', async () => {
    await uploadFiles('harbour.txt', 'quay.txt', 'day1/harbour.txt');
    expect(await listNames(folder, 'harbour')).toEqual(['harbour.txt']);
    expect(await listNames('harbour', folder)).toEqual(['harbour.txt']);
    expect((await cli.run(['ls', folder, '/'])).code).toBe(2);
    expect((await cli.run(['ls', folder, '/other'])).code).toBe(2);
  });
});

describe('asset paths', () => {
  it('get and rename accept the path of an asset, and get explains a missing path or a folder', async () => {
    await uploadFiles('a.txt', 'day1/a.txt');
    const [{ uid }] = await cli.json(['get', `${folder}/day1/a.txt`]);
    expect((await cli.json(['rename', `${folder}/day1/a.txt`, 'b.txt'])).uid).toBe(uid);
    expect(await assetPaths()).toEqual(['/a.txt', '/day1/b.txt']);
    const missing = await cli.run(['get', `${folder}/day1/a.txt`]);
    expect([missing.code, missing.stderr]).toEqual([
      3,
      expect.stringContaining(`no asset or folder at ${folder}/day1/a.txt`),
    ]);
    const getFolder = await cli.run(['get', `${folder}/day1`]);
    expect([getFolder.code, getFolder.stderr]).toEqual([2, expect.stringContaining(`${folder}/day1 is a folder`)]);
  });

  it('get exits with 2 if two assets have the same path', async () => {
    await uploadFiles('a.txt', 'b.txt');
    await cli.json(['rename', `${folder}/b.txt`, 'a.txt']);
    const { code, stderr } = await cli.run(['get', `${folder}/a.txt`]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`2 assets are at ${folder}/a.txt`)]);
  });

  it('ls and rm treat brackets and parentheses in a name literally', async () => {
    await uploadFiles('clip [1].txt', 'clip 1.txt', 'clip (1).txt', 'clip (1) b.txt');
    expect(await listNames(`${folder}/clip [1].txt`)).toEqual(['clip [1].txt']);
    expect(await listNames(`${folder}/clip (1)*`)).toEqual(['clip (1) b.txt', 'clip (1).txt']);
    // The second rm of each name finds no asset.
    for (const code of [0, 3]) expect((await cli.run(['rm', 'clip [1].txt', '--yes'])).code).toBe(code);
    for (const code of [0, 3]) expect((await cli.run(['rm', `${folder}/clip (1).txt`, '--yes'])).code).toBe(code);
    expect(await assetPaths()).toEqual(['/clip (1) b.txt', '/clip 1.txt']);
  });

  it('get and rm prefer an asset whose name is a glob to the matches of the glob', async () => {
    await uploadFiles('a*.txt', 'ab.txt');
    await uploadFiles('x.txt'); // later
    expect(await cli.json(['get', `${folder}/a*.txt`])).toMatchObject([{ name: 'a*.txt' }]);
    await cli.json(['update', `${folder}/x.txt`, '--name', 'a*.txt']);
    expect((await cli.run(['rm', `${folder}/a*.txt`, '--yes'])).code).toBe(2);
    expect(await cli.json(['rm', `${folder}/a*.txt`, '--newest', '-n'])).toHaveLength(1);
  });

  it('videos rm matches only videos, and videos ls suggests ls --type video for a folder', async () => {
    await uploadFiles('a.txt');
    expect((await cli.run(['videos', 'rm', `${folder}/*`, '--yes'])).code).toBe(3);
    expect((await cli.run(['videos', 'ls', folder])).stderr).toContain(`mediactl ls ${folder} --type video`);
  });

  it('paths match regardless of repeated slashes and Unicode normalization', async () => {
    await uploadFiles('e\u0301te\u0301/a.txt');
    expect(await cli.json(['get', `/${folder}//\u00e9t\u00e9/a.txt`])).toMatchObject([{ name: 'a.txt' }]);
    expect(await listNames(`${folder}/\u00e9*/*`)).toEqual(['a.txt']);
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
    for (const path of ['/In/a.txt', '/In/a*'])
      expect((await cli.run(['rm', path, '--yes'], { environment: { MEDIACTL_BASE_URL: url } })).code).toBe(6);
    expect(deleted).toEqual([]);
  });
});

describe('names with accents, which Unicode encodes in two ways', () => {
  const stem = (n: number) => `Übung São 한글 が ${n}`;

  /** Creates an asset. @returns its uid */
  async function createAsset(asset_name: string): Promise<string> {
    const created = await (await createUploadOfSize(0, { asset_name })).json();
    return created.asset_uid;
  }

  it.each(['NFC', 'NFD'] as const)(
    'an asset whose name is stored in %s is found by name, path and glob, typed in either form',
    async (stored) => {
      const name = `${stem(testCount)}.txt`.normalize(stored);
      const assetUid = await createAsset(name);
      await cli.json(['mv', assetUid, folder]);
      for (const form of ['NFC', 'NFD'] as const)
        for (const id of [name, `${folder}/${name}`, `${folder}/${name.replace('.txt', '*')}`]) {
          const found = await cli.json(['get', id.normalize(form)]);
          expect([form, id, found[0].uid]).toEqual([form, id, assetUid]);
        }
    },
  );

  it('of two assets whose names differ in the Unicode form only, the one that was typed is found', async () => {
    const [composed = '', decomposed = ''] = ['NFC', 'NFD'].map((form) => `${stem(testCount)}.txt`.normalize(form));
    const uids = [await createAsset(composed), await createAsset(decomposed)];
    expect((await cli.json(['get', composed]))[0].uid).toBe(uids[0]);
    expect((await cli.json(['get', decomposed]))[0].uid).toBe(uids[1]);
  });

  it.each(['NFC', 'NFD'] as const)(
    'an asset in %s is found by name and path if the search of the service compares bytes',
    async (stored) => {
      const asset = { uid: '00000000-0000-4000-8000-000000000001', name: 'Übung.txt'.normalize(stored), parent: null };
      let listCount = 0;
      const url = await startServer((request, response) => {
        const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
        if (pathname.endsWith('/folders/')) return respond(response, 200, []);
        if (pathname.endsWith('/workspaces/')) return respond(response, 200, { items: [{ uid: sandbox.workspace }] });
        if (!pathname.endsWith('/assets/')) return respond(response, 200, asset);
        listCount++;
        const items = asset.name.includes(searchParams.get('search') ?? '') ? [asset] : [];
        return respond(response, 200, { items, count: items.length });
      });
      const options = { environment: { MEDIACTL_BASE_URL: url } };
      for (const form of ['NFC', 'NFD'] as const)
        for (const id of ['Übung.txt', '/Übung.txt'])
          expect((await cli.json(['get', id.normalize(form)], options))[0].uid).toBe(asset.uid);
      expect(listCount).toBe(6); // a name has two forms to search for; a path is listed
      // A name without accents has one form, and costs one request.
      expect((await cli.run(['get', 'Ubung.txt'], options)).code).toBe(3);
      expect(listCount).toBe(7);
    },
  );
});

it('upload --existing anywhere reports the current path of a duplicate that was moved', async () => {
  await uploadFiles('A/a.txt');
  await cli.json(['mv', `${folder}/A/a.txt`, `${folder}/B`, '--create-folders']);
  const path = join(createDirectory('copy.txt'), 'copy.txt');
  writeFileSync(path, `${folder}/A/a.txt`);
  const skip = ['upload', path, `${folder}/A`, '--existing', 'anywhere'];
  for (const args of [['-n'], []])
    expect(await cli.json([...skip, ...args])).toMatchObject([
      { outcome: 'duplicate', duplicate_of: `${folder}/B/a.txt` },
    ]);
});

it('ls and export of a glob that no asset matches exit with 3; with filters, or to count, the empty list is the answer', async () => {
  await uploadFiles('a.txt');
  const glob = `${folder}/*.mov`;
  for (const verb of ['ls', 'export'])
    expect(await cli.run([verb, glob])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`no asset matches ${glob}`),
    });
  const filtered = await cli.run(['ls', glob, '--tag', 'nope']);
  expect(filtered).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('no assets match the filters'),
  });
  expect(await cli.run(['ls', glob, '--count'])).toMatchObject({ code: 0, stdout: '0\n' });
});

describe('names that look like paths', () => {
  const names = ['.', '..', '../x.txt', 'a/b.txt', 'two\nlines.txt'];
  const uploadWithNames = async () => {
    const paths = names.map((_, at) => `${at}.txt`);
    await uploadFiles(...paths);
    for (const [at, name] of names.entries()) await cli.json(['update', `${folder}/${at}.txt`, '--name', name]);
  };

  it('* and ** match assets whose names are dots, or have a slash or a line break', async () => {
    await uploadWithNames();
    for (const glob of ['*', '**', '**/*']) expect(await listNames(`${folder}/${glob}`)).toEqual(names);
    expect(await listNames('/**')).toEqual(expect.arrayContaining(names));
    expect(await listNames(`${folder}/*.txt`)).toEqual(names.slice(2));
    expect((await cli.run(['ls', `${folder}/a/*`])).code).toBe(3);
    expect(await listNames(`${folder}/?`)).toEqual(['.']);
  });

  it('download, tag, mv and rm of a glob take assets whose names are dots, or have a slash or a line break', async () => {
    await uploadWithNames();
    await cli.json(['wait', `${folder}/*`]);
    const saved = await cli.json(['download', `${folder}/**`, '-d', join(cli.home, 'saved')]);
    expect(saved.map(({ outcome }: { outcome: string }) => outcome)).toEqual(names.map(() => 'downloaded'));
    expect(await cli.json(['tag', `${folder}/*`, '--add', 'sea', '--yes'])).toHaveLength(names.length);
    expect(await cli.json(['mv', `${folder}/*`, `${folder}/Out`, '--create-folders', '--yes'])).toHaveLength(
      names.length,
    );
    expect(await cli.json(['rm', `${folder}/**`, '--yes'])).toHaveLength(names.length);
    expect(await assetPaths()).toEqual([]);
  });

  it('a path finds an asset whose name has slashes, unless the folder of that path has such an asset', async () => {
    await uploadFiles('0.txt', '1.txt', 'a/c.txt');
    await cli.json(['update', `${folder}/0.txt`, '--name', 'a/b.txt']);
    await cli.json(['update', `${folder}/1.txt`, '--name', 'none/deep/d.txt']);
    expect(await cli.json(['get', `${folder}/a/b.txt`])).toMatchObject([{ name: 'a/b.txt' }]);
    expect(await listNames(`${folder}/a/b.txt`)).toEqual(['a/b.txt']);
    expect(await cli.json(['get', `${folder}/none/deep/d.txt`])).toMatchObject([{ name: 'none/deep/d.txt' }]);
    await cli.json(['update', `${folder}/a/c.txt`, '--name', 'b.txt']);
    const proxy = await FaultProxy.start(sandbox.url);
    const environment = { MEDIACTL_BASE_URL: proxy.url };
    expect(await cli.json(['get', `${folder}/a/b.txt`], { environment })).toMatchObject([{ name: 'b.txt' }]);
    const lookups = () => proxy.requests.filter(({ path }) => path.includes('parent=')).length;
    expect(lookups()).toBe(1);
    // The path of a folder is looked up as an asset once.
    expect((await cli.run(['get', `${folder}/a`], { environment })).code).toBe(2);
    expect(lookups()).toBe(2);
  });
});

describe('glob arguments', () => {
  it('ls understands escapes, and alternatives with slashes', async () => {
    await uploadFiles('a*b/x.txt', 'axb/y.txt', '{c,d}/z.txt', 'c/w.txt');
    expect(await listNames(`${folder}/a\\*b/*`)).toEqual(['x.txt']);
    expect(await listNames(`${folder}/a\\*b/x.txt`)).toEqual(['x.txt']);
    expect(await listNames(`${folder}/a*b/*.txt`)).toEqual(['x.txt']); // the folder with this name
    expect(await listNames(`${folder}/{c,d}/*`)).toEqual(['z.txt']);
    expect(await listNames(`${folder}/{axb/y,c/w}.txt`)).toEqual(['w.txt', 'y.txt']);
    expect(await listNames(`${folder}/{axb,c}/**`)).toEqual(['w.txt', 'y.txt']);
  });

  it('rm lists the matches of a glob in its prompt, and --yes answers it', async () => {
    await uploadFiles('A001.txt', 'A002.txt', 'B001.txt', 'day1/A003.txt');
    const prompted = await cli.run(['rm', `${folder}/A00*`], { tty: true, stdin: 'n\n' });
    expect([prompted.code, prompted.stderr]).toEqual([130, expect.stringContaining('Move 2 assets to the trash?')]);
    expect(prompted.stderr).toContain('A001.txt');
    expect((await cli.run(['rm', `${folder}/A00*`])).code).toBe(2);
    expect((await cli.run(['rm', `${folder}/A00*`, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/B001.txt', '/day1/A003.txt']);
    // A glob begins with a slash, so that a script that deletes by name deletes nothing else.
    const glob = await cli.run(['rm', 'A00*', '--yes']);
    expect([glob.code, glob.stderr]).toEqual([3, expect.stringContaining("'/**/A00*' matches in all folders")]);
    expect((await cli.run(['rm', `${folder}/**/A00*`, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/B001.txt']);
    expect((await cli.run(['rm', `${folder}/B*`, '--newest', '--yes'])).code).toBe(2);
  });

  it('rm - treats a glob on stdin as a literal name', async () => {
    await uploadFiles('A001.txt', 'A002.txt');
    expect((await cli.run(['rm', '-', '--yes'], { stdin: 'A00*\n' })).code).toBe(3);
    expect(await assetPaths()).toEqual(['/A001.txt', '/A002.txt']);
  });

  it('rm of more than 100 matches requires --max-changes', async () => {
    const { uid: parent_folder_uid } = (await cli.json(['folders', 'ls'])).find(
      ({ path }: { path: string }) => path === folder,
    );
    await Promise.all(
      Array.from({ length: 101 }, (_, n) => createUploadOfSize(5, { asset_name: `${n}.txt`, parent_folder_uid })),
    );
    expect((await cli.run(['rm', `${folder}/*`, '--yes'])).code).toBe(2);
    expect((await cli.run(['rm', `${folder}/*`, '--yes', '--max-changes', '101'])).code).toBe(0);
  });

  it('update, tag and mv require --yes for a glob, and wait and download accept it', async () => {
    await uploadFiles('a.txt', 'b.txt', 'c.md');
    expect((await cli.run(['tag', `${folder}/*.txt`, '--add', 'sea'])).code).toBe(2);
    expect((await cli.run(['tag', `${folder}/*.txt`, '--add', 'sea', '--yes'])).code).toBe(0);
    expect(await listNames(folder, '--tag', 'sea')).toEqual(['a.txt', 'b.txt']);
    expect((await cli.run(['tag', `${folder}/a.txt`, '--remove', 'sea'])).code).toBe(0);
    expect(await listNames(folder, '--tag', 'sea')).toEqual(['b.txt']);
    // A glob asks even if it matches one asset.
    for (const args of [
      ['tag', `${folder}/b*`, '--add', 'x'],
      ['mv', `${folder}/b*`, '/'],
      ['update', `${folder}/b*`, '--name', 'x'],
    ])
      expect((await cli.run(args)).code).toBe(2);
    const limited = ['update', `${folder}/*`, '--description', 'x', '--max-changes', '2', '--yes'];
    expect((await cli.run(limited)).stderr).toContain('more than 2 assets match, and --max-changes is 2');
    expect(await cli.json(['wait', `${folder}/*`])).toHaveLength(3);
    const { stdout: stdin } = await cli.run(['ls', folder, '--tag', 'sea', '-q']);
    expect(await cli.json(['wait', '-'], { stdin })).toHaveLength(1);
    const out = join(cli.home, 'out');
    expect(await cli.json(['download', `${folder}/*.txt`, '-d', out])).toHaveLength(2);
  });
});

describe('the fields of a list', () => {
  beforeEach(() => uploadFiles('a.txt', 'day1/b.txt', 'day1/deep/c.txt'));

  it('each heading of ls on a wide terminal is a field that --fields selects', async () => {
    const { stdout } = await cli.run(['ls', '--limit', '3'], {
      tty: true,
      columns: 250,
      environment: { NO_COLOR: '1' },
    });
    const headings = (stdout.split('\n')[0] ?? '').split(/ {2,}/).filter(Boolean);
    const fields = headings.map((heading) => heading.toLowerCase().replaceAll(' ', '_'));
    expect(fields).toEqual(expect.arrayContaining(['uid', 'name', 'size', 'created_at', 'folder']));
    const { code, stderr } = await cli.run(['ls', '--limit', '3', '--json', '--fields', fields.join(',')]);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('warning')]);
  });

  it('--fields folder is the path of the folder, in one request that is told, and --json has the field of the service', async () => {
    const csv = await cli.run(['ls', `${folder}/day1/**`, '--sort', 'name', '--csv', '--fields', 'name,folder']);
    expect(csv.stdout).toBe(`name,folder\nb.txt,${folder}/day1\nc.txt,${folder}/day1/deep\n`);
    expect(csv.stderr).toContain('the folders were read too, in one request');
    expect(await cli.json(['get', `${folder}/a.txt`, '--fields', 'folder'])).toEqual([{ folder }]);
    expect((await cli.run(['get', `${folder}/a.txt`, '--fields', 'folder'])).stdout).toBe(`folder\t${folder}\n`);
    const [record] = await cli.json(['ls', folder]);
    expect([record.folder, record.parent]).toEqual([undefined, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  });

  it('--fields folder of an asset at the top level is /', async () => {
    const [{ asset_uid }] = await cli.json(['upload', join(createDirectory('top.txt'), 'top.txt'), '--folder', '/']);
    expect(await cli.json(['get', asset_uid, '--fields', 'folder'])).toEqual([{ folder: '/' }]);
  });

  it('ls -r shows the paths below the folder, on a terminal, in a pipe and as the field path', async () => {
    const expected = ['a.txt', 'day1/b.txt', 'day1/deep/c.txt'];
    const list = ['ls', folder, '-r', '--sort', 'name'];
    const shown = await cli.run(list, { tty: true, columns: 80, environment: { NO_COLOR: '1' } });
    expect(shown.stdout.split('\n').map((line) => line.split(' ')[0])).toEqual(['PATH', ...expected, '']);
    const piped = (await cli.run(list)).stdout.trimEnd().split('\n');
    expect(piped.map((line) => line.split('\t')[1])).toEqual(expected);
    expect(await cli.json([...list, '--fields', 'path'])).toEqual(expected.map((path) => ({ path })));
    expect(await cli.json(['ls', `${folder}/day1`, '-r', '--sort', 'name', '--fields', 'path'])).toEqual([
      { path: 'b.txt' },
      { path: 'deep/c.txt' },
    ]);
  });

  it('ls of a folder shows its folders on a terminal, and only assets to a program or with a filter', async () => {
    const terminal = { tty: true, columns: 100, environment: { NO_COLOR: '1' } };
    const firstWords = ({ stdout }: { stdout: string }) => stdout.split('\n').map((line) => line.split(' ')[0]);
    expect(firstWords(await cli.run(['ls', folder], terminal))).toEqual(['NAME', 'day1/', 'a.txt', '']);
    expect(firstWords(await cli.run(['ls', `${folder}/day1`], terminal))).toEqual(['NAME', 'deep/', 'b.txt', '']);
    expect(firstWords(await cli.run(['ls', '/'], terminal))).toContain(`${folder.slice(1)}/`);
    expect((await cli.run(['ls', folder, '--created-after', 'today'], terminal)).stdout).not.toContain('day1');
    expect((await cli.run(['ls', folder])).stdout).not.toContain('day1');
    expect((await cli.json(['ls', folder])).map(({ name }: { name: string }) => name)).toEqual(['a.txt']);
  });

  it('a word that names a folder and finds nothing is answered with the folder, by ls and by export', async () => {
    await cli.json(['folders', 'create', `/Quarry${testCount}`]);
    for (const verb of ['ls', 'export'])
      expect((await cli.run([verb, `quarry${testCount}`])).stderr).toContain(`mediactl ls /Quarry${testCount}`);
  });
});

describe('a folder that differs from the typed one in case only', () => {
  const typed = () => `${folder}/press`;
  const meant = () => `did you mean ${folder}/Press?`;
  beforeEach(async () => {
    await cli.json(['folders', 'create', '-p', `${folder}/Press/2026`]);
    await uploadFiles('a.txt');
  });

  it.each([
    ['mv', () => ['mv', `${folder}/a.txt`, typed()]],
    ['upload', () => ['upload', createDirectory('b.txt'), typed()]],
    ['upload of one file', () => ['upload', join(createDirectory('b.txt'), 'b.txt'), '--folder', typed()]],
    ['ls', () => ['ls', typed()]],
    ['rm', () => ['rm', typed(), '--yes']],
    ['folders ls', () => ['folders', 'ls', typed()]],
  ])('%s without a terminal proposes it, exits with 3 and creates nothing', async (_, args) => {
    const { code, stderr } = await cli.run(args());
    expect([code, stderr]).toEqual([3, expect.stringContaining(meant())]);
    expect((await cli.run(['folders', 'ls', typed()])).code).toBe(3);
  });

  it('is proposed with the rest of the path, which may not exist', async () => {
    expect((await cli.run(['mv', `${folder}/a.txt`, `${folder}/press/new`])).stderr).toContain(
      `did you mean ${folder}/Press/new?`,
    );
    expect((await cli.run(['mv', `${folder}/a.txt`, `${folder}/Pres`])).stderr).not.toContain('did you mean');
  });

  it('is named before the question of mv and of upload on a terminal', async () => {
    const notice = `${typed()} is a new folder, not ${folder}/Press: names are case-sensitive`;
    for (const args of [
      ['mv', `${folder}/a.txt`, typed()],
      ['upload', createDirectory('b.txt'), typed()],
    ]) {
      const { code, stderr } = await cli.run(args, { tty: true, columns: 200, stdin: 'n\n' });
      expect([code, stderr]).toEqual([130, expect.stringMatching(new RegExp(`${notice}[^]*Create it\\?`))]);
    }
  });

  it('does not prevent another folder that --create-folders or folders create asks for, with a warning', async () => {
    const moved = await cli.run(['mv', `${folder}/a.txt`, typed(), '--create-folders']);
    expect([moved.code, moved.stderr]).toEqual([0, expect.stringContaining(`not ${folder}/Press`)]);
    const created = await cli.run(['folders', 'create', `${folder}/PRESS`]);
    expect([created.code, created.stderr]).toEqual([0, expect.stringContaining(`${folder}/PRESS is a new folder`)]);
    expect((await cli.run(['mv', `${folder}/press/a.txt`, typed()])).stderr).not.toContain('case-sensitive');
  });
});

describe('upload to a folder', () => {
  const upload = async (args: string[], options?: CliOptions) => cli.run(['upload', ...args], options);

  it('upload mirrors a directory, and creates missing folders after a single prompt', async () => {
    const directory = createDirectory('a.txt', 'day1/b.txt', 'day2/c.txt');
    const target = `${folder}/News/2026`;
    const refused = await upload([directory, target]);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('--create-folders')]);
    const declined = await upload([directory, target], { tty: true, stdin: 'n\n' });
    expect(declined.code).toBe(130);
    expect(declined.stderr).toContain(
      `4 folders do not exist, such as ${folder}/News, ${folder}/News/2026, ${folder}/News/2026/day1. Create them?`,
    );
    expect(await assetPaths()).toEqual([]);
    const agreed = await upload([directory, target], { tty: true, stdin: 'y\n' });
    expect([agreed.code, agreed.stderr.match(/\[y\/N\]/g)]).toEqual([0, ['[y/N]']]);
    expect(await assetPaths()).toEqual(['/News/2026/a.txt', '/News/2026/day1/b.txt', '/News/2026/day2/c.txt']);
  });

  it('upload accepts several files and a new folder with --yes instead of --create-folders', async () => {
    const directory = createDirectory('a.txt', 'b.txt');
    const files = ['a.txt', 'b.txt'].map((name) => join(directory, name));
    expect((await upload([...files, `${folder}/Inbox`, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/Inbox/a.txt', '/Inbox/b.txt']);
  });

  it('upload --flatten puts all files into one folder', async () => {
    expect((await upload(['--flatten', createDirectory('a.txt', 'day1/b.txt'), '--folder', folder])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/a.txt', '/b.txt']);
  });

  it('upload mirrors a directory into a folder that --folder names by uid', async () => {
    const { uid } = await cli.json(['folders', 'create', '-p', `${folder}/In`]);
    const args = [createDirectory('a.txt', 'day1/b.txt'), '--folder', uid, '--create-folders'];
    expect((await upload(args)).code).toBe(0);
    expect(await assetPaths()).toEqual(['/In/a.txt', '/In/day1/b.txt']);
  });

  it('upload treats existing paths as local, and exits with 2 for a mistyped one even with --yes', async () => {
    const directory = createDirectory('a.txt', 'b.txt');
    const [first, second] = ['a.txt', 'b.txt'].map((name) => join(directory, name)) as [string, string];
    expect((await cli.json(['upload', first, second])).map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      'uploaded',
      'uploaded',
    ]);
    const typo = join(directory, 'b.tyt');
    for (const consent of ['--yes', '--create-folders']) {
      const { code, stderr } = await upload([first, typo, consent]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('neither a local file nor a folder')]);
      expect(stderr).toContain('try:   correct the local path; or mediactl upload');
    }
    const folders: { path: string }[] = await cli.json(['folders', 'ls', '-r']);
    expect(folders.map(({ path }) => path)).not.toContain(typo);
  });

  it('upload accepts a folder that looks like a local path if it exists or has the prefix folder:', async () => {
    const directory = createDirectory('a.txt', 'b.txt');
    const [first, second] = ['a.txt', 'b.txt'].map((name) => join(directory, name)) as [string, string];
    const path = join(directory, 'Library');
    expect((await upload([first, `folder:${path}`, '--create-folders'])).code).toBe(0);
    expect((await upload([second, path])).code).toBe(0);
    expect(await listNames(path)).toEqual(['a.txt', 'b.txt']);
  });

  it('upload refuses a target that is both local and remote, a glob or a file name, but accepts brackets', async () => {
    const directory = createDirectory('a.txt', 'sub/b.txt');
    const ambiguous = join(directory, 'sub');
    await cli.json(['folders', 'create', '-p', ambiguous]);
    for (const consent of ['--yes', '--create-folders'])
      expect((await upload([join(directory, 'a.txt'), ambiguous, consent])).stderr).toContain(
        'both a local directory and',
      );
    expect((await upload([join(directory, 'a.txt'), `${folder}/Job [2]`, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/Job [2]/a.txt']);
    const glob = await upload([join(directory, 'a.txt'), '/No*Folder', '--yes']);
    expect([glob.code, glob.stderr]).toEqual([2, expect.stringContaining('a glob names no folder')]);
    expect((await upload([ambiguous])).stderr).toContain('both a local directory and');
    expect((await upload(['/'])).code).toBe(2);
    const fileTarget = await upload([join(directory, 'a.txt'), `${folder}/new/b.txt`, '--yes']);
    expect([fileTarget.code, fileTarget.stderr]).toEqual([2, expect.stringContaining('it looks like a file name')]);
  });

  it('sync prompts before it creates the target folder, but not for its subfolders', async () => {
    const directory = createDirectory('a.txt', 'day1/b.txt');
    const typo = await cli.run(['sync', directory, `${folder}/Typo`], { tty: true, stdin: 'n\n' });
    expect([typo.code, await assetPaths()]).toEqual([130, []]);
    const known = await cli.run(['sync', directory, folder], { tty: true, stdin: '' });
    expect([known.code, await assetPaths()]).toEqual([0, ['/a.txt', '/day1/b.txt']]);
  });

  it('upload exits with 2 for two target folders, and treats a single path as local', async () => {
    const directory = createDirectory('a.txt');
    expect((await upload([directory, folder, '--folder', folder])).code).toBe(2);
    const single = await upload([folder]);
    expect([single.code, single.stderr]).toEqual([2, expect.stringContaining(`no such file: ${folder}`)]);
  });

  it('sync and check accept the folder as their last argument', async () => {
    const directory = createDirectory('a.txt', 'day1/b.txt');
    const target = `${folder}/Mirror`;
    expect((await cli.run(['check', directory, folder])).code).toBe(11);
    expect((await cli.run(['sync', directory, target])).code).toBe(0);
    expect((await cli.run(['check', directory, target])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/Mirror/a.txt', '/Mirror/day1/b.txt']);
  });
});

describe('mv', () => {
  it('mv moves assets by path, glob, filter and uid', async () => {
    await uploadFiles('a.txt', 'b.txt', 'c.md', 'd.md');
    await cli.run(['tag', `${folder}/d.md`, '--add', `tag-${testCount}`]);
    const archive = `${folder}/Archive`;
    const refused = await cli.run(['mv', `${folder}/a.txt`, archive]);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('--create-folders')]);
    expect(await cli.json(['mv', `${folder}/a.txt`, archive, '--create-folders'])).toMatchObject([
      { name: 'a.txt', outcome: 'moved', error: null },
    ]);
    expect(await cli.json(['get', `${archive}/a.txt`])).toMatchObject([{ name: 'a.txt' }]);
    expect(await cli.json(['mv', `${folder}/*.txt`, `${folder}/c.md`, archive, '--yes'])).toHaveLength(2);
    expect((await cli.run(['mv', '--tag', `tag-${testCount}`, archive, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/Archive/a.txt', '/Archive/b.txt', '/Archive/c.md', '/Archive/d.md']);
    const [{ uid }] = await cli.json(['get', `${archive}/a.txt`]);
    await cli.json(['mv', uid, '/Root', '--create-folders']);
    expect(await cli.json(['get', '/Root/a.txt'])).toMatchObject([{ uid }]);
    await cli.json(['rm', uid, '--yes']);
  });

  it('mv moves a folder into an existing folder, or renames it to a path that does not exist', async () => {
    await uploadFiles('Old/day1/a.txt');
    await cli.json(['folders', 'create', `${folder}/In`]);
    expect((await cli.json(['mv', `${folder}/Old`, `${folder}/In`])).path).toBe(`${folder}/In/Old`);
    expect((await cli.json(['mv', `${folder}/In/Old`, `${folder}/New`])).path).toBe(`${folder}/New`);
    expect((await cli.json(['rename', `${folder}/New`, 'Newer'])).path).toBe(`${folder}/Newer`);
    expect(await assetPaths()).toEqual(['/Newer/day1/a.txt']);
    expect((await cli.run(['mv', `${folder}/Newer`, `${folder}/Newer/day1`])).code).toBe(2);
    expect((await cli.run(['mv', `${folder}/Newer`, `${folder}/Newer/new`])).code).toBe(2);
    const dryRun = await cli.json(['mv', `${folder}/Newer`, `${folder}/no/such`, '-n']);
    expect(dryRun).toMatchObject([{ method: 'PATCH', body: { name: 'such' } }]);
  });

  it('mv and rename refuse a new name or place that a folder cannot have, and create nothing', async () => {
    await uploadFiles('In/a.txt', 'Out/In/b.txt');
    const folders = async () => (await cli.json(['folders', 'ls', '-r', folder])).length;
    const before = await folders();
    const refused: [string[], number][] = [
      [[`${folder}/In`, `${folder}/Out`, '--tag', 'x'], 2],
      [[`${folder}/In`, `${folder}/In/new/deep`, '--create-folders'], 2],
      [[`${folder}/In`, `${folder}/Out`], 6],
      [[`${folder}/In`, `${folder}/..`], 2],
      [[`${folder}/In`, `${folder}/In*`], 2], // a glob is no target
      [[`${folder}/In`, `${folder}/a.mp4`], 2], // looks like the name of a file
    ];
    for (const [args, code] of refused) expect([args, (await cli.run(['mv', ...args])).code]).toEqual([args, code]);
    for (const [name, code] of [
      ['..', 2],
      ['Out', 6],
    ] as const)
      expect((await cli.run(['rename', `${folder}/In`, name])).code).toBe(code);
    expect(await folders()).toBe(before);
  });

  it('mv, get and rm -r accept a folder with glob characters in its name', async () => {
    await cli.json(['folders', 'create', '-p', `${folder}/X{a,b}*`]);
    await uploadFiles('a.txt');
    expect(await cli.json(['mv', `${folder}/a.txt`, `${folder}/X{a,b}*`])).toMatchObject([
      { name: 'a.txt', outcome: 'moved', error: null },
    ]);
    expect(await cli.json(['get', `${folder}/X{a,b}*/a.txt`])).toMatchObject([{ name: 'a.txt' }]);
    expect((await cli.run(['rm', '-r', `${folder}/X{a,b}*`, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual([]);
  });

  it('mv exits with 2 if the target is not a folder', async () => {
    await uploadFiles('a.txt');
    const result = await cli.run(['mv', `${folder}/a.txt`, `${folder}/b.txt`, '--yes']);
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining('looks like an asset')]);
    expect((await cli.run(['mv', 'a.txt', 'b.txt'])).code).toBe(2);
  });

  it('mv without a target and rename to a path exit with 2', async () => {
    await uploadFiles('a.txt');
    expect((await cli.run(['mv', `${folder}/a.txt`])).code).toBe(2);
    expect((await cli.run(['rename', `${folder}/a.txt`, '/x/b.txt'])).code).toBe(2);
  });

  it('mv --dry-run prints the requests that create each new folder and move the asset', async () => {
    await uploadFiles('a.txt');
    const planned = await cli.json(['mv', `${folder}/a.txt`, `${folder}/new/deep`, '-n']);
    const [newFolder, deepFolder] = ['new', 'deep'].map((name) => ({ method: 'POST', body: { name } }));
    expect(planned).toMatchObject([newFolder, deepFolder, { method: 'PATCH' }]);
  });

  it('mv prints one error and stops after the first requests if the service refuses to move assets', async () => {
    await uploadFiles('a.txt', 'b.txt');
    const proxy = await FaultProxy.start(sandbox.url, ({ method }) =>
      method === 'PATCH'
        ? respondWith(422, { error: { code: 'validation_failed', message: 'unknown field' } })
        : undefined,
    );
    const environment = { MEDIACTL_BASE_URL: proxy.url };
    const single = await cli.run(['mv', `${folder}/a.txt`, '/'], { environment });
    expect([single.code, single.stderr]).toEqual([6, expect.stringContaining('the service refused to move a.txt')]);
    expect(single.stderr).toContain('export MEDIACTL_FIELD_NAMES=asset_parent=NAME');
    const many = await cli.run(['mv', `${folder}/*`, '/', '--yes', '--json'], { environment });
    expect(many.code).not.toBe(0);
    expect(proxy.methods.filter((method) => method === 'PATCH').length).toBeLessThanOrEqual(1 + 2); // one, then two
  });

  it('mv exits with 6 if the service did not move the asset, even if the record shows no folder', async () => {
    const asset = { uid: '00000000-0000-4000-8000-000000000001', name: 'a.txt' };
    const targetFolder = { uid: '00000000-0000-4000-8000-0000000000f1', name: 'In', children: [] };
    let isMoved = false;
    const url = await startServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
      if (pathname.endsWith('/folders/')) return respond(response, 200, [targetFolder]);
      if (pathname.endsWith('/workspaces/')) return respond(response, 200, { items: [{ uid: sandbox.workspace }] });
      const isListed = !searchParams.has('parent') || isMoved;
      if (pathname.endsWith('/assets/')) return respond(response, 200, { items: isListed ? [asset] : [], count: 1 });
      return respond(response, 200, asset);
    });
    const options = { environment: { MEDIACTL_BASE_URL: url }, clock: acceleratedClockInProcess() };
    const move = () => cli.run(['mv', asset.uid, '/In'], options);
    const ignored = await move();
    expect([ignored.code, ignored.stderr]).toEqual([6, expect.stringContaining('did not move a.txt')]);
    isMoved = true;
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
    await uploadFiles('Old/a.txt', 'Old/day1/b.txt', 'kept.txt');
    const withoutR = await cli.run(['rm', `${folder}/Old`, '--yes']);
    expect([withoutR.code, withoutR.stderr]).toEqual([6, expect.stringContaining(`mediactl rm -r ${folder}/Old`)]);
    const prompted = await cli.run(['rm', '-r', `${folder}/Old`], { tty: true, stdin: 'n\n' });
    expect(prompted.code).toBe(130);
    expect(prompted.stderr).toContain(
      'Move 2 assets to the trash and delete 2 folders? The API cannot restore them. [y/N]',
    );
    expect((await cli.run(['rm', '-r', `${folder}/Old`])).code).toBe(2);
    const dryRun = await cli.json(['rm', '-r', `${folder}/Old`, '-n']);
    expect(dryRun.map(({ method }: { method: string }) => method)).toEqual(['DELETE', 'DELETE', 'DELETE', 'DELETE']);
    expect((await cli.run(['rm', '-r', `${folder}/Old`, '--yes'])).code).toBe(0);
    expect(await assetPaths()).toEqual(['/kept.txt']);
    expect((await cli.run(['folders', 'ls', `${folder}/Old`])).code).toBe(3);
  });

  it('rm -r requires --yes for an empty folder, and always refuses the top level, assets and filters', async () => {
    await cli.json(['folders', 'create', `${folder}/Empty`]);
    expect((await cli.run(['rm', '-r', `${folder}/Empty`])).code).toBe(2);
    expect((await cli.run(['rm', '-r', `${folder}/Empty`, '--yes'])).code).toBe(0);
    expect((await cli.run(['rm', '-r', '/', '--yes'])).code).toBe(2);
    expect((await cli.run(['rm', '-r', 'a.txt', '--yes'])).code).toBe(2);
    await cli.json(['folders', 'create', `${folder}/Tagged`]);
    const filtered = await cli.run(['rm', '-r', `${folder}/Tagged`, '--tag', 'draft', '--yes']);
    expect([filtered.code, filtered.stderr]).toEqual([2, expect.stringContaining('folders and filters')]);
  });

  it('rm -r keeps assets that another command moves out of the folder during the prompt', async () => {
    await uploadFiles('Old/a.txt', 'Old/b.txt', 'Old/day1/c.txt', 'Keep/d.txt');
    const stdin = new PassThrough();
    let moved: Promise<unknown> | undefined;
    const { code } = await cli.run(['rm', '-r', `${folder}/Old`], {
      tty: true,
      stdin,
      onStderr: (text) => {
        if (!text.includes('[y/N]')) return;
        const move = async (path: string) => cli.json(['mv', `${folder}/Old/${path}`, `${folder}/Keep`]);
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
    await uploadFiles('Old/a.txt', 'Old/b.txt');
    const failing = await FaultProxy.start(sandbox.url, ({ method, path }) =>
      method === 'DELETE' && path.includes('/assets/')
        ? respondWith(409, { error: { code: 'busy', message: 'busy' } })
        : undefined,
    );
    const environment = { MEDIACTL_BASE_URL: failing.url };
    expect((await cli.run(['rm', '-r', `${folder}/Old`, '--yes'], { environment })).code).not.toBe(0);
    expect(await assetPaths()).toEqual(['/Old/a.txt', '/Old/b.txt']);
    expect(failing.requests.filter(({ method, path }) => method === 'DELETE' && path.includes('/folders/'))).toEqual(
      [],
    );
    const lateFile = join(createDirectory('late.txt'), 'late.txt');
    let addLateContent = () => cli.json(['upload', lateFile, `${folder}/Old`]);
    const proxy = await FaultProxy.start(sandbox.url, ({ method, path }) =>
      method === 'DELETE' && path.includes('/assets/')
        ? {
            beforeResponse: async () => {
              const addOnce = addLateContent;
              addLateContent = async () => undefined; // once, though assets are deleted at the same time
              await addOnce();
            },
          }
        : undefined,
    );
    const { code } = await cli.run(['rm', '-r', `${folder}/Old`, '--yes'], {
      environment: { MEDIACTL_BASE_URL: proxy.url },
    });
    expect(code).toBe(11);
    expect(await assetPaths()).toEqual(['/Old/late.txt']);
    addLateContent = () => cli.json(['folders', 'create', `${folder}/Old/late`]);
    const secondRun = await cli.run(['rm', '-r', `${folder}/Old`, '--yes'], {
      environment: { MEDIACTL_BASE_URL: proxy.url },
    });
    expect(secondRun.code).toBe(11);
    expect(await cli.json(['folders', 'ls', `${folder}/Old`])).toMatchObject([{ path: `${folder}/Old/late` }]);
  });

  it('rm -r sends no delete request for a folder that contains a kept folder', async () => {
    await uploadFiles('Old/day1/a.txt', 'Old/day2/b.txt');
    const lateFile = join(createDirectory('late.txt'), 'late.txt');
    let arrival: Promise<unknown> | undefined; // once, though assets are deleted at the same time
    const proxy = await FaultProxy.start(sandbox.url, ({ method, path }) =>
      method === 'DELETE' && path.includes('/assets/')
        ? {
            beforeResponse: async () => {
              arrival ??= cli.json(['upload', lateFile, `${folder}/Old/day1`]);
              await arrival;
            },
          }
        : undefined,
    );
    const { code } = await cli.run(['rm', '-r', `${folder}/Old`, '--yes'], {
      environment: { MEDIACTL_BASE_URL: proxy.url },
    });
    expect(code).toBe(11);
    expect(await assetPaths()).toEqual(['/Old/day1/late.txt']);
    const deletions = proxy.requests.filter(({ method, path }) => method === 'DELETE' && path.includes('/folders/'));
    expect(deletions).toHaveLength(1); // of day2; a service might delete a folder with its content
  });
});
