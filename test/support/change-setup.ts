import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type Clock, systemClock } from '../../src/shared/clock.ts';
import { Cli, type CliOptions } from './cli.ts';
import { parseStrictCsv, writeCsv } from './csv.ts';
import { type Fault, FaultProxy, type ProxiedRequest, respondWith } from './fault-proxy.ts';
import { rawHttp } from './raw-http.ts';
import { anyWorkspace, startSandbox, type TestSandbox } from './sandbox.ts';
import { changeState } from './state-database.ts';

type ChangeSetup = {
  sandbox: TestSandbox;
  /** A user whose requests go through the proxy. */
  cli: Cli;
  proxy: FaultProxy;
  /** Returns the fault of a request of the user. */
  fault: ((request: ProxiedRequest) => Fault | undefined) | undefined;
};

/**
 * Starts a sandbox per test file, and per test a user behind a proxy, for changes that are stopped, or that a colleague
 * gets in the way of.
 */
export function setUpChanges() {
  const setup = {} as ChangeSetup;
  const account = () => ({
    MEDIACTL_API_KEY: setup.sandbox.key,
    MEDIACTL_BASE_URL: setup.sandbox.url,
    MEDIACTL_WORKSPACE: setup.sandbox.workspace,
  });
  beforeAll(async () => {
    setup.sandbox = await startSandbox({ rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  });
  afterAll(() => setup.sandbox.end());
  beforeEach(async () => {
    setup.fault = undefined;
    setup.proxy = await FaultProxy.start(setup.sandbox.url, (request) => setup.fault?.(request));
    setup.cli = new Cli({ ...account(), MEDIACTL_BASE_URL: setup.proxy.url });
  });
  const run = (args: readonly string[], options?: CliOptions) => setup.cli.run(args, options);
  /** Runs a command of somebody else, on another machine. */
  const colleague = async (...args: string[]) => {
    const { code, stderr } = await new Cli(account()).run([...args, '--yes']);
    if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
  };
  const { createUploadOfSize, call } = rawHttp(() => setup.sandbox);
  /** Creates assets without bytes, with a tag. */
  const createAssets = async (tag: string, names: readonly string[]): Promise<string[]> => {
    const uids: string[] = [];
    for (const asset_name of names) {
      const { asset_uid } = await (await createUploadOfSize(5, { asset_name })).json();
      await colleague('update', asset_uid, '--set', `tags=${tag}`, '--description', 'at first');
      uids.push(asset_uid);
    }
    return uids;
  };
  const get = async (uid: string) => (await call('GET', `/assets/${uid}/`)).json();
  const namesOf = async (uids: readonly string[]) => Promise.all(uids.map(async (uid) => (await get(uid)).name));
  const tagsOf = async (uid: string): Promise<string[]> =>
    (await get(uid)).tags.map((tag: { slug?: string } | string) => (typeof tag === 'string' ? tag : tag.slug)).sort();
  const exists = async (uid: string) =>
    (await fetch(`${setup.sandbox.url}/api/external/v1/assets/${uid}/`, authorized())).ok;
  const authorized = () => ({ headers: { authorization: `Bearer ${setup.sandbox.key}` } });
  /** Runs a command that the service stops after some requests of a method, as it does if a key is revoked. */
  const stopAfter = async (
    count: number,
    method: 'PATCH' | 'DELETE',
    args: readonly string[],
    options?: CliOptions,
  ) => {
    let sent = 0;
    setup.fault = (request) => (request.method === method && ++sent > count ? respondWith(401) : undefined);
    const result = await run(args, options);
    setup.fault = undefined;
    return result;
  };
  /** Runs a command that is killed once its writes have taken effect, and before the user has their responses. */
  const stopAfterEffect = async (args: readonly string[], options?: CliOptions) => {
    setup.fault = ({ method }) =>
      method === 'PATCH' ? { replaceResponse: { status: 401, body: '{}', type: 'application/json' } } : undefined;
    await run(args, options);
    setup.fault = undefined;
    forgetOutcomes();
  };
  /**
   * Runs a command on a terminal, and answers its question with yes after something has happened meanwhile.
   *
   * @param passed how far the clock of the day and the other one go on while the question is open, in ms
   */
  const answerAfter = async (
    meanwhile: () => Promise<unknown>,
    args: readonly string[],
    passed: { now: number; steady: number } = { now: 60_000, steady: 60_000 },
  ) => {
    let isAsked = false;
    const stdin = new PassThrough();
    const onStderr = (text: string) => {
      if (isAsked || !text.includes('[y/N]')) return;
      isAsked = true;
      void meanwhile().then(
        () => stdin.end('y\n'),
        (error) => stdin.destroy(error),
      );
    };
    const clock: Clock = {
      ...systemClock,
      now: () => systemClock.now() + (isAsked ? passed.now : 0),
      steady: () => systemClock.steady() + (isAsked ? passed.steady : 0),
    };
    const result = await run(args, { tty: true, columns: 200, stdin, onStderr, clock });
    if (!isAsked) throw new Error(`no question: ${result.stderr}`);
    return result;
  };
  const history = () => setup.cli.json(['history']);
  /** Changes the history as a process does that is killed before it has recorded the outcomes of its last requests. */
  const forgetOutcomes = () => {
    const state = join(setup.cli.home, 'state');
    changeState(state, "UPDATE change_items SET state = 'unknown' WHERE state = 'pending'");
  };
  const pathOf = (file: string) => join(setup.cli.home, file);
  /** Exports the assets with a tag, in the order in which they were created. */
  const exportTag = async (tag: string, file = 'table.csv') => {
    const args = ['export', '--tag', tag, '-o', pathOf(file)];
    const { code, stderr } = await run(args);
    if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
    return pathOf(file);
  };
  const apply = async (path: string, ...options: string[]) => {
    const result = await run(['apply', path, ...anyWorkspace, '--json', '--yes', ...options]);
    const changes: Record<string, unknown>[] = JSON.parse(result.stdout || '[]');
    return { ...result, changes, outcomes: changes.map(({ line, column, outcome }) => [line, column, outcome]) };
  };
  return {
    ...{ setup, account, run, colleague, createAssets, get, namesOf, tagsOf, exists, stopAfter, history },
    ...{ stopAfterEffect, answerAfter, forgetOutcomes, pathOf, exportTag, apply },
  };
}

export const readRows = (path: string) => parseStrictCsv(readFileSync(path, 'utf8'));

/** Changes cells of an exported table, given as row (from 1), column and text. */
export function editCells(path: string, ...edits: (readonly [row: number, column: string, text: string])[]): void {
  const rows = readRows(path);
  const [header = []] = rows;
  for (const [row, column, text] of edits) (rows[row] as string[])[header.indexOf(column)] = text;
  writeCsv(path, rows);
}
