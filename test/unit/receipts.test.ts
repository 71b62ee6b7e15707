import { describe, expect, it, onTestFinished } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import { StateDatabase } from '../../src/client/state/state-database.ts';
import type { Receipt } from '../../src/client/upload/store/receipt-row.ts';
import { Receipts } from '../../src/client/upload/store/receipts.ts';
import type { PlannedEntry } from '../../src/client/upload/store/upload-entry.ts';
import { LocalUploadStore } from '../../src/client/upload/store/upload-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const file = { sizeBytes: 1, mtimeNs: '1' };
const createEntry = (id: string): PlannedEntry => ({
  ...{ version: 2, id, path: id, realPath: `/${id}`, file, baseUrl: 'http://a', profile: 'none', state: 'planned' },
  ...{ metadata: { filename: id, workspace_uid: 'w' }, begunAt: '2026-01-01T00:00:00.000Z' },
});
const key = { service: 'http://a', workspace: 'w', folder: '', realPath: '/a' };
const receipt: Receipt = {
  ...{
    ...key,
    ...file,
    ctimeNs: null,
    blake3: 'b3',
    verified: true,
    assetUid: 'asset',
    sessionUid: 'session',
    name: 'a',
  },
  ...{ state: 'unchecked', reason: null, about: null, at: '2026-01-01T00:00:00.000Z' },
};

it('a receipt is newer than the start of its run even if the newest upload was removed meanwhile', async () => {
  const database = await StateDatabase.open(temporaryFolder());
  onTestFinished(() => database.close());
  const [store, receipts] = [new LocalUploadStore(database, process.pid), new Receipts(database)];
  for (const id of ['a', 'b']) await store.write(createEntry(id));
  const runStart = await receipts.startMark('a run');
  await store.remove('b');
  await store.finish(createEntry('a'), receipt);
  expect(await receipts.find(key)).toMatchObject({ assetUid: 'asset' });
  expect(await receipts.listByContent(key, receipt, runStart, false)).toEqual([]);
  expect(await receipts.listByContent(key, receipt, await receipts.startMark('next run'), false)).toHaveLength(1);
});

describe('processing results', () => {
  const openReceipts = async () => {
    const database = await StateDatabase.open(temporaryFolder());
    onTestFinished(() => database.close());
    const receipts = new Receipts(database);
    await receipts.save(receipt);
    return receipts;
  };

  it('an upload whose processing failed is not a copy of a file with the same content', async () => {
    const receipts = await openReceipts();
    const findCopies = async () => receipts.listByContent(key, receipt, await receipts.startMark('next run'), false);
    expect(await findCopies()).toMatchObject([{ assetUid: 'asset' }]);
    const failure = new CodedError('failed', { code: 'processing_failed', reason: 'not a video' });
    await receipts.saveProcessingResult('asset', failure);
    expect(await receipts.find(key)).toMatchObject({ state: 'failed', reason: 'not a video' });
    expect(await findCopies()).toEqual([]);
  });

  it('the receipt of an upload whose asset no longer exists is deleted', async () => {
    const receipts = await openReceipts();
    await receipts.saveProcessingResult('asset', new CodedError('no such asset', { code: 'not_found' }));
    expect(await receipts.find(key)).toBeUndefined();
  });
});
