import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { card, chooseFilter, dropFiles, environmentOf, openLibrary, player, startBrowse } from '../support/browse.ts';
import { listViolations, openPage, setUpBrowser } from '../support/browser.ts';
import { Cli } from '../support/cli.ts';
import { createLibrary, testKey, workspaceUid } from '../support/fake-library.ts';
import { type Responder, startRecordingServer } from '../support/recording-server.ts';
import { fixturePath } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* What axe-core says of each state of the browse page. */

const { fixture, upload } = setUpBrowser();

/** Opens the page of a service that answers the asset list with something else. */
async function openFailing(answer: Responder, options: BrowserContextOptions) {
  const respondAsLibrary = createLibrary();
  const service = await startRecordingServer((request) =>
    request.path.endsWith('/assets/') ? answer(request) : respondAsLibrary(request),
  );
  const browsing = await startBrowse({ url: service.url, key: testKey, workspace: workspaceUid });
  return { ...browsing, ...(await openPage(fixture.browser, browsing.address, options)) };
}

describe('accessibility', { tags: ['chromium', 'undocumented-fields'] }, () => {
  const themes = [
    { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
    { colorScheme: 'dark', viewport: { width: 390, height: 800 } },
  ] as const;

  it.each(themes)(
    'axe-core finds no problem in any state of the browse page in $colorScheme mode at $viewport.width pixels',
    async (options) => {
      await upload(fixturePath('clip.mp4'));
      await upload(fixturePath('tone.mp3'));
      const environment = environmentOf(fixture.sandbox);
      await new Cli(environment).run(['folders', 'create', '/A folder/Within', '--parents']);
      const { page } = await openLibrary(fixture.browser, await startBrowse(fixture.sandbox), options);
      const found: Record<string, string[]> = {};
      const look = async (state: string, at = page) => {
        found[state] = await listViolations(at);
      };
      await look('cards');
      const scrollWidth = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect(scrollWidth).toBeLessThanOrEqual(options.viewport.width);
      await page.keyboard.press('ControlOrMeta+a');
      await look('selection');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Created from' }).click();
      await look('control of a date');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Tag' }).click();
      await page.getByLabel('Tag').fill('no-such-tag');
      await page.keyboard.press('Enter');
      await chooseFilter(page, 'Type', 'image');
      await page.getByText('match these filters').waitFor();
      await look('filters that match nothing');
      await page.getByRole('button', { name: 'Clear' }).click();
      if (await page.getByRole('button', { name: 'Places' }).isVisible()) {
        await page.getByRole('button', { name: 'Places' }).click();
        await look('side bar of a small screen');
      }
      await page.getByRole('button', { name: 'A folder' }).click();
      await page.getByLabel('Search').fill('x');
      await page.getByRole('button', { name: 'Search everywhere' }).waitFor();
      await look('search in a folder of folders');
      await page.getByRole('button', { name: 'Search everywhere' }).click();
      await page.getByLabel('Search').fill('');
      await card(page, 'clip.mp4').waitFor(); // a drop is lost if other cards are drawn below the pointer just then
      const empty = join(temporaryFolder(), 'empty.bin');
      writeFileSync(empty, '');
      await dropFiles(page, [fixturePath('still.jpg'), empty], { x: 200, y: 500 });
      await page.getByText('Skipped empty files').waitFor();
      await page.getByText('1 file done').waitFor();
      await look('uploads and a notice');
      await page.locator('.tray').getByRole('button', { name: 'Clear' }).click();
      await card(page, 'clip.mp4').dblclick();
      await player(page).locator('main').waitFor();
      await look('dialog of a video');
      await page.getByRole('button', { name: 'Trash…' }).click();
      await look('question of the dialog');
      expect(Object.fromEntries(Object.entries(found).filter(([, problems]) => problems.length > 0))).toEqual({});
    },
  );

  it.each(themes)(
    'axe-core finds no problem where the browse page says what is wrong, in $colorScheme mode',
    async (options) => {
      const answers: Record<string, Responder> = {
        'API key': () => ({ status: 401, body: { error: { message: 'invalid key' } } }),
        'Waiting for the service': () => ({ status: 429, body: { error: {} }, headers: { 'retry-after': '50' } }),
        'No assets yet': () => ({ body: { items: [], count: 0 } }),
      };
      for (const [text, answer] of Object.entries(answers)) {
        const { page } = await openFailing(answer, options);
        await page.getByText(text).waitFor();
        expect(await listViolations(page), text).toEqual([]);
      }
      const pick = await startBrowse(fixture.sandbox);
      const { page } = await openLibrary(fixture.browser, pick, options);
      pick.child.kill('SIGKILL');
      await page.locator('.gone').waitFor();
      expect(await listViolations(page)).toEqual([]);
    },
  );
});
