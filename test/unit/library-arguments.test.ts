import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/sdk/index.ts';
import type { Client, ClientOptions } from '../../src/sdk/public-types.ts';
import { respond, startServer } from '../support/http-server.ts';
import { startSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* A program without a compiler can pass anything. Each wrong argument is an error that names it, before any request. */

const uid = '00000000-0000-4000-8000-000000000001';

/** Calls that the types of the package forbid. */
type Untyped = { [name: string]: (...args: unknown[]) => unknown } & { [resource: string]: Untyped };

it.each<[string, (client: Untyped) => unknown, string]>([
  ['an unknown filter', ({ assets }) => assets?.list?.({ tagg: 'sea' }), 'query: Unrecognized key: "tagg"'],
  ['a text as the query', ({ assets }) => assets?.list?.('sea'), 'query: Invalid input'],
  ['a Date as a day', ({ assets }) => assets?.list?.({ createdAfter: new Date() }), 'query.createdAfter: '],
  ['a day in another form', ({ assets }) => assets?.list?.({ createdBefore: '12/31/2026' }), 'query.createdBefore: '],
  ['NaN as the limit', ({ assets }) => assets?.list?.({ limit: Number.NaN }), 'query.limit: '],
  ['an ordering that the API lacks', ({ assets }) => assets?.list?.({ ordering: 'size' }), 'query.ordering: '],
  ['an unknown option of a list', ({ assets }) => assets?.list?.({}, { signall: 1 }), 'options: Unrecognized key'],
  ['a text as the tags', ({ assets }) => assets?.update?.(uid, { tags: 'sea' }), 'change.tags: '],
  ['a tag that is not a slug', ({ assets }) => assets?.update?.(uid, { addTags: ['Sea Side'] }), 'change.addTags.0: '],
  ['null as the name', ({ assets }) => assets?.update?.(uid, { name: null }), 'change.name: '],
  ['an object as the description', ({ assets }) => assets?.update?.(uid, { description: {} }), 'change.description: '],
  ['an unknown field of a change', ({ assets }) => assets?.update?.(uid, { title: 'a' }), 'change: Unrecognized key'],
  ['no change', ({ assets }) => assets?.update?.(uid), 'change: '],
  ['undefined as a uid to trash', ({ assets }) => assets?.trash?.(undefined), 'uid: '],
  ['a name as a uid', ({ assets }) => assets?.get?.('clip.mp4'), 'uid: it must be a uid'],
  ['a number as the folder', ({ assets }) => assets?.move?.(uid, 5), 'folder: '],
  ['a text as the uids', ({ assets }) => assets?.wait?.(uid), 'uids: '],
  ['NaN as a timeout', ({ assets }) => assets?.wait?.([uid], { timeoutMs: Number.NaN }), 'options.timeoutMs: '],
  ['an empty path', ({ assets }) => assets?.download?.(uid, ''), 'path: '],
  ['an empty name of a folder', ({ folders }) => folders?.ensure?.(''), 'path: '],
  ['a text as a restriction', ({ embed }) => embed?.restrict?.('yes'), 'isRestricted: '],
  ['a text as the domains', ({ embed }) => embed?.allow?.('news.example.com'), 'domains: '],
  ['a number as a JSON body', ({ request }) => request?.('POST', '/assets/', { json: 5 }), 'options.json: '],
  ['a text as the tags of an upload', ({ upload }) => upload?.('a.mp4', { tags: 'sea' }), 'options.tags: '],
  [
    'a misspelled option of a downloaded folder',
    ({ downloadFolder }) => downloadFolder?.('/A', 'a', { overwrit: true }),
    'options: Unrecognized key: "overwrit"',
  ],
  ['an empty directory to download to', ({ downloadFolder }) => downloadFolder?.('/A', ''), 'directory: '],
  [
    'a misspelled option of a directory',
    ({ uploadDirectory }) => uploadDirectory?.('a', { transfer: 3 }),
    'options: Unrecognized key: "transfer"',
  ],
])('the library rejects %s with an error that names the argument', async (_what, call, message) => {
  const requests: string[] = [];
  const baseUrl = await startServer((request, response) => {
    requests.push(`${request.url}`);
    respond(response, 500, {});
  });
  const client = createClient({ baseUrl, apiKey: 'a-key-of-this-test' });
  onTestFinished(() => client.close());
  const called = call(client as unknown as Untyped);
  const result = Symbol.asyncIterator in Object(called) ? (called as AsyncIterator<unknown>).next() : called;
  await expect(result).rejects.toMatchObject({ name: 'MediactlError', code: 'usage' });
  await expect(result).rejects.toThrow(message);
  expect(requests).toEqual([]);
});

it.each<[string, object, string]>([
  ['an unknown option', { statedir: 'state' }, 'options: Unrecognized key: "statedir"'],
  ['a field name of no field', { fieldNames: { asset_tag: 'labels' } }, 'options.fieldNames: Unrecognized key'],
  ['a number as the workspace', { workspace: 5 }, 'options.workspace: '],
  ['a number as the state directory', { stateDir: 5 }, 'options.stateDir: '],
  ['a name as the primary workspace', { primaryWorkspace: 'Main' }, 'options.primaryWorkspace: '],
  ['an unknown field of the proxy', { proxy: { http: 'http://127.0.0.1:1' } }, 'options.proxy: Unrecognized key'],
  ['a history without a directory', { history: true }, 'history needs stateDir'],
])('createClient rejects %s with an error that names it', (_what, options, message) => {
  const all = { baseUrl: 'http://127.0.0.1:9', apiKey: 'a-key-of-this-test', ...options } as ClientOptions;
  expect(() => createClient(all)).toThrow(message);
});

/** Opens a client of a sandbox, and makes a directory of three files. */
async function openWithDirectory(options: Partial<ClientOptions> = {}): Promise<{ client: Client; directory: string }> {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.end());
  const directory = join(temporaryFolder(), 'rushes');
  mkdirSync(directory);
  for (const name of ['a.bin', 'b.bin', 'c.bin']) writeFileSync(join(directory, name), name);
  return { client: createClient({ baseUrl: sandbox.url, apiKey: sandbox.key, ...options }), directory };
}

it('close resolves after a program has read one of three results and left the iterator', async () => {
  const { client, directory } = await openWithDirectory();
  expect(await client.uploadDirectory(directory).next()).toMatchObject({ done: false });
  await client.close();
});

it('close resolves while a program waits for a result, which rejects with the code interrupted', async () => {
  const { client, directory } = await openWithDirectory();
  const results = client.uploadDirectory(directory, { limitRate: 1 });
  const next = results.next();
  const rejected = expect(next).rejects.toMatchObject({ code: 'interrupted' });
  await new Promise((resolve) => setImmediate(resolve));
  await client.close();
  await rejected;
});

it('a relative state directory stays the same if the program changes its working directory', async () => {
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  const [here, there] = [temporaryFolder(), temporaryFolder()];
  process.chdir(here);
  const { client, directory } = await openWithDirectory({ stateDir: 'state' });
  process.chdir(there);
  expect(await client.upload(join(directory, 'a.bin'))).toMatchObject({ outcome: 'uploaded' });
  process.chdir(before);
  expect(await client.upload(join(directory, 'a.bin'))).toMatchObject({ outcome: 'skipped' });
  await client.close();
});
