import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { setUpCli } from '../support/cli-setup.ts';
import { writeRandomFile } from '../support/files.ts';
import { isStrict } from '../support/sandbox.ts';

const { setup } = setUpCli();

/** Creates a directory with two files of unique content, last changed on 1 May 2026. */
function createDirectory(name: string): string {
  const directory = join(setup.cli.home, name);
  mkdirSync(directory);
  const changedAt = new Date(2026, 4, 1, 12).getTime() / 1000;
  for (const file of ['one.bin', 'two.tar.gz']) {
    writeRandomFile(join(directory, file), { size: 100, seed: `${name} ${file}` });
    utimesSync(join(directory, file), changedAt, changedAt);
  }
  return directory;
}
const upload = async (...args: string[]) => {
  const records = await setup.cli.json(['upload', ...args, '--progress', 'none']);
  return Promise.all(
    records.map(async ({ asset_uid }: { asset_uid: string }) => (await setup.cli.json(['get', asset_uid]))[0]),
  );
};
const tagsOf = ({ tags }: { tags: ({ slug: string } | string)[] }) =>
  tags.map((tag) => (typeof tag === 'string' ? tag : tag.slug)).sort();

it('upload --tag, --description and --name with placeholders apply to each file of a directory', async () => {
  const directory = createDirectory('rushes');
  const assets = await upload(
    directory,
    '--tag',
    'sea',
    '--tag',
    'night',
    '--description',
    'Day 1',
    '--name',
    '{parent} {stem} {date}',
  );
  expect(assets.map(({ name }) => name).sort()).toEqual(['rushes one 2026-05-01', 'rushes two.tar 2026-05-01']);
  for (const asset of assets) expect([asset.description, tagsOf(asset)]).toEqual(['Day 1', ['night', 'sea']]);
});

it.skipIf(isStrict)('sync --tag tags new files', async () => {
  const directory = createDirectory('synced');
  await setup.cli.run(['sync', directory, '/Synced', '--create-folders', '--tag', 'sea', '--yes']);
  const assets = await setup.cli.json(['ls', '/Synced', '-r']);
  expect(assets.map(tagsOf)).toEqual([['sea'], ['sea']]);
});

it('a name of the manifest wins over --name, and its tags are added to those of --tag', async () => {
  const directory = createDirectory('listed');
  const manifest = join(setup.cli.home, 'manifest.csv');
  writeFileSync(manifest, `path;name;tags\n${directory}/one.bin;Quay;harbour\n${directory}/two.tar.gz;;\n`);
  const assets = await upload('--manifest', manifest, '--tag', 'sea', '--name', '{stem}');
  const found = assets.map((asset) => [asset.name, tagsOf(asset)]).sort();
  expect(found).toEqual([
    ['Quay', ['harbour', 'sea']],
    ['two.tar', ['sea']],
  ]);
});

it('upload -n counts the request that sets the tags of each file', async () => {
  const directory = createDirectory('estimated');
  const requests = async (...args: string[]) => {
    const { stderr } = await setup.cli.run(['upload', directory, '-n', '--existing', 'upload', ...args]);
    return Number(/(\d+) requests/.exec(stderr)?.[1]);
  };
  expect((await requests('--tag', 'sea')) - (await requests())).toBe(2);
});

it.each([
  [['--tag', 'Not A Slug'], '--tag does not accept'],
  [['--name', '{stem} {title}'], 'a name cannot contain {title}'],
  [['--name', 'one name'], '--name works with a single file, but there are 2'],
])('upload of two files with %j exits with 2', async (args, message) => {
  const result = await setup.cli.run(['upload', createDirectory(`wrong ${args[1]}`), ...args]);
  expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
});

it('upload --results writes CSV if the name of the file ends with .csv', async () => {
  const directory = createDirectory('results');
  const path = join(setup.cli.home, 'results.csv');
  await upload(directory, '--results', path);
  const rows = await setup.cli.run(['apply', path, '--dry-run']);
  expect(rows).toMatchObject({ code: 2, stderr: expect.stringContaining('no column that can be changed') });
});
