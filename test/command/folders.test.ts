import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { inherited } from '../support/environment.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { fixturePath, forSandboxMode, isStrict, startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
let cli: Cli;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());
const account = () => ({
  MEDIACTL_API_KEY: sandbox.key,
  MEDIACTL_BASE_URL: sandbox.url,
  MEDIACTL_WORKSPACE: sandbox.workspace,
});
beforeEach(() => {
  cli = new Cli(account());
});

const folderPaths = async (under: string) =>
  (await cli.json(['folders', 'ls', '-r', under])).map(({ path }: { path: string }) => path);

/** Exit codes of a deletion with --yes and of a look afterwards. Whether a folder is empty is not known in strict mode. */
const afterDeletion = forSandboxMode({ normal: { deleted: 0, gone: 3 }, strict: { deleted: 2, gone: 0 } });

describe('folders', () => {
  it('folders commands create, list, rename, move and delete folders by path', async () => {
    expect((await cli.run(['folders', 'create', '/A/b/c'])).code).toBe(3);
    await cli.json(['folders', 'create', '-p', '/A/b/c']);
    expect((await cli.run(['folders', 'create', '/A/b/c'])).code).toBe(6);
    expect((await cli.json(['folders', 'create', '-p', '/A/b/c'])).path).toBe('/A/b/c');
    expect(await folderPaths('/A')).toEqual(['/A/b', '/A/b/c']);
    await cli.json(['folders', 'rename', '/A/b', 'B']);
    await cli.json(['folders', 'mv', '/A/B/c', '/A']);
    expect(await folderPaths('/A')).toEqual(['/A/B', '/A/c']);
    const refused = await cli.run(['folders', 'rm', '/A', '--yes']);
    expect([refused.code, refused.stderr.split('\n')[0]]).toEqual([6, 'error: /A is not empty']);
    const { deleted, gone } = afterDeletion;
    for (const path of ['/A/c', '/A/B']) expect((await cli.run(['folders', 'rm', path, '--yes'])).code).toBe(deleted);
    expect((await cli.run(['folders', 'rm', '/A', '--yes'])).code).toBe(forSandboxMode({ normal: 0, strict: 6 }));
    expect((await cli.run(['folders', 'ls', '/A'])).code).toBe(gone);
  });

  it.skipIf(isStrict)(
    'folders rm refuses a folder that is not empty, counts its whole content and names rm -r, before it asks',
    async () => {
      await cli.json(['folders', 'create', '-p', '/count/a/b']);
      await cli.json(['folders', 'create', '/count/empty']);
      const image = fixturePath('still.jpg');
      for (const [index, folder] of ['/count', '/count/a', '/count/a/b', '/count/a/b'].entries())
        await cli.json(['upload', image, '--name', `${index}.jpg`, '--existing', 'upload', '--folder', folder]);
      const runRm = async (folder: string, answer: string) => {
        const { code, stderr } = await cli.run(['folders', 'rm', folder], { tty: true, stdin: answer });
        return [code, stderr];
      };
      const assets = forSandboxMode({ normal: '4 assets', strict: 'an unknown number of assets' });
      const uids = async () => (await cli.json(['ls', '/count', '-r', '--all'])).map(({ uid }: { uid: string }) => uid);
      const uidsBefore = await uids();
      expect(uidsBefore).toHaveLength(4);
      const [code, refusal] = await runRm('/count', 'y\n');
      expect([code, refusal]).toEqual([6, expect.stringContaining(`it has ${assets} and 3 folders in it`)]);
      expect(refusal).toContain('mediactl rm -r /count');
      expect(refusal).not.toContain('[y/N]');
      expect(await uids()).toEqual(uidsBefore);
      expect(await runRm('/count/empty', 'n\n')).toEqual([
        130,
        expect.stringContaining('Delete /count/empty? The API cannot restore it. [y/N]'),
      ]);
      expect(await runRm('/count/empty', 'y\n')).toEqual([0, expect.stringContaining('deleted /count/empty')]);
      expect(await folderPaths('/count')).toEqual(['/count/a', '/count/a/b']);
    },
  );

  it('folders rm prints "at least" if there are too many folders to count all assets', async () => {
    await cli.json(['folders', 'create', '/wide']);
    for (let n = 0; n < 50; n++) await cli.json(['folders', 'create', `/wide/${n}`]);
    const image = fixturePath('still.jpg');
    await cli.json(['upload', image, '--existing', 'upload', '--folder', '/wide']);
    const { stderr } = await cli.run(['folders', 'rm', '/wide'], { tty: true, stdin: 'n\n' });
    const assets = forSandboxMode({ normal: 'at least 1 asset', strict: 'an unknown number of assets' });
    expect(stderr).toContain(`it has ${assets} and 50 folders in it`);
  });

  it.each([
    ['mv', []],
    ['folders mv', ['folders']],
  ])('%s moves a folder to a path that does not exist, whose last part is its new name', async (_, noun) => {
    const top = `/rules-${noun.length}`;
    await cli.json(['folders', 'create', '-p', `${top}/A/inner`]);
    await cli.json(['folders', 'create', '-p', `${top}/B`]);
    const moved = await cli.run([...noun, 'mv', `${top}/A`, `${top}/B/NEW`]);
    expect([moved.code, moved.stderr]).toEqual([0, '']);
    expect(await folderPaths(top)).toEqual([`${top}/B`, `${top}/B/NEW`, `${top}/B/NEW/inner`]);
    const missing = await cli.run([...noun, 'mv', `${top}/B/NEW`, `${top}/C/D`]);
    expect([missing.code, missing.stderr]).toEqual([3, expect.stringContaining('--create-folders creates')]);
    const created = await cli.run([...noun, 'mv', `${top}/B/NEW`, `${top}/C/D`, '--create-folders']);
    expect([created.code, created.stderr]).toEqual([0, '']);
    expect(await folderPaths(top)).toEqual([`${top}/B`, `${top}/C`, `${top}/C/D`, `${top}/C/D/inner`]);
    const word = await cli.run([...noun, 'mv', `${top}/C`, 'Archive']);
    expect([word.code, word.stderr]).toEqual([2, expect.stringContaining('Archive is not a folder')]);
    const globbed = await cli.run([...noun, 'mv', `${top}/C`, `${top}/no*`]);
    expect([globbed.code, globbed.stderr]).toEqual([2, expect.stringContaining('a glob cannot be a target')]);
  });

  it.each([
    ['rename', []],
    ['folders rename', ['folders']],
  ])('%s of a folder refuses an empty name, a name with a slash and the name of another folder', async (_, noun) => {
    const top = `/names-${noun.length}`;
    await cli.json(['folders', 'create', '-p', `${top}/A`]);
    await cli.json(['folders', 'create', '-p', `${top}/B`]);
    const rename = async (name: string) => {
      const { code, stderr } = await cli.run([...noun, 'rename', `${top}/A`, name]);
      return [code, stderr.split('\n')[0]];
    };
    expect((await rename(' '))[0]).toBe(2);
    expect(await rename('x/y')).toEqual([2, 'error: a folder name cannot contain a slash']);
    expect(await rename('B')).toEqual([6, `error: ${top}/B already exists`]);
    expect(await rename('C')).toEqual([0, '']);
    expect(await folderPaths(top)).toEqual([`${top}/B`, `${top}/C`]);
  });

  it.each([
    ['rm', []],
    ['folders rm', ['folders']],
  ])('%s deletes an empty folder, and names rm -r for one that is not empty', async (_, noun) => {
    const top = `/gone-${noun.length}`;
    await cli.json(['folders', 'create', '-p', `${top}/A`]);
    const rm = async (path: string) => {
      const { code, stdout, stderr } = await cli.run([...noun, 'rm', path, '--yes']);
      return [code, stdout.split('\t').slice(1).join(' '), stderr];
    };
    const contents = forSandboxMode({ normal: '1 folder', strict: 'an unknown number of assets and 1 folder' });
    const hint = forSandboxMode({ normal: `mediactl rm -r ${top}, to delete`, strict: 'delete what is in it first' });
    const refused = `error: ${top} is not empty\n  cause: it has ${contents} in it\n  try:   ${hint}`;
    expect(await rm(top)).toEqual([6, '', expect.stringContaining(refused)]);
    const unknown = [2, '', expect.stringContaining(`cannot tell whether ${top}/A is empty`)];
    expect(await rm(`${top}/A`)).toEqual(forSandboxMode({ normal: [0, `${top}/A deleted\n`, ''], strict: unknown }));
    if (isStrict) return;
    const dryRun = await cli.json([...noun, 'rm', top, '-n']);
    expect(dryRun).toMatchObject([{ method: 'DELETE', name: top.slice(1), folder: '/' }]);
    expect(await rm(top)).toEqual([0, `${top} deleted\n`, '']);
    expect((await cli.run(['folders', 'ls', top])).code).toBe(3);
  });

  it.skipIf(isStrict)('rm of a path takes the asset there, and with -r the folder of the same name', async () => {
    await cli.json(['folders', 'create', '-p', '/both/clip']);
    const upload = ['upload', fixturePath('still.jpg'), '--name', 'clip', '--existing', 'upload', '--folder', '/both'];
    await cli.json(upload);
    expect((await cli.run(['rm', '/both/clip', '--yes', '--any-workspace'])).code).toBe(0);
    expect(await folderPaths('/both')).toEqual(['/both/clip']);
    await cli.json(upload);
    expect((await cli.run(['rm', '-r', '/both/clip', '--yes'])).code).toBe(0);
    expect(await folderPaths('/both')).toEqual([]);
  });

  it('folders rm -r names rm -r', async () => {
    const { code, stderr } = await cli.run(['folders', 'rm', '-r', '/any']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('mediactl rm -r /FOLDER')]);
  });

  it('folders mv exits with 2 if the target is the folder itself or is inside it', async () => {
    await cli.json(['folders', 'create', '-p', '/loop/inner']);
    for (const target of ['/loop', '/loop/inner']) {
      const { code, stderr } = await cli.run(['folders', 'mv', '/loop', target]);
      expect([code, stderr.split('\n')[0]]).toEqual([2, 'error: /loop cannot be moved into itself']);
    }
  });

  it('folders commands exit with 2 and list the candidates if a path is ambiguous', async () => {
    const createTwin = () => cli.json(['api', `/workspaces/${sandbox.workspace}/folders/`, '-f', 'name=twin']);
    const uids = [(await createTwin()).uid, (await createTwin()).uid];
    for (const args of [
      ['ls', '/twin'],
      ['create', '-p', '/twin/below'],
      ['rm', '/twin', '-y'],
    ]) {
      const { code, stderr } = await cli.run(['folders', ...args]);
      expect(code).toBe(2);
      for (const uid of uids) expect(stderr).toContain(uid);
    }
    expect((await cli.run(['folders', 'rm', uids[0], '--yes'])).code).toBe(afterDeletion.deleted);
  });

  it('assets ls of a folder exits with 3 and names the last existing folder if the path does not exist', {
    tags: 'undocumented-fields',
  }, async () => {
    await cli.json(['folders', 'create', '/known']);
    const { code, stderr } = await cli.run(['assets', 'ls', '/known/no/further']);
    expect(code).toBe(3);
    expect(stderr).toContain('/known has no folder no');
  });

  it('concurrent folders create commands create each folder only once', async () => {
    const program = fileURLToPath(new URL('../../bin/mediactl.js', import.meta.url));
    const env = {
      ...inherited,
      MEDIACTL_CONFIG_DIR: `${cli.home}/config`,
      MEDIACTL_STATE_DIR: `${cli.home}/state`,
      ...account(),
    };
    await Promise.all(
      Array.from({ length: 5 }, (_, n) =>
        promisify(execFile)(process.execPath, [program, 'folders', 'create', '-p', `/race/day/${n % 2}`], { env }),
      ),
    );
    expect((await folderPaths('/race')).sort()).toEqual(['/race/day', '/race/day/0', '/race/day/1']);
    expect((await cli.json(['folders', 'ls'])).filter(({ path }: { path: string }) => path === '/race')).toHaveLength(
      1,
    );
  });

  it.skipIf(isStrict)('upload --folder puts the asset into the folder, where assets ls lists it', async () => {
    await cli.json(['folders', 'create', '-p', '/inbox']);
    await cli.json(['upload', fixturePath('still.jpg'), '--folder', '/inbox']);
    expect(await cli.json(['assets', 'ls', '/inbox'])).toHaveLength(1);
  });
});

describe('upload --create-folders', () => {
  const createFourFiles = () => {
    for (const [folder, file] of [
      ['', 'top.txt'],
      ['day 1/cam a', 'one.txt'],
      ['day 1/cam a', 'left.tmp'],
      ['day 1', 'two.txt'],
    ] as const) {
      mkdirSync(join(cli.home, 'rushes', folder), { recursive: true });
      writeFileSync(join(cli.home, 'rushes', folder, file), file);
    }
    return join(cli.home, 'rushes');
  };

  it.skipIf(isStrict)(
    'upload --create-folders mirrors the local folders and skips what --exclude matches',
    async () => {
      const args = ['upload', createFourFiles(), '--folder', '/mirror', '--create-folders'];
      const planned = await cli.run([...args, '--exclude', '*.tmp', '--dry-run', '--json']);
      expect(JSON.parse(planned.stdout)).toHaveLength(3);
      expect((await cli.run(['folders', 'ls', '/mirror'])).code).toBe(3);
      expect(await cli.json([...args, '--exclude', '*.tmp'])).toHaveLength(3);
      expect(await folderPaths('/mirror')).toEqual(['/mirror/day 1', '/mirror/day 1/cam a']);
      for (const [folder, name] of [
        ['/mirror', 'top.txt'],
        ['/mirror/day 1', 'two.txt'],
        ['/mirror/day 1/cam a', 'one.txt'],
      ] as const) {
        const inside = await cli.json(['assets', 'ls', folder]);
        expect(inside.map((asset: { name: string }) => asset.name)).toEqual([name]);
      }
    },
  );

  it('upload --create-folders requests the folder tree once if all folders exist', async () => {
    const args = ['upload', createFourFiles(), '--folder', '/there', '--create-folders'];
    await cli.json(args);
    const proxy = await FaultProxy.start(sandbox.url);
    const environment = { MEDIACTL_BASE_URL: proxy.url };
    await cli.json([...args, '--existing', 'upload'], { environment });
    const folderRequests = proxy.requests.filter(({ path }) => path.includes('/folders/'));
    expect(folderRequests.map(({ method }) => method)).toEqual(['GET']);
  });

  it('upload --include selects only the matching files, and --files-from reads paths from stdin', async () => {
    const directory = createFourFiles();
    const args = ['upload', '-n', '--json'];
    const included = await cli.json([...args, '--flatten', directory, '--include', 'day 1/**/*.txt']);
    expect(included.map(({ path }: { path: string }) => path)).toEqual([
      ...[join(directory, 'day 1/cam a/one.txt'), join(directory, 'day 1/two.txt')],
    ]);
    const stdin = `${join(directory, 'top.txt')}\r\n\n${fixturePath('still.jpg')}\n`;
    expect(await cli.json([...args, '--files-from', '-'], { stdin })).toHaveLength(2);
    expect((await cli.run(['upload'])).code).toBe(2);
  });
});
