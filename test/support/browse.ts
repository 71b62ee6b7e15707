import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { openPage } from './browser.ts';
import { Cli } from './cli.ts';
import { Pty } from './pty.ts';
import type { UntypedResponse } from './raw-http.ts';
import { mediactl, mediactlCommand, type StartedProcess } from './spawn.ts';
import { temporaryFolder } from './temporary-folder.ts';

type Service = { url: string; key: string; workspace: string };

/** A `mediactl browse` process of one test. */
export type BrowseProcess = StartedProcess & {
  /** The printed sign-in URL: valid once, for one browser. */
  address: string;
  origin: string;
  environment: Record<string, string>;
};

export function environmentOf({ url, key, workspace }: Service, home = temporaryFolder()) {
  return {
    MEDIACTL_CONFIG_DIR: join(home, 'config'),
    MEDIACTL_STATE_DIR: join(home, 'state'),
    MEDIACTL_KEY_STORE: 'file',
    MEDIACTL_API_KEY: key,
    MEDIACTL_BASE_URL: url,
    MEDIACTL_WORKSPACE: workspace,
  };
}

export async function startBrowse(
  service: Service,
  args: string[] = [],
  environment: Record<string, string> = environmentOf(service),
): Promise<BrowseProcess> {
  const started = mediactl(['browse', '--no-open', ...args], environment);
  onTestFinished(() => void started.child.kill('SIGKILL'));
  const lines = createInterface({ input: started.child.stdout as NodeJS.ReadableStream });
  const address = await Promise.race([
    new Promise<string>((resolve) => lines.once('line', resolve)),
    started.finished.then(({ stderr }) => Promise.reject(new Error(stderr))),
  ]);
  return { ...started, address, origin: new URL(address).origin, environment };
}

/** Starts `browse --pick`, which prints its address on stderr. */
export async function startPick(service: Service, args: string[] = []): Promise<StartedProcess & { address: string }> {
  const started = mediactl(['browse', '--pick', '--no-open', ...args], environmentOf(service));
  onTestFinished(() => void started.child.kill('SIGKILL'));
  const lines = createInterface({ input: started.child.stderr as NodeJS.ReadableStream });
  const address = await new Promise<string>((resolve) => {
    lines.on('line', (line) => line.includes('token=') && resolve(line.trim()));
  });
  return { ...started, address };
}

/** Starts a command with --pick on a terminal of its own, on which no program can open the page. */
export async function startPickingVerb(service: Service, args: string[]) {
  const environment = environmentOf(service);
  const terminal = new Pty(['env', 'PATH=/nowhere', ...mediactlCommand, ...args], environment);
  onTestFinished(terminal.kill);
  const find = () => /http:\/\/127\.0\.0\.1:\d+\/\S*token=[\w-]{43}/.exec(terminal.output)?.[0];
  await expect.poll(() => find() ?? terminal.output).toContain('token=');
  return { terminal, address: find() as string, cli: new Cli(environment) };
}

export type BrowseClient = {
  /** URL prefix of the page and its API. */
  base: string;
  cookie: string;
  /** Sends a request with the page's own cookie and Origin. */
  fetchPage(path: string, init?: RequestInit): Promise<UntypedResponse>;
};

/** Redeems the sign-in URL for a session cookie, as a client that is not a browser. */
export async function signIn(address: string): Promise<BrowseClient> {
  const response = await fetch(address);
  const text = await response.text();
  const path = /url=([^"?]+)/.exec(text)?.[1];
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';');
  if (!path || !cookie) throw new Error(`not signed in: ${response.status} ${text}`);
  const { origin } = new URL(address);
  const base = origin + path;
  return {
    base,
    cookie,
    fetchPage: (below, init = {}) => fetch(base + below, { ...init, headers: { cookie, origin, ...init.headers } }),
  };
}

/** Opens the page in a new browser context and waits for the first asset card. */
export async function openLibrary(
  browser: Browser,
  { address }: Pick<BrowseProcess, 'address'>,
  options: BrowserContextOptions = {},
) {
  const openedPage = await openPage(browser, address, options);
  await openedPage.page.locator('.thing[data-uid]').first().waitFor();
  return openedPage;
}

/** Filters out requests that a reload or a closing dialog aborted. */
export const isUnexpected = (complaint: string) => !complaint.endsWith('net::ERR_ABORTED');
export const card = (page: Page, name: string) => page.locator('.thing', { hasText: name }).first();
export const statusText = (page: Page) => page.locator('.count').innerText();
/** Chooses a value of a filter, whose control its chip shows when it is pressed. */
export async function chooseFilter(page: Page, label: string, value: string) {
  await page.getByRole('button', { name: label }).click();
  await page.getByRole('combobox', { name: label }).selectOption(value);
}
export const dialog = (page: Page) => page.getByRole('dialog');
export const player = (page: Page) => page.frameLocator('dialog iframe');

/** Drops files and folders onto the page as a desktop does, by DevTools drag events. */
export async function dropFiles(page: Page, paths: string[], position = { x: 700, y: 400 }) {
  const devTools = await page.context().newCDPSession(page);
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await devTools.send('Input.dispatchDragEvent', {
      type,
      ...position,
      data: { items: [], files: paths, dragOperationsMask: 1 },
    });
}
