import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/sdk/index.ts';
import type { Client } from '../../src/sdk/public-types.ts';
import type { CliResult } from '../support/cli.ts';
import { setUpCli } from '../support/cli-setup.ts';
import { assetUid } from '../support/fake-library.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { writeRandomFile } from '../support/files.ts';
import { startProfileCli } from '../support/profile-cli.ts';
import { rawHttp } from '../support/raw-http.ts';

/* Each way to write tags has one rule for their words, which is checked before anything is sent. */

const { setup } = setUpCli();
const { createUploadOfSize, call } = rawHttp(() => setup.sandbox);

let counter = 0;
const createAsset = async () => (await (await createUploadOfSize(5)).json()).asset_uid as string;
/** Returns the tags of each asset that has this tag, in the order of the alphabet. */
async function tagsOfAssets(tag = '') {
  const { items } = await (await call('GET', `/assets/?tag=${tag}`)).json();
  return items.map(({ tags }: { tags: string[] }) => tags.toSorted());
}
/** Creates a directory with a file that no other test uploads. */
function createDirectory() {
  const directory = join(setup.cli.home, `directory-${++counter}`);
  mkdirSync(directory);
  writeRandomFile(join(directory, `${counter}.bin`), { size: 100, seed: `tags ${counter}` });
  return directory;
}
const createFile = () => join(createDirectory(), `${counter}.bin`);

type CommandLine = { args: string[]; stdin?: string };

/** Command lines that give an asset tags, which are written as the values of one option or the text of one cell. */
const commandLines: Record<string, (tags: string, uid: string) => CommandLine> = {
  'upload --tag': (tags) => ({ args: ['upload', createFile(), '--tag', tags] }),
  'sync --tag': (tags) => ({
    args: ['sync', createDirectory(), '/Synced', '--create-folders', '--yes', '--tag', tags],
  }),
  'upload --manifest of CSV': (tags) => ({
    args: ['upload', '--manifest', '-'],
    stdin: `path,tags\n${createFile()},"${tags}"\n`,
  }),
  'upload --manifest of TSV': (tags) => ({
    args: ['upload', '--manifest', '-'],
    stdin: `path\ttags\n${createFile()}\t${tags}\n`,
  }),
  'upload --manifest of JSON lines with a text': (tags) => ({
    args: ['upload', '--manifest', '-'],
    stdin: JSON.stringify({ path: createFile(), tags }),
  }),
  'upload --manifest of JSON lines with a list': (tags) => ({
    args: ['upload', '--manifest', '-'],
    stdin: JSON.stringify({ path: createFile(), tags: [tags] }),
  }),
  'tag --add': (tags, uid) => ({ args: ['tag', uid, '--add', tags] }),
  'tag --set': (tags, uid) => ({ args: ['tag', uid, '--set', tags] }),
  'update --set': (tags, uid) => ({ args: ['update', uid, '--set', `tags=${tags}`] }),
  'update --set-json': (tags, uid) => ({ args: ['update', uid, '--set-json', `tags=${JSON.stringify([tags])}`] }),
  'apply of CSV': (tags, uid) => ({ args: ['apply', '-', '--yes'], stdin: `uid,tags\n${uid},"${tags}"\n` }),
  'apply of CSV with a list': (tags, uid) => ({
    args: ['apply', '-', '--yes'],
    stdin: `uid,tags\n${uid},"${JSON.stringify([tags]).replaceAll('"', '""')}"\n`,
  }),
  'apply of TSV': (tags, uid) => ({ args: ['apply', '-', '--yes'], stdin: `uid\ttags\n${uid}\t${tags}\n` }),
  'apply of JSON lines with a text': (tags, uid) => ({
    args: ['apply', '-', '--yes'],
    stdin: JSON.stringify({ uid, tags }),
  }),
  'apply of JSON lines with a list': (tags, uid) => ({
    args: ['apply', '-', '--yes'],
    stdin: JSON.stringify({ uid, tags: [tags] }),
  }),
};
/** Runs a command line, and returns its result with the requests that had a method other than GET. */
async function runThroughProxy({ args, stdin = '' }: CommandLine): Promise<CliResult & { writes: string[] }> {
  const proxy = await FaultProxy.start(setup.sandbox.url);
  const environment = { MEDIACTL_BASE_URL: proxy.url };
  const result = await setup.cli.run(args, { stdin, environment });
  return { ...result, writes: proxy.methods.filter((method) => method !== 'GET') };
}

const ways = Object.entries(commandLines);
const refused = (way: string) => [way.startsWith('apply') ? 11 : 2, []];
const isText = ([way]: [string, unknown]) => /CSV$|TSV$|text$/.test(way);

it.each(ways)('%s refuses a tag with a capital before it sends anything, and proposes the slug', async (way, line) => {
  const { code, stdout, stderr, writes } = await runThroughProxy(line('Summer', await createAsset()));
  expect([code, writes]).toEqual(refused(way));
  expect(stdout + stderr).toMatch(/'Summer'[\s\S]*try:? *summer/);
});

it.each(ways)('%s sets two tags that a comma separates, each once', async (_, line) => {
  const tags = [`spring-${++counter}`, `teaser-${counter}`];
  const { code } = await runThroughProxy(line(`${tags}, ${tags[0]}`, await createAsset()));
  expect([code, await tagsOfAssets(tags[0])]).toEqual([0, [tags]]);
});

it.each(ways.filter(isText))('%s sets tags that a space or a semicolon separates', async (_, line) => {
  const tags = [`a-${++counter}`, `b-${counter}`, `c-${counter}`];
  const { code } = await runThroughProxy(line(`${tags[0]} ${tags[1]};${tags[2]}`, await createAsset()));
  expect([code, await tagsOfAssets(tags[0])]).toEqual([0, [tags]]);
});

const listWays = ways.filter((way) => !isText(way));

it.each(listWays)('%s refuses a tag with a space, rather than to make it two', async (way, line) => {
  const { code, stdout, stderr, writes } = await runThroughProxy(line('Bad Tag!', await createAsset()));
  expect([code, writes]).toEqual(refused(way));
  expect(stdout + stderr).toMatch(/'Bad Tag!'[\s\S]*try:? *bad-tag/);
});

it.each(listWays)('%s refuses an empty tag', async (way, line) => {
  for (const tags of ['a,,b', ',']) {
    const { code, writes } = await runThroughProxy(line(tags, await createAsset()));
    expect([tags, code, writes]).toEqual([tags, ...refused(way)]);
  }
});

const libraryCalls: Record<string, (client: Client, tags: string[], uid: string) => Promise<unknown>> = {
  'update with tags': ({ assets }, tags, uid) => assets.update(uid, { tags }),
  'update with addTags': ({ assets }, addTags, uid) => assets.update(uid, { addTags }),
  upload: (client, tags) => client.upload(createFile(), { tags }),
  uploadDirectory: (client, tags) => client.uploadDirectory(createDirectory(), { tags }).next(),
};

it.each(Object.entries(libraryCalls))(
  'the library refuses wrong tags of %s before it sends anything',
  async (_, update) => {
    const proxy = await FaultProxy.start(setup.sandbox.url);
    const client = createClient({ baseUrl: proxy.url, apiKey: setup.sandbox.key });
    onTestFinished(() => client.close());
    const uid = await createAsset();
    const result = (tags: string[]) => expect(update(client, tags, uid)).rejects;
    await result(['sea', 'Summer']).toThrow(/\.1: 'Summer' is not a valid tag: .*; try summer$/);
    await result(['spring,teaser']).toThrow(/\.0: 'spring,teaser' is not a valid tag: .*; try spring, teaser$/);
    await result(['sea side']).toThrow(/; try sea-side$/);
    expect(proxy.requests).toEqual([]);
  },
);

it('the dry run of apply calls a tag that is no slug invalid, and other cells of its row planned', async () => {
  const uid = await createAsset();
  const stdin = `uid,name,tags\n${uid},Quay,sea Summer\n`;
  const changes = JSON.parse((await setup.cli.run(['apply', '-', '--dry-run', '--json'], { stdin })).stdout);
  expect(changes.map(({ column, outcome }: Record<string, string>) => [column, outcome])).toEqual([
    ['name', 'planned'],
    ['tags', 'invalid'],
  ]);
});

const present = ['Summer', 'Sea Side'];

it.each<[string, CommandLine, string[]]>([
  ['tag --add', { args: ['tag', assetUid, '--add', 'night'] }, ['Summer', 'Sea Side', 'night']],
  ['tag --remove', { args: ['tag', assetUid, '--remove', 'Summer,Sea Side'] }, []],
  [
    'apply',
    {
      args: ['apply', '-', '--yes'],
      stdin: JSON.stringify({ uid: assetUid, tags: ['Summer', 'Sea Side', 'night'] }),
    },
    ['Summer', 'Sea Side', 'night'],
  ],
])('%s accepts tags that are no slugs if the asset has them', async (_, { args, stdin = '' }, tags) => {
  let now = { uid: assetUid, name: 'a', tags: present };
  const { cli, writeRequests } = await startProfileCli(({ method, body }) => {
    if (method === 'PATCH') now = { ...now, ...(body as object) };
    return { body: now };
  });
  expect(await cli.run(args, { stdin })).toMatchObject({ code: 0 });
  expect(writeRequests().map(({ body }) => body)).toEqual([{ tags }]);
});

it('apply of a cell keeps a tag with a capital that the asset has', async () => {
  let now = { uid: assetUid, name: 'a', tags: ['Summer'] };
  const { cli } = await startProfileCli(({ method, body }) => {
    if (method === 'PATCH') now = { ...now, ...(body as object) };
    return { body: now };
  });
  const stdin = `uid,tags\n${assetUid},Summer sea\n`;
  expect([(await cli.run(['apply', '-', '--yes'], { stdin })).code, now.tags.toSorted()]).toEqual([
    0,
    ['Summer', 'sea'],
  ]);
});

it.each([
  [['tag', assetUid, '--add', 'sea,night', '--remove', 'day,night'], '--add and --remove both name night'],
  [['tag', assetUid, '--remove', 'a,,b'], "--remove does not accept 'a,,b'"],
  [['ls', '--tag', 'spring,teaser'], 'a list cannot be filtered by several tags: spring,teaser'],
  [['rm', '--tag', 'spring,teaser', '--yes'], 'a list cannot be filtered by several tags: spring,teaser'],
])('%j exits with 2 before it sends anything', async (args, problem) => {
  const { code, stderr, writes } = await runThroughProxy({ args });
  expect([code, stderr.split('\n')[0], writes]).toEqual([2, `error: ${problem}`, []]);
});

it.each([
  ['Summer,night', 'summer,night'],
  ['spring,Bad Tag!', 'spring,bad-tag'],
  ['a,,b', 'a,b'],
  [',', 'a slug, such as summer-2026'],
  ['sea,日本語', 'a slug, such as summer-2026'],
])('upload --tag %j proposes %s', async (tags, proposal) => {
  const { stderr } = await setup.cli.run(['upload', createFile(), '--tag', tags]);
  expect(stderr.match(/try: *(.*)/)?.[1]).toBe(proposal);
});

it('the library refuses to remove a tag with a comma, to filter by it, and to add what it removes', async () => {
  const proxy = await FaultProxy.start(setup.sandbox.url);
  const client = createClient({ baseUrl: proxy.url, apiKey: setup.sandbox.key });
  onTestFinished(() => client.close());
  const { assets } = client;
  await expect(assets.update(assetUid, { removeTags: ['a,b'] })).rejects.toThrow('change.removeTags.0: ');
  await expect(assets.list({ tag: 'a,b' }).next()).rejects.toThrow('query.tag: ');
  const both = assets.update(assetUid, { addTags: ['a', 'b'], removeTags: ['b'] });
  await expect(both).rejects.toThrow('addTags and removeTags both name b');
  expect(proxy.requests).toEqual([]);
});
