import { describe, expect, it } from 'vitest';
import { openLibrary, startBrowse, statusText } from '../support/browse.ts';
import { pollUntil, setUpBrowser } from '../support/browser.ts';
import { numberedUid } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';

/* The list of the page, where the service has several workspaces. */

const { fixture } = setUpBrowser();
const [main, side] = [numberedUid(901), numberedUid(902)] as [string, string];
const workspaces = [
  { uid: main, name: 'Main', is_primary: true },
  { uid: side, name: 'Side' },
];

/** Opens the page of 350 assets. @param elsewhere returns true for the numbers of those that are in the other workspace */
async function openPageOf(elsewhere: (number: number) => boolean, shownWorkspaces = workspaces, showsOwn = true) {
  const all = Array.from({ length: 350 }, (_, n) => ({
    ...{ uid: numberedUid(n), name: `asset ${n}`, type: 'image', status: 'ready' },
    ...(showsOwn && { workspace_uid: elsewhere(n) ? side : main }),
    created_at: new Date(Date.UTC(2026, 2, 1) - n * 60_000).toISOString(),
  }));
  const { url, requests } = await startRecordingServer(({ path, query }) => {
    if (path.endsWith('/workspaces/')) return { body: { items: shownWorkspaces, count: shownWorkspaces.length } };
    if (path.endsWith('/folders/')) return { body: [] };
    if (!path.endsWith('/assets/')) return undefined;
    const [offset, limit] = [Number(query.offset), Number(query.limit)];
    return { body: { items: all.slice(offset, offset + limit), count: all.length } };
  });
  const browsing = await startBrowse({ url, key: 'a-key-of-this-test', workspace: '' });
  const { page } = await openLibrary(fixture.browser, browsing, { permissions: ['clipboard-read', 'clipboard-write'] });
  const lists = () => requests.filter(({ path }) => path.endsWith('/assets/')).length;
  return { page, lists };
}

describe('the page of a service with several workspaces', { tags: ['chromium', 'undocumented-fields'] }, () => {
  it('leaves out what is known to be in another workspace, says so, and has no gap where it was', async () => {
    const { page, lists } = await openPageOf((n) => n % 10 === 0 || (n >= 100 && n < 200));
    const account = page.locator('.account small');
    await pollUntil(() => account.innerText()).toMatch(/ · Main · 10 assets of other workspaces left out$/);
    expect(lists()).toBe(1); // also after the workspaces are known
    const names = () => page.locator('.thing .name').allInnerTexts();
    expect((await names()).slice(0, 10).join()).toMatch(/^asset 1,.*,asset 9,asset 11$/);
    await page.locator('.thing').first().click();
    await page.keyboard.press('End');
    await page.locator('.thing', { hasText: 'asset 349' }).waitFor();
    await page.keyboard.press('Home');
    const scroll = async () => {
      await page.keyboard.press('ArrowDown');
      return (await names()).join();
    };
    await pollUntil(scroll).toContain('asset 99,asset 201');
    await pollUntil(() => statusText(page)).toBe('225 assets');
    await pollUntil(() => account.innerText()).toMatch(/ · Main · 125 assets of other workspaces left out$/);
    await page.keyboard.press('ControlOrMeta+a');
    await page.getByRole('button', { name: 'Copy uids' }).click();
    await page.getByText('225 uids copied').waitFor();
  });

  it('selects a range as it is shown, although pages within it leave out assets once they load', async () => {
    const { page } = await openPageOf((n) => n >= 150 && n < 180);
    await page.locator('.thing').first().click();
    await page.keyboard.press('Shift+End');
    await page.getByText('320 selected').waitFor();
    await page.getByRole('button', { name: 'Copy uids' }).click();
    await page.getByText('320 uids copied').waitFor();
    const uids = (await page.evaluate<string>('navigator.clipboard.readText()')).split('\n');
    expect([uids.includes(numberedUid(149)), uids.includes(numberedUid(150)), uids.at(-1)]).toEqual([
      ...[true, false, numberedUid(349)],
    ]);
  });

  it('says that it has all workspaces where nothing shows what is where, and names the only one', async () => {
    const hidden = await openPageOf(() => false, workspaces, false);
    await pollUntil(() => hidden.page.locator('.account small').innerText()).toBe('environment · all workspaces');
    const one = await openPageOf(() => false, workspaces.slice(0, 1), false);
    await pollUntil(() => one.page.locator('.account small').innerText()).toBe('environment · Main');
  });
});
