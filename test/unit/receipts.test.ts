import { expect, it, onTestFinished } from 'vitest';
import { type Receipt, Receipts } from '../../src/client/upload/store/receipts.ts';
import { StateDatabase } from '../../src/client/upload/store/state-database.ts';
import type { PlannedEntry } from '../../src/client/upload/store/upload-entry.ts';
import { LocalUploadStore } from '../../src/client/upload/store/upload-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const file = { sizeBytes: 1, mtimeNs: '1' };
const entryOf = (id: string): PlannedEntry => ({
  ...{ version: 2, id, path: id, realPath: `/${id}`, file, baseUrl: 'http://a', profile: 'none', state: 'planned' },
  ...{ metadata: { filename: id, workspace_uid: 'w' }, begunAt: '2026-01-01T00:00:00.000Z' },
});
const key = { service: 'http://a', workspace: 'w', folder: '', path: '/a' };
const receipt: Receipt = {
  ...{ ...key, ...file, blake3: 'b3', verified: true, assetUid: 'asset', sessionUid: 'session', name: 'a' },
  ...{ state: 'pending', reason: null, at: '2026-01-01T00:00:00.000Z' },
};

it('what a run finishes is later than its start, although the newest upload was forgotten meanwhile', async () => {
  const database = await StateDatabase.open(temporaryFolder());
  onTestFinished(() => database.close());
  const [store, receipts] = [new LocalUploadStore(database, process.pid), new Receipts(database)];
  for (const id of ['a', 'b']) await store.write(entryOf(id));
  const mark = await receipts.startRun('a run');
  await store.remove('b');
  await store.finish(entryOf('a'), receipt);
  expect(await receipts.find(key)).toMatchObject({ assetUid: 'asset' });
  expect(await receipts.findByContent(key, receipt, mark, false)).toBeUndefined();
  expect(await receipts.findByContent(key, receipt, await receipts.startRun('next run'), false)).toBeDefined();
});
