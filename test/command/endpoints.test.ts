import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { assetUid, createLibrary, folderUid, numberedUid, testKey, workspaceUid } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';

/*
 * Headers and bodies of requests, compared with literals of the specification. test/support/command-table.ts has the requests
 * of each command. The server here shares no code with the client or the sandbox.
 */

const v1 = '/api/external/v1';

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
