import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser, openPage, pollUntil } from '../support/browser.ts';
import { Cli } from '../support/cli.ts';
import { numberedUid } from '../support/fake-library.ts';
import { FakeService, sendBytes } from '../support/fake-service.ts';
import { has } from '../support/has.ts';
import { fixturePath } from '../support/sandbox.ts';

const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script></title></style>\u202egpj.exe';

const assets = [
  {
    uid: numberedUid(0),
    name: 'Quay',
    type: 'video',
    duration: 75,
    size: 8_388_608,
    tags: ['sea', 'press'],
  },
  {
    uid: numberedUid(1),
    name: hostile,
    type: hostile,
    status: hostile,
    tags: [hostile],
    duration: hostile,
  },
  {
    uid: numberedUid(2),
    name: { en: 1 },
    type: 7,
    status: null,
    tags: { a: 1 },
    size: -5,
    duration: 1e300,
  },
  {
    uid: numberedUid(3),
    name: 'Interview',
    type: 'audio',
    status: 'processing',
    thumbnail_url: null,
  },
];

let browser: Awaited<ReturnType<typeof launchBrowser>>;
beforeAll(async () => {
  if (has('chromium')) browser = await launchBrowser();
});
afterAll(() => browser?.close());

async function openContactSheet(options?: Parameters<typeof openPage>[2]) {
  const { url } = await FakeService.start({
    assets: assets.map((asset) => ({ thumbnail_url: 'HERE/media/t.jpg', ...asset })),
    media: sendBytes(readFileSync(fixturePath('still.jpg')), 'image/jpeg'),
    ignoresFilters: () => true,
  });
  const cli = new Cli({ MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_BASE_URL: url });
  const path = join(cli.home, 'sheet.html');
  const finished = await cli.run(['assets', 'ls', hostile, '--html', path]);
  expect(finished.code).toBe(0);
  return openPage(browser, pathToFileURL(path).href, options);
}

const cards = (page: Page) => page.locator('.card').all();

describe('contact sheet in a browser', { tags: 'chromium' }, () => {
  it('the contact sheet shows fields as text, embeds the thumbnails and makes no requests', async () => {
    const { page, complaints } = await openContactSheet();
    expect(complaints).toEqual([]);
    expect(await page.title()).toContain('<script>alert(2)</script></title>');
    const readCards = async () => Promise.all((await cards(page)).map((card) => card.innerText()));
    await pollUntil(async () => (await readCards()).includes('')).toBe(false); // a card has no text before it is drawn
    const texts = await readCards();
    expect(texts[0]?.split(/\n+/)).toEqual([...['Quay', 'video, 1:15, 8.0 MiB', 'sea', 'press', numberedUid(0)]]);
    expect(texts[1]?.split(hostile).length).toBe(5); // shown as text 4 times
    expect(texts[2]).toContain(numberedUid(2));
    expect(texts[3]?.split(/\n+/)).toEqual([...['audio', 'Interview', 'audio', 'processing', numberedUid(3)]]);
    const widths = await page
      .locator('img')
      .evaluateAll((images) => images.map((image) => (image as unknown as { naturalWidth: number }).naturalWidth));
    expect(widths).toEqual([320, 320, 320]);
  });

  it('the contact sheet is an accessible list of images with alternative texts and a language', async () => {
    const { page } = await openContactSheet();
    const list = page.getByRole('list').first();
    expect(await list.getByRole('listitem').count()).toBe(7); // includes the tag lists of two assets
    expect(await page.getByRole('img', { name: 'Thumbnail of Quay' }).count()).toBe(1);
    expect(await page.getByRole('heading', { level: 2 }).count()).toBe(4);
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
  });

  it.each([320, 1280])('the contact sheet does not overflow a screen that is %i pixels wide', async (width) => {
    const { page } = await openContactSheet({ viewport: { width, height: 700 } });
    const pageWidth = await page.locator('html').evaluate(({ scrollWidth }: { scrollWidth: number }) => scrollWidth);
    expect(pageWidth).toBeLessThanOrEqual(width);
  });

  it('the contact sheet follows the dark color scheme and prints on white', async () => {
    const { page } = await openContactSheet({ colorScheme: 'dark' });
    const backgroundColor = () => page.locator('body').evaluate('getComputedStyle(document.body).backgroundColor');
    expect(await backgroundColor()).toBe('rgb(18, 19, 23)');
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await backgroundColor()).toBe('rgb(247, 247, 249)');
  });
});
