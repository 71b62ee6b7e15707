import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient, MediactlError } from '../../src/sdk/index.ts';
import type { Client, ClientOptions, DirectoryResult, Notice } from '../../src/sdk/public-types.ts';
import { pseudoRandomBytes } from '../support/files.ts';
import { respond, startServer } from '../support/http-server.ts';
import { rawHttp } from '../support/raw-http.ts';
import { startSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const account = { baseUrl: 'http://127.0.0.1:9', apiKey: 'a-key-of-this-test' };

function openClient(options: Partial<ClientOptions> = {}): Client {
  const client = createClient({ ...account, ...options });
  onTestFinished(() => client.close());
  return client;
}

async function openSandboxClient(options: Partial<ClientOptions> = {}): Promise<Client> {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.end());
  return openClient({ baseUrl: sandbox.url, apiKey: sandbox.key, ...options });
}

it.each<[string, Partial<ClientOptions>]>([
  ['a base URL of another protocol', { baseUrl: 'ftp://127.0.0.1' }],
  ['a base URL that is no URL', { baseUrl: '' }],
  ['an API key with a line feed', { apiKey: 'key\n' }],
  ['an empty API key', { apiKey: '' }],
  ['a user agent with a line feed', { userAgent: 'a\nb' }],
  ['a request timeout of 0', { requestTimeoutMs: 0 }],
  ['a maximum wait that is not a number', { maxWaitMs: Number.NaN }],
])('createClient rejects %s with the code usage', (_what, options) => {
  expect(() => createClient({ ...account, ...options })).toThrow(
    expect.objectContaining({ name: 'MediactlError', code: 'usage' }),
  );
});

it.each([
  { transfers: Number.NaN },
  { transfers: 0 },
  { chunkBytes: 100_000.5 },
  { chunkBytes: 2 ** 40 },
  { limitRate: 0 },
])('uploadDirectory rejects the options %o with the code usage', async (options) => {
  const upload = openClient().uploadDirectory(temporaryFolder(), options);
  await expect(upload.next()).rejects.toMatchObject({ code: 'usage' });
});

it('an error has no API key if the service echoes the request', async () => {
  const baseUrl = await startServer((request, response) => {
    const echo = String(request.headers.authorization);
    respond(response, 400, { error: { code: 'bad', message: echo, details: [{ echo }] } });
  });
  const error = await openClient({ baseUrl })
    .assets.get('00000000-0000-4000-8000-000000000001')
    .catch((thrown) => thrown);
  expect(error).toBeInstanceOf(MediactlError);
  expect(`${error.stack} ${JSON.stringify(error)}`).toContain('Bearer ***');
  expect(`${error.stack} ${JSON.stringify(error)} ${error.cause}`).not.toContain(account.apiKey);
});

it('wait yields an error for a text that is not a uid, and the results of the other assets', async () => {
  const client = await openSandboxClient();
  const path = join(temporaryFolder(), 'notes.md');
  writeFileSync(path, 'notes');
  const { uid } = await client.upload(path);
  const results: Record<string, string | undefined> = {};
  for await (const { uid: waited, asset, error } of client.assets.wait([uid, 'nope']))
    results[waited] = error?.code ?? String(asset?.status);
  expect(results).toEqual({ [uid]: 'ready', nope: 'usage' });
});

it('upload and uploadDirectory leave out the state folder and settings files of projects', async () => {
  const directory = temporaryFolder();
  const notices: Notice[] = [];
  const onNotice = (notice: Notice) => void notices.push(notice);
  const client = await openSandboxClient({ stateDir: join(directory, 'state'), onNotice });
  for (const name of ['a.bin', '.mediactl.json']) writeFileSync(join(directory, name), name);
  for (let run = 0; run < 2; run++) {
    const results: DirectoryResult[] = [];
    for await (const each of client.uploadDirectory(directory)) results.push(each);
    expect(results).toMatchObject([{ path: join(directory, 'a.bin'), upload: { isVerified: true } }]);
  }
  const leftOut = expect.stringMatching(/^skipped: \d+ files of mediactl's own configuration and state$/);
  expect(notices).toEqual([
    { kind: 'warning', message: leftOut },
    { kind: 'warning', message: leftOut },
  ]);
  for (const name of ['state/receipts.db', '.mediactl.json'])
    await expect(client.upload(join(directory, name))).rejects.toMatchObject({ code: 'usage' });
});

it('upload and uploadDirectory reject with what a callback of the caller has thrown', async () => {
  const client = await openSandboxClient();
  const directory = join(temporaryFolder(), 'files');
  mkdirSync(directory);
  for (const name of ['a.bin', 'b.bin']) writeFileSync(join(directory, name), pseudoRandomBytes(10_000, name));
  const own = new Error('of the caller');
  const onProgress = () => {
    throw own;
  };
  const uploadAll = async () => {
    for await (const { error } of client.uploadDirectory(directory, { onProgress })) expect(error).toBeUndefined();
  };
  expect(await client.upload(join(directory, 'a.bin'), { onProgress }).catch((thrown) => thrown)).toBe(own);
  expect(await uploadAll().catch((thrown) => thrown)).toBe(own);
});

it('download rejects with already_exists, before it reads the media, if there is a file at the path', async () => {
  const client = await openSandboxClient();
  const path = join(temporaryFolder(), 'notes.md');
  writeFileSync(path, 'notes');
  const { uid } = await client.upload(path);
  for await (const { error } of client.assets.wait([uid])) expect(error).toBeUndefined();
  let receivedBytes = 0;
  const onProgress = (bytes: number) => {
    receivedBytes = bytes;
  };
  await expect(client.assets.download(uid, path, { onProgress })).rejects.toMatchObject({ code: 'already_exists' });
  expect(receivedBytes).toBe(0);
});

describe('find', () => {
  async function openTwoWorkspaces(strict: boolean) {
    const sandbox = await startSandbox({ strict });
    onTestFinished(() => sandbox.end());
    const { call, createUploadOfSize } = rawHttp(() => sandbox);
    const { items } = await (await call('GET', '/workspaces/')).json();
    const archive = items.find(({ uid }: { uid: string }) => uid !== sandbox.workspace).uid;
    for (const workspace_uid of [sandbox.workspace, archive])
      await createUploadOfSize(5, {
        asset_name: `in ${workspace_uid === archive ? 'Archive' : 'Main'}`,
        workspace_uid,
      });
    const notices: Notice[] = [];
    const onNotice = (notice: Notice) => notices.push(notice);
    const options = { baseUrl: sandbox.url, apiKey: sandbox.key, workspace: sandbox.workspace, onNotice };
    return { client: openClient(options), notices };
  }

  it('find returns no asset of another workspace than that of the client', async () => {
    const { client } = await openTwoWorkspaces(false);
    expect(await client.assets.find('in Main')).toHaveLength(1);
    expect(await client.assets.find('in Archive')).toEqual([]);
  });

  it('find warns if the service does not show the workspace of what it returns', async () => {
    const { client, notices } = await openTwoWorkspaces(true);
    expect(await client.assets.find('in Archive')).toHaveLength(1);
    expect(notices).toEqual([
      { kind: 'warning', message: expect.stringContaining('the service does not show the workspace of 1 asset') },
    ]);
  });
});
