import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { setUpCli } from '../support/cli-setup.ts';
import { acceleratedClockInProcess } from '../support/clock.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { contentsOf } from '../support/files.ts';
import { isStrict } from '../support/sandbox.ts';
import { changeState } from '../support/state-database.ts';

const { setup } = setUpCli();

/** Files of every kind of name that a disk takes, by their paths. */
const tree: Record<string, string> = {
  'top.md': '# top',
  'no extension': '# no extension',
  '.hidden.md': '# hidden',
  '-dash.md': '# dash',
  "it's 100% #1, ok.md": '# signs',
  'day 1/notes.md': '# day 1',
  'day 1/cam a/notes.md': '# cam a',
  'day 1/cam a/日本 ü.md': '# unicode',
  'day 2/notes.md': '# day 2',
};

type DownloadRecord = { outcome: string; path: string; asset_uid: string; verified: boolean | null };

let source: string;
let target: string;
let folder: string;
let count = 0;
beforeEach(async () => {
  [source, target] = [join(setup.cli.home, 'source'), join(setup.cli.home, 'home')];
  folder = `/Tree ${++count}`;
  for (const [path, text] of Object.entries(tree)) write(join(source, path), `${text} of ${folder}`);
});

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Syncs and waits with a clock that runs faster, since the first look at an asset is a second after its upload. */
const upload = (to = folder) =>
  setup.cli.json(['sync', source, to, '--wait'], { clock: acceleratedClockInProcess({ speed: 20 }) });
const download = (...args: string[]): Promise<DownloadRecord[]> =>
  setup.cli.json(['download', folder, '-d', target, ...args]);
const outcomesOf = (records: readonly DownloadRecord[]) =>
  Object.fromEntries(records.map(({ path, outcome }) => [path.slice(target.length + 1), outcome]));

describe.skipIf(isStrict)('download of a folder', () => {
  it('download of a folder makes its tree with equal names and bytes, and each file is verified', async () => {
    await upload();
    const records = await download();
    expect(contentsOf(target)).toEqual(contentsOf(source));
    expect(records.map(({ verified }) => verified)).toEqual(records.map(() => true));
  });

  it('download of a folder again costs the folders and the pages of its lists alone', async () => {
    await upload();
    const args = ['download', folder, '-d', target];
    const environment = { MEDIACTL_BASE_URL: setup.sandbox.url };
    await setup.cli.run(args, { environment });
    const records: DownloadRecord[] = await setup.cli.json(args);
    expect(new Set(records.map(({ outcome }) => outcome))).toEqual(new Set(['skipped']));
    // A proxy is another service: its first run compares, the second one does not.
    const proxy = await FaultProxy.start(setup.sandbox.url, () => undefined);
    const throughProxy = { environment: { MEDIACTL_BASE_URL: proxy.url } };
    rmSync(target, { recursive: true });
    await setup.cli.run(args, throughProxy);
    proxy.requests.splice(0);
    expect((await setup.cli.run(args, throughProxy)).code).toBe(0);
    const kinds = proxy.requests.map(
      ({ method, path }) => `${method} ${path.replace(/\?.*/, '').replace(/[0-9a-f-]{36}/, 'UID')}`,
    );
    expect([...new Set(kinds)].sort()).toEqual([
      'GET /api/external/v1/assets/',
      'GET /api/external/v1/workspaces/',
      'GET /api/external/v1/workspaces/UID/folders/',
    ]);
    // One for each of the four folders, and those for the workspace and its folders.
    expect(kinds).toHaveLength(6);
  });

  it('download of a folder fetches what is new, what was replaced in the library, and what was deleted here', async () => {
    await upload();
    await download();
    write(join(source, 'new.md'), '# new');
    write(join(source, 'top.md'), '# changed');
    const [old] = (await setup.cli.json(['ls', `${folder}/top.md`])) as { uid: string }[];
    await upload();
    await setup.cli.json(['rm', old?.uid ?? '', '--yes']);
    rmSync(join(target, 'day 2/notes.md'));
    const fetched = Object.entries(outcomesOf(await download())).filter(([, outcome]) => outcome !== 'skipped');
    expect(Object.fromEntries(fetched)).toEqual({
      'new.md': 'downloaded',
      'top.md': 'downloaded',
      'day 2/notes.md': 'downloaded',
    });
    expect(contentsOf(target)).toEqual(contentsOf(source));
  });

  it('download of a folder into the directory that was uploaded fetches only what is missing there, with --yes too', async () => {
    await upload();
    rmSync(join(source, 'day 2/notes.md'));
    const intoSource = (...args: string[]): Promise<DownloadRecord[]> =>
      setup.cli.json(['download', folder, '-d', source, ...args]);
    const records = await intoSource('--yes');
    const fetched = records.flatMap(({ path, outcome }) => (outcome === 'skipped' ? [] : [[path, outcome]]));
    expect(fetched).toEqual([[join(source, 'day 2/notes.md'), 'downloaded']]);
    expect(records.map(({ verified }) => verified)).toEqual(records.map(() => true));
    appendFileSync(join(source, 'top.md'), ', edited');
    const { code, stdout } = await setup.cli.run(['download', folder, '-d', source, '--json']);
    expect(code).toBe(11);
    const failed = (JSON.parse(stdout) as DownloadRecord[]).filter(({ outcome }) => outcome === 'failed');
    expect(failed.map(({ path }) => path)).toEqual([join(source, 'top.md')]);
  });

  it('download of a folder fetches neither a file that was edited and uploaded from there, nor its old version', async () => {
    await upload();
    appendFileSync(join(source, 'top.md'), ', edited');
    await setup.cli.json(['download', folder, '-d', source, '--yes']); // has the first version again
    appendFileSync(join(source, 'top.md'), ', edited again');
    await upload();
    const before = contentsOf(source);
    for (let run = 0; run < 2; run++) {
      const records: DownloadRecord[] = await setup.cli.json(['download', folder, '-d', source, '--yes']);
      expect(records).toHaveLength(Object.keys(tree).length + 1);
      expect(new Set(records.map(({ outcome }) => outcome))).toEqual(new Set(['skipped']));
      expect(contentsOf(source)).toEqual(before);
    }
  });

  it('download of a folder keeps and lists files whose assets the library no longer has', async () => {
    await upload();
    await download();
    const [gone] = (await setup.cli.json(['ls', `${folder}/day 2/notes.md`])) as { uid: string }[];
    await setup.cli.json(['rm', gone?.uid ?? '', '--yes']);
    for (let run = 0; run < 2; run++) {
      const records = await download();
      expect(records.filter(({ outcome }) => outcome === 'not_in_library')).toMatchObject([
        { path: join(target, 'day 2/notes.md'), asset_uid: gone?.uid },
      ]);
      expect(existsSync(join(target, 'day 2/notes.md'))).toBe(true);
    }
  });

  it('download of a folder never replaces a file that was changed here, unless --yes is given', async () => {
    await upload();
    await download();
    appendFileSync(join(target, 'top.md'), ', edited');
    const { code, stdout } = await setup.cli.run(['download', folder, '-d', target, '--json']);
    expect(code).toBe(11);
    expect(outcomesOf(JSON.parse(stdout))['top.md']).toBe('failed');
    expect(readFileSync(join(target, 'top.md'), 'utf8')).toContain('edited');
    await download('--yes');
    expect(contentsOf(target)).toEqual(contentsOf(source));
  });

  it('download of a folder with --yes fetches only what is new, was deleted or was changed here', async () => {
    await upload();
    await download();
    write(join(source, 'new.md'), '# new');
    await upload();
    appendFileSync(join(target, 'top.md'), ', edited');
    rmSync(join(target, 'day 2/notes.md'));
    const fetched = Object.entries(outcomesOf(await download('--yes'))).filter(([, outcome]) => outcome !== 'skipped');
    expect(fetched.map(([path]) => path).sort()).toEqual(['day 2/notes.md', 'new.md', 'top.md']);
    expect(new Set(Object.values(outcomesOf(await download('--yes'))))).toEqual(new Set(['skipped']));
  });

  it('download of a folder lists a file whose asset has another name now, and fetches it under that name', async () => {
    await upload();
    await download();
    const [asset] = (await setup.cli.json(['ls', `${folder}/top.md`])) as { uid: string }[];
    await setup.cli.json(['update', asset?.uid ?? '', '--name', 'renamed.md']);
    for (const outcome of ['downloaded', 'skipped'])
      expect(outcomesOf(await download())).toMatchObject({ 'renamed.md': outcome, 'top.md': 'not_in_library' });
    expect(readFileSync(join(target, 'top.md'), 'utf8')).toBe(readFileSync(join(target, 'renamed.md'), 'utf8'));
  });

  it('download of another folder never replaces a file of the first that has the same name', async () => {
    await upload();
    await download();
    const before = contentsOf(target);
    const other = `${folder} B`;
    write(join(source, 'top.md'), '# of another folder');
    await upload(other);
    const { code, stdout } = await setup.cli.run(['download', other, '-d', target, '--json']);
    expect(code).toBe(11);
    expect(outcomesOf(JSON.parse(stdout))['top.md']).toBe('failed');
    expect(contentsOf(target)).toEqual(before);
  });

  it('download of a folder never replaces a file that a program changes during the download', async () => {
    await upload();
    const edited = join(target, 'top.md');
    let isEditing = false;
    const proxy = await FaultProxy.start(setup.sandbox.url, ({ path }) => {
      if (isEditing && path.includes('/playback/')) writeFileSync(edited, 'edited');
      return undefined;
    });
    const run = () =>
      setup.cli.run(['download', folder, '-d', target, '--json'], { environment: { MEDIACTL_BASE_URL: proxy.url } });
    expect((await run()).code).toBe(0);
    const [old] = (await setup.cli.json(['ls', `${folder}/top.md`])) as { uid: string }[];
    write(join(source, 'top.md'), '# changed in the library');
    await upload();
    await setup.cli.json(['rm', old?.uid ?? '', '--yes']);
    isEditing = true;
    const { code, stderr } = await run();
    expect([code, stderr]).toEqual([11, expect.stringContaining('it was created or changed during the download')]);
    expect(readFileSync(edited, 'utf8')).toBe('edited');
  });

  it('download finishes a file that was killed when it had its name and its temporary name', async () => {
    await upload();
    await download();
    const mark = readdirSync(target);
    const state = join(setup.cli.home, 'state');
    changeState(state, "UPDATE downloads SET state = 'whole', ctime_ns = NULL WHERE path = ?", join(target, 'top.md'));
    const hash = createHash('sha256').update(`${hostname()} ${state}`).digest('hex').slice(0, 8);
    linkSync(join(target, 'top.md'), join(target, `top.md.${hash}.part`));
    for (let run = 0; run < 2; run++) {
      expect(outcomesOf(await download())['top.md']).toBe('skipped');
      expect(readdirSync(target)).toEqual(mark);
    }
  });

  it('download finds a byte that changed in the store of the service, and keeps no such file', async () => {
    await upload();
    const { uid } = ((await setup.cli.json(['ls', `${folder}/top.md`])) as { uid: string }[])[0] ?? { uid: '' };
    const stored = readdirSync(setup.sandbox.dataDir, { recursive: true, withFileTypes: true }).find(
      (entry) => entry.isFile() && join(entry.parentPath, entry.name).includes(uid) && entry.name.startsWith('source'),
    );
    const path = join(stored?.parentPath ?? '', stored?.name ?? '');
    const bytes = readFileSync(path);
    bytes[2] = (bytes[2] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    const { code, stdout } = await setup.cli.run(['download', folder, '-d', target, '--json']);
    expect(code).toBe(11);
    const failed = (JSON.parse(stdout) as (DownloadRecord & { error: { code: string } | null })[]).filter(
      ({ outcome }) => outcome === 'failed',
    );
    expect(failed.map(({ path: at, error }) => [at, error?.code])).toEqual([
      [join(target, 'top.md'), 'download_changed'],
    ]);
    expect(existsSync(join(target, 'top.md'))).toBe(false);
  });

  it('download --flatten puts all files into one directory, and those of equal names get their uid', async () => {
    await upload();
    await download('--flatten');
    const names = Object.keys(contentsOf(target));
    expect(names).toHaveLength(Object.keys(tree).length);
    expect(names.filter((name) => name.startsWith('notes-'))).toHaveLength(3);
  });

  it('download maps names that no file can have, and says so', async () => {
    write(join(source, 'a.md'), '# a');
    const records = (await upload()) as { path: string; asset_uid: string }[];
    const uid = records.find(({ path }) => path.endsWith('/a.md'))?.asset_uid ?? '';
    for (const [name, saved] of [
      ['../../escape.md', '.._.._escape.md'],
      ['..', '__'],
      ['back\\slash.md', 'back_slash.md'],
      ['con.md', '_con.md'],
    ] as const) {
      await setup.cli.json(['update', uid, '--name', name]);
      const { stdout, stderr } = await setup.cli.run(['download', folder, '-d', target, '--json']);
      const record = (JSON.parse(stdout) as DownloadRecord[]).find(({ asset_uid }) => asset_uid === uid);
      expect(dirname(record?.path ?? '')).toBe(target);
      expect(record?.path).toMatch(saved === '__' ? /\/__/ : new RegExp(`/${saved.replaceAll('.', '\\.')}$`));
      expect(stderr).toContain(`${name} is saved as`);
    }
    expect(existsSync(join(setup.cli.home, 'escape.md'))).toBe(false);
  });

  it('download of a folder fetches all that is in it, although an asset has a glob as its name', async () => {
    await upload();
    const [asset] = (await setup.cli.json(['ls', `${folder}/top.md`])) as { uid: string }[];
    await setup.cli.json(['update', asset?.uid ?? '', '--name', '**']);
    expect(Object.values(outcomesOf(await download()))).toEqual(Object.keys(tree).map(() => 'downloaded'));
  });

  it('download opens no file outside of the directory through a link, even with --yes', async () => {
    await upload();
    const outside = join(setup.cli.home, 'outside');
    mkdirSync(outside);
    mkdirSync(target);
    symlinkSync(outside, join(target, 'day 1'));
    const victim = join(outside, 'victim');
    writeFileSync(victim, 'untouched');
    symlinkSync(victim, join(target, 'top.md'));
    const { code, stdout } = await setup.cli.run(['download', folder, '-d', target, '--yes', '--json']);
    expect(code).toBe(11);
    const outcomes = outcomesOf(JSON.parse(stdout));
    expect([outcomes['day 1/notes.md'], outcomes['top.md']]).toEqual(['failed', 'downloaded']);
    expect(readdirSync(outside)).toEqual(['victim']);
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
    expect(statSync(join(target, 'top.md')).isFile()).toBe(true);
  });

  it('download of an empty folder downloads nothing and is no error, and one without -d names the option', async () => {
    await setup.cli.json(['folders', 'create', folder]);
    expect(await download()).toEqual([]);
    const { code, stderr } = await setup.cli.run(['download', folder]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`mediactl download '${folder}' -d DIRECTORY`)]);
  });

  it('download -n says how many files of a folder it would fetch, and creates nothing', async () => {
    await upload();
    const { code, stderr } = await setup.cli.run(['download', folder, '-d', target, '-n']);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`would download ${Object.keys(tree).length} files`)]);
    expect(existsSync(target)).toBe(false);
  });
});
