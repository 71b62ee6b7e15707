import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { PlaybackInfo } from '../../src/contract/types.ts';
import { renderWatchPage } from '../../src/web/watch/server/page.ts';
import { currentTime, loadMedia, mediaState, openPage, pollUntil, setUpBrowser } from '../support/browser.ts';
import { ffmpeg, makeMedia, secondsOfAudio } from '../support/ffmpeg.ts';
import { respond, serveHtml, startServer } from '../support/http-server.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, watchScripts } from '../support/sandbox.ts';

const { clip, open, fetchPlaybackInfo, upload, watchUrl, fixture } = setUpBrowser();

const serveWatchPage = (info: PlaybackInfo, duration?: number) =>
  serveHtml(renderWatchPage({ title: 'x', info, duration, scripts: watchScripts, isSelfContained: true }).html);

const slider = (page: Page) => page.getByRole('slider', { name: 'Seek' });

/** Returns the position at a fraction of the slider's width. */
async function positionAt(page: Page, fraction: number) {
  await slider(page).waitFor();
  const box = await slider(page).boundingBox();
  if (!box) throw new Error('the timeline is not laid out');
  return { x: box.x + box.width * fraction, y: box.y + box.height / 2 };
}

async function movePointerTo(page: Page, fraction: number) {
  const { x, y } = await positionAt(page, fraction);
  await page.mouse.move(x, y);
}

/** Starts a sandbox with ffmpeg, which creates waveforms and sprites, and uploads a file to it. */
async function uploadToNewSandbox(path: string) {
  const sandbox = await startSandbox({ ffmpeg });
  onTestFinished(() => sandbox.end());
  const http = rawHttp(() => sandbox);
  const { uid } = await http.upload(path);
  return { url: await http.watchUrl(uid), info: await http.fetchPlaybackInfo(uid) };
}

/** Returns the canvas's size and its colors, except transparent. */
const readCanvas = (page: Page) =>
  page.evaluate(`(() => {
    const canvas = document.querySelector('#timeline canvas');
    const { width, height } = canvas;
    const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    const colours = new Set();
    for (let at = 0; at < data.length; at += 4)
      if (data[at + 3] === 255) colours.add(data.slice(at, at + 3).join());
    return { colours: [...colours].sort(), width, pixels: canvas.clientWidth * devicePixelRatio };
  })()`) as Promise<{ colours: string[]; width: number; pixels: number }>;

describe('timeline', { tags: 'chromium' }, () => {
  it('the timeline seeks with the keyboard and exposes its position to screen readers', async () => {
    const { page, complaints } = await open(await watchUrl(await clip()));
    await loadMedia(page);
    await slider(page).focus();
    const pressAndExpect = async (key: string, seconds: number, text: string) => {
      await page.keyboard.press(key);
      await pollUntil(() => currentTime(page)).toBeCloseTo(seconds, 1);
      expect(await slider(page).getAttribute('aria-valuetext')).toBe(text);
      expect(await slider(page).getAttribute('aria-valuenow')).toBe(String(Math.floor(seconds)));
    };
    expect(await slider(page).getAttribute('aria-valuemax')).toBe('10');
    await pressAndExpect('ArrowRight', 5, '0:05 of 0:10');
    await pressAndExpect('PageUp', 6, '0:06 of 0:10');
    await pressAndExpect('ArrowLeft', 1, '0:01 of 0:10');
    await pressAndExpect('PageDown', 0, '0:00 of 0:10');
    await pressAndExpect('End', 10, '0:10 of 0:10');
    await pressAndExpect('Home', 0, '0:00 of 0:10');
    await page.keyboard.press('Control+ArrowRight');
    expect((await mediaState(page)).paused).toBe(true);
    expect(await currentTime(page)).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('the timeline seeks when it is dragged, marks chapters and names the chapter at the pointer', async () => {
    const { page, complaints } = await open(await watchUrl(await clip()));
    await loadMedia(page);
    await movePointerTo(page, 0.55);
    const bubble = page.locator('.bubble');
    expect(await bubble.innerText()).toMatch(/^0:05\s+The crane$/);
    expect(await page.locator('.ticks i').count()).toBe(2); // no tick for the chapter at the start
    expect(await currentTime(page)).toBe(0);
    await page.mouse.down();
    await movePointerTo(page, 0.9);
    await pollUntil(() => currentTime(page)).toBeCloseTo(9, 0);
    await movePointerTo(page, 0.3);
    await page.mouse.up();
    await pollUntil(() => currentTime(page)).toBeCloseTo(3, 0);
    await movePointerTo(page, 0.8);
    expect(await currentTime(page)).toBeCloseTo(3, 0);
    await page.mouse.move(0, 0);
    expect(await bubble.isVisible()).toBe(false);
    expect(complaints).toEqual([]);
  });

  it('the timeline seeks by touch, ignores scrolling and does not animate with reduced motion', async () => {
    const { page, complaints } = await openPage(fixture.browser, await watchUrl(await clip()), {
      viewport: { width: 360, height: 360 },
      hasTouch: true,
      reducedMotion: 'reduce',
    });
    await loadMedia(page);
    const { x, y } = await positionAt(page, 0.5);
    await page.touchscreen.tap(x, y);
    await pollUntil(() => currentTime(page)).toBeCloseTo(5, 0);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    // A touch that scrolls the page must not seek.
    const finger = await page.context().newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', up: number) =>
      finger.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: type === 'touchEnd' ? [] : [{ x: x / 3, y: y - up }],
      });
    await touch('touchStart', 0);
    for (const up of [20, 40, 60, 80]) await touch('touchMove', up);
    await touch('touchEnd', 80);
    await pollUntil(() => page.evaluate('scrollY')).toBeGreaterThan(0);
    await pollUntil(() => currentTime(page)).toBeCloseTo(5, 0);
    const moving = `[...document.querySelectorAll('#timeline, #timeline *')].filter((each) =>
      ['', '::after'].some((part) => getComputedStyle(each, part).transitionDuration !== '0s')).length`;
    expect(await page.evaluate(moving)).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('the timeline is hidden while the duration is unknown', async () => {
    const { page } = await open(await serveWatchPage({ type: 'audio', source: 'http://127.0.0.1:1/' }));
    expect(await page.locator('#timeline').count()).toBe(1);
    expect(await page.locator('#timeline').isVisible()).toBe(false);
  });
});

describe('audio waveform', { tags: 'chromium' }, () => {
  it('the waveform uses the colors of the page and seeks on a click', { tags: 'ffmpeg' }, async () => {
    const { url } = await uploadToNewSandbox(await makeMedia('swell.mp3', ...secondsOfAudio(8)));
    const { page, complaints } = await openPage(fixture.browser, url, { deviceScaleFactor: 2 });
    await pollUntil(() => page.locator('#timeline.drawn').count()).toBe(1);
    await slider(page).waitFor();
    const { colours, width, pixels } = await readCanvas(page);
    expect(width).toBe(pixels); // one canvas pixel per device pixel
    expect(colours).toEqual(['164,169,182']); // the dark theme's color of the unplayed part
    await page.setViewportSize({ width: 400, height: 700 });
    await pollUntil(async () => (await readCanvas(page)).width).toBeLessThan(800);
    const { x, y } = await positionAt(page, 0.75);
    await page.mouse.click(x, y);
    await pollUntil(() => slider(page).getAttribute('aria-valuetext')).toBe('0:06 of 0:08');
    await pollUntil(async () => (await readCanvas(page)).colours).toEqual(['157,155,255', '164,169,182']);
    expect(await page.locator('.bar').isVisible()).toBe(false);
    expect(await page.locator('img').count()).toBe(0); // no thumbnail, since that is a placeholder
    expect(complaints).toEqual([]);
  });

  const still = readFileSync(fixturePath('still.jpg'));
  const withCors = { 'access-control-allow-origin': '*' };

  /** Opens the page of an audio asset with the given waveform response. */
  async function openAudioWithWaveform(reply: (response: ServerResponse) => void) {
    const waveformHost = await startServer((_, response) => reply(response));
    const { uid } = await upload(fixturePath('tone.mp3'));
    const info = { ...(await fetchPlaybackInfo(uid)), waveform_url: { url: `${waveformHost}/waveform` } };
    const opened = await open(await serveWatchPage(info, 3));
    await slider(opened.page).waitFor();
    return { ...opened, waveformHost };
  }
  const json = (body: unknown) => (response: ServerResponse) =>
    respond(response, 200, typeof body === 'string' ? body : JSON.stringify(body), {
      ...withCors,
      'content-type': 'application/json',
    });

  it.each<[string, unknown]>([
    ['peaks', { duration: 1, peaks: [0, 0.2, 1, 0.4] }],
    ['a list of numbers', [3, 80, 255, 0]],
    ['the output of audiowaveform', { version: 2, channels: 2, bits: 8, data: [-9, 8, -1, 1, -99, 90, 0, 2] }],
  ])('the waveform is drawn from %s', async (_, body) => {
    const { page, complaints } = await openAudioWithWaveform(json(body));
    await pollUntil(() => page.locator('#timeline.drawn').count()).toBe(1);
    await pollUntil(async () => (await readCanvas(page)).colours.length).toBe(1);
    expect(complaints).toEqual([]);
  });

  it('the timeline shows the waveform image of an asset, even from another origin without CORS', async () => {
    for (const headers of [withCors, {}]) {
      const { page, complaints, waveformHost } = await openAudioWithWaveform((response) => {
        response.writeHead(200, { ...headers, 'content-type': 'image/jpeg' });
        response.end(still);
      });
      await pollUntil(() => page.locator('#timeline.pictured').count()).toBe(1);
      const shown = page.locator('#timeline');
      const image = await shown.evaluate((each: { style: { backgroundImage: string } }) => each.style.backgroundImage);
      const isReadable = headers === withCors;
      expect(image).toMatch(isReadable ? /^url\("blob:/ : `url("${waveformHost}/waveform")`);
      expect(complaints.filter((complaint) => !/CORS|ERR_FAILED/.test(complaint))).toEqual([]);
      expect(complaints.length > 0).toBe(!isReadable);
    }
  });

  const nested = '['.repeat(100_000) + ']'.repeat(100_000);
  it.each<[string, unknown]>([
    ['null', null],
    ['markup', `<img src=x onerror="document.title='owned'"><script>1</script>`],
    ['a nested object', { peaks: { peaks: [[0.5]] }, data: { data: [1] } }],
    ['a deeply nested list', nested],
    ['not a number', '[NaN, 1]'],
    ['negative', { peaks: [0.5, -0.5] }],
  ])('the timeline stays a plain bar if the waveform is %s', async (_, body) => {
    const { page, complaints } = await openAudioWithWaveform(json(body));
    await expectPlainBar(page);
    expect(complaints).toEqual([]);
  });

  async function expectPlainBar(page: Page) {
    await pollUntil(() => page.locator('#timeline.tall').count()).toBe(0);
    expect(await page.locator('#timeline:is(.drawn, .pictured)').count()).toBe(0);
    expect(await page.locator('.bar').isVisible()).toBe(true);
    expect((await readCanvas(page)).colours).toEqual([]);
    expect(await page.title()).toBe('x');
    await page.locator('#timeline').press('End');
    expect(await slider(page).getAttribute('aria-valuetext')).toBe('0:03 of 0:03');
  }

  it('the timeline stays a plain bar if the waveform is too large, a broken image or missing', async () => {
    const large = await openAudioWithWaveform(json(`[${'0.5,'.repeat(1_250_000)}1]`));
    await expectPlainBar(large.page);
    expect(large.complaints).toEqual([`${large.waveformHost}/waveform: net::ERR_ABORTED`]);
    const broken = await openAudioWithWaveform((response) =>
      respond(response, 200, 'words', { ...withCors, 'content-type': 'image/png' }),
    );
    await expectPlainBar(broken.page);
    expect(broken.complaints).toEqual([]);
    const missing = await openAudioWithWaveform((response) => respond(response, 404, '', withCors));
    await expectPlainBar(missing.page);
    expect(missing.complaints).toContain(`${missing.waveformHost}/waveform: 404`);
  });
});

describe('preview frames', { tags: 'chromium' }, () => {
  type Styled = { style: Record<string, string> };
  const sprite = (page: Page) => page.locator('.sprite');
  const crop = (page: Page) =>
    sprite(page).evaluate(({ style }: Styled) => ({
      image: style.backgroundImage,
      position: style.backgroundPosition,
      width: style.width,
      height: style.height,
    }));

  it('the timeline shows the preview frame at the pointer', { tags: 'ffmpeg' }, async () => {
    const { url, info } = await uploadToNewSandbox(fixturePath('clip.mp4'));
    const { page, complaints } = await open(url);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await slider(page).waitFor();
    expect(requests.filter((path) => path.includes('sprites'))).toEqual([]);
    await movePointerTo(page, 0.65);
    await pollUntil(() => sprite(page).isVisible()).toBe(true);
    const cues = await (await fetch(info.preview_sprites_url.url)).text();
    const [, sheet, region] = /^00:00:06.*\n(\S+)\?\S+#xywh=(\S+)$/m.exec(cues) ?? [];
    const [x, y, width, height] = (region as string).split(',').map(Number);
    expect(x).toBeGreaterThan(0);
    expect(await crop(page)).toEqual({
      image: expect.stringContaining(`/extras/${sheet}?expires=`), // the signature may be a second newer
      position: `${-(x as number)}px ${y === 0 ? '0px' : `${-(y as number)}px`}`,
      width: `${width}px`,
      height: `${height}px`,
    });
    await movePointerTo(page, 0.05);
    await pollUntil(async () => (await crop(page)).position).toBe('0px 0px');
    expect(requests.filter((path) => path.includes('sprites'))).toHaveLength(2); // the cues and one sheet
    expect(complaints).toEqual([]);
  });

  /** Opens the page of a video with these cues; records the requests to their host and to another one. */
  async function openVideoWithCues(cues: (other: string) => string) {
    const requests: string[] = [];
    const other = await startServer(({ url }, response) => {
      requests.push(`other ${url}`);
      respond(response, 404);
    });
    const cueHost = await startServer(({ url }, response) => {
      requests.push(url as string);
      if (url === '/sprites.vtt') return respond(response, 200, cues(other), { 'access-control-allow-origin': '*' });
      return respond(response, 404);
    });
    const info = await fetchPlaybackInfo(await clip());
    const opened = await open(await serveWatchPage({ ...info, preview_sprites_url: `${cueHost}/sprites.vtt` }, 10));
    await movePointerTo(opened.page, 0.5);
    return { ...opened, requests, cueHost };
  }
  const cueFile = (payload: string) => `WEBVTT\n\n00:00.000 --> 00:10.000\n${payload}\n`;

  it('the timeline neither requests nor shows preview frames with invalid or cross-origin URLs', async () => {
    const hostile = (otherHost: string) => [
      '<img src=x onerror=alert(1)>#xywh=0,0,9,9',
      '<b>x</b>#xywh=0,0,9,9',
      'javascript:alert(1)#xywh=0,0,9,9',
      'data:image/gif;base64,R0lGODlhAQABAAAAACw=#xywh=0,0,9,9',
      `${otherHost}/a.jpg#xywh=0,0,9,9`,
      `${otherHost.slice('http:'.length)}/a.jpg#xywh=0,0,9,9`,
      'https://news.example/a.jpg#xywh=0,0,9,9',
      'a.jpg#xywh=0,0,0,0',
      'a.jpg#xywh=0,0,9,1e9',
    ];
    const { page, complaints, requests } = await openVideoWithCues((otherHost) =>
      hostile(otherHost)
        .map((payload, index) => `00:0${index}.000 --> 00:0${index + 1}.000\n${payload}\n\n`)
        .join(''),
    );
    await pollUntil(async () => requests.length).toBe(1);
    for (const [index] of hostile('').entries()) {
      await movePointerTo(page, index / 10 + 0.05);
      await page.waitForTimeout(50); // time for a request that must not happen
      expect(await page.locator('.bubble').innerText()).toMatch(`0:0${index}`);
      expect(await sprite(page).isVisible()).toBe(false);
    }
    expect(requests).toEqual(['/sprites.vtt']);
    expect(complaints).toEqual([]);
  });

  it('the timeline shows no preview frames if the cue file is too large', async () => {
    const { page, requests } = await openVideoWithCues(
      () => `${' \n'.repeat(600_000)}${cueFile('a.jpg#xywh=0,0,9,9')}`,
    );
    await pollUntil(async () => requests).toEqual(['/sprites.vtt']);
    await movePointerTo(page, 0.6);
    await page.waitForTimeout(100); // time for a request that must not happen
    expect(requests).toEqual(['/sprites.vtt']);
    expect(await sprite(page).isVisible()).toBe(false);
  });

  it('the timeline shows the time without a preview frame if the sprite sheet is missing', async () => {
    const { page, complaints, requests, cueHost } = await openVideoWithCues(() => cueFile('gone.jpg?a=1#xywh=0,0,9,9'));
    await pollUntil(async () => complaints).toContain(`${cueHost}/gone.jpg?a=1: 404`);
    await movePointerTo(page, 0.7);
    expect(await sprite(page).isVisible()).toBe(false);
    expect(await page.locator('.bubble').innerText()).toMatch(/^0:07/);
    expect(requests).toEqual(['/sprites.vtt', '/gone.jpg?a=1']);
  });
});
