import { beforeAll, describe, expect, it } from 'vitest';
import { environmentOf, openLibrary, startBrowse, startPick } from '../support/browse.ts';
import { listViolations, setUpBrowser } from '../support/browser.ts';
import { Cli } from '../support/cli.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';

const { fixture } = setUpBrowser();
let sandbox: TestSandbox;
const http = rawHttp(() => sandbox);
beforeAll(async () => {
  sandbox = await startSandbox({ strict: false, seed: 60, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  await new Cli(environmentOf(sandbox)).json(['folders', 'create', '/Moved/Within', '--parents']);
  await http.upload(fixturePath('tone.mp3'));
});
/* What axe-core says of a selection, a move, a dialog and the page of a command that waits, at two widths. */

describe('states of the page', { tags: ['chromium', 'undocumented-fields'] }, () => {
  it.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ] as const)(
    'axe-core finds no problem after a selection, a move and a copy in %s mode at %i pixels',
    async (colorScheme, width) => {
      const options = { colorScheme, viewport: { width, height: 900 } };
      const found: Record<string, string[]> = {};
      const { page } = await openLibrary(fixture.browser, await startBrowse(sandbox), options);
      await page.locator('.thing').nth(2).click();
      found.selected = await listViolations(page);
      if (width > 800) {
        await page
          .locator('.thing')
          .nth(2)
          .dragTo(page.locator('.place', { hasText: 'Moved' }));
        await page.getByRole('button', { name: 'Undo' }).waitFor();
        found.notice = await listViolations(page);
        await page.locator('.fold').first().click();
        found.folded = await listViolations(page);
      }
      await page.locator('.thing').first().focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      await page.waitForTimeout(1500);
      found.dialog = await listViolations(page);
      await page.getByRole('button', { name: 'Copy uid', exact: true }).click();
      found.copied = await listViolations(page);
      const pick = await openLibrary(fixture.browser, await startPick(sandbox), options);
      await pick.page.keyboard.press('ControlOrMeta+a');
      found.pick = await listViolations(pick.page);
      expect(Object.fromEntries(Object.entries(found).filter(([, all]) => all.length > 0))).toEqual({});
    },
  );
});
