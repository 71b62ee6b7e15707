import { expect, it } from 'vitest';
import { environmentOf, signIn, startBrowse } from '../support/browse.ts';
import { assetUid, testKey, workspaceUid } from '../support/fake-library.ts';
import { FakeService } from '../support/fake-service.ts';
import { mediactl } from '../support/spawn.ts';

/* Edits of one asset by several processes of a machine. */

const [processCount, roundCount] = [4, 2];

it('tags that processes and a page add to one asset at once are all there', { timeout: 120_000 }, async () => {
  const service = await FakeService.start({ assets: [{ uid: assetUid, name: 'Quay', tags: [] }], latencyMs: 30 });
  const account = { url: service.url, key: testKey, workspace: workspaceUid };
  const environment = environmentOf(account);
  const { fetchPage } = await signIn((await startBrowse(account, [], environment)).address);
  const tagOnPage = async (tag: string) => {
    const body = JSON.stringify({ tags: { add: [tag], remove: [] } });
    const headers = { 'content-type': 'application/json' };
    return (await fetchPage(`assets/${assetUid}`, { method: 'PATCH', headers, body })).status;
  };
  const tagByProcess = async (tag: string) =>
    (await mediactl(['tag', assetUid, '--add', tag], environment).finished).code;
  const names = Array.from({ length: processCount }, (_, at) => `process-${at}`);
  for (let round = 1; round <= roundCount; round++) {
    Object.assign(service.assets.get(assetUid)?.fields ?? {}, { tags: [] });
    const started = names.map((name) => tagByProcess(name));
    // The page, which runs already, goes on until the processes have ended, so that it meets them.
    let areDone = false;
    const all = Promise.all(started).finally(() => {
      areDone = true;
    });
    const ofPage: string[] = [];
    const codes = [];
    do {
      ofPage.push(`page-${ofPage.length}`);
      codes.push(await tagOnPage(ofPage.at(-1) as string));
    } while (!areDone);
    expect([await all, new Set(codes)]).toEqual([names.map(() => 0), new Set([200])]);
    expect([...(service.tags[0] as string[])].sort()).toEqual([...names, ...ofPage].sort());
  }
});
