import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { tryLock } from '../../src/client/lock.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { errorOf } from '../support/errors.ts';
import { FakeService, respondWithError } from '../support/fake-service.ts';
import { startProcess } from '../support/spawn.ts';

/* Uploads of directories that contain mediactl's own configuration and state: a home directory, or a project. */

let service: FakeService;
let cli: Cli;
let home: string;
beforeEach(async () => {
  service = await FakeService.start({ shows: ['parent'] });
  cli = new Cli(service.environment);
  home = cli.home;
  writeFileAt('config/config.json', '{"profiles":{}}');
  writeFileAt('config/more/notes.txt');
  writeFileAt('media/a.mov');
});

function writeFileAt(path: string, text = path): string {
  const place = join(home, path);
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, text, { mode: 0o600 });
  return place;
}

const assetNames = () => service.completeAssets.map(({ name }) => name).sort();
const uploadTo = (folder: string, args: readonly string[], options: CliOptions = {}) =>
  cli.run(['upload', ...args, '--folder', folder, '--create-folders'], options);
const inState = (state: string) => ({ environment: { MEDIACTL_STATE_DIR: state } });

describe('a walk', () => {
  it('leaves out the configuration and state folders and settings files of projects, and says how many', async () => {
    for (const path of ['.mediactl.json', 'media/day 1/.mediactl.json']) writeFileAt(path, '{}');
    const first = await uploadTo('/F', [home]);
    expect([first.code, assetNames()]).toEqual([0, ['a.mov']]);
    expect(first.stderr).toMatch(
      /warning: skipped: 2 files and 2 directories of mediactl's own configuration and state$/m,
    );
    const second = await uploadTo('/F', [home]);
    expect([second.code, second.stderr]).toEqual([0, expect.stringContaining('already uploaded')]);
    expect(service.assets.size).toBe(1);
  });

  it('leaves out a state folder that the same command creates', async () => {
    const { code } = await uploadTo('/F', [join(home, 'media')], inState(join(home, 'media/state')));
    expect([code, assetNames()]).toEqual([0, ['a.mov']]);
    expect(readdirSync(join(home, 'media/state'))).toContain('receipts.db');
  });

  it('leaves out a directory inside of the state folder, and finds nothing to upload', async () => {
    for (const name of ['a', 'b', 'day/c']) writeFileAt(`state/renders/${name}.mov`);
    const { code, stderr } = await uploadTo('/F', [join(home, 'state/renders')]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('no files found')]);
    expect(stderr).toContain("skipped: 1 directory of mediactl's own configuration and state");
  });

  it('leaves out a configuration folder inside of the state folder, and the state folder above a named link', async () => {
    writeFileAt('app/config/config.json', '{"profiles":{}}');
    writeFileAt('app/own.txt');
    symlinkSync(join(home, 'app/config'), join(home, 'link'));
    const environment = { MEDIACTL_STATE_DIR: join(home, 'app'), MEDIACTL_CONFIG_DIR: join(home, 'app/config') };
    await uploadTo('/F', [home, '--exclude', 'config/**'], { environment });
    expect(assetNames()).toEqual(['a.mov']);
    expect((await uploadTo('/F', [join(home, 'link')], { environment })).stderr).toContain('no files found');
  });

  it('recognizes the folders by another spelling, and files by a link', async () => {
    symlinkSync(join(home, 'config'), join(home, 'link-to-config'));
    symlinkSync(join(home, 'config/config.json'), join(home, 'media/settings.json'));
    symlinkSync(writeFileAt('project/.mediactl.json', '{}'), join(home, 'media/project.json'));
    const environment = { MEDIACTL_CONFIG_DIR: join(home, 'link-to-config') };
    const { code } = await uploadTo('/F', [home], { environment });
    expect([code, assetNames()]).toEqual([0, ['a.mov']]);
  });

  it('recognizes a folder that is mounted at another place', { tags: 'root-mount' }, async () => {
    mkdirSync(join(home, 'media/mounted'));
    expect(spawnSync('mount', ['--bind', join(home, 'config'), join(home, 'media/mounted')]).status).toBe(0);
    onTestFinished(() => void spawnSync('umount', ['-l', join(home, 'media/mounted')]));
    const { code, stderr } = await uploadTo('/F', [join(home, 'media')]);
    expect([code, assetNames()]).toEqual([0, ['a.mov']]);
    expect(stderr).toContain("1 directory of mediactl's own");
  });

  it('leaves out what a glob matches in the folders', async () => {
    const { code } = await uploadTo('/F', [join(home, '**/*.{json,txt,mov,db}')]);
    expect([code, assetNames()]).toEqual([0, ['a.mov']]);
  });

  it('reads no file whose lock this process holds', async () => {
    const lock = await tryLock(writeFileAt('state/held.lock', ''));
    const linked = await tryLock(writeFileAt('config/linked.lock', ''));
    symlinkSync(join(home, 'config/linked.lock'), join(home, 'media/linked.lock'));
    await uploadTo('/F', [home]);
    await cli.run(['check', home, '/F']);
    for (const path of ['state/held.lock', 'media/linked.lock']) await uploadTo('/F', [join(home, path)]);
    const script = `const Database = require('libsql');
      try { new Database(process.argv[1]).exec('BEGIN EXCLUSIVE'); console.log('unlocked'); }
      catch (error) { console.log(error.code); }`;
    const environment = { NODE_PATH: join(import.meta.dirname, '../../node_modules') };
    for (const path of ['state/held.lock', 'config/linked.lock']) {
      const { stdout } = await startProcess(process.execPath, ['-e', script, join(home, path)], environment).finished;
      expect([path, stdout]).toEqual([path, 'SQLITE_BUSY\n']);
    }
    lock?.release();
    linked?.release();
  });

  it('check and sync --prune leave alone what was uploaded from a folder before it was the configuration', async () => {
    const library = join(home, 'media');
    writeFileAt('media/conf/old.json');
    writeFileAt('media/conf/kept.json');
    const sync = (...args: string[]) => ['sync', library, '--folder', '/F', '--yes', ...args];
    await cli.run(sync());
    unlinkSync(join(library, 'conf/old.json'));
    const options = { environment: { MEDIACTL_CONFIG_DIR: join(library, 'conf') } };
    writeFileAt('media/conf/config.json', '{"profiles":{}}');
    const pruned = await cli.run(sync('--prune'), options);
    expect([pruned.code, pruned.stderr]).toEqual([0, expect.stringContaining('--prune keeps 1 asset')]);
    expect(assetNames()).toEqual(['a.mov', 'kept.json', 'old.json']);
    const checked = await cli.run(['check', library, '/F'], options);
    expect([checked.code, checked.stderr]).toEqual([0, expect.stringContaining('1 of 1 files match')]);
  });
});

describe('a named file', () => {
  const own = () => join(home, 'config/config.json');
  const expectRefused = async (args: readonly string[], path: string) => {
    const ran = await uploadTo('/F', [...args, '--json']);
    expect(errorOf(ran)).toEqual({ code: 'usage', exit: 2, hint: 'use another file' });
    expect(ran.stderr).toContain(`${path} is one of mediactl's own files`);
    expect(service.assets.size).toBe(0);
  };

  it('is refused as an argument, also by a link and through a linked directory', async () => {
    symlinkSync(own(), join(home, 'media/link.json'));
    symlinkSync(join(home, 'config'), join(home, 'media/linked'));
    for (const path of [
      'config/config.json',
      'media/../config/config.json',
      'media/link.json',
      'media/linked/more/notes.txt',
    ])
      await expectRefused([`${home}/${path}`], path);
  });

  it.each(['.mediactl.json', 'media/.mediactl.json'])('is refused if it is %s', async (name) => {
    const path = writeFileAt(name, '{}');
    await expectRefused([path], path);
  });

  it('is refused in --files-from and in a manifest, among others', async () => {
    const list = writeFileAt('list.txt', `${join(home, 'media/a.mov')}\n${own()}\n`);
    await expectRefused(['--files-from', list], own());
    const manifest = writeFileAt('manifest.csv', `path\n${own()}\n${join(home, 'media/a.mov')}\n`);
    await expectRefused(['--manifest', manifest], own());
  });

  it('may be anything if the folders do not exist', async () => {
    rmSync(join(home, 'config'), { recursive: true });
    const { code } = await uploadTo('/F', [join(home, 'media/a.mov')]);
    expect([code, assetNames()]).toEqual([0, ['a.mov']]);
  });

  it('is not resumed if its directory has become the configuration folder, and others are', async () => {
    writeFileAt('other/b.mov');
    service.fault = ({ method }) => (method === 'PATCH' ? respondWithError(402) : undefined);
    for (const path of ['media/a.mov', 'other/b.mov']) await uploadTo('/', [join(home, path)]);
    service.fault = () => undefined;
    const resumed = await cli.run(['uploads', 'resume', '--all', '--json'], {
      environment: { MEDIACTL_CONFIG_DIR: join(home, 'media') },
    });
    const records: { path: string; error: { code: string } | null }[] = JSON.parse(resumed.stdout);
    const codes = Object.fromEntries(records.map(({ path, error }) => [basename(path), error?.code ?? null]));
    expect([resumed.code, codes]).toEqual([11, { 'a.mov': 'usage', 'b.mov': null }]);
  });
});

it.each([
  ['ls --html', (path: string) => ['ls', '--html', path, '--yes']],
  [
    'upload --results',
    (path: string) => ['upload', join(home, 'media/a.mov'), '--existing', 'upload', '--results', path],
  ],
])('%s does not replace a file of the state folder', async (_what, argsFor) => {
  await cli.json(['upload', join(home, 'media/a.mov')]);
  const database = join(home, 'state/receipts.db');
  const before = readFileSync(database);
  const ran = await cli.run(argsFor(database));
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining("is one of mediactl's own files")]);
  expect(readFileSync(database).equals(before)).toBe(true);
});
