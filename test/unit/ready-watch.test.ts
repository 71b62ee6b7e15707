import { expect, it } from 'vitest';
import { Api } from '../../src/client/api/api.ts';
import { Transport } from '../../src/client/http/transport.ts';
import { ReadyWatch } from '../../src/client/upload/batch/ready-watch.ts';
import { createOutcome } from '../../src/client/upload/session/file-outcome.ts';
import { fileAt } from '../../src/client/upload/sources/upload-file.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { respond, startServer } from '../support/http-server.ts';

const uid = '00000000-0000-4000-8000-000000000001';
const notCalled = async (): Promise<never> => {
  throw new Error('this dependency was called');
};

it('a run that fails waits until its pending receipt updates are written', async () => {
  const transport = new Transport({
    baseUrl: new URL(await startServer((_, response) => respond(response, 200, { uid, status: 'ready' }))),
    apiKey: 'a-key',
    clock: systemClock,
    userAgent: 'test',
    requestTimeoutMs: 30_000,
    maxWaitMs: 60_000,
  });
  const savedAssetUids: string[] = [];
  let onReported = () => {};
  const firstResult = new Promise<void>((resolve) => {
    onReported = resolve;
  });
  const receipts = {
    saveProcessingResult: async (assetUid: string) => {
      await systemClock.sleep(200);
      savedAssetUids.push(assetUid);
    },
  };
  const watch = new ReadyWatch(
    {
      api: new Api(transport, {}),
      receipts: receipts as never,
      store: undefined as never,
      profile: 'none',
      signal: new AbortController().signal,
      openSource: notCalled,
      confirmNewAsset: notCalled,
      onEvent: () => {},
    },
    60_000,
    { onResult: onReported, onFailed: () => {} },
  );
  watch.add(createOutcome(fileAt('a.mov'), { uploaded: { assetUid: uid } as never }));
  const failedRun = watch.runWhile(async () => {
    await firstResult;
    throw new Error('the run ends');
  });
  await expect(failedRun).rejects.toThrow('the run ends');
  expect(savedAssetUids).toEqual([uid]);
});
