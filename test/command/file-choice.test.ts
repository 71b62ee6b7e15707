import { mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openDropUploader } from '../../src/cli/commands/page/drop-uploader.ts';
import { CodedError } from '../../src/client/errors.ts';
import { createClient, type DirectoryOptions } from '../../src/sdk/index.ts';
import { findLeftOut } from '../../src/web/browse/left-out.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { inherited } from '../support/environment.ts';
import { testKey, workspaceUid } from '../support/fake-library.ts';
import { FakeService } from '../support/fake-service.ts';
import { FileServer } from '../support/file-server.ts';
import { has } from '../support/has.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Every source of files by every rule about which files are meant. */

const configuration = JSON.stringify({
  profiles: { work: { baseUrl: 'https://a.example', key: 'k', keyStore: 'file' } },
});
const media = ['a.mov', 'b.txt', 'day/c.mov'];
const leftovers = ['clip.mp4.part', 'day/.DS_Store'];
const own = ['app/receipts.id', 'app/receipts.db', 'home/mediactl/config.json', '.mediactl.json'];

let service: FakeService;
let cli: Cli;
/** A directory with media, what other programs left, and what is mediactl's own. */
let directory: string;
/** More paths of the manifest. */
let rows: string[];
beforeEach(async () => {
  rows = [];
  service = await FakeService.start({ shows: ['parent'] });
  directory = join(temporaryFolder(), 'rushes');
  cli = new Cli({ ...service.environment, ...rcloneRemote(directory) });
  for (const path of [...media, ...leftovers, ...own]) write(path);
});

function write(path: string, text = path.endsWith('config.json') ? configuration : path): string {
  const full = join(directory, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
  return full;
}

/** Variables of a remote of rclone that is a directory. */
const rcloneRemote = (path: string) => ({
  PATH: inherited.PATH,
  RCLONE_CONFIG: '/dev/null',
  RCLONE_CONFIG_FAR_TYPE: 'alias',
  RCLONE_CONFIG_FAR_REMOTE: path,
});

/** Paths below the directory: those to upload, and those that are left out; what was said, and the exit code. */
type Choice = { chosen: string[]; leftOut: string[]; said: string; code: number };

const below = (path: string) =>
  path.startsWith('rclone:') ? path.replace('rclone:FAR:', '').replace(/^\//, '') : relative(directory, path);

/** Previews an upload. */
async function preview(args: readonly string[], options: CliOptions = {}): Promise<Choice> {
  const { code, stdout, stderr } = await cli.run(['upload', ...args, '-n', '--json'], options);
  const rows: { path: string; outcome: string }[] = stdout === '' ? [] : JSON.parse(stdout);
  const pathsOf = (isLeft: boolean) =>
    rows.filter(({ outcome }) => (outcome === 'left_out') === isLeft).map(({ path }) => below(path));
  return { chosen: pathsOf(false).sort(), leftOut: pathsOf(true).sort(), said: stderr, code };
}

/** Writes a list of the paths, and returns its own path. */
const listOf = (name: string, ...lines: string[]) => {
  const path = join(cli.home, name);
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
};

type Choose = (options: readonly string[], how?: CliOptions) => Promise<Choice>;

/** Sources that hold several files: each previews, or does, what the options choose. */
const trees = {
  directory: (options, how) => preview([directory, ...options], how),
  glob: (options, how) => preview([join(directory, '**'), ...options], how),
  'list of files': (options, how) => preview(['--files-from', listOf('list.txt', directory), ...options], how),
  manifest: (options, how) =>
    preview(['--manifest', listOf('manifest.csv', 'path', directory, ...rows), ...options], how),
  remote: (options, how) => preview(['rclone:FAR:', ...options], how),
  'watched directory': watch,
  check: async (options: readonly string[]) => {
    const { stdout, stderr, code } = await cli.run(['check', directory, '/', ...options, '--json']);
    const rows: { path: string }[] = stdout === '' ? [] : JSON.parse(stdout);
    return { chosen: rows.map(({ path }) => below(path)).sort(), leftOut: [], said: stderr, code };
  },
  prune,
  'package directory': uploadByPackage,
  'folder on the page': dropOnPage,
} satisfies { [source: string]: Choose };

async function watch(options: readonly string[]): Promise<Choice> {
  const controller = new AbortController();
  const clock = acceleratedClock({ speed: 200 });
  let stdout = '';
  const ended = cli.run(['sync', directory, '/', '--watch', '--jsonl', ...options], {
    clock,
    signal: controller.signal,
    onStdout: (text) => {
      stdout = text;
    },
  });
  // The scan that takes the files, once they stood still, and one more after their uploads.
  await expect.poll(() => clock.sleptMs.length).toBeGreaterThan(14);
  await expect.poll(() => service.assets.size - service.completeAssets.length).toBe(0);
  controller.abort(new CodedError('terminated', { code: 'terminated' }));
  const { code, stderr } = await ended;
  const rows: { path: string; outcome: string }[] = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const pathsOf = (isLeft: boolean) =>
    rows.filter(({ outcome }) => (outcome === 'left_out') === isLeft).map(({ path }) => below(path));
  return { chosen: pathsOf(false).sort(), leftOut: pathsOf(true).sort(), said: stderr, code };
}

/** Uploads everything while nothing is mediactl's own, deletes the files, and previews which assets would go, too. */
async function prune(options: readonly string[]): Promise<Choice> {
  for (const path of own) rmSync(join(directory, path), { force: true });
  const stay = Array.from({ length: 9 }, (_, at) => `stay/${at}.mov`);
  for (const path of [...media, ...leftovers, ...stay]) write(path);
  for (const path of ['app/receipts.db', 'home/mediactl/config.json']) write(path, path);
  await cli.run(['sync', directory, '/P', '--all-files', '--create-folders']);
  for (const path of ['a.mov', 'b.txt', 'clip.mp4.part', 'day', 'app', 'home'])
    rmSync(join(directory, path), { recursive: true });
  write('app/receipts.id');
  const args = ['sync', directory, '/P', '--prune', '--yes', '-n', '--json', ...options];
  const { stdout, stderr, code } = await cli.run(args);
  const found: { path: string; outcome: string }[] = JSON.parse(stdout);
  const chosen = found.filter(({ outcome }) => outcome === 'deleted').map(({ path }) => below(path));
  return { chosen: chosen.sort(), leftOut: [], said: stderr, code };
}

async function uploadByPackage(options: readonly string[]): Promise<Choice> {
  const valuesOf = (option: string) => options.flatMap((each, at) => (options[at - 1] === option ? [each] : []));
  const client = createClient({ baseUrl: service.url, apiKey: testKey, workspace: workspaceUid });
  onTestFinished(() => client.close());
  const [chosen, said]: [string[], string[]] = [[], []];
  const call: DirectoryOptions = {
    ...{ flatten: true, existing: 'upload', allFiles: options.includes('--all-files') },
    ...{ include: valuesOf('--include'), exclude: valuesOf('--exclude') },
    onNotice: (notice) => said.push('message' in notice ? notice.message : ''),
  };
  for await (const { path } of client.uploadDirectory(directory, call)) chosen.push(below(path));
  return { chosen: chosen.sort(), leftOut: [], said: said.join('\n'), code: 0 };
}

/** Chooses the directory in the page, and sends what it keeps to the process that serves it. */
async function dropOnPage(): Promise<Choice> {
  const all = [...media, ...leftovers, ...own].map((path) => `rushes/${path}`);
  const leftOut = [...findLeftOut(all)];
  const [chosen, said]: [string[], string[]] = [[], []];
  await cli.withContext(async (context) => {
    const drops = await openDropUploader(context, await context.api(), undefined);
    const send = (path: string) => {
      const body = readFileSync(join(dirname(directory), path));
      const bytes = (async function* () {
        yield body;
      })();
      const file = { name: basename(path), relativeDir: dirname(path), folder: null, sizeBytes: body.length };
      return drops.send(file, bytes, () => {});
    };
    for (const path of all.filter((each) => !leftOut.includes(each))) {
      await send(path);
      chosen.push(path.replace('rushes/', ''));
    }
    // Of a page that has not left them out, the process refuses them.
    for (const path of ['rushes/clip.mp4.part', 'rushes/home/mediactl/config.json'])
      await send(path).catch(({ message, explanation: { reason } }) => said.push(`${message}: ${reason}`));
    await drops.close();
  });
  return {
    chosen: chosen.sort(),
    leftOut: leftOut.map((path) => path.replace('rushes/', '')),
    said: said.join('\n'),
    code: 0,
  };
}

/** Sources that are one file, which the user names: each has the name and the content that a case gives. */
const files = {
  'named file': async (name: string, options: readonly string[]) => preview([write(name), ...options]),
  'file in a list': (name: string, options: readonly string[]) =>
    preview(['--files-from', listOf('list.txt', write(name)), ...options]),
  'file in a manifest': (name: string, options: readonly string[]) =>
    preview(['--manifest', listOf('manifest.csv', 'path,tags', `${write(name)},sea`), ...options]),
  'remote file': (name: string, options: readonly string[]) => {
    write(name);
    return preview([`rclone:FAR:${name}`, ...options]);
  },
  URL: async (name: string, options: readonly string[]) => {
    const url = await serve(name);
    const { chosen, ...choice } = await preview([url, ...options]);
    return { ...choice, chosen: chosen.length > 0 ? [name] : [] };
  },
  stdin: async (name: string, options: readonly string[]) => {
    const { chosen, ...choice } = await preview(['-', ...options], { stdin: name });
    return { ...choice, chosen: chosen.length > 0 ? [name] : [] };
  },
};

async function serve(name: string, headers: Record<string, string | undefined> = {}): Promise<string> {
  const server = await FileServer.start(Buffer.from(name.endsWith('config.json') ? configuration : name));
  server.fault = () => ({ headers: { 'content-disposition': `attachment; filename="${basename(name)}"`, ...headers } });
  return server.url;
}

type Tree = keyof typeof trees;
type File = keyof typeof files;
const treeNames = Object.keys(trees) as Tree[];
const fileNames = Object.keys(files) as File[];
const tagOf = (source: string) => (source.startsWith('remote') ? { tags: ['rclone'] } : {});

type Rule =
  | 'include'
  | 'exclude'
  | 'letters'
  | 'unused'
  | 'leftovers'
  | 'all files'
  | 'own'
  | 'age'
  | 'shard'
  | 'empty';

/** What a source has no option for: then there is no cell. */
const without: { [Source in Tree]?: readonly Rule[] } = {
  'folder on the page': ['include', 'exclude', 'letters', 'unused', 'all files', 'age', 'shard', 'empty'],
  'package directory': ['age', 'shard', 'empty'],
  check: ['age', 'shard', 'empty'],
  // A watch waits until a file stands still, by its own sightings (test/command/watch.test.ts), and has no end.
  'watched directory': ['age', 'empty'],
  // No file that is missing has an age, and no directory of missing files is empty by mistake.
  prune: ['unused', 'age', 'empty', 'letters'],
};

for (const source of treeNames)
  describe(`the files of a ${source}`, tagOf(source), () => {
    const choose = (...options: string[]) => (trees[source] as Choose)(options);
    const cell = (rule: Rule, sentence: string, run: () => Promise<void>) => {
      if (!without[source]?.includes(rule)) it(`a ${source} ${sentence}`, run);
    };

    cell('include', 'gives the files that --include matches', async () => {
      expect((await choose('--include', '*.mov')).chosen).toEqual(['a.mov', 'day/c.mov']);
    });

    cell('exclude', 'does not give the files that --exclude matches', async () => {
      expect((await choose('--exclude', 'day')).chosen).toEqual(['a.mov', 'b.txt']);
    });

    cell('letters', 'gives files by a filter whose letters are composed in another way', async () => {
      write('cafe\u0301/d.mov');
      const { chosen, said } = await choose('--include', 'caf\u00e9');
      expect([chosen, said]).toEqual([['cafe\u0301/d.mov'], expect.not.stringContaining('matched nothing')]);
    });

    cell('unused', 'names a filter that matches nothing, and no other', async () => {
      const { said } = await choose('--exclude', 'none', '--exclude', '*.txt');
      expect(said).toMatch(/exclude 'none' matched nothing/);
      expect(said).not.toContain("'*.txt'");
    });

    cell('leftovers', 'does not give what other programs left, and names it', async () => {
      const { chosen, leftOut, said } = await choose();
      expect(chosen).toEqual(media);
      const says = { prune: '--prune keeps 3 assets', 'folder on the page': 'that other programs left' };
      expect(said).toContain(says[source as never] ?? '2 files that other programs left, such as');
      if (!['check', 'package directory', 'prune'].includes(source))
        expect(leftOut).toEqual(expect.arrayContaining(leftovers));
    });

    cell('all files', 'gives what other programs left with --all-files, and nothing of mediactl', async () => {
      expect((await choose('--all-files')).chosen).toEqual([...media, ...leftovers].sort());
    });

    cell('own', 'does not give what is mediactl\u2019s own, and counts it', async () => {
      const { chosen, said } = await choose();
      expect(chosen.filter((path) => !media.includes(path))).toEqual([]);
      if (source !== 'prune') expect(said).toContain("of mediactl's own configuration and state");
    });

    cell('age', 'gives only files that are older than --min-age, and says so', async () => {
      // By the clock of the file system, which under faketime is not that of the process.
      const clockAt = (ageMs: number) => ({
        ...acceleratedClock(),
        now: () => statSync(join(directory, 'a.mov')).ctimeMs + ageMs,
      });
      const choose = (ageMs: number) => (trees[source] as Choose)(['--min-age', '1h'], { clock: clockAt(ageMs) });
      const recent = await choose(60_000);
      expect([recent.chosen, recent.said]).toEqual([[], expect.stringContaining('3 files that changed recently')]);
      expect((await choose(2 * 3_600_000)).chosen).toEqual(media);
    });

    cell('shard', 'gives each file to one of the shards', async () => {
      const [first, second] = [await choose('--shard', '1/2'), await choose('--shard', '2/2')];
      expect([...first.chosen, ...second.chosen].sort()).toEqual(media);
      expect([first.chosen.length, second.chosen.length]).toEqual([expect.any(Number), expect.any(Number)]);
      for (const { chosen } of [first, second]) expect(chosen).not.toEqual(media);
    });

    /** Adds another source: to a manifest as a row. */
    const other = () => {
      const path = join(cli.home, 'other.mov');
      writeFileSync(path, 'other');
      if (source !== 'manifest') return [path];
      rows = [path];
      return [];
    };

    cell('empty', 'is named beside another source if it gives no file', async () => {
      const { code, said } = await choose('--exclude', 'day', '--exclude', 'b.txt', '--exclude', 'a.mov', ...other());
      expect([code, said]).toEqual([11, expect.stringContaining('1 source gave no files')]);
    });
  });

for (const source of fileNames)
  describe(`a ${source}`, tagOf(source), () => {
    const choose = (name: string, ...options: string[]) => files[source](name, options);

    it(`a ${source} is taken whatever its name and the filters are, and these are not called unused`, async () => {
      const { chosen, said } = await choose('x.mp4.part', '--exclude', '*.part', '--include', '*.part');
      expect(chosen.map((path) => basename(path))).toEqual(['x.mp4.part']);
      // A stream has no name that a filter could match.
      if (source !== 'stdin') expect(said).not.toContain('matched nothing');
    });

    it(`a ${source} does not keep a filter that matches nothing from being named`, async () => {
      const { said } = await choose('x.mp4', '--exclude', '*.part');
      expect(said).toContain("--exclude '*.part' matched nothing");
    });

    it(`a ${source} that is a configuration with an API key is refused, whatever its name is`, async () => {
      const args = await argumentsOf(source, 'settings.json', configuration);
      const ran = await cli.run(['upload', ...args.paths, '/'], { stdin: args.stdin });
      expect([ran.code !== 0, ran.stderr]).toEqual([true, expect.stringContaining("is one of mediactl's own files")]);
      expect(service.completeAssets).toEqual([]);
    });

    it(`a ${source} gets a name by a template`, async () => {
      const { paths, stdin } = await argumentsOf(source, 'clip.mov', 'clip');
      const { code } = await cli.run(['upload', ...paths, '--name', 'x-{stem}-{date}', '/'], { stdin });
      const date = source === 'URL' ? '2026-03-03' : source === 'stdin' ? '' : '2026-03-04';
      const stem = source === 'stdin' ? '-' : 'clip';
      expect([code, service.completeAssets.map(({ name }) => name)]).toEqual([0, [`x-${stem}-${date}`]]);
    });
  });

/** Returns the arguments of a file of this name, content and date, and stdin. */
async function argumentsOf(source: File, name: string, text: string) {
  const path = write(name, text);
  utimesSync(path, new Date('2026-03-04T12:00Z'), new Date('2026-03-04T12:00Z'));
  const server = await FileServer.start(Buffer.from(text));
  server.fault = () => ({ headers: { 'content-disposition': `attachment; filename="${name}"` } });
  const all: Record<File, readonly string[]> = {
    'named file': [path],
    'file in a list': ['--files-from', listOf('list.txt', path)],
    'file in a manifest': ['--manifest', listOf('manifest.csv', 'path', path)],
    'remote file': [`rclone:FAR:${name}`],
    URL: [server.url.replace('.mp4', '.json')],
    stdin: ['-'],
  };
  return { paths: all[source], stdin: text };
}

describe('a name template', () => {
  it.each(['directory', 'glob', 'remote'] as const)('names each file of a %s', async (source) => {
    if (source === 'remote' && !has('rclone')) return;
    const path = { directory, glob: join(directory, '*.mov'), remote: 'rclone:FAR:' }[source];
    await cli.run([
      'upload',
      path,
      '--flatten',
      '--folder',
      '/',
      '--include',
      '*.mov',
      '--exclude',
      'day',
      '--name',
      'x-{stem}',
    ]);
    expect(service.completeAssets.map(({ name }) => name)).toEqual(['x-a']);
  });
});

describe('the age of a file that is not on this machine', () => {
  const ageOf = async (headers: Record<string, string | undefined>) =>
    preview([await serve('a.mov', headers), '--min-age', '1h']);

  it('a URL whose server gives no date is uploaded, and a warning says that its age is not known', async () => {
    const { chosen, said, code } = await ageOf({ 'last-modified': undefined });
    expect([chosen.length, code]).toEqual([1, 0]);
    expect(said).toMatch(/warning: the age of 1 file is not known, such as http.*: --min-age is not applied there/);
  });

  it('a URL with a date in the future is uploaded, and a warning says that its age is not known', async () => {
    const { chosen, said, code } = await ageOf({ 'last-modified': new Date(Date.now() + 1e8).toUTCString() });
    expect([chosen.length, code, said]).toEqual([1, 0, expect.stringContaining('the age of 1 file is not known')]);
  });

  it('a URL that has changed since is not uploaded', async () => {
    const { chosen, said } = await ageOf({ 'last-modified': new Date().toUTCString() });
    expect([chosen, said]).toEqual([[], expect.stringContaining('1 file that changed recently')]);
  });

  it('stdin has no age and no part, so that --min-age and --shard are refused for it', async () => {
    for (const [option, value] of [
      ['--min-age', '1h'],
      ['--shard', '1/2'],
    ] as const) {
      const { code, said } = await preview(['-', option, value], { stdin: 'x' });
      expect([code, said]).toEqual([2, expect.stringContaining(`${option} does not work with stdin`)]);
    }
  });
});

it('a glob finds a directory whose letters are composed in another way', async () => {
  write('cafe\u0301/d.mov');
  expect((await preview([join(directory, 'caf\u00e9/*')])).chosen).toEqual(['cafe\u0301/d.mov']);
});

it('--include chooses among the files that a glob matches', async () => {
  expect((await preview([join(directory, '*'), '--include', '*.mov'])).chosen).toEqual(['a.mov']);
});
