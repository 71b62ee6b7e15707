import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { FakeService, handleThen, respondWithError, sendBytes } from '../support/fake-service.ts';
import { playsOriginals } from '../support/random-library.ts';

let service: FakeService;
let cli: Cli;
let directory: string;
beforeEach(async () => {
  service = await FakeService.start({
    shows: ['size', 'parent'],
    media: (response, uid) => sendBytes(service.assets.get(uid)?.bytes ?? Buffer.alloc(0), 'video/mp4')(response),
  });
  service.fault = (request) => playsOriginals(request);
  cli = new Cli(service.environment);
  directory = join(cli.home, 'rushes');
});

function write(path: string, text = path) {
  mkdirSync(join(directory, path, '..'), { recursive: true });
  writeFileSync(join(directory, path), text);
}

it('check finds the folder of a directory whose accents are encoded in another way, as sync does', async () => {
  write('cafe\u0301/note.txt');
  await cli.run(['folders', 'create', '-p', '/U/caf\u00e9']);
  expect((await cli.run(['sync', directory, '/U'])).code).toBe(0);
  const { code, stderr } = await cli.run(['check', directory, '/U']);
  expect([code, stderr]).toEqual([0, expect.stringContaining('1 of 1 files match; 0 differences')]);
});

it('check counts what was not compared by itself, not as a difference, and ends with 11', async () => {
  write('note.txt');
  const other = { ...service.environment, MEDIACTL_STATE_DIR: join(cli.home, 'other') };
  expect((await cli.run(['sync', directory, '/U', '--create-folders'], { environment: other })).code).toBe(0);
  const { code, stderr } = await cli.run(['check', directory, '/U']);
  expect([code, stderr]).toEqual([11, expect.stringContaining('0 of 1 files match; 1 file not compared\n')]);
  expect(stderr).not.toContain('difference');
});

it('check does not propose to delete an asset that this machine has not uploaded from a file that is there', async () => {
  write('note.txt');
  const other = { ...service.environment, MEDIACTL_STATE_DIR: join(cli.home, 'other') };
  await cli.run(['sync', directory, '/U', '--create-folders'], { environment: other });
  write('another.txt');
  await cli.run(['sync', directory, '/U']);
  for (const asset of service.assets.values()) if (asset.name === 'note.txt') asset.fields = { status: 'failed' };
  const failed = await cli.run(['check', directory, '/U']);
  expect([failed.code, failed.stderr]).toEqual([11, expect.not.stringContaining('mediactl rm')]);
});

it('sync of a copied directory keeps what its folder has, and sends only what is new', async () => {
  write('note.txt');
  await cli.run(['sync', directory, '/U', '--create-folders']);
  for (const asset of service.assets.values()) asset.fields = { status: 'ready' };
  const copy = join(cli.home, 'copy');
  mkdirSync(copy);
  for (const name of ['note.txt', 'new.txt']) writeFileSync(join(copy, name), name);
  const { code, stderr } = await cli.run(['check', copy, '/U']);
  expect([code, stderr]).toEqual([
    11,
    expect.stringMatching(/1 of 2 files match; 1 difference\n[\s\S]*try: +mediactl sync \S+ \/U,/),
  ]);
  await cli.run(['sync', copy, '/U']);
  expect([...service.assets.values()].map(({ name }) => name).sort()).toEqual(['new.txt', 'note.txt']);
});

it('check --matches lists the files that match, and what shows it since when', async () => {
  write('note.txt');
  await cli.run(['sync', directory, '/U', '--create-folders']);
  const { code, stdout } = await cli.run(['check', directory, '/U', '--matches', '--json']);
  const [asset] = [...service.assets.values()];
  const match = { outcome: 'match', asset_uid: asset?.uid, evidence: 'upload', path: join(directory, 'note.txt') };
  expect([code, JSON.parse(stdout)]).toEqual([0, [{ ...match, found_at: expect.stringMatching(/^\d{4}-.*Z$/) }]]);
});

it('check of files finds them in a folder, or else in each folder that has an asset of their name', async () => {
  for (const name of ['one.txt', 'two.txt', 'new.txt']) write(name);
  const [one, two, added] = ['one.txt', 'two.txt', 'new.txt'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  await cli.run(['folders', 'create', '/U']);
  expect((await cli.run(['upload', one, '/U'])).code).toBe(0);
  expect((await cli.run(['upload', two, '/'])).code).toBe(0);
  const outcomes = async (...args: string[]) => {
    const { code, stdout } = await cli.run(['check', ...args, '--json']);
    return [code, JSON.parse(stdout).map(({ outcome }: { outcome: string }) => outcome)];
  };
  expect(await outcomes(one)).toEqual([0, ['match']]);
  expect(await outcomes(one, '/U')).toEqual([0, ['match']]);
  expect(await outcomes(one, two)).toEqual([0, ['match', 'match']]);
  // The top level, and a folder with the path of a directory of this machine.
  expect(await outcomes(two, '/')).toEqual([0, ['match']]);
  await cli.run(['folders', 'create', '--parents', directory]);
  expect(await outcomes(two, directory)).toEqual([11, ['missing_remotely']]);
  expect(await outcomes(one, two, added, '/U')).toEqual([11, ['match', 'missing_remotely', 'missing_remotely']]);
  expect((await cli.run(['check', two, '/U'])).stderr).toContain(`try:   mediactl upload ${two} /U\n`);
  expect((await cli.run(['check', one, '/U', '--download'])).code).toBe(2);
});

it('check of a file finds its asset where it was uploaded, also if it was renamed', async () => {
  write('one.txt');
  const path = join(directory, 'one.txt');
  await cli.run(['folders', 'create', '/U']);
  await cli.run(['upload', path, '/U']);
  await cli.run(['rename', '/U/one.txt', 'two.txt']);
  expect((await cli.run(['check', path])).code).toBe(0);
  await cli.run(['mv', '/U/two.txt', '/']);
  expect((await cli.run(['check', path])).code).toBe(0);
  await cli.run(['rm', '/two.txt', '--yes']);
  expect((await cli.run(['check', path])).code).toBe(11);
});

it('check of a file says what the service shows of its asset now: deleted, moved, or failed', async () => {
  write('one.txt');
  const path = join(directory, 'one.txt');
  for (const folder of ['/U', '/V']) await cli.run(['folders', 'create', folder]);
  await cli.run(['upload', path, '/U']);
  const outcome = async () => JSON.parse((await cli.run(['check', path, '/U', '--json'])).stdout)[0].outcome;
  const asset = [...service.assets.values()][0] as NonNullable<ReturnType<typeof service.assets.get>>;
  asset.fields = { status: 'failed' };
  expect(await outcome()).toBe('failed');
  asset.fields = { status: 'ready' };
  await cli.run(['mv', asset.uid, '/V']);
  expect(await outcome()).toBe('missing_remotely');
  await cli.run(['mv', asset.uid, '/U']);
  expect(await outcome()).toBe('match');
  service.assets.delete(asset.uid);
  expect(await outcome()).toBe('missing_remotely');
});

it('check of a file that another machine uploaded says that it was not compared, and how to compare it', async () => {
  write('one.txt');
  const path = join(directory, 'one.txt');
  const other = { ...service.environment, MEDIACTL_STATE_DIR: join(cli.home, 'other') };
  await cli.run(['folders', 'create', '/U']);
  await cli.run(['upload', path, '/U'], { environment: other });
  const { code, stdout, stderr } = await cli.run(['check', path, '/U']);
  expect([code, stdout]).toEqual([11, expect.stringMatching(/^unverified\t/)]);
  const [, line = ''] = /try: +mediactl (.*), to compare/.exec(stderr) ?? [];
  expect(line).toBe(`check ${directory} /U --download --include one.txt`);
  expect((await cli.run(line.split(' '))).code).toBe(0);
});

it('check tells that a sync moves the assets of renamed files', async () => {
  write('one.txt');
  await cli.run(['sync', directory, '/U', '--create-folders']);
  for (const asset of service.assets.values()) asset.fields = { status: 'ready' };
  renameSync(join(directory, 'one.txt'), join(directory, 'two.txt'));
  const { stdout, stderr } = await cli.run(['check', directory, '/U']);
  expect([stdout, stderr]).toEqual([
    expect.stringMatching(/^renamed\t/),
    expect.stringMatching(/try: +mediactl sync \S+ \/U, to rename and move the assets of renamed files\n/),
  ]);
});

/** A service that returns no checksum of what it has received. */
const withoutChecksum = handleThen(({ headers = {}, ...reply }) => ({
  ...reply,
  headers: { ...headers, 'x-checksum-blake3': '' },
}));

it('check counts an upload whose checksum the service did not return as not compared', async () => {
  service.fault = ({ method }) => (method === 'PATCH' ? withoutChecksum : undefined);
  write('note.txt');
  await cli.run(['sync', directory, '/U', '--create-folders']);
  const { code, stdout } = await cli.run(['check', directory, '/U', '--json']);
  expect([code, JSON.parse(stdout)]).toMatchObject([11, [{ outcome: 'unverified', evidence: 'unconfirmed' }]]);
});

const outcomesOf = async (...args: string[]): Promise<Record<string, string>> => {
  const { stdout } = await cli.run([...args, '--json']);
  const records: { path: string; outcome: string }[] = JSON.parse(stdout);
  return Object.fromEntries(records.map(({ path, outcome }) => [path.split('/').at(-1), outcome]));
};

it('sync of a downloaded folder sends only what was edited there, of equal size, and what is new, as check says', async () => {
  for (const name of ['a.mov', 'b.mov', 'c.mov']) write(name);
  await cli.run(['sync', directory, '/B', '--create-folders']);
  const home = join(cli.home, 'home');
  expect((await cli.run(['download', '/B', '-d', home])).code).toBe(0);
  writeFileSync(join(home, 'b.mov'), 'B.mov');
  writeFileSync(join(home, 'new.mov'), 'new');
  expect(await outcomesOf('check', home, '/B')).toEqual({ 'b.mov': 'changed', 'new.mov': 'missing_remotely' });
  const sent = { 'a.mov': 'skipped', 'b.mov': 'uploaded', 'c.mov': 'skipped', 'new.mov': 'uploaded' };
  expect(await outcomesOf('sync', home, '/B')).toEqual(sent);
  expect(service.completeAssets).toHaveLength(5);
});

it('sync sends a file again whose asset check --download has found to have other bytes, and prune trashes that', async () => {
  write('a.mov');
  await cli.run(['sync', directory, '/B', '--create-folders']);
  const [damaged] = service.completeAssets;
  if (damaged) damaged.bytes = Buffer.from('?.mov');
  expect(await outcomesOf('check', directory, '/B', '--download')).toEqual({ 'a.mov': 'different' });
  expect(await outcomesOf('sync', directory, '/B', '--prune', '--yes', '--wait')).toEqual({ 'a.mov': 'uploaded' });
  expect(await outcomesOf('check', directory, '/B', '--download')).toEqual({});
  expect(damaged?.isTrashed).toBe(true);
});

it('check --download verifies an upload whose checksum the service did not return', async () => {
  service.fault = (request) => (request.method === 'PATCH' ? withoutChecksum : playsOriginals(request));
  write('a.mov');
  await cli.run(['sync', directory, '/B', '--create-folders']);
  expect((await cli.run(['sync', directory, '/B', '--require-checksum'])).code).not.toBe(0);
  expect((await cli.run(['check', directory, '/B', '--download'])).code).toBe(0);
  expect((await cli.run(['sync', directory, '/B', '--require-checksum'])).code).toBe(0);
  const matches = await cli.json(['check', directory, '/B', '--matches']);
  expect(matches).toMatchObject([{ outcome: 'match', evidence: 'bytes' }]);
});

it('upload --existing name skips what this machine uploaded, from another path and after a change', async () => {
  write('one/clip.txt', 'first');
  write('two/clip.txt', 'another');
  const upload = (from: string) => outcomesOf('upload', join(directory, from), '/N', '--existing', 'name');
  await cli.run(['folders', 'create', '/N']);
  expect(await upload('one/clip.txt')).toEqual({ 'clip.txt': 'uploaded' });
  expect(await upload('two/clip.txt')).toEqual({ 'clip.txt': 'exists' });
  write('one/clip.txt', 'changed');
  expect(await upload('one/clip.txt')).toEqual({ 'clip.txt': 'exists' });
  expect(service.completeAssets).toHaveLength(1);
});

it('check names the incomplete asset of an interrupted upload, of a directory and of a file', async () => {
  write('a.mov', 'x'.repeat(3_000));
  service.fault = ({ method, asset }) =>
    method === 'PATCH' && asset.bytes.length > 0 ? respondWithError(422) : undefined;
  expect((await cli.run(['sync', directory, '/B', '--create-folders', '--chunk-size', '1KiB'])).code).not.toBe(0);
  const [incomplete] = service.assets.keys();
  for (const path of [directory, join(directory, 'a.mov')]) {
    const { stdout } = await cli.run(['check', path, '/B', '--json']);
    expect(JSON.parse(stdout)).toMatchObject([
      { outcome: 'missing_remotely', asset_uid: incomplete, evidence: 'incomplete' },
    ]);
  }
});
