import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { environmentOf, openLibrary } from '../support/browse.ts';
import { launchBrowser } from '../support/browser.ts';
import { Cli } from '../support/cli.ts';
import { Pty } from '../support/pty.ts';
import { isStrict, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { mediactl, mediactlPath, type StartedProcess, startProcess } from '../support/spawn.ts';

/* The page of `browse --pick`, in a real browser: what is selected there is printed for another command. */

const seeded = 2_000;
let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ seed: seeded, rateLimit: { limit: 1_000_000, windowSeconds: 3600 } });
  await new Cli(environmentOf(sandbox)).json(['folders', 'create', '/Picked']);
});
afterAll(() => sandbox.end());

/** Returns a process with the address of the page, which `browse --pick` prints on stderr. */
async function withAddress(started: StartedProcess): Promise<StartedProcess & { address: string }> {
  const lines = createInterface({ input: started.child.stderr as NodeJS.ReadableStream });
  const address = await new Promise<string>((resolve) => {
    lines.on('line', (line) => line.includes('token=') && resolve(line.trim()));
  });
  return { ...started, address };
}

const startPick = (args: string[] = []) =>
  withAddress(mediactl(['browse', '--pick', '--no-open', ...args], environmentOf(sandbox)));

/** Starts `browse --pick` in the shell, with its output piped into another command. */
const startPipe = (args: string[], environment: Record<string, string>) =>
  withAddress(
    startProcess(
      'sh',
      [
        '-c',
        'mediactl() { "$MEDIACTL" "$SCRIPT" "$@"; }; mediactl browse --pick --no-open | mediactl "$@"',
        'sh',
        ...args,
      ],
      { ...environment, MEDIACTL: process.execPath, SCRIPT: mediactlPath },
    ),
  );

const uidsOf = (stdout: string) => stdout.trim().split('\n').filter(Boolean);
const useButton = (page: Page) => page.getByRole('button', { name: /^Use these/ });
const thing = (page: Page, at: number) => page.locator(`.thing[data-at="${at}"]`);
const selectedUids = (page: Page) =>
  page.locator('.thing[aria-selected=true]').evaluateAll((all) => all.map((each) => each.getAttribute('data-uid')));

describe.skipIf(isStrict)('browse --pick', { tags: 'chromium' }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  /** Selects three assets in the page of `browse --pick`, piped into a command, and waits for that. Returns their uids. */
  async function pipeThree(command: string[], environment: Record<string, string>) {
    const pick = await startPipe([...command, '--yes'], environment);
    const { page } = await openLibrary(browser, pick);
    await thing(page, 1).click();
    await thing(page, 4).click({ modifiers: ['ControlOrMeta'] });
    await thing(page, 2).focus();
    await page.keyboard.press(' ');
    const uids = await selectedUids(page);
    await useButton(page).click();
    const { code, stderr } = await pick.finished;
    expect(code, stderr).toBe(0);
    await page.getByText('Handed to the terminal. You can close this tab.').waitFor();
    await expect.poll(() => page.getByRole('alert').allInnerTexts()).toEqual([]);
    return uids.sort();
  }

  const listUids = async (cli: Cli, args: string[]) =>
    ((await cli.json(['ls', '--all', ...args])) as { uid: string }[]).map(({ uid }) => uid).sort();

  it.each([
    { command: ['tag', '-', '--add', 'picked'], filter: ['--tag', 'picked'] },
    { command: ['mv', '-', '/Picked'], filter: ['/Picked'] },
  ])(
    'browse --pick pipes three selected assets into $command.0, and undo reverts that',
    async ({ command, filter }) => {
      const environment = environmentOf(sandbox);
      const cli = new Cli(environment);
      const uids = await pipeThree(command, environment);
      expect(uids).toHaveLength(3);
      expect(await listUids(cli, filter)).toEqual(uids);
      await cli.run(['undo', '--yes']);
      expect(await listUids(cli, filter)).toEqual([]);
    },
  );

  it.each([
    { of: 'a filter', filter: ['--type', 'video'] },
    { of: 'the whole library', filter: [] },
  ])('browse --pick prints all assets of $of but two, loaded or not', async ({ filter }) => {
    const all = await listUids(new Cli(environmentOf(sandbox)), filter);
    const pick = await startPick(filter);
    const { page } = await openLibrary(browser, pick);
    await page.keyboard.press('ControlOrMeta+a');
    await thing(page, 0).click({ modifiers: ['ControlOrMeta'] });
    await thing(page, 3).click({ modifiers: ['ControlOrMeta'] });
    const left = await page
      .locator('.thing[aria-selected=false]')
      .evaluateAll((things) => things.map((each) => each.getAttribute('data-uid')));
    expect(left).toHaveLength(2);
    expect(await useButton(page).innerText()).toBe(`Use these ${(all.length - 2).toLocaleString('en-US')}`);
    await useButton(page).click();
    const { code, stdout } = await pick.finished;
    expect(code).toBe(0);
    expect(uidsOf(stdout).sort()).toEqual(all.filter((uid) => !left.includes(uid)));
    expect(all.length).toBeGreaterThan(500);
  });

  it('browse --pick --json prints the records', async () => {
    const pick = await startPick(['--json']);
    const { page } = await openLibrary(browser, pick);
    await thing(page, 0).click();
    const [uid] = await selectedUids(page);
    await useButton(page).click();
    const { code, stdout } = await pick.finished;
    expect([code, JSON.parse(stdout)]).toEqual([0, [expect.objectContaining({ uid, name: expect.any(String) })]]);
  });

  it('browse --pick can use nothing, and ends with exit code 130 and no output when it is canceled', async () => {
    const pick = await startPick();
    const { page } = await openLibrary(browser, pick);
    expect(await useButton(page).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Cancel' }).click();
    const { code, stdout } = await pick.finished;
    expect([code, stdout]).toEqual([130, '']);
  });

  it('browse --pick ends with exit code 130 at Ctrl-C, and its address can be opened again in another tab', async () => {
    const pick = await startPick();
    const first = await openLibrary(browser, pick);
    await first.page.close();
    const again = await openLibrary(browser, pick);
    await again.page.close();
    pick.child.kill('SIGINT');
    const { code, stdout } = await pick.finished;
    expect([code, stdout]).toEqual([130, '']);
  });

  it('a Shift range, Shift with arrows, and a box select what is between, and Escape selects nothing', async () => {
    const pick = await startPick();
    const { page } = await openLibrary(browser, pick);
    const count = async () => (await selectedUids(page)).length;
    await thing(page, 0).click();
    await thing(page, 6).click({ modifiers: ['Shift'] });
    expect(await count()).toBe(7);
    await thing(page, 2).click();
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    expect(await count()).toBe(3);
    await page.keyboard.press('Escape');
    expect(await count()).toBe(0);
    const [from, to] = await Promise.all([thing(page, 0).boundingBox(), thing(page, 1).boundingBox()]);
    if (!from || !to) throw new Error('no cards');
    await page.mouse.move(from.x - 6, from.y + 20);
    await page.mouse.down();
    await page.mouse.move(to.x + 20, to.y + 60, { steps: 5 });
    await page.waitForTimeout(100);
    expect(await count()).toBe(2);
    await page.mouse.up();
    await expect.poll(count).toBe(2);
    pick.child.kill('SIGINT');
    await pick.finished;
  });

  it('to select all assets renders no card again', async () => {
    // Nothing that is processing: the page would ask for it again, and render it.
    const pick = await startPick(['--status', 'ready']);
    const { page } = await openLibrary(browser, pick);
    const length = Number(await thing(page, 0).getAttribute('aria-setsize'));
    await thing(page, 0).focus();
    await page.waitForLoadState('networkidle');
    await page.coverage.startJSCoverage({ resetOnNavigation: false });
    await page.keyboard.press('ControlOrMeta+a');
    await expect.poll(async () => (await selectedUids(page)).length).toBeGreaterThan(10);
    const scripts = await page.coverage.stopJSCoverage();
    const counts = scripts
      .flatMap(({ functions }) => functions)
      .filter(({ functionName, ranges }) => functionName === 'render' && (ranges[0]?.count ?? 0) > 0);
    expect(counts).toEqual([]);
    // The same count sees the cards that a scroll renders.
    await page.coverage.startJSCoverage({ resetOnNavigation: false });
    await page.keyboard.press('End');
    await expect.poll(() => page.evaluate('document.activeElement.dataset.at')).toBe(`${length - 1}`);
    const scrolled = (await page.coverage.stopJSCoverage()).flatMap(({ functions }) => functions);
    expect(scrolled.some(({ functionName, ranges }) => functionName === 'render' && (ranges[0]?.count ?? 0) > 0)).toBe(
      true,
    );
    pick.child.kill('SIGINT');
    await pick.finished;
  });

  it('browse --pick pipes three selected assets into rm, and undo says that the API cannot restore them', async () => {
    const environment = environmentOf(sandbox);
    const cli = new Cli(environment);
    const before = await listUids(cli, []);
    const uids = await pipeThree(['rm', '-'], environment);
    expect(uids).toHaveLength(3);
    expect(await listUids(cli, [])).toEqual(before.filter((uid) => !uids.includes(uid)));
    const { code, stdout } = await cli.run(['undo', '--yes']);
    expect([code, stdout.match(/in the trash, from which the API cannot restore it/g)]).toEqual([
      11,
      Array(3).fill(expect.any(String)),
    ]);
  });
});

it.skipIf(isStrict)('rm of uids from a pipe asks its question on the terminal itself', { tags: 'script' }, async () => {
  const cli = new Cli(environmentOf(sandbox));
  const [asset] = (await cli.json(['ls', '--limit', '1'])) as { uid: string }[];
  const command = `echo ${asset?.uid} | "${process.execPath}" "${mediactlPath}" rm -`;
  const pty = new Pty(['sh', '-c', command], environmentOf(sandbox));
  await pty.answer('[y/N]', 'n\n');
  expect(await pty.exited).toBe(130);
  expect(await cli.json(['get', asset?.uid ?? ''])).toHaveLength(1);
});
