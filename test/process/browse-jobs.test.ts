import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dialog, environmentOf, isUnexpected, openLibrary, startBrowse, startPickingVerb } from '../support/browse.ts';
import { pollUntil, setUpBrowser } from '../support/browser.ts';
import { Cli } from '../support/cli.ts';
import { ffmpeg } from '../support/ffmpeg.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';

/* What people do in the page, by mouse and by keys: moves of several assets, comparing, and where the focus goes. */

const { fixture } = setUpBrowser();
let sandbox: TestSandbox;
/** Library of an image and a video, with all that ffmpeg makes of them. */
let videos: TestSandbox;
const { upload } = rawHttp(() => videos);
beforeAll(async () => {
  videos = await startSandbox({ strict: false, ffmpeg: ffmpeg && `/usr/bin/${ffmpeg}` });
  for (const name of ['still.jpg', 'clip.mp4']) await upload(fixturePath(name));
  sandbox = await startSandbox({ strict: false, seed: 200, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  await new Cli(environmentOf(sandbox)).json(['folders', 'create', '/Moved here']);
});

afterAll(async () => {
  for (const each of [videos, sandbox]) await each?.end();
});

const openReady = async (options: BrowserContextOptions = {}, args = ['--status', 'ready']) => {
  const browsing = await startBrowse(sandbox, args);
  const opened = await openLibrary(fixture.browser, browsing, options);
  await opened.page.waitForLoadState('networkidle');
  return { ...browsing, ...opened };
};
const thing = (page: Page, at: number) => page.locator(`.thing[data-at="${at}"]`);
const target = (page: Page) => page.locator('.place', { hasText: 'Moved here' });
const countMoved = async () => ((await new Cli(environmentOf(sandbox)).json(['ls', '/Moved here'])) as []).length;

describe('several assets at once', { tags: ['chromium', 'undocumented-fields'] }, () => {
  it('a drag of a selected card moves all that are selected as one change, and Undo takes it back', async () => {
    const { page, complaints, environment } = await openReady();
    await thing(page, 1).click();
    await thing(page, 3).click({ modifiers: ['Shift'] });
    await thing(page, 2).dragTo(target(page));
    await page.getByText('Moved 3 assets to /Moved here').waitFor();
    expect(await countMoved()).toBe(3);
    const [change] = (await new Cli(environment).json(['history'])) as { summary: string }[];
    expect(change).toMatchObject({ summary: 'move to /Moved here', command: 'browse' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Moved 3 assets back').waitFor();
    expect(await countMoved()).toBe(0);
    expect(complaints.filter(isUnexpected)).toEqual([]);
  });

  it('a drag of more than 50 assets moves none, and shows the command that does', async () => {
    const { page } = await openReady();
    await page.keyboard.press('ControlOrMeta+a');
    await thing(page, 2).dragTo(target(page));
    await page.getByText("mv --pick '/Moved here'").waitFor();
    expect(await countMoved()).toBe(0);
  });

  it('a drag of a card that is not selected moves that card only', async () => {
    const { page } = await openReady();
    await thing(page, 1).click();
    await thing(page, 4).dragTo(target(page));
    await pollUntil(countMoved).toBe(1);
    await page.getByRole('button', { name: 'Undo' }).click();
    await pollUntil(countMoved).toBe(0);
  });
});

describe('the keyboard and the pointer', { tags: ['chromium', 'undocumented-fields'] }, () => {
  it('a middle click and Ctrl-Enter open an asset in another tab, so that two can be compared', async () => {
    const { page } = await openReady();
    const uid = await thing(page, 1).getAttribute('data-uid');
    const [byMouse] = await Promise.all([
      page.context().waitForEvent('page'),
      thing(page, 1).click({ button: 'middle' }),
    ]);
    await byMouse.getByRole('dialog').waitFor();
    expect(byMouse.url()).toContain(`asset=${uid}`);
    expect(await dialog(page).count()).toBe(0);
    await thing(page, 2).focus();
    const [byKeys] = await Promise.all([
      page.context().waitForEvent('page'),
      page.keyboard.press('ControlOrMeta+Enter'),
    ]);
    await byKeys.getByRole('dialog').waitFor();
    expect(await page.locator('.thing[aria-selected=true]').count()).toBe(0);
  });

  it('the focus returns after Cancel of Trash and after the selection is cleared, so that keys go on', async () => {
    const { page } = await openReady();
    await thing(page, 3).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Trash…' }).click();
    await page.keyboard.press('Enter'); // Cancel
    await pollUntil(() => page.evaluate('document.activeElement.ariaLabel ?? document.activeElement.textContent')).toBe(
      'Trash…',
    );
    await page.keyboard.press('Escape');
    await pollUntil(() => dialog(page).count()).toBe(0);
    await page.keyboard.press(' ');
    await page.getByRole('button', { name: 'Clear the selection' }).focus();
    await page.keyboard.press('Enter');
    await pollUntil(() => page.evaluate('document.activeElement.dataset.at')).toBe('3');
  });

  it('a selection that a filter takes away is not lost without a word', async () => {
    const { page } = await openReady();
    await thing(page, 0).click();
    await thing(page, 2).click({ modifiers: ['Shift'] });
    await page.getByRole('button', { name: 'Last 7 days' }).click();
    await page.getByText('The selection of 3 assets is gone').waitFor();
  });

  it('an asset that somebody else has moved meanwhile stays there, until its folder is chosen once more', async () => {
    const { page, environment } = await openReady();
    const uid = (await thing(page, 6).getAttribute('data-uid')) ?? '';
    const placeOf = async () =>
      ((await new Cli(environment).json(['get', uid])) as { parent: string | null }[])[0]?.parent;
    await thing(page, 6).dblclick();
    const choice = dialog(page).getByRole('combobox', { name: 'Folder' });
    await pollUntil(() => choice.isEnabled()).toBe(true);
    await new Cli(environment).json(['mv', uid, '/Moved here']);
    const elsewhere = await placeOf();
    await choice.selectOption({ label: '/Press' });
    await page.getByText('changed meanwhile').waitFor();
    expect(await placeOf()).toBe(elsewhere);
    await pollUntil(() => choice.inputValue()).toBe(elsewhere);
    await choice.selectOption({ label: '/' });
    await page.getByText('· saved').waitFor();
    expect(await placeOf()).toBeNull();
  });

  it('an asset that somebody else has deleted leaves the list once it was opened', async () => {
    const { page, environment } = await openReady();
    const uid = await thing(page, 5).getAttribute('data-uid');
    await new Cli(environment).run(['rm', uid ?? '', '--yes']);
    await thing(page, 5).dblclick();
    await pollUntil(() => page.locator(`.thing[data-uid="${uid}"]`).count()).toBe(0);
  });

  it('twelve letters that are typed at 220 ms send one request', async () => {
    const { page } = await openReady({}, []);
    const lists: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('search=')) lists.push(request.url());
    });
    await page.keyboard.press('/');
    // The clock of the page stands between the letters, so that a busy machine types as fast.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    for (const letter of 'harbour wall') {
      await page.keyboard.type(letter);
      await page.clock.runFor(220);
    }
    expect(lists).toEqual([]);
    await page.clock.runFor(1_000);
    await expect.poll(() => lists.length).toBe(1);
    await page.clock.runFor(1_000);
    expect(lists).toHaveLength(1);
  });
});

/** Does a job, and counts clicks, keys and drags; not the letters of a text, or what other programs ask. */
class Actor {
  readonly page: Page;
  count = 0;

  constructor(page: Page) {
    this.page = page;
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      this.count++;
      await this.page.keyboard.press(key);
    }
  }

  async click(target: Locator, options: Parameters<Locator['click']>[0] & { isDouble?: boolean } = {}): Promise<void> {
    this.count++;
    await (options.isDouble ? target.dblclick() : target.click(options));
  }

  async drag(from: Locator, to: Locator): Promise<void> {
    this.count++;
    await from.dragTo(to);
  }
}

const selected = (page: Page) => page.locator('.thing[aria-selected=true]').count();
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const nameField = (page: Page) => dialog(page).getByRole('textbox', { name: 'Name' });
const clipboard = (page: Page) => page.evaluate<string>('navigator.clipboard.readText()');
const permissions = ['clipboard-read', 'clipboard-write'];
const viewport = { width: 1440, height: 900 }; // five columns

const byTag = (tag: string) => ({ args: ['tag', '--pick', '--add', tag], ended: 'updated 20 assets' });
const byMove = { args: ['mv', '--pick', '/Moved here'], ended: 'moved 20 assets' };
const byTrash = { args: ['rm', '--pick'], question: '[y/N]', ended: '3 assets' };
const copied = async ({ page }: Actor) => {
  await page.getByText(/^1 link.* copied/).waitFor();
  expect(await clipboard(page)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\S+$/);
};

/** From the search to the first card, which is the short way to the list. */
const toFirstCard = ['/', 'ArrowDown'];
/** From the first card of five columns over twenty. */
const overTwenty = ['Shift+PageDown', 'Shift+ArrowLeft'];

type Job = {
  job: string;
  by: 'mouse' | 'keys';
  /** Most actions that it may take. */
  most: number;
  /** Command that waits for a selection; the letters of its line, and its question, are not counted. */
  command?: { args: string[]; question?: string; ended: string };
  /** True if it takes a video that plays, which no seeded one does. */
  ofVideo?: true;
  perform(actor: Actor): Promise<void>;
};

const jobs: Job[] = [
  {
    ...{ job: 'find what is of last week', by: 'mouse', most: 1 },
    perform: async (actor) => {
      await actor.click(button(actor.page, 'Last 7 days'));
      await pollUntil(async () => actor.page.url()).toContain('created_after');
    },
  },
  {
    ...{ job: 'find what is of last week', by: 'keys', most: 3 },
    perform: async (actor) => {
      await actor.press('Tab', 'ArrowDown', 'Enter');
      await pollUntil(async () => actor.page.url()).toContain('created_after');
    },
  },
  {
    ...{ job: 'preview a video on its card', by: 'mouse', most: 0, ofVideo: true },
    perform: async ({ page }) => {
      await thing(page, 0).hover();
      await thing(page, 0).locator('svg.frame').waitFor();
    },
  },
  {
    ...{ job: 'preview an asset', by: 'mouse', most: 1 },
    perform: async (actor) => {
      await actor.click(thing(actor.page, 0), { isDouble: true });
      await dialog(actor.page).waitFor();
    },
  },
  {
    ...{ job: 'preview an asset', by: 'keys', most: 3 },
    perform: async (actor) => {
      await actor.press(...toFirstCard, 'Enter');
      await dialog(actor.page).waitFor();
    },
  },
  {
    ...{ job: 'rename an asset', by: 'mouse', most: 3 },
    perform: async (actor) => {
      await actor.click(thing(actor.page, 0), { isDouble: true });
      await actor.click(nameField(actor.page));
      await nameField(actor.page).fill('Renamed by mouse');
      await actor.press('Enter');
      await actor.page.getByText('· saved').waitFor();
    },
  },
  {
    ...{ job: 'rename an asset', by: 'keys', most: 12 },
    perform: async (actor) => {
      await actor.press(...toFirstCard, 'Enter');
      await pollUntil(() => nameField(actor.page).isEnabled()).toBe(true);
      await actor.press('F2');
      await actor.page.keyboard.type('Renamed by keys');
      await actor.press('Enter');
      await actor.page.getByText('· saved').waitFor();
      expect(await nameField(actor.page).inputValue()).toBe('Renamed by keys');
    },
  },
  {
    ...{ job: 'tag twenty', by: 'mouse', most: 3, command: byTag('mouse') },
    perform: async (actor) => {
      await actor.click(thing(actor.page, 0));
      await actor.click(thing(actor.page, 19), { modifiers: ['Shift'] });
      expect(await selected(actor.page)).toBe(20);
      await actor.click(button(actor.page, 'Use these 20'));
    },
  },
  {
    ...{ job: 'tag twenty', by: 'keys', most: 9, command: byTag('keys') },
    perform: async (actor) => {
      await actor.press(...toFirstCard, ' ', ...overTwenty);
      expect(await selected(actor.page)).toBe(20);
      await actor.press('Tab', 'Tab', 'Enter');
    },
  },
  {
    ...{ job: 'move twenty', by: 'mouse', most: 3 },
    perform: async (actor) => {
      await actor.click(thing(actor.page, 0));
      await actor.click(thing(actor.page, 19), { modifiers: ['Shift'] });
      await actor.drag(thing(actor.page, 3), target(actor.page));
      await actor.page.getByText('Moved 20 assets to /Moved here').waitFor();
      await button(actor.page, 'Undo').click();
      await actor.page.getByText('Moved 20 assets back').waitFor();
    },
  },
  {
    ...{ job: 'move twenty', by: 'keys', most: 9, command: byMove },
    perform: async (actor) => {
      await actor.press(...toFirstCard, ' ', ...overTwenty);
      expect(await selected(actor.page)).toBe(20);
      await actor.press('Tab', 'Tab', 'Enter');
    },
  },
  {
    ...{ job: 'delete three', by: 'mouse', most: 4, command: byTrash },
    perform: async (actor) => {
      for (const at of [0, 2, 4])
        await actor.click(thing(actor.page, at), at > 0 ? { modifiers: ['ControlOrMeta'] } : {});
      await actor.click(button(actor.page, 'Use these 3'));
    },
  },
  {
    ...{ job: 'delete three', by: 'keys', most: 8, command: byTrash },
    perform: async (actor) => {
      await actor.press(...toFirstCard, ' ', 'Shift+ArrowRight', 'Shift+ArrowRight', 'Tab', 'Tab', 'Enter');
    },
  },
  {
    ...{ job: 'upload a folder', by: 'mouse', most: 1 },
    perform: async (actor) => {
      const chooser = actor.page.waitForEvent('filechooser');
      await actor.click(button(actor.page, 'Upload folder'));
      await chooser;
    },
  },
  {
    ...{ job: 'upload a folder', by: 'keys', most: 6 },
    perform: async (actor) => {
      const chooser = actor.page.waitForEvent('filechooser');
      await actor.press(...Array(5).fill('Tab'), 'Enter');
      await chooser;
    },
  },
  {
    ...{ job: 'copy the link of an asset', by: 'mouse', most: 2, ofVideo: true },
    perform: async (actor) => {
      await actor.click(thing(actor.page, 0));
      await actor.click(button(actor.page, 'Copy links'));
      await copied(actor);
    },
  },
  {
    ...{ job: 'copy the link of an asset', by: 'keys', most: 6, ofVideo: true },
    perform: async (actor) => {
      await actor.press(...toFirstCard, ' ', 'Tab', 'Tab', 'Enter');
      await copied(actor);
    },
  },
  {
    ...{ job: 'compare two assets in tabs', by: 'mouse', most: 2 },
    perform: async (actor) => {
      for (const at of [0, 1]) {
        const opened = actor.page.context().waitForEvent('page');
        await actor.click(thing(actor.page, at), { button: 'middle' });
        await (await opened).getByRole('dialog').waitFor();
      }
    },
  },
  {
    ...{ job: 'compare two assets in tabs', by: 'keys', most: 5 },
    perform: async (actor) => {
      await actor.press(...toFirstCard);
      for (const keys of [['ControlOrMeta+Enter'], ['ArrowRight', 'ControlOrMeta+Enter']]) {
        const opened = actor.page.context().waitForEvent('page');
        await actor.press(...keys);
        await (await opened).getByRole('dialog').waitFor();
      }
    },
  },
  {
    ...{ job: 'send a view', by: 'mouse', most: 1 },
    perform: async (actor) => {
      await actor.click(button(actor.page, 'Copy view'));
      await actor.page.getByText('Copied').waitFor();
    },
  },
  {
    ...{ job: 'send a view', by: 'keys', most: 5 },
    perform: async (actor) => {
      await actor.press(...Array(4).fill('Tab'), 'Enter');
      await actor.page.getByText('Copied').waitFor();
      expect(await clipboard(actor.page)).toMatch(/^mediactl browse/);
    },
  },
];

async function doJob({ perform, most, command, ofVideo }: Job): Promise<void> {
  const service = ofVideo ? videos : sandbox;
  const filters = ofVideo ? [] : ['--status', 'ready'];
  const verb = command && (await startPickingVerb(service, [...command.args, ...filters]));
  const shown = verb ?? (await startBrowse(service, filters));
  const { page } = await openLibrary(fixture.browser, shown, { permissions, viewport });
  await pollUntil(() => page.locator('.state').count()).toBe(0); // nothing is being processed
  await page.waitForLoadState('networkidle');
  const actor = new Actor(page);
  await perform(actor);
  expect(actor.count).toBeLessThanOrEqual(most);
  if (!verb) return;
  if (command?.question) await verb.terminal.answer(command.question, 'y\n');
  expect(await verb.terminal.exited, verb.terminal.output).toBe(0);
  expect(verb.terminal.output).toContain(command?.ended);
}

describe('the jobs of the page', { tags: ['chromium', 'undocumented-fields'] }, () => {
  it.each(jobs.filter(({ ofVideo }) => !ofVideo))('to $job by $by takes at most $most actions', doJob);
  it.each(jobs.filter(({ ofVideo }) => ofVideo))(
    'to $job by $by takes at most $most actions',
    { tags: 'ffmpeg' },
    doJob,
  );
});
