import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { assetUid, createLibrary, folderUid, numberedUid, testKey, workspaceUid } from '../support/fake-library.ts';
import { type RecordedRequest, startRecordingServer } from '../support/recording-server.ts';

/*
 * Each endpoint of §4 is reached by a command. Requests are compared with literals of the specification;
 * the server here shares no code with the client or the sandbox.
 */

const v1 = '/api/external/v1';

type EndpointCase = {
  args: string[];
  stdin?: string;
  /** An expected request: method, path below the API prefix, query and body. */
  sends: Partial<Pick<RecordedRequest, 'query' | 'body'>> & { method: string; path: string };
};

const collections = ['assets', 'videos'].flatMap((noun): EndpointCase[] => [
  {
    args: [noun, 'ls'],
    sends: { method: 'GET', path: `/${noun}/`, query: { limit: '20', offset: '0' } },
  },
  {
    args: [
      ...[noun, 'ls', 'two words', '--status', 'ready', '--tag', 'a-tag'],
      ...['--created-after', '2026-01-02', '--created-before', '2026-02-03', '--sort', '-duration'],
      ...['--limit', '7', '--offset', '3'],
    ],
    sends: {
      method: 'GET',
      path: `/${noun}/`,
      query: {
        search: 'two words',
        status: 'ready',
        tag: 'a-tag',
        created_after: '2026-01-02',
        created_before: '2026-02-03',
        ordering: '-duration',
        limit: '7',
        offset: '3',
      },
    },
  },
  {
    args: [noun, 'get', assetUid],
    sends: { method: 'GET', path: `/${noun}/${assetUid}/`, query: {} },
  },
  {
    args: [noun, 'update', assetUid, '--name', 'New', '--set-json', 'tags=["a","b"]'],
    sends: {
      method: 'PATCH',
      path: `/${noun}/${assetUid}/`,
      query: {},
      body: { name: 'New', tags: ['a', 'b'] },
    },
  },
  {
    args: [noun, 'rm', assetUid, '--yes'],
    sends: { method: 'DELETE', path: `/${noun}/${assetUid}/`, query: {}, body: null },
  },
  {
    args: [noun, 'player-data', assetUid],
    sends: { method: 'GET', path: `/${noun}/${assetUid}/player/`, query: {} },
  },
]);

const cases: EndpointCase[] = [
  ...collections,
  {
    args: ['assets', 'tag', assetUid, '--set', 'a,b'],
    sends: { method: 'PATCH', path: `/assets/${assetUid}/`, query: {}, body: { tags: ['a', 'b'] } },
  },
  {
    // The asset has no tags, so there is nothing to remove.
    args: ['assets', 'tag', assetUid, '--set', ''],
    sends: { method: 'GET', path: `/assets/${assetUid}/`, query: {} },
  },
  {
    args: ['assets', 'ls', '--type', 'image', '/'],
    sends: {
      method: 'GET',
      path: '/assets/',
      query: { type: 'image', parent: 'root', limit: '20', offset: '0' },
    },
  },
  {
    args: ['assets', 'ls', '/Campaigns'],
    sends: {
      method: 'GET',
      path: '/assets/',
      query: { parent: folderUid, limit: '20', offset: '0' },
    },
  },
  {
    args: ['workspaces', 'ls'],
    sends: { method: 'GET', path: '/workspaces/', query: { limit: '100', offset: '0' } },
  },
  {
    args: ['folders', 'tree'],
    sends: { method: 'GET', path: `/workspaces/${workspaceUid}/folders/`, query: {} },
  },
  {
    args: ['folders', 'create', '/New'],
    sends: { method: 'POST', path: `/workspaces/${workspaceUid}/folders/`, body: { name: 'New' } },
  },
  {
    args: ['folders', 'create', '/Campaigns/New'],
    sends: {
      method: 'POST',
      path: `/workspaces/${workspaceUid}/folders/`,
      body: { name: 'New', parent_uid: folderUid },
    },
  },
  {
    args: ['folders', 'rename', '/Campaigns', 'Films'],
    sends: {
      method: 'PATCH',
      path: `/workspaces/${workspaceUid}/folders/${folderUid}/`,
      body: { name: 'Films' },
    },
  },
  {
    args: ['folders', 'mv', '/Campaigns', '/'],
    sends: {
      method: 'PATCH',
      path: `/workspaces/${workspaceUid}/folders/${folderUid}/`,
      body: { parent_uid: null },
    },
  },
  {
    args: ['folders', 'rm', '/Campaigns', '-y'],
    sends: {
      method: 'DELETE',
      path: `/workspaces/${workspaceUid}/folders/${folderUid}/`,
      body: null,
    },
  },
  {
    args: ['embed', 'show'],
    sends: { method: 'GET', path: `/workspaces/${workspaceUid}/embed-settings/`, query: {} },
  },
  {
    args: ['embed', 'restrict'],
    sends: {
      method: 'PATCH',
      path: `/workspaces/${workspaceUid}/embed-settings/`,
      body: { enabled: true },
    },
  },
  {
    args: ['embed', 'domains', 'add', 'News.Example'],
    sends: {
      method: 'POST',
      path: `/workspaces/${workspaceUid}/embed-domains/`,
      body: { domain: 'news.example' },
    },
  },
  {
    args: ['embed', 'domains', 'rm', 'old.example'],
    sends: {
      method: 'DELETE',
      path: `/workspaces/${workspaceUid}/embed-domains/`,
      body: { domain: 'old.example' },
    },
  },
  {
    args: ['play', assetUid, '--url'],
    sends: {
      method: 'POST',
      path: '/playback/info/',
      query: {},
      body: { asset_id: assetUid, playback_token: 'token-of-this-test' },
    },
  },
];

/** Runs a command against its own server. @returns all requests */
async function runAndRecord(args: string[], { key: apiKey = testKey, stdin = '' } = {}) {
  const { url, requests } = await startRecordingServer(createLibrary());
  const cli = new Cli({
    MEDIACTL_API_KEY: apiKey,
    MEDIACTL_BASE_URL: url,
    // `assets ls` sends no workspace; it rejects only the flag --workspace, not the variable
    MEDIACTL_WORKSPACE: workspaceUid,
  });
  const result = await cli.run(args, { stdin });
  expect(result).toMatchObject({ code: 0 });
  return { requests, cli };
}

it.each(cases)('mediactl $args sends the specified request', async ({ args, sends: expected }) => {
  const { requests } = await runAndRecord(args);
  const matching = requests.filter(({ method, path }) => method === expected.method && path === v1 + expected.path);
  expect(matching).not.toHaveLength(0);
  expect(matching[0]).toMatchObject({ ...expected, path: v1 + expected.path });
  // toMatchObject ignores additional keys; query and body may not have any
  if (expected.query) expect(matching[0]?.query).toEqual(expected.query);
  if (expected.body) expect(matching[0]?.body).toEqual(expected.body);
  if (expected.body) expect(matching[0]?.headers['content-type']).toBe('application/json');
});

it('every request except POST /playback/info/ sends the API key as a bearer token (§5.1)', async () => {
  const { requests } = await runAndRecord(['play', assetUid, '--url']);
  expect(requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    [`${v1}/assets/${assetUid}/player/`, `Bearer ${testKey}`],
    [`${v1}/playback/info/`, undefined],
  ]);
});

it('play --token-file needs no API key and sends only POST /playback/info/', async () => {
  const { url, requests } = await startRecordingServer(createLibrary());
  const cli = new Cli({ MEDIACTL_BASE_URL: url });
  const args = ['play', assetUid, '--token-file', '-', '--url'];
  const result = await cli.run(args, { stdin: 'a.token\n' });
  expect(result).toMatchObject({ code: 0, stdout: `${url}/media/a.pdf\n` });
  expect(requests).toEqual([
    expect.objectContaining({
      method: 'POST',
      path: `${v1}/playback/info/`,
      body: { asset_id: assetUid, playback_token: 'a.token' },
    }),
  ]);
  expect(requests[0]?.headers.authorization).toBeUndefined();
});

it('upload sends POST with the tus headers, then PATCH with the offset and the bytes (§4)', async () => {
  const { url, requests } = await startRecordingServer(createLibrary());
  const cli = new Cli({
    MEDIACTL_API_KEY: testKey,
    MEDIACTL_BASE_URL: url,
    MEDIACTL_WORKSPACE: workspaceUid,
  });
  const path = join(cli.home, 'four.txt');
  writeFileSync(path, 'four');
  const args = ['upload', path, '--folder', folderUid, '--name', 'Näme', '--description', 'words'];
  expect((await cli.run(args)).code).toBe(0);
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const [creation, transfer] = requests.filter(({ method }) => method !== 'GET');
  expect(creation).toMatchObject({
    method: 'POST',
    path: `${v1}/upload/`,
    headers: { 'tus-resumable': '1.0.0', 'upload-length': '4', authorization: `Bearer ${testKey}` },
  });
  expect(String(creation?.headers['upload-metadata']).split(',').sort()).toEqual(
    [
      `filename ${base64('four.txt')}`,
      `workspace_uid ${base64(workspaceUid)}`,
      `asset_name ${base64('Näme')}`,
      `description ${base64('words')}`,
      `parent_folder_uid ${base64(folderUid)}`,
      `content_type ${base64('text/plain')}`,
    ].sort(),
  );
  expect(transfer).toMatchObject({
    method: 'PATCH',
    path: `${v1}/upload/${numberedUid(3)}/`,
    body: 'four',
    headers: {
      'tus-resumable': '1.0.0',
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
      'content-length': '4',
      authorization: `Bearer ${testKey}`,
    },
  });
});
