import { mkdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createClient, type Notice } from '../../src/sdk/index.ts';
import { Cli } from '../support/cli.ts';
import { testKey, workspaceUid } from '../support/fake-library.ts';
import { FakeService } from '../support/fake-service.ts';

/* Which files an upload chooses: globs, filters, what other programs leave, and what matches nothing. */

let service: FakeService;
let cli: Cli;
let directory: string;
beforeEach(async () => {
  service = await FakeService.start({ shows: ['parent'] });
  cli = new Cli(service.environment);
  directory = join(cli.home, 'rushes');
});

function writeFiles(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(join(directory, path, '..'), { recursive: true });
    writeFileSync(join(directory, path), path);
  }
}

const at = (path: string) => join(directory, path);

/** Returns the exit code, the warnings and errors, and the paths below the directory that a command chooses. */
async function choose(...args: string[]) {
  const { code, stdout, stderr } = await cli.run(['upload', ...args, '-n', '--json']);
  const records: { path: string; outcome: string }[] = stdout === '' ? [] : JSON.parse(stdout);
  const [leftOut, chosen] = [true, false].map((isLeft) =>
    records.filter(({ outcome }) => (outcome === 'left_out') === isLeft).map(({ path }) => relative(directory, path)),
  ) as [string[], string[]];
  return { code, stderr, paths: chosen.sort(), leftOut };
}
const pathsOf = async (...args: string[]) => (await choose(...args)).paths;

describe('a glob on disk', () => {
  it.each([
    ['Italy 2025 (April)', 'Italy 2025 (April)/*.mp4'],
    ['@(a|b)', '@(a|b)/*.mp4'],
    ['!x', '!x/*.mp4'],
    ['clip [1]+', 'clip [1]+/*.mp4'],
    ['a*b', 'a\\*b/*.mp4'],
    ['Italy (x)', 'Italy \\(x\\)/*.mp4'],
    ['{x}', '{x}/*.mp4'],
  ])('upload finds the files of the directory %j by the glob %j', async (name, glob) => {
    writeFiles(`${name}/a.mp4`, `${name}/b.txt`, 'axb/c.mp4', 'other/d.mp4');
    expect(await pathsOf(at(glob))).toEqual([`${name}/a.mp4`]);
  });

  it('upload of a glob finds hidden files, and files in directories that its alternatives name', async () => {
    writeFiles('.hidden.mp4', 'day1/a.mp4', 'day2/b.mp4', 'day3/c.mp4');
    expect(await pathsOf(at('*.mp4'))).toEqual(['.hidden.mp4']);
    expect(await pathsOf(at('{day1,day2,none}/*.mp4'))).toEqual(['day1/a.mp4', 'day2/b.mp4']);
    expect(await pathsOf(at('{day1/a,day2/b}.mp4'))).toEqual(['day1/a.mp4', 'day2/b.mp4']);
  });

  it('upload takes a glob for a path if a file has its name', async () => {
    writeFiles('a*.mp4', 'ab.mp4');
    expect(await pathsOf(at('a*.mp4'))).toEqual(['a*.mp4']);
  });
});

describe('a filter', () => {
  it.each([
    'archive',
    'archive/',
    '/archive',
    './archive/',
    '/archive/**',
    './archive/**',
    '**/archive',
    '**/archive/**',
    '{archive,none}',
    'arch*',
  ])('--exclude %j leaves out a directory', async (filter) => {
    writeFiles('archive/deep/b.txt', 'archive/a.txt', 'c.txt');
    const { paths, stderr } = await choose(directory, '--exclude', filter);
    expect([paths, stderr]).toEqual([['c.txt'], expect.not.stringContaining('matched nothing')]);
  });

  it.each(['deep', 'deep/', 'deep/**', 'archive/deep', '/archive/deep/'])(
    '--exclude %j leaves out a directory in another one',
    async (filter) => {
      writeFiles('archive/deep/b.txt', 'archive/a.txt', 'c.txt');
      expect(await pathsOf(directory, '--exclude', filter)).toEqual(['archive/a.txt', 'c.txt']);
    },
  );

  it.each([
    ['/deep', ['a/deep/b.txt', 'a/notes.txt']],
    ['', ['a/deep/b.txt', 'a/notes.txt']],
    ['notes.txt/', ['a/deep/b.txt', 'a/notes.txt']],
    ['Italy 2025 (April)', ['a/deep/b.txt', 'a/notes.txt']],
  ])('--exclude %j is named if it matches nothing', async (filter, expected) => {
    writeFiles('a/deep/b.txt', 'a/notes.txt');
    const { code, paths, stderr } = await choose(directory, '--exclude', filter, '--exclude', 'none');
    expect([code, paths]).toEqual([0, expected]);
    expect(stderr).toContain(`warning: --exclude '${filter}' matched nothing`);
    expect(stderr).toContain("warning: --exclude 'none' matched nothing");
    const uploaded = await cli.run(['upload', directory, '/F', '--create-folders', '--exclude', filter]);
    expect(uploaded.stderr).toContain(`warning: --exclude '${filter}' matched nothing`);
    const checked = await cli.run(['check', directory, '/F', '--exclude', filter]);
    expect(checked.stderr).toContain(`warning: --exclude '${filter}' matched nothing`);
  });

  it('--exclude takes parentheses and brackets literally', async () => {
    writeFiles('Italy 2025 (April)/a.txt', 'b[1].txt', 'c.txt');
    expect(await pathsOf(directory, '--exclude', 'Italy 2025 (April)/**', '--exclude', 'b[1]*')).toEqual(['c.txt']);
  });

  it('--include matches files, directories and so all in them, and is named if it matches nothing', async () => {
    writeFiles('day1/deep/a.mov', 'day1/b.txt', 'c.mov', 'd.txt');
    expect(await pathsOf(directory, '--include', 'day1', '--include', '*.mov')).toEqual([
      'c.mov',
      'day1/b.txt',
      'day1/deep/a.mov',
    ]);
    expect(await pathsOf(directory, '--include', '/*.mov')).toEqual(['c.mov']);
    const none = await choose(directory, '--include', '*.mp4');
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("--include '*.mp4' matched nothing")]);
    const named = await choose(at('d.txt'), '--include', '*.mov');
    expect([named.code, named.stderr]).toEqual([0, expect.stringContaining("--include '*.mov' matched nothing")]);
  });

  it('a filter is not named as unused because another one matched the same files', async () => {
    writeFiles('a.mov', 'b.txt');
    const { stderr } = await choose(
      directory,
      '--include',
      '*',
      '--include',
      'a.*',
      '--exclude',
      'b*',
      '--exclude',
      '*.txt',
    );
    expect(stderr).not.toContain('matched nothing');
  });

  it('--exclude keeps the walk out of an excluded directory, so that a second filter for it matches nothing', async () => {
    writeFiles('archive/a.txt', 'b.txt');
    const { paths, stderr } = await choose(directory, '--exclude', 'archive', '--exclude', 'archive/*');
    expect([paths, stderr]).toEqual([['b.txt'], expect.stringContaining("--exclude 'archive/*' matched nothing")]);
  });

  it('--prune does not name a filter that matches only files that are missing', async () => {
    writeFiles('archive/a.txt', 'b.txt');
    const sync = ['sync', directory, '/F', '--prune', '--yes'];
    await cli.run(sync);
    rmSync(at('archive'), { recursive: true });
    for (const option of [['-n'], []]) {
      const { code, stderr } = await cli.run([...sync, '--exclude', 'archive', '--exclude', 'none', ...option]);
      expect(code).toBe(0);
      expect(stderr).toContain("--exclude 'none' matched nothing");
      expect(stderr).not.toContain("--exclude 'archive'");
    }
    expect(service.completeAssets).toHaveLength(2);
  });

  it('a filter with too many alternatives is an error before anything is sent', async () => {
    writeFiles('a.txt');
    const { code, stderr } = await cli.run(['upload', directory, '/', '--exclude', '{a,b}'.repeat(11)]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('more than 1000 alternatives')]);
    expect(service.completeAssets).toEqual([]);
  });
});

describe('a source that gives no file', () => {
  it.each([
    ['a glob', 'b/*.mov'],
    ['a directory', 'empty'],
    ['a directory of excluded files', 'b'],
  ])('%s without files is named beside others, and the exit code is 11', async (_, source) => {
    writeFiles('a.txt', 'b/c.tmp');
    mkdirSync(at('empty'));
    const args = ['upload', at('a.txt'), at(source), '/', '--exclude', '*.tmp'];
    for (const option of [['-n'], [], ['--existing', 'upload']]) {
      const { code, stderr } = await cli.run([...args, ...option]);
      expect([option, code]).toEqual([option, 11]);
      expect(stderr).toContain('1 source gave no files');
      expect(stderr).toContain(`${at(source)}: no files found`);
    }
    expect(service.completeAssets.map(({ name }) => name)).toEqual(['a.txt', 'a.txt']);
  });

  it('a source without files is one failure beside those of files', async () => {
    writeFiles('a.txt', 'c/b.txt');
    writeFileSync(Buffer.concat([Buffer.from(at('c/')), Buffer.from([0xff])]), 'not UTF-8');
    mkdirSync(at('empty'));
    const paths = ['a.txt', 'c', 'empty'].map(at);
    const { code, stderr } = await cli.run(['upload', '--flatten', ...paths, '--folder', '/', '--json']);
    const [last] = stderr.trim().split('\n').slice(-1);
    expect(code).toBe(11);
    const { error } = JSON.parse(last as string);
    expect(error.message).toContain('1 source gave no files');
    expect(error.details.at(-1).message).toContain(`${at('empty')}: no files found`);
  });

  it('a glob without files that is the only source is an error that sends nothing', async () => {
    writeFiles('b/c.tmp');
    const { code, stderr } = await cli.run(['upload', at('b/*.mov'), '/']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('no files found')]);
  });

  it('a source without files is no mistake with --min-age, in another shard, or if its files were given twice', async () => {
    writeFiles('a.txt', 'b/c.txt');
    expect((await cli.run(['upload', at('a.txt'), at('b'), '/', '--min-age', '1h', '-n'])).code).toBe(0);
    for (const shard of ['1/2', '2/2'])
      expect((await cli.run(['upload', at('a.txt'), at('b'), '/', '--shard', shard, '-n'])).code).toBe(0);
    expect((await cli.run(['upload', at('b/c.txt'), at('b'), at('b/*'), '/', '-n'])).code).toBe(0);
  });
});

describe('what other programs leave', () => {
  const nas = [
    ...['@eaDir/clip.mp4/SYNOVIDEO.jpg', '#recycle/deleted.mp4', '.@__thumb/s100clip.mp4', '.Trash-1000/files/x.mp4'],
    ...['$RECYCLE.BIN/y.mp4', '.git/HEAD', 'lost+found/z', 'clip.mp4.part', 'b.crdownload', '.nfs000001', '~$cut.docx'],
    ...['day1/.DS_Store', 'day1/._clip.mp4', 'day1/THUMBS.DB', 'c.download/Info.plist'],
  ];

  it('upload leaves out what other programs leave, counts it in one line, and takes it with --all-files', async () => {
    writeFiles('clip.mp4', 'day1/b.download', ...nas);
    const { paths, stderr } = await choose(directory);
    expect(paths).toEqual(['clip.mp4', 'day1/b.download']);
    expect(stderr).toMatch(
      /skipped: 7 files and 8 directories that other programs left, such as \S+ \(--all-files uploads them\)/,
    );
    expect(await pathsOf(directory, '--include', '*')).toEqual(['clip.mp4', 'day1/b.download']);
    const all = await choose(directory, '--all-files');
    expect([all.paths.length, all.stderr]).toEqual([nas.length + 2, expect.not.stringContaining('skipped')]);
  });

  it('upload takes files and directories that the user names, whatever their names', async () => {
    writeFiles('.Trash-1000/x.mp4', 'day/clip.mp4.part');
    expect(await pathsOf(at('.Trash-1000'), at('day/clip.mp4.part'))).toEqual([
      '.Trash-1000/x.mp4',
      'day/clip.mp4.part',
    ]);
    expect(await pathsOf(at('.Trash-1000/*'))).toEqual(['.Trash-1000/x.mp4']);
  });

  it('--prune keeps and check does not list what other programs left, unless --all-files is given', async () => {
    writeFiles('a.txt', '@eaDir/b.txt', 'c.part');
    const sync = ['sync', directory, '/F', '--prune', '--yes'];
    await cli.run([...sync, '--all-files']);
    rmSync(at('@eaDir'), { recursive: true });
    unlinkSync(at('c.part'));
    const { code, stderr } = await cli.run(sync);
    expect([code, stderr]).toEqual([0, expect.stringContaining('--prune keeps 2 assets')]);
    expect(service.completeAssets).toHaveLength(3);
    expect(await cli.json(['check', directory, '/F'])).toEqual([]);
    const { stdout } = await cli.run(['check', directory, '/F', '--all-files', '--json']);
    expect(JSON.parse(stdout).map(({ path }: { path: string }) => path)).toEqual(['/F/c.part', '/F/@eaDir/b.txt']);
    await cli.run([...sync, '--all-files', '--max-changes', '2']);
    expect(service.completeAssets).toHaveLength(1);
  });
});

describe('uploadDirectory of the package', () => {
  it('uploadDirectory reports what its filters leave out and which of them match nothing', async () => {
    writeFiles('archive/a.txt', 'b.txt', '.DS_Store');
    const client = createClient({ baseUrl: service.url, apiKey: testKey, workspace: workspaceUid });
    onTestFinished(() => client.close());
    const upload = async (options: Parameters<typeof client.uploadDirectory>[1]) => {
      const [paths, notices]: [string[], Notice[]] = [[], []];
      const onNotice = (notice: Notice) => void notices.push(notice);
      const flat = { ...options, flatten: true, existing: 'upload', onNotice } as const;
      for await (const { path } of client.uploadDirectory(directory, flat)) paths.push(relative(directory, path));
      return { paths: paths.sort(), notices };
    };
    const { paths, notices } = await upload({ exclude: ['/archive', 'none'], include: ['*.txt', '.*'] });
    expect(paths).toEqual(['b.txt']);
    expect(notices).toEqual([
      {
        kind: 'warning',
        message: 'skipped: 1 file that other programs left, such as .DS_Store (allFiles uploads them)',
      },
      { kind: 'warning', message: "exclude 'none' matched nothing" },
    ]);
    expect((await upload({ allFiles: true })).paths).toEqual(['.DS_Store', 'archive/a.txt', 'b.txt']);
  });
});
