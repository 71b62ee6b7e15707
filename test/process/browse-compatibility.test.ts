import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  card,
  chooseFilter,
  dialog,
  dropFiles,
  isUnexpected,
  player,
  startBrowse,
  statusText,
  openLibrary as visitWith,
} from '../support/browse.ts';
import { openPage, pollUntil, setUpBrowser } from '../support/browser.ts';
import { assetUid, createLibrary, workspaceUid } from '../support/fake-library.ts';
import { isFullRun } from '../support/full-run.ts';
import { respond, serveHtml, startServer } from '../support/http-server.ts';
import { startRecordingServer } from '../support/recording-server.ts';
import { startSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The browse page under attack, and with other services. */

const { fixture } = setUpBrowser();
const openBrowsePage = (browsing: { address: string }, options?: BrowserContextOptions) =>
  visitWith(fixture.browser, browsing, options);

describe('hostile content and sites', { tags: ['chromium', 'undocumented-fields'] }, () => {
  const markup = `"><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;

  /** Starts a service whose every text is HTML markup and whose every URL is another site's. */
  async function startHostileService(elsewhere: string) {
    const uid = '0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c1';
    const record = {
      uid,
      name: markup,
      description: markup,
      type: 'video',
      status: 'ready',
      tags: [markup],
      failure_reason: markup,
      duration: 10,
      size: 10,
      created_at: '2026-03-01T11:00:00Z',
      parent: markup,
      content_type: markup,
      thumbnail_url: `${elsewhere}/page.html`,
    };
    const service = await startRecordingServer(({ path, method }) => {
      if (path.endsWith('/player/')) return { body: { uid, playback_token: 'a-token' } };
      if (path.endsWith('/playback/info/'))
        return {
          body: {
            type: 'video',
            source_url: 'javascript:alert(1)',
            hls_url: markup,
            chapters: [{ title: markup, start_time: 1 }],
            preview_sprites_url: { url: 'data:text/vtt,WEBVTT' },
          },
        };
      if (path.endsWith('/workspaces/')) return { body: { items: [{ uid: workspaceUid, name: markup }], count: 1 } };
      if (path.endsWith('/folders/')) return { body: [{ uid, name: markup, children: [] }] };
      if (path.endsWith('/assets/') && method === 'GET')
        return { body: { items: [record, { ...record, uid: `${uid.slice(0, -1)}2` }], count: 2 } };
      return { body: record };
    });
    return { ...service, key: 'a-key-of-this-test', workspace: workspaceUid };
  }

  it('the browse page shows markup from the service as text: no script runs and nothing is written', async () => {
    const elsewhere = await startServer((_, response) =>
      respond(response, 200, `<script>top.document.title='owned'</script>`, {
        'content-type': 'text/html',
      }),
    );
    const service = await startHostileService(elsewhere);
    const { page, complaints } = await openBrowsePage(await startBrowse(service));
    expect(await page.locator('.thing .name').first().textContent()).toBe(markup);
    await expect.poll(() => page.locator('.account').innerText()).toContain(markup);
    await page.locator('.thing').first().hover();
    await page.waitForTimeout(600);
    await page.locator('.thing').first().dblclick();
    await player(page).locator('main').waitFor();
    expect(await dialog(page).getByRole('heading').innerText()).toBe(markup);
    expect(await page.getByLabel('Description').inputValue()).toBe(markup);
    expect(await page.locator('img[src=x]').count()).toBe(0);
    expect(await player(page).locator('img[src=x]').count()).toBe(0);
    expect(await page.title()).not.toBe('owned');
    // Thumbnails of the cards, and of the asset while its player loads.
    const otherComplaints = complaints.filter((each) => isUnexpected(each) && !each.includes('/thumbnail'));
    expect([...new Set(otherComplaints)]).toEqual([
      'Failed to load resource: the server responded with a status of 404 (Not Found)',
    ]);
    expect(service.requests.filter(({ method }) => method !== 'GET').map(({ path }) => path)).toEqual(
      service.requests.flatMap(({ path }) => (path.endsWith('/playback/info/') ? [path] : [])),
    );
  });

  it('the browse page refuses frames, fetches, form posts and event streams from another site', async () => {
    const service = await startHostileService('http://127.0.0.1:9');
    const browsing = await startBrowse(service);
    const { page } = await openBrowsePage(browsing);
    const { href } = new URL(page.url());
    // After the page's own requests: its list, the folder tree and, last, the workspace.
    await expect.poll(() => page.locator('.account').innerText()).toContain(markup);
    const requestsBefore = service.requests.length;
    const hostileUrl = await serveHtml(`<!doctype html><title>evil</title>
      <iframe id="framed" src="${href}"></iframe>
      <img id="seen" src="${href}assets/0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c1/thumbnail">
      <form method="post" enctype="text/plain" action="${href}uploads?name=x&size=3"><input name="a"></form>`);
    for (const name of ['127.0.0.1', 'news.example']) {
      const site = new URL(hostileUrl);
      site.hostname = name;
      const sitePage = await page.context().newPage();
      await sitePage.goto(site.href);
      const outcomes = await sitePage.evaluate<unknown[]>(`Promise.all([
        ...['GET', 'POST', 'DELETE'].map((method) =>
          fetch('${href}assets/0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c1', { method, credentials: 'include' })
            .then((response) => response.type, () => 'refused')),
        fetch('${href}', { mode: 'no-cors', credentials: 'include' }).then((r) => r.type, () => 'refused'),
        new Promise((done) => { const e = new EventSource('${href}events', { withCredentials: true });
          e.onerror = () => done('refused'); e.onopen = () => done('open'); }),
      ])`);
      expect(outcomes).toEqual(['refused', 'refused', 'refused', 'refused', 'refused']);
      const framed = sitePage.frames().find((frame) => frame !== sitePage.mainFrame());
      expect(await framed?.locator('.thing').count()).toBe(0);
      await sitePage.locator('form').evaluate((form: { submit(): void }) => form.submit());
      await sitePage.waitForLoadState();
      expect(await sitePage.locator('h1').innerText()).toBe('This page is locked');
      await sitePage.close();
    }
    expect(service.requests.length).toBe(requestsBefore);
  });
});

describe('nonstandard services', { tags: ['chromium', 'undocumented-fields'] }, () => {
  it('the browse page lists all assets of a service that omits totals, types and folders', async () => {
    const strictSandbox = await startSandbox({ strict: true, seed: 250 });
    try {
      const { page, complaints } = await openBrowsePage(await startBrowse(strictSandbox));
      expect(await statusText(page)).toBe('number of assets unknown');
      await page.locator('.thing').first().focus();
      await pollUntil(async () => {
        await page.keyboard.press('End');
        return page.locator('.thing').last().getAttribute('data-at');
      }).toBe('249');
      expect(await statusText(page)).toBe('250 assets');
      expect(complaints.filter(isUnexpected)).toEqual([]);
    } finally {
      await strictSandbox.end();
    }
  });

  /** Starts a service with this many assets and any total. */
  async function openWithTotal({
    total,
    assetCount = 250,
    status = 'ready',
  }: {
    total: (pageLength: number) => unknown;
    assetCount?: number;
    status?: string;
  }) {
    const service = await startRecordingServer(({ path, query }) => {
      if (path.endsWith('/folders/')) return { body: [] };
      const [limit, offset] = [Number(query.limit), Number(query.offset)];
      const count = Math.max(0, Math.min(limit, assetCount - offset));
      const items = Array.from({ length: count }, (_, n) => ({
        uid: `asset-${offset + n}`,
        name: `Asset ${offset + n}`,
        status,
      }));
      return { body: { items, count: total(count) } };
    });
    const { page } = await openBrowsePage(
      await startBrowse({ url: service.url, key: 'a-key-of-this-test', workspace: workspaceUid }),
    );
    return { page, requests: service.requests };
  }

  it('the browse page lists all assets of a service whose total counts only one page', async () => {
    const { page } = await openWithTotal({ total: (pageLength) => pageLength });
    await page.locator('.thing').first().focus();
    await pollUntil(async () => {
      await page.keyboard.press('End');
      return statusText(page);
    }).toBe('250 assets');
  });

  it('the browse page discards an inflated total after fewer than 20 requests', async () => {
    const { page, requests } = await openWithTotal({ total: () => 1e15 });
    await page.locator('.thing').first().focus();
    await page.keyboard.press('End');
    await pollUntil(() => statusText(page)).toBe('number of assets unknown');
    await pollUntil(async () => {
      await page.keyboard.press('End');
      return statusText(page);
    }).toBe('250 assets');
    expect(requests.length).toBeLessThan(20);
  });

  it.each(isFullRun ? [100, 200] : [200])(
    'the browse page keeps a correct total of %i assets while polling',
    async (total) => {
      const { page, requests } = await openWithTotal({ total: () => total, assetCount: total, status: 'processing' });
      await page.locator('.thing').first().focus();
      if (total > 100) await page.keyboard.press('End');
      const lastOffset = String(total - 100);
      const pollCount = async () => requests.filter(({ query }) => query.offset === lastOffset).length;
      await pollUntil(pollCount).toBeGreaterThan(2);
      expect(await statusText(page)).toBe(`${total} assets`);
    },
  );

  it('the browse page keeps the length of its list when it polls during scrolling', async () => {
    const { page } = await openWithTotal({ total: () => 5_000, assetCount: 5_000, status: 'processing' });
    await page.clock.install();
    await page.reload();
    await pollUntil(() => statusText(page)).toBe('5,000 assets');
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.route(/assets\?.*offset=[1-9]/, () => {}); // never responds
    const firstIndex = async () => Number(await page.locator('.thing').first().getAttribute('data-at'));
    const scrollTo = (top: number) => page.evaluate(`document.querySelector('.shelf').scrollTop = ${top}`);
    await scrollTo(40_000);
    await pollUntil(firstIndex).toBeGreaterThan(500);
    const indexBefore = await firstIndex();
    await page.clock.runFor(30_000); // the page polls again
    await scrollTo(60_000);
    await pollUntil(firstIndex).toBeGreaterThan(indexBefore);
  });

  it('several filter changes in a row on the browse page send one request, for the last filter', async () => {
    const { page, requests } = await openWithTotal({ total: () => 250 });
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    const requestsOfType = (type: string) => requests.filter(({ query }) => query.type === type).length;
    const listCount = () => requests.filter(({ path }) => path.endsWith('/assets/')).length;
    const countBefore = listCount();
    for (const type of ['video', 'audio', 'image', 'document', 'video', 'audio'])
      await chooseFilter(page, 'Type', type);
    await page.clock.runFor(1_000);
    await pollUntil(async () => requestsOfType('audio')).toBe(1);
    await pollUntil(() => statusText(page)).toBe('250 assets');
    expect(listCount()).toBe(countBefore + 1);
  });

  it('the Clear button keeps the folder and the order, and Back and a reload restore the scroll position', async () => {
    const { page } = await openWithTotal({ total: () => 250 });
    const scrollTop = () => page.evaluate<number>("document.querySelector('.shelf').scrollTop");
    await page.evaluate("document.querySelector('.shelf').scrollTop = 1500");
    await page.getByRole('button', { name: 'Top level' }).click();
    await page.getByLabel('Order').selectOption('name');
    await chooseFilter(page, 'Type', 'audio');
    await pollUntil(scrollTop).toBe(0);
    await page.getByRole('button', { name: 'Clear' }).click();
    await pollUntil(async () => Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      parent: 'root',
      ordering: 'name',
    });
    for (let steps = 0; steps < 4; steps++) await page.goBack();
    await pollUntil(scrollTop).toBe(1500);
    await page.reload();
    await pollUntil(scrollTop).toBe(1500);
  });

  it('the asset dialog shows the data of the list until the record has loaded', async () => {
    const asset = { uid: 'one', name: 'a\u202egpj.exe', type: 'video', status: 'ready', tags: ['sea'] };
    const service = await startRecordingServer(({ path }) => {
      if (path.endsWith('/folders/')) return { body: [] };
      if (path.endsWith('/assets/')) return { body: { items: [asset], count: 1 } };
      return path.endsWith('/one/') ? { body: asset } : undefined;
    });
    const browsing = await startBrowse({ url: service.url, key: 'a-key-of-this-test', workspace: workspaceUid });
    const { page } = await openBrowsePage(browsing);
    let continueLoading = () => {};
    const loadingAllowed = new Promise<void>((resolve) => {
      continueLoading = resolve;
    });
    await page.route(/assets\/one(\/watch)?$/, (route) => loadingAllowed.then(() => route.continue()));
    // Bidirectional controls in names are escaped.
    await card(page, 'a\\u202egpj.exe').dblclick();
    const tagsField = page.getByLabel('Tags, separated by commas');
    await dialog(page).getByText('Loading the player').waitFor();
    expect([await tagsField.inputValue(), await tagsField.isDisabled()]).toEqual(['sea', true]);
    continueLoading();
    await pollUntil(() => tagsField.isDisabled()).toBe(false);
    await pollUntil(() => dialog(page).getByText('Loading the player').count()).toBe(0);
  });

  it('the upload tray counts files by outcome, and finished uploads refresh the list and the folders', async () => {
    const respondAsLibrary = createLibrary();
    const service = await startRecordingServer((request) => {
      const uploadMetadata = String(request.headers['upload-metadata'] ?? '');
      const isRefused = uploadMetadata.includes(Buffer.from('refused.bin').toString('base64'));
      if (isRefused) return { status: 422, body: { error: { message: 'not this one' } } };
      return respondAsLibrary(request);
    });
    const browsing = await startBrowse({ url: service.url, key: 'a-key-of-this-test', workspace: workspaceUid });
    const { page } = await openBrowsePage(browsing);
    const readCount = (path: string) =>
      service.requests.filter(
        (request) => request.method === 'GET' && request.path.endsWith(path) && !request.query.search,
      ).length;
    const folder = join(temporaryFolder(), 'Rushes');
    mkdirSync(folder);
    const [good, refused] = [join(folder, 'good.bin'), join(folder, 'refused.bin')];
    writeFileSync(good, 'good');
    writeFileSync(refused, 'evil');
    await pollUntil(async () => readCount('/folders/')).toBe(1);
    // The page's timers are paused: only immediate updates happen.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    const traySummary = async () => {
      await page.clock.runFor(20);
      return page.locator('.tray summary').innerText();
    };
    await dropFiles(page, [good]);
    await pollUntil(traySummary).toBe('1 file done');
    await dropFiles(page, [good]);
    await pollUntil(traySummary).toBe('2 files done');
    const readsBefore = [readCount('/assets/'), readCount('/folders/')] as const;
    await dropFiles(page, [folder]);
    await pollUntil(traySummary).toBe('4 files: 2 uploaded, 1 already uploaded, 1 failed');
    await pollUntil(async () => readCount('/assets/')).toBeGreaterThan(readsBefore[0]);
    await pollUntil(async () => page.getByRole('button', { name: 'Rushes' }).count()).toBe(1);
  });

  it('a list that the service refuses is loaded again by the Try again button, not before', async () => {
    let isDown = true;
    const service = await startRecordingServer(({ path }) => {
      if (path.endsWith('/folders/')) return { body: [] };
      if (isDown) return { status: 403, body: { error: { message: 'not now' } } };
      return { body: { items: [{ uid: 'one', name: 'One' }], count: 1 } };
    });
    const browsing = await startBrowse({ url: service.url, key: 'a-key-of-this-test', workspace: workspaceUid });
    const { page } = await openPage(fixture.browser, browsing.address);
    expect(await page.getByRole('alert').innerText()).toMatch('this API key cannot read assets');
    await page.waitForTimeout(500); // longer than a scroll has to rest before it fetches
    expect(service.requests.filter(({ path }) => path.endsWith('/assets/'))).toHaveLength(1);
    isDown = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await card(page, 'One').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('the browse page shows at once that its mediactl process has ended', async () => {
    const service = await startRecordingServer(({ path }) => ({
      body: path.endsWith('/folders/') ? [] : { items: [{ uid: 'one', name: 'One' }], count: 1 },
    }));
    const browsing = await startBrowse({
      url: service.url,
      key: 'a-key-of-this-test',
      workspace: workspaceUid,
    });
    const { page } = await openBrowsePage(browsing);
    browsing.child.kill('SIGKILL');
    const message = await page.locator('.gone').innerText();
    expect(message).toContain(`mediactl browse '${page.url()}'`);
    expect(message).not.toContain('resume');
    await card(page, 'One').waitFor(); // the cards stay
  });

  it('a click on a button takes effect when the service rejects the edit that is saved on blur', async () => {
    const service = await startRecordingServer(({ path, method }) => {
      if (path.endsWith('/folders/')) return { body: [] };
      const refusal = 'a name must be like none that there is in any folder of this workspace';
      if (method === 'PATCH') return { status: 422, body: { error: { message: refusal } } };
      const asset = { uid: 'one', name: 'One' };
      return { body: path.endsWith('/one/') ? asset : { items: [asset], count: 1 } };
    });
    const browsing = await startBrowse({
      url: service.url,
      key: 'a-key-of-this-test',
      workspace: workspaceUid,
    });
    const { page } = await openBrowsePage(browsing, { viewport: { width: 1280, height: 900 } });
    await card(page, 'One').dblclick();
    const nameField = page.getByRole('textbox', { name: 'Name' });
    const trashButton = page.getByRole('button', { name: 'Trash…' });
    const cancelButton = page.getByRole('button', { name: 'Cancel' });
    const writeCount = () => service.requests.filter(({ method }) => method === 'PATCH').length;
    type Box = { x: number; y: number; width: number; height: number };
    const pressTrashButton = async () => {
      const { x, y, width, height } = (await trashButton.boundingBox()) as Box;
      await page.mouse.move(x + width / 2, y + height / 2);
      await page.mouse.down();
    };
    // Blur saves the field: the error arrives while the button is held.
    await nameField.fill('Two');
    const refusal = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await pressTrashButton();
    await refusal;
    await page.waitForTimeout(100);
    await page.mouse.up();
    await cancelButton.click();
    await dialog(page).getByText('not saved').waitFor();
    // Blur does not save a refused value again.
    await nameField.focus();
    await pressTrashButton();
    await page.waitForTimeout(100);
    await page.mouse.up();
    await cancelButton.waitFor();
    expect(writeCount()).toBe(1);
    await nameField.press('Enter');
    await pollUntil(async () => writeCount()).toBe(2);
  });

  it('a video that has no preview frames yet shows them on a hover a minute later', async () => {
    let isMade = false;
    const name = 'reel.mp4';
    const respondAsLibrary = createLibrary({ assets: [{ uid: assetUid, name, type: 'video', status: 'ready' }] });
    const service = await startRecordingServer((request) => {
      const preview_sprites_url = isMade ? `${service.url}/cues.vtt` : null;
      if (request.path.endsWith('/playback/info/')) return { body: { type: 'video', preview_sprites_url } };
      if (request.path !== '/cues.vtt') return respondAsLibrary(request);
      return { body: 'WEBVTT\n\n00:00.000 --> 00:01.000\nsheet.jpg#xywh=0,0,8,8\n' };
    });
    const { page } = await openBrowsePage(
      await startBrowse({ url: service.url, key: 'a-key-of-this-test', workspace: workspaceUid }),
    );
    await page.clock.install();
    const hover = async () => {
      const asked = page.waitForResponse((response) => response.url().endsWith('/frames'));
      await card(page, name).hover();
      await page.clock.runFor(1_000);
      await asked;
    };
    await hover();
    expect(await card(page, name).locator('svg.frame').count()).toBe(0);
    isMade = true;
    await page.mouse.move(0, 0);
    await page.clock.runFor(60_000);
    await hover();
    await card(page, name).locator('svg.frame').waitFor();
  });

  it('a search and a type that change together both apply, and the Clear button removes both', async () => {
    const { page } = await openWithTotal({ total: () => 250 });
    // In any order: on a slow machine the search is applied before the type.
    const filters = async () => Object.fromEntries(new URL(page.url()).searchParams);
    await page.keyboard.press('/');
    await page.keyboard.type('quay ');
    await chooseFilter(page, 'Type', 'video');
    await pollUntil(filters).toEqual({ type: 'video', search: 'quay' });
    await page.getByLabel('Search').focus();
    await page.keyboard.press('End');
    await page.keyboard.type('wall');
    await pollUntil(filters).toEqual({ type: 'video', search: 'quay wall' });
    await page.keyboard.type('s');
    await page.getByRole('button', { name: 'Clear' }).click();
    await pollUntil(filters).toEqual({});
    await page.waitForTimeout(500); // longer than the debounce of the search box
    expect(await filters()).toEqual({});
    expect(await page.getByLabel('Search').inputValue()).toBe('');
  });
});
