import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type FrameLocator, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { hangMs } from './hang.ts';
import { has } from './has.ts';
import { rawHttp } from './raw-http.ts';
import { programPaths } from './requirements.ts';
import { fixturePath, startSandbox, type TestSandbox } from './sandbox.ts';

/** Host names that only this browser resolves, all to the loopback address. */
export const siteNames = ['news.example', 'other.example'] as const;

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: programPaths.chromium,
    args: ['--no-sandbox', `--host-resolver-rules=${siteNames.map((name) => `MAP ${name} 127.0.0.1`).join(',')}`],
  });

export type OpenedPage = {
  page: Page;
  /** Console errors and warnings, uncaught exceptions, failed requests, and requests to other machines. */
  complaints: string[];
};

/** Opens a URL in a new browser context and records complaints from the first request on. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(hangMs);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    const isLocal = hostname === '127.0.0.1' || siteNames.some((name) => name === hostname);
    if (protocol.startsWith('http') && !isLocal) complaints.push(`left: ${request.url()}`);
  });
  page.on('requestfailed', (request) => complaints.push(`${request.url()}: ${request.failure()?.errorText}`));
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`);
  });
  await page.goto(url);
  return { page, complaints };
}

/** Returns axe-core's violations of WCAG A and AA and of its own best practices. The player has its own page. */
export async function listViolations(page: Page): Promise<string[]> {
  // Evaluates as a debugger does, since the page's Content-Security-Policy allows no other script.
  const { violations } = (await page.evaluate(
    `${axe.source};axe.run({ iframes: false, resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })`,
  )) as { violations: { id: string; nodes: { html: string }[] }[] };
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

/** The part of HTMLMediaElement that tests use; tests compile without DOM types. */
export type MediaElement = {
  currentTime: number;
  readyState: number;
  paused: boolean;
  currentSrc: string;
  pause(): void;
  play(): Promise<void>;
};

export const mediaState = (page: Page | FrameLocator, element = 'video') =>
  page.locator(element).evaluate(({ currentTime, readyState, paused, currentSrc }: MediaElement) => ({
    currentTime,
    readyState,
    paused,
    currentSrc,
  }));
export const currentTime = async (page: Page | FrameLocator, element?: string) =>
  (await mediaState(page, element)).currentTime;
/** Presses play, as a user does who has the focus on the page. */
export const pressPlay = (page: Page) => page.keyboard.press('k');

/** Loads the media, which a page does when it is played, and stops it at its start. */
export const loadMedia = (page: Page) =>
  page.locator('video, audio').evaluate(
    (media: MediaElement & EventTarget) =>
      new Promise<void>((resolve) => {
        const stop = () => {
          media.pause();
          media.currentTime = 0;
          resolve();
        };
        media.addEventListener('playing', stop, { once: true });
        media.play().catch(() => {}); // its source changes
      }),
  );

export const pollUntil = (probe: () => Promise<unknown>) => expect.poll(probe);

/** Starts one browser and one sandbox per test file; neither without chromium. */
export function setUpBrowser() {
  const fixture = {} as { browser: Browser; sandbox: TestSandbox };
  beforeAll(async () => {
    if (!has('chromium')) return;
    fixture.sandbox = await startSandbox();
    fixture.browser = await launchBrowser();
  });
  afterAll(async () => {
    await fixture.browser?.close();
    await fixture.sandbox?.end();
  });
  const raw = rawHttp(() => fixture.sandbox);
  const clip = async () => (await raw.upload(fixturePath('clip.mp4'))).uid as string;
  return { fixture, ...raw, clip, open: (url: string) => openPage(fixture.browser, url) };
}
