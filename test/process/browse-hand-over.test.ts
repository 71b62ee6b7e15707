import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { environmentOf, openLibrary, startPick, startPickingVerb } from '../support/browse.ts';
import { launchBrowser } from '../support/browser.ts';
import { Cli } from '../support/cli.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, isStrict, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The moment in which the page hands its selection on: to `browse --pick`, and to the verbs with --pick. */

const seeded = 1_200;
let sandbox: TestSandbox;
const http = rawHttp(() => sandbox);
beforeAll(async () => {
  sandbox = await startSandbox({ seed: seeded, rateLimit: { limit: 1_000_000, windowSeconds: 3600 } });
  await new Cli(environmentOf(sandbox)).json(['folders', 'create', '/Picked']);
});
afterAll(() => sandbox.end());

const remainingRequests = async () =>
  Number((await http.call('GET', '/workspaces/')).headers.get('x-ratelimit-remaining'));
/** Returns how many requests the service got, without those of this count. */
async function countRequests(perform: () => Promise<unknown>): Promise<number> {
  const before = await remainingRequests();
  await perform();
  return before - (await remainingRequests()) - 1;
}

const thing = (page: Page, at: number) => page.locator(`.thing[data-at="${at}"]`);
const useButton = (page: Page) => page.getByRole('button', { name: /^Use these/ });
const barText = (page: Page) => page.getByRole('region', { name: 'Selection' }).innerText();
/** Keeps the list as it is shown: it is read again while an asset in view is being processed. */
const stopPolls = (page: Page) => page.route(/looking=1/, (route) => route.abort());
const listUids = async (args: string[]) =>
  ((await new Cli(environmentOf(sandbox)).json(['ls', '--all', ...args])) as { uid: string }[]).map(({ uid }) => uid);

const startVerb = (args: string[]) => startPickingVerb(sandbox, args);

describe.skipIf(isStrict)('the page hands on what it shows', { tags: 'chromium' }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  it('an asset that comes after all were selected is not handed over before the button has said so', async () => {
    const before = await listUids([]);
    const pick = await startPick(sandbox);
    const { page } = await openLibrary(browser, pick);
    await stopPolls(page);
    await page.keyboard.press('ControlOrMeta+a');
    const { uid } = await http.upload(fixturePath('still.jpg'));
    await useButton(page).click();
    const now = (before.length + 1).toLocaleString('en-US');
    await expect.poll(() => barText(page)).toContain(`there are ${now} now`);
    expect(await useButton(page).innerText()).toBe(`Use these ${now}`);
    await useButton(page).click();
    const { code, stdout } = await pick.finished;
    expect(code).toBe(0);
    expect(stdout.trim().split('\n').sort()).toEqual([...before, uid].sort());
  });

  it('an asset that took the place of another since is not handed over before the button has said so', async () => {
    const before = await listUids([]);
    const pick = await startPick(sandbox);
    const { page } = await openLibrary(browser, pick);
    await stopPolls(page);
    await page.keyboard.press('ControlOrMeta+a');
    await http.call('DELETE', `/assets/${before.at(-1)}/`);
    await http.upload(fixturePath('still.jpg'));
    await useButton(page).click();
    await expect.poll(() => barText(page)).toContain('The list has changed');
    pick.child.kill('SIGINT');
    expect(await pick.finished).toMatchObject({ code: 130, stdout: '' });
  });

  it('all of a list in another order is handed over at the first press', async () => {
    const all = await listUids([]);
    const pick = await startPick(sandbox, ['--sort', 'name']);
    const { page } = await openLibrary(browser, pick);
    await page.keyboard.press('ControlOrMeta+a');
    await useButton(page).click();
    const { code, stdout } = await pick.finished;
    expect([code, stdout.trim().split('\n').sort()]).toEqual([0, all.sort()]);
  });

  it('a list of which all is selected is read once: handed on again, it costs one request', async () => {
    const pick = await startPick(sandbox, ['--json', '--status', 'ready']);
    const { page } = await openLibrary(browser, pick);
    await page.waitForLoadState('networkidle');
    await page.keyboard.press('ControlOrMeta+a');
    const { status } = await page.evaluate<{ status: number }>(`(async () => {
      const setup = JSON.parse(document.getElementById('browse-setup').textContent);
      const state = await (await fetch(setup.base + 'assets?status=ready&limit=100&offset=0&fresh=1')).json();
      const seen = { total: state.total, newest: state.items[0].createdAt, count: state.total };
      const body = JSON.stringify({ query: { status: 'ready' }, except: [], seen });
      return { status: (await fetch(setup.base + 'selection', { method: 'POST', body })).status };
    })()`);
    expect(status).toBe(200);
    // One for the state of the list; the records are at hand, for --json, too.
    const ready = await listUids(['--status', 'ready']);
    const count = await countRequests(async () => {
      await useButton(page).click();
      const { code, stdout } = await pick.finished;
      expect([code, JSON.parse(stdout).length]).toEqual([0, ready.length]);
    });
    expect(count).toBe(1);
  });

  it('the records of assets that were selected one by one are those that the page has listed', async () => {
    const pick = await startPick(sandbox, ['--json', '--status', 'ready']);
    const { page } = await openLibrary(browser, pick);
    await page.waitForLoadState('networkidle');
    // By keys: a pointer that rests on a card on a slow machine asks for its preview.
    await thing(page, 0).focus();
    await page.keyboard.press(' ');
    for (let n = 1; n < 10; n++) await page.keyboard.press('Shift+ArrowRight');
    const count = await countRequests(async () => {
      await useButton(page).click();
      expect(JSON.parse((await pick.finished).stdout)).toHaveLength(10);
    });
    expect(count).toBe(0);
  });

  it('the button says that it works, hands over once, and a later failure does not hide that it did', async () => {
    const pick = await startPick(sandbox);
    const { page } = await openLibrary(browser, pick);
    const sent: string[] = [];
    await page.route('**/pick', async (route) => {
      sent.push(route.request().method());
      await new Promise((resolve) => setTimeout(resolve, 500));
      await route.continue();
    });
    await thing(page, 0).click();
    await useButton(page).click();
    await expect.poll(() => barText(page)).toContain('Handing over 1');
    for (let press = 0; press < 2; press++) await useButton(page).dispatchEvent('click');
    await expect.poll(() => barText(page)).toBe('Handed to the terminal. You can close this tab.');
    expect((await pick.finished).code).toBe(0);
    expect(sent).toHaveLength(1);
    expect(await barText(page)).toBe('Handed to the terminal. You can close this tab.');
  });

  it('tag --pick tags what is selected in the page, in one process, and undo reverts it', async () => {
    const { terminal, address, cli } = await startVerb(['tag', '--pick', '--add', 'one-process', '--status', 'ready']);
    const { page } = await openLibrary(browser, { address });
    expect(page.url()).toContain('status=ready');
    expect(terminal.output).toMatch(/select assets in the page.*for mediactl tag;.*Ctrl-C\s+cancels/s);
    await thing(page, 1).click();
    await thing(page, 3).click({ modifiers: ['Shift'] });
    await useButton(page).click();
    expect(await terminal.exited, terminal.output).toBe(0);
    expect(terminal.output).toContain('updated 3 assets');
    expect(await listUids(['--tag', 'one-process'])).toHaveLength(3);
    const [{ change_id: id }] = await cli.json(['history']);
    await cli.run(['undo', id, '--yes']);
    expect(await listUids(['--tag', 'one-process'])).toEqual([]);
  });

  it('mv --pick of all of a list asks as for a filter, and typing another number moves nothing', async () => {
    const { terminal, address } = await startVerb(['mv', '--pick', '/Picked']);
    const { page } = await openLibrary(browser, { address });
    await page.keyboard.press('ControlOrMeta+a');
    await useButton(page).click();
    await terminal.answer('to continue', 'no\n');
    expect(await terminal.exited, terminal.output).toBe(2);
    expect(await listUids(['/Picked'])).toEqual([]);
  });

  it.each([
    { args: ['tag', '--pick', '--add', 'canceled'], end: 'Cancel' },
    { args: ['mv', '--pick', '/Picked'], end: 'Cancel' },
    { args: ['rm', '--pick'], end: 'Ctrl-C' },
    { args: ['download', '--pick', '-d', 'picked'], end: 'Ctrl-C' },
  ])('$args.0 --pick ends with exit code 130 at $end, asks nothing and changes nothing', async ({ args, end }) => {
    const before = await listUids([]);
    const { terminal, address } = await startVerb(args);
    const { page } = await openLibrary(browser, { address });
    await thing(page, 0).click();
    if (end === 'Ctrl-C') terminal.type('\u0003');
    else await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await terminal.exited, terminal.output).toBe(130);
    expect(terminal.output).not.toMatch(/Which asset|Continue|trash\?/);
    expect(await listUids([])).toEqual(before);
    expect(await listUids(['--tag', 'canceled'])).toEqual([]);
  });

  it('rm --pick asks about what was selected, and trashes that and nothing else', async () => {
    const before = await listUids([]);
    const { terminal, address } = await startVerb(['rm', '--pick', '--status', 'ready']);
    const { page } = await openLibrary(browser, { address });
    await thing(page, 2).click();
    await thing(page, 3).click({ modifiers: ['Shift'] });
    const uids = [await thing(page, 2).getAttribute('data-uid'), await thing(page, 3).getAttribute('data-uid')];
    await useButton(page).click();
    await terminal.answer('[y/N]', 'y\n');
    expect(await terminal.exited, terminal.output).toBe(0);
    expect((await listUids([])).sort()).toEqual(before.filter((uid) => !uids.includes(uid)).sort());
  });

  it('download --pick writes the files of what was selected', async () => {
    const bytes = Buffer.from('picked to be downloaded');
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'picked.txt'), bytes);
    const { uid } = await http.upload(join(folder, 'picked.txt'));
    const { terminal, address } = await startVerb(['download', '--pick', '-d', join(folder, 'here')]);
    const { page } = await openLibrary(browser, { address });
    await page.locator(`.thing[data-uid="${uid}"]`).click();
    await useButton(page).click();
    expect(await terminal.exited, terminal.output).toBe(0);
    const names = readdirSync(join(folder, 'here'));
    expect(names).toHaveLength(1);
    expect(readFileSync(join(folder, 'here', names[0] ?? ''))).toEqual(bytes);
  });

  it('two commands with --pick at once each get their own selection, and a closed tab can be opened again', async () => {
    const [one, other] = await Promise.all(
      ['first', 'second'].map((tag) => startVerb(['tag', '--pick', '--add', `of-the-${tag}`, '--status', 'ready'])),
    );
    if (!one || !other) throw new Error('not started');
    await (await openLibrary(browser, one)).page.close();
    const uids: (string | null)[] = [];
    for (const [at, { address, terminal }] of [other, one].entries()) {
      const { page } = await openLibrary(browser, { address });
      await thing(page, at).click();
      uids.push(await thing(page, at).getAttribute('data-uid'));
      await useButton(page).click();
      expect(await terminal.exited, terminal.output).toBe(0);
    }
    expect([await listUids(['--tag', 'of-the-second']), await listUids(['--tag', 'of-the-first'])]).toEqual(
      uids.map((uid) => [uid]),
    );
  });
});

it.each([
  { args: ['tag', '--pick', '--add', 'sea'] },
  { args: ['mv', '--pick', '/Picked'] },
  { args: ['rm', '--pick'] },
  { args: ['download', '--pick'] },
])('$args.0 --pick without a terminal is a usage error', async ({ args }) => {
  const { code, stderr } = await new Cli(environmentOf(sandbox)).run(args);
  expect([code, stderr]).toEqual([2, expect.stringContaining('--pick needs a terminal')]);
});

it.each([
  { args: ['tag', '@last', '--pick', '--add', 'sea'] },
  { args: ['mv', '/Picked', '--pick', '/'] },
  { args: ['rm', '/Picked', '--pick'] },
  { args: ['download', '@last', '--pick'] },
])('$args.0 --pick with an id or a folder is a usage error', async ({ args }) => {
  const { code, stderr } = await new Cli(environmentOf(sandbox)).run(args);
  expect([code, stderr]).toEqual([2, expect.stringContaining('cannot be used together')]);
});
