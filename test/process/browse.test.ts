import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  card,
  chooseFilter,
  dialog,
  dropFiles,
  environmentOf,
  isUnexpected,
  openLibrary,
  player,
  startBrowse,
  statusText,
} from '../support/browse.ts';
import { currentTime, listViolations, mediaState, openPage, pollUntil, setUpBrowser } from '../support/browser.ts';
import { Cli } from '../support/cli.ts';
import { ffmpeg } from '../support/ffmpeg.ts';
import { writeRandomFile } from '../support/files.ts';
import { isFullRun } from '../support/full-run.ts';
import { has } from '../support/has.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { mediactl } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The browse page in a browser, with a library of thousands of assets whose newest ones are real media. */

const seeded = isFullRun ? 5_000 : 2_000;
const { fixture } = setUpBrowser();
let sandbox: TestSandbox;
const http = rawHttp(() => sandbox);
/** Uids by name. */
const uidsByName: Record<string, string> = {};

beforeAll(async () => {
  if (!has('chromium')) return;
  sandbox = await startSandbox({
    strict: false,
    seed: seeded,
    ffmpeg: ffmpeg && `/usr/bin/${ffmpeg}`,
    rateLimit: { limit: 100_000, windowSeconds: 3600 },
  });
  const files = [fixturePath('clip.mp4'), fixturePath('tone.mp3'), fixturePath('still.jpg')];
  for (const path of files) {
    const { uid, name } = await http.upload(path);
    uidsByName[name] = uid;
  }
});
afterAll(() => sandbox?.end());

const remainingRequests = async () => {
  const { headers } = await http.call('GET', '/workspaces/');
  return Number(headers.get('x-ratelimit-remaining'));
};

const openBrowsePage = async (args: string[] = [], options: BrowserContextOptions = {}) => {
  const browsing = await startBrowse(sandbox, args);
  return { ...browsing, ...(await openLibrary(fixture.browser, browsing, options)) };
};

// Strict mode omits type, size and folder; browse-compatibility.test.ts tests the page without them.
describe('browse', { tags: ['chromium', 'undocumented-fields'] }, () => {
  it('the browse page searches and filters the library and keeps the view in its address', async () => {
    const { page, complaints } = await openBrowsePage();
    await pollUntil(() => statusText(page)).toBe(`${(seeded + 3).toLocaleString('en')} assets`);
    expect(new URL(page.url()).search).toBe('');
    await page.keyboard.press('/');
    await page.keyboard.type('harbour');
    await pollUntil(async () => new URL(page.url()).search).toBe('?search=harbour');
    await pollUntil(async () => Number.parseInt(await statusText(page), 10)).toBeLessThan(seeded / 5);
    await chooseFilter(page, 'Type', 'audio');
    await page.getByLabel('Order').selectOption('name');
    await pollUntil(async () => new URL(page.url()).search).toBe('?search=harbour&type=audio&ordering=name');
    const firstName = await page.locator('.thing .name').first().textContent();
    expect(firstName).toMatch(/^Harbour/);
    const countBefore = await statusText(page);
    await page.reload();
    await pollUntil(() => statusText(page)).toBe(countBefore);
    expect(await page.locator('.thing .name').first().textContent()).toBe(firstName);
    await page.goBack();
    await page.getByRole('button', { name: 'Clear' }).click();
    await pollUntil(() => statusText(page)).toBe(`${(seeded + 3).toLocaleString('en')} assets`);
    expect(complaints.filter(isUnexpected)).toEqual([]);
  });

  it('a filter is set, changed and removed at its chip by keys alone, and the focus stays there', async () => {
    const { page } = await openBrowsePage();
    const query = async () => new URL(page.url()).search;
    const chip = (text: string) => page.locator('.chip').getByRole('button', { name: text, exact: true });
    const hasFocus = (text: string) => chip(text).evaluate((element) => element.matches(':focus'));
    await chip('Tag').press('Enter');
    await page.keyboard.type('harbour');
    await page.keyboard.press('Escape'); // leaves it as it was
    await pollUntil(() => hasFocus('Tag')).toBe(true);
    expect(await query()).toBe('');
    await chip('Tag').press('Enter');
    await page.keyboard.type('harbour');
    await page.keyboard.press('Enter');
    await pollUntil(query).toBe('?tag=harbour');
    await pollUntil(() => hasFocus('Tag: harbour')).toBe(true);
    await chip('Tag: harbour').press('Enter');
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('quay', { delay: 150 }); // while the list of the first tag loads, and renders the page
    await page.keyboard.press('Enter');
    await pollUntil(query).toBe('?tag=quay');
    await page.getByRole('button', { name: 'Remove quay' }).press('Enter');
    await pollUntil(query).toBe('');
    await pollUntil(() => hasFocus('Tag')).toBe(true);
    await page.goBack(); // one entry of the history a change
    await page.goBack();
    await pollUntil(query).toBe('?tag=harbour');
  });

  it('a date that is typed in a chip is one change, and none if Escape ends it', async () => {
    const { page } = await openBrowsePage();
    const field = page.getByRole('textbox', { name: 'Created from' });
    const typeDate = async (lastKey: string) => {
      await page.locator('.chip').getByRole('button', { name: 'Created from' }).press('Enter');
      await page.keyboard.press('Escape'); // closes the calendar
      await page.locator('input[type=date]').pressSequentially('11202025', { delay: 30 });
      await page.keyboard.press(lastKey);
    };
    const entries = () => page.evaluate<number>('history.length');
    const before = await entries();
    await typeDate('Escape');
    await pollUntil(() => field.count()).toBe(0);
    await page.waitForTimeout(300);
    expect([new URL(page.url()).search, await entries()]).toEqual(['', before]);
    await typeDate('Enter');
    await pollUntil(async () => new URL(page.url()).search).toBe('?created_after=2025-11-20');
    expect(await entries()).toBe(before + 1);
  });

  it('a click elsewhere closes the control of a chip, and does what it is on', async () => {
    const { page } = await openBrowsePage(['--status', 'ready']);
    const chips = page.locator('.chips');
    const openTag = async () => {
      await chips.getByRole('button', { name: 'Tag' }).click();
      await page.getByRole('textbox', { name: 'Tag' }).waitFor();
    };
    await openTag();
    await chips.getByRole('button', { name: 'Created until' }).click({ delay: 80 });
    await page.locator('input[type=date]').waitFor();
    expect(await page.getByRole('textbox', { name: 'Tag' }).count()).toBe(0);
    await page.keyboard.press('Tab');
    await openTag();
    await chips.getByRole('button', { name: 'Clear' }).click({ delay: 80 });
    await pollUntil(async () => new URL(page.url()).search).toBe('');
  });

  it('the places of the side bar are views that replace all filters, and one stop of Tab', async () => {
    const { address } = await startBrowse(sandbox, ['--tag', 'harbour', '--sort', 'name']);
    const { page } = await openPage(fixture.browser, address);
    await page.getByRole('button', { name: 'Failed' }).click();
    await pollUntil(async () => new URL(page.url()).search).toBe('?status=failed&ordering=name');
    expect(await page.locator('.place[aria-current=true]').innerText()).toBe('Failed');
    expect(await page.locator('.place[tabindex="0"]').allInnerTexts()).toEqual(['Failed']);
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await pollUntil(async () => new URL(page.url()).search).toBe('?ordering=name');
    expect(await page.locator('.place[aria-current=true]').innerText()).toBe('All assets');
    await page.goto(`${page.url().split('?')[0]}?parent=${randomUUID()}`);
    await pollUntil(() => page.locator('.place[tabindex="0"]').allInnerTexts()).toEqual(['All assets']);
  });

  it.each(['harbour wall', '/not a folder', '--pick'])(
    'Copy view copies a command that shows the same view, with a search for %j',
    async (text) => {
      await new Cli(environmentOf(sandbox)).run(['folders', 'create', "/It's a view"]);
      const { address } = await startBrowse(sandbox, ["/It's a view", '--type', 'video', '--sort', '-name']);
      const { page } = await openPage(fixture.browser, address, { permissions: ['clipboard-read', 'clipboard-write'] });
      await page.getByLabel('Search').fill(text);
      await pollUntil(async () => new URL(page.url()).searchParams.get('search')).toBe(text);
      await page.getByRole('button', { name: 'Copy view' }).click();
      await page.getByText('Copied').waitFor();
      const view = new URL(page.url()).search;
      const command = (await page.evaluate('navigator.clipboard.readText()')) as string;
      expect(command).toMatch(/^mediactl browse /);
      const args = execFileSync('sh', ['-c', `mediactl() { printf '%s\\n' "$@"; }; ${command}`], { encoding: 'utf8' });
      const again = await startBrowse(sandbox, args.trimEnd().split('\n').slice(1));
      const { page: pageAgain } = await openPage(fixture.browser, again.address);
      await pageAgain.getByRole('button', { name: 'Copy view' }).waitFor();
      const entriesOf = (search: string) => [...new URLSearchParams(search)].sort();
      expect(entriesOf(new URL(pageAgain.url()).search)).toEqual(entriesOf(view));
    },
  );

  it('the browse page lists nothing if a field of its address is not a filter, and names the field', async () => {
    const { page } = await openBrowsePage();
    await page.goto(`${page.url()}?has_captions=true`);
    await page.getByText('has_captions is not a filter of the asset list').first().waitFor();
    expect(await page.getByText('retries automatically').count()).toBe(0);
    expect(await page.locator('.thing').count()).toBe(0);
  });

  it(`scrolling ${seeded} assets needs a request per 50 assets and 200 MiB of memory, and renders only visible cards`, async () => {
    const { page, complaints } = await openBrowsePage();
    const remainingBefore = await remainingRequests();
    let mostCards = 0;
    for (;;) {
      const [top = 0, end = 0, cards = 0] = await page.evaluate<number[]>(`(() => {
        const shelf = document.querySelector('.shelf');
        shelf.scrollTop += shelf.clientHeight * 1.5;
        const end = shelf.scrollHeight - shelf.clientHeight - 1;
        return [shelf.scrollTop, end, document.querySelectorAll('.card').length];
      })()`);
      mostCards = Math.max(mostCards, cards);
      await page.waitForTimeout(15);
      if (top >= end) break;
    }
    await pollUntil(() => page.locator('.thing').last().getAttribute('data-at')).toBe(`${seeded + 2}`);
    expect(remainingBefore - (await remainingRequests())).toBeLessThan(seeded / 50);
    expect(mostCards).toBeLessThan(100);
    const heap = await page.evaluate<number>('performance.memory.usedJSHeapSize');
    expect(heap).toBeLessThan(200 * 1024 * 1024);
    expect(complaints.filter(isUnexpected)).toEqual([]);
  });

  it('arrow keys move between assets, Space selects one, Enter opens one, and Escape closes it', async () => {
    const { page, complaints } = await openBrowsePage();
    await page.locator('.thing').first().focus();
    const focusedIndex = () => page.evaluate('document.activeElement.dataset.at');
    await page.keyboard.press('ArrowRight');
    expect(await focusedIndex()).toBe('1');
    await page.keyboard.press('End');
    await pollUntil(focusedIndex).toBe(`${seeded + 2}`);
    await page.keyboard.press('Home');
    await pollUntil(focusedIndex).toBe('0');
    await page.keyboard.press('ArrowDown');
    expect(Number(await focusedIndex())).toBeGreaterThan(1);
    await page.keyboard.press(' ');
    expect(await page.locator('.thing[aria-selected=true]').count()).toBe(1);
    await page.keyboard.press('Enter');
    await dialog(page).waitFor();
    expect(new URL(page.url()).searchParams.get('asset')).toBeTruthy();
    await page.keyboard.press('Escape');
    await pollUntil(() => dialog(page).count()).toBe(0);
    expect(await page.locator('.thing[aria-selected=true]').count()).toBe(1); // of the page behind the dialog
    expect(complaints.filter(isUnexpected)).toEqual([]);
  });

  it('a video card animates its frames on hover and opens a player on click', { tags: 'ffmpeg' }, async () => {
    const { page, complaints } = await openBrowsePage();
    await card(page, 'clip.mp4').hover();
    const frame = card(page, 'clip.mp4').locator('svg.frame');
    await frame.waitFor();
    const firstFrame = await frame.getAttribute('viewBox');
    await pollUntil(() => frame.getAttribute('viewBox')).not.toBe(firstFrame);
    await card(page, 'clip.mp4').dblclick();
    await player(page).locator('video').waitFor();
    await page.getByRole('button', { name: 'Next asset' }).focus();
    await dialog(page).getByRole('heading').click();
    await page.keyboard.press('Space');
    await pollUntil(() => currentTime(player(page))).toBeGreaterThan(0.5);
    expect(await player(page).getByRole('navigation').getByRole('button').first().innerText()).toMatch('Arrival');
    // The keys of the player work in the dialog and in the player.
    await page.keyboard.press('j');
    await pollUntil(() => currentTime(player(page))).toBeLessThan(0.5);
    await player(page).locator('video').focus();
    await page.keyboard.press('End');
    const { currentTime: end } = await mediaState(player(page));
    await page.keyboard.press('j');
    await pollUntil(() => currentTime(player(page))).toBeLessThan(end);
    await page.keyboard.press('Escape');
    await pollUntil(() => dialog(page).count()).toBe(0);
    expect(complaints.filter(isUnexpected)).toEqual([]);
  });

  it('with reduced motion, a video card shows a still frame on hover', { tags: 'ffmpeg' }, async () => {
    const { page } = await openBrowsePage([], { reducedMotion: 'reduce' });
    await card(page, 'clip.mp4').hover();
    const frame = card(page, 'clip.mp4').locator('svg.frame');
    await frame.waitFor();
    const firstFrame = await frame.getAttribute('viewBox');
    await page.waitForTimeout(900);
    expect(await frame.getAttribute('viewBox')).toBe(firstFrame);
  });

  it('a click on the waveform is where the audio starts', { tags: 'ffmpeg' }, async () => {
    const { page, complaints } = await openBrowsePage();
    await card(page, 'tone.mp3').dblclick();
    const timeline = player(page).getByRole('slider', { name: 'Seek' });
    await timeline.locator('canvas').waitFor();
    const { width, height } = (await timeline.boundingBox()) ?? { width: 0, height: 0 };
    await timeline.click({ position: { x: width * 0.75, y: height / 2 } });
    const length = Number(await timeline.getAttribute('aria-valuemax'));
    await timeline.press('k');
    await pollUntil(() => currentTime(player(page), 'audio')).toBeGreaterThan(length * 0.7);
    expect(complaints.filter(isUnexpected)).toEqual([]);
  });

  it('the asset dialog saves edits and shows why an invalid edit is rejected', async () => {
    const { page, complaints } = await openBrowsePage();
    await card(page, 'still.jpg').dblclick();
    const tags = page.getByLabel('Tags, separated by commas');
    await tags.fill('Quay, Night!');
    await tags.press('Enter');
    await dialog(page).getByText('saved').waitFor();
    const uid = uidsByName['still.jpg'] as string;
    const fetchAsset = async () => (await http.call('GET', `/assets/${uid}/`)).json();
    expect((await fetchAsset()).tags).toEqual(['quay', 'night']);
    await page.getByRole('textbox', { name: 'Name' }).fill('Quay at night');
    await page.getByLabel('Description').fill('Two\nlines');
    await page.getByRole('button', { name: 'Close' }).click();
    await card(page, 'Quay at night').waitFor();
    await pollUntil(async () => (await fetchAsset()).description).toBe('Two\nlines');
    expect(complaints.filter(isUnexpected)).toEqual([]);

    await card(page, 'Quay at night').dblclick();
    const description = page.getByLabel('Description');
    await description.fill('x'.repeat(10_001));
    await page.getByRole('textbox', { name: 'Name' }).focus();
    await dialog(page).getByText('not saved').waitFor();
    expect(await dialog(page).getByRole('alert').innerText()).toMatch('422');
    expect((await fetchAsset()).description).toBe('Two\nlines');
    await description.focus();
    await page.keyboard.press('Escape');
    expect(await description.inputValue()).toBe('Two\nlines');
    await page.getByRole('textbox', { name: 'Name' }).fill('');
    await page.keyboard.press('Enter');
    await dialog(page).getByText('the name cannot be empty').waitFor();
  });

  it('a tag edit keeps tags that were added elsewhere in the meantime', async () => {
    const { uid } = await http.upload(fixturePath('still.jpg'), { asset_name: 'To be tagged' });
    const tags = async () => (await (await http.call('GET', `/assets/${uid}/`)).json()).tags;
    const setTags = (tags: string[]) =>
      http.call('PATCH', `/assets/${uid}/`, {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ tags }),
      });
    await setTags(['old', 'kept']);
    const { page } = await openBrowsePage();
    await card(page, 'To be tagged').dblclick();
    const field = page.getByLabel('Tags, separated by commas');
    await pollUntil(() => field.inputValue()).toBe('old, kept');
    await field.fill('kept, Mine!, mine');
    await setTags(['old', 'kept', 'busy']);
    await field.press('Enter');
    await pollUntil(() => field.inputValue()).toBe('kept, busy, mine');
    expect(await tags()).toEqual(['kept', 'busy', 'mine']);
    await field.fill(`${await field.inputValue()}, mine`);
    await field.press('Enter');
    await pollUntil(() => field.inputValue()).toBe('kept, busy, mine');
  });

  it('the tag field rejects a tag that cannot become a slug before it sends a request', async () => {
    const { uid } = await http.upload(fixturePath('still.jpg'), { asset_name: 'Not to be tagged' });
    const { page } = await openBrowsePage();
    await card(page, 'Not to be tagged').dblclick();
    const field = page.getByLabel('Tags, separated by commas');
    const patchedUrls: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'PATCH') patchedUrls.push(request.url());
    });
    await field.fill('Äpfel & Birnen, 日本語, مشروع');
    await field.press('Enter');
    await dialog(page).getByText('日本語, مشروع: a tag is a slug: lowercase letters a to z').waitFor();
    expect(await field.inputValue()).toBe('Äpfel & Birnen, 日本語, مشروع');
    expect(patchedUrls).toEqual([]);
    await field.fill('Äpfel & Birnen');
    await field.press('Enter');
    await pollUntil(() => field.inputValue()).toBe('apfel-birnen');
    const record = await http.call('GET', `/assets/${uid}/`);
    expect((await record.json()).tags).toEqual(['apfel-birnen']);
  });

  it('an asset moves by drag and drop or by selection, and moves to the trash after a confirmation', async () => {
    const { uid } = await http.upload(fixturePath('still.jpg'), { asset_name: 'To be moved' });
    const fetchAsset = async () => (await http.call('GET', `/assets/${uid}/`)).json();
    const { page, complaints } = await openBrowsePage();
    const folder = page.getByRole('list', { name: 'Folders' }).getByRole('button').nth(1);
    await card(page, 'To be moved').dragTo(folder);
    await page.getByText(`Moved To be moved to /${await folder.innerText()}`).waitFor();
    expect((await fetchAsset()).parent).toBeTruthy();
    await card(page, 'To be moved').dblclick();
    await page.getByLabel('Folder', { exact: true }).selectOption('');
    await pollUntil(async () => (await fetchAsset()).parent).toBeNull();
    await page.getByRole('button', { name: 'Trash…' }).click();
    // Enter chooses the safe button.
    await page.keyboard.press('Enter');
    expect((await fetchAsset()).name).toBe('To be moved');
    await page.getByRole('button', { name: 'Trash…' }).click();
    await page.getByRole('button', { name: 'Move to the trash' }).click();
    await pollUntil(() => dialog(page).count()).toBe(0);
    await pollUntil(() => card(page, 'To be moved').count()).toBe(0);
    expect((await http.call('GET', `/assets/${uid}/`)).status).toBe(404);
    expect(complaints.filter(isUnexpected)).toEqual([]);
  });
});

describe('dropped files', { tags: ['chromium', 'undocumented-fields'] }, () => {
  it('dropped files and folders are uploaded into the same folders and become ready', async () => {
    const { page, complaints, environment } = await openBrowsePage();
    const folder = join(temporaryFolder(), 'Rushes');
    mkdirSync(join(folder, 'day 1'), { recursive: true });
    writeFileSync(join(folder, 'day 1', 'notes.txt'), 'Tide tables\n');
    mkdirSync(join(folder, 'day 1', '@eaDir'));
    for (const left of ['.DS_Store', 'day 1/@eaDir/thumb.jpg']) writeFileSync(join(folder, left), 'x');
    writeFileSync(join(folder, 'clip two.mp4'), readFileSync(fixturePath('clip.mp4')));
    const still = join(temporaryFolder(), 'a still.jpg');
    writeFileSync(still, readFileSync(fixturePath('still.jpg')));
    await dropFiles(page, [still, fixturePath('tone.mp3'), folder]);
    const tray = page.locator('.tray');
    await pollUntil(() => tray.locator('summary').innerText()).toBe('4 files done');
    expect(await tray.getByText('failed').count()).toBe(0);
    for (const name of ['a still.jpg', 'clip two.mp4', 'notes.txt']) {
      await card(page, name).waitFor();
      await pollUntil(() => card(page, name).locator('.badge.state').count()).toBe(0);
    }
    const { items } = await (await http.call('GET', '/assets/?search=notes.txt')).json();
    const tree = await (await http.call('GET', `/workspaces/${sandbox.workspace}/folders/`)).json();
    const rushes = tree.find(({ name }: { name: string }) => name === 'Rushes');
    expect(items[0].parent).toBe(rushes.children[0].uid);
    expect(rushes.children[0].name).toBe('day 1');
    await page.locator('.thing').first().click();
    await page.getByRole('button', { name: 'Copy command' }).click({ trial: true }); // the tray covers no button
    // The uploader leaves receipts and no unfinished uploads.
    const listUploads = async (...args: string[]) =>
      (await mediactl(['uploads', 'ls', ...args, '--json'], environment).finished).stdout;
    expect(JSON.parse(await listUploads())).toEqual([]);
    expect(JSON.parse(await listUploads('--finished'))).toHaveLength(4);
    // The same file again is skipped.
    await dropFiles(page, [still]);
    await page.getByText('already uploaded', { exact: true }).waitFor();
    // A folder chosen with the button is uploaded to the same place as a dropped one, so its files are skipped.
    await tray.getByRole('button', { name: 'Clear' }).click();
    await page.locator('input[type=file]').first().setInputFiles(folder);
    await pollUntil(() => tray.locator('.file').allInnerTexts()).toEqual([
      expect.stringMatching(/already uploaded/),
      expect.stringMatching(/already uploaded/),
    ]);
    expect(complaints.filter(isUnexpected)).toEqual([]);
  });

  it('an upload can be resumed after the browse process is killed', async () => {
    const environment = environmentOf(sandbox);
    const browsing = await startBrowse(sandbox, ['--limit-rate', '100KiB'], environment);
    const { page } = await openLibrary(fixture.browser, browsing);
    const path = join(temporaryFolder(), 'long.bin');
    const bytes = writeRandomFile(path, { size: 8 * 1024 * 1024, seed: path });
    await dropFiles(page, [path]);
    await page.getByText('sending').waitFor();
    const listUploads = async () =>
      JSON.parse((await mediactl(['uploads', 'ls', '--json'], environment).finished).stdout);
    await pollUntil(async () => (await listUploads()).length).toBe(1);
    browsing.child.kill('SIGKILL');
    await browsing.finished;
    const notice = page.locator('.gone');
    await notice.getByText('mediactl uploads resume --all').waitFor();
    expect(await notice.innerText()).toContain(`mediactl browse '${page.url()}'`);
    await page.locator('.tray').getByText('stopped').waitFor();
    expect(await page.locator('progress').count()).toBe(0);
    expect((await listUploads())[0]).toMatchObject({ path: 'long.bin' });
    const resumed = await mediactl(['uploads', 'resume', '--all', '--json'], environment).finished;
    const [{ asset_uid, verified }] = JSON.parse(resumed.stdout);
    expect([resumed.code, verified]).toEqual([0, true]);
    const stored = readFileSync(join(sandbox.dataDir, 'media', asset_uid, 'source'));
    expect(stored.equals(bytes)).toBe(true);
    expect(await listUploads()).toEqual([]);
  });

  it('the page resumes by a button the uploads that a killed command has left, and shows none of them the next time', async () => {
    const environment = environmentOf(sandbox);
    const directory = temporaryFolder();
    const names = ['one.bin', 'two.bin'];
    for (const name of names) writeRandomFile(join(directory, name), { size: 3 * 1024 * 1024, seed: name });
    const listUploads = async () =>
      JSON.parse((await mediactl(['uploads', 'ls', '--json'], environment).finished).stdout) as {
        bytes_sent: number;
      }[];
    const paths = names.map((name) => join(directory, name));
    const killed = mediactl(['upload', ...paths, '--limit-rate', '200KiB', '--transfers', '2'], environment);
    await pollUntil(async () => (await listUploads()).filter(({ bytes_sent }) => bytes_sent > 0).length).toBe(2);
    killed.child.kill('SIGKILL');
    await killed.finished;

    const { page, complaints } = await openLibrary(fixture.browser, await startBrowse(sandbox, [], environment));
    await page.getByText('2 uploads of an earlier run were interrupted.').waitFor();
    expect(await listViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Resume' }).click();
    await pollUntil(() => page.locator('.tray').getByText('uploaded', { exact: true }).count()).toBe(2);
    expect(await page.getByText('of an earlier run').count()).toBe(0);
    expect(await listUploads()).toEqual([]);
    const finished = JSON.parse(
      (await mediactl(['uploads', 'ls', '--finished', '--json'], environment).finished).stdout,
    );
    for (const { asset_uid, path } of finished as { asset_uid: string; path: string }[])
      expect(readFileSync(join(sandbox.dataDir, 'media', asset_uid, 'source')).equals(readFileSync(path))).toBe(true);
    expect(finished).toHaveLength(2);
    await page.reload();
    await page.locator('.thing[data-uid]').first().waitFor();
    expect(await page.getByText('of an earlier run').count()).toBe(0);
    expect(complaints.filter(isUnexpected)).toEqual([]);
  });
});
