import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { createLibrary, folderUid, testKey, workspaceUid } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';

it.each([
  ['ls', ['ls', '/Campaigns']],
  ['ls of an asset', ['ls', '/Campaigns/clip.mp4']],
  ['mv to a folder', ['mv', '/Campaigns/clip.mp4', '/Campaigns', '--dry-run']],
  ['mv to a new folder as a dry run', ['mv', '/Campaigns/clip.mp4', '/New', '--create-folders', '--dry-run']],
])('%s reads the folders of the workspace once', async (_what, args) => {
  const asset = { uid: '0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c1', name: 'clip.mp4', parent: folderUid };
  const respondAsLibrary = createLibrary();
  const { url, requests } = await startRecordingServer((request) =>
    request.path.endsWith('/folders/')
      ? { body: [{ uid: folderUid, name: 'Campaigns', children: [] }] }
      : request.path.endsWith('/assets/')
        ? { body: { items: [asset], count: 1 } }
        : respondAsLibrary(request),
  );
  const account = { MEDIACTL_BASE_URL: url, MEDIACTL_API_KEY: testKey, MEDIACTL_WORKSPACE: workspaceUid };
  const { code } = await new Cli(account).run(args);
  const readsOfFolders = requests.filter(({ method, path }) => method === 'GET' && path.endsWith('/folders/'));
  expect([code, readsOfFolders.length]).toEqual([0, 1]);
});
