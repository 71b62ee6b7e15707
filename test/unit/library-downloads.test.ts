import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/sdk/index.ts';
import { openClient as openClientWith } from '../../src/sdk/open-client.ts';
import type { Client, ClientOptions, DownloadProgress, FolderDownload, Notice } from '../../src/sdk/public-types.ts';
import { acceleratedClock } from '../support/clock.ts';
import { contentsOf, pseudoRandomBytes } from '../support/files.ts';
import { isStrict, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let sandbox: TestSandbox;
let source: string;
let target: string;
let client: Client;
beforeEach(async () => {
  sandbox = await startSandbox();
  onTestFinished(() => sandbox.end());
  [source, target] = [join(temporaryFolder(), 'source'), join(temporaryFolder(), 'target')];
  client = openClient();
});

const stateDir = () => join(dirname(source), 'state');

function openClient(options: Partial<ClientOptions> = {}): Client {
  const opened = createClient({ baseUrl: sandbox.url, apiKey: sandbox.key, stateDir: stateDir(), ...options });
  onTestFinished(() => opened.close());
  return opened;
}

function write(path: string, text: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Uploads files to the folder /Tree, and waits until they can be downloaded. */
async function upload(files: Record<string, string | Buffer>): Promise<Map<string, string>> {
  for (const [path, text] of Object.entries(files)) write(join(source, path), text);
  const uids = new Map<string, string>();
  const options = { baseUrl: sandbox.url, apiKey: sandbox.key, stateDir: stateDir() };
  const uploader = openClientWith(options, { profile: 'library' }, acceleratedClock({ speed: 20 }));
  for await (const { path, upload: uploaded, error } of uploader.uploadDirectory(source, { folder: '/Tree' })) {
    if (error) throw error;
    uids.set(path.slice(source.length + 1), uploaded.uid);
  }
  for await (const { error } of uploader.assets.wait([...uids.values()])) if (error) throw error;
  await uploader.close();
  return uids;
}

async function collect(results: AsyncIterable<FolderDownload>): Promise<FolderDownload[]> {
  const all: FolderDownload[] = [];
  for await (const each of results) all.push(each);
  return all;
}

const outcomesOf = (results: readonly FolderDownload[]) =>
  Object.fromEntries(results.map(({ path, outcome }) => [path?.slice(target.length + 1), outcome]));

const download = async (...[options]: [Parameters<Client['downloadFolder']>[2]?]) =>
  outcomesOf(await collect(client.downloadFolder('/Tree', target, options)));

describe.skipIf(isStrict)('downloadFolder', () => {
  it('downloadFolder makes the tree of a folder, and the next call of another client fetches nothing', async () => {
    await upload({ 'top.md': '# top', 'day 1/cam a/notes.md': '# a', 'day 2/notes.md': '# 2' });
    const results = await collect(client.downloadFolder('/Tree', target));
    expect(contentsOf(target)).toEqual(contentsOf(source));
    expect(results.map(({ outcome }) => outcome)).toEqual(['downloaded', 'downloaded', 'downloaded']);
    expect(results).toContainEqual(
      expect.objectContaining({ path: join(target, 'top.md'), sizeBytes: 5, isVerified: true }),
    );
    await client.close();
    client = openClient();
    await client.folders.list();
    const before = client.rateLimit?.remaining ?? 0;
    expect(new Set(Object.values(await download()))).toEqual(new Set(['skipped']));
    // The folders, and a page of each of four.
    expect(before - (client.rateLimit?.remaining ?? 0)).toBe(5);
  });

  it('downloadFolder takes a glob and the uid of a folder, and flatten leaves out subfolders', async () => {
    await upload({ 'a.md': '# a', 'day 1/b.md': '# b', 'day 1/c.txt': 'c' });
    expect(outcomesOf(await collect(client.downloadFolder('/Tree/**/*.md', target)))).toEqual({
      'a.md': 'downloaded',
      'day 1/b.md': 'downloaded',
    });
    expect(await collect(client.downloadFolder('/Tree/*.mov', target))).toEqual([]);
    const [folder] = (await client.folders.list()).filter(({ path }) => path === '/Tree');
    rmSync(target, { recursive: true });
    await collect(client.downloadFolder(folder?.uid ?? '', target, { flatten: true }));
    expect(Object.keys(contentsOf(target)).sort()).toEqual(['a.md', 'b.md', 'c.txt']);
    await expect(collect(client.downloadFolder('/Nowhere', target))).rejects.toMatchObject({ code: 'not_found' });
  });

  it('downloadFolder replaces what changed in the library, and a file that was changed here only with overwrite', async () => {
    const uids = await upload({ 'new.md': '# old', 'edited.md': '# edited', 'gone.md': '# gone' });
    await download();
    write(join(source, 'new.md'), '# new');
    await client.assets.trash(uids.get('new.md') ?? '');
    await client.assets.trash(uids.get('gone.md') ?? '');
    rmSync(join(source, 'gone.md'));
    await upload({});
    appendFileSync(join(target, 'edited.md'), ' by hand');
    const results = await collect(client.downloadFolder('/Tree', target));
    expect(outcomesOf(results)).toEqual({ 'new.md': 'downloaded', 'edited.md': 'failed', 'gone.md': 'not_in_library' });
    expect(results.find(({ error }) => error)?.error).toMatchObject({ code: 'already_exists' });
    expect(contentsOf(target)).toEqual({ 'new.md': '# new', 'edited.md': '# edited by hand', 'gone.md': '# gone' });
    expect(await download({ overwrite: true })).toMatchObject({ 'edited.md': 'downloaded' });
    expect(contentsOf(target)).toMatchObject({ 'edited.md': '# edited' });
  });

  it('downloadFolder rejects with the reason of its signal, and the next call continues in the middle of the file', async () => {
    const size = 40 * 2 ** 20;
    await upload({ 'large.bin': pseudoRandomBytes(size, 'large'), 'small.md': '# small' });
    const abort = new AbortController();
    const onProgress = ({ path, receivedBytes }: DownloadProgress) => {
      if (path.endsWith('large.bin') && receivedBytes > size / 2) abort.abort(new Error('enough'));
    };
    await expect(download({ signal: abort.signal, onProgress })).rejects.toThrow('enough');
    expect(existsSync(join(target, 'large.bin'))).toBe(false);
    const first: number[] = [];
    const onNext = ({ path, phase, receivedBytes }: DownloadProgress) => {
      if (path.endsWith('large.bin') && phase === 'receiving') first.push(receivedBytes);
    };
    expect(Object.values(await download({ onProgress: onNext }))).toContain('downloaded');
    expect(first[0]).toBeGreaterThan(size / 2);
    expect(readFileSync(join(target, 'large.bin')).equals(pseudoRandomBytes(size, 'large'))).toBe(true);
    expect(new Set(Object.values(await download()))).toEqual(new Set(['skipped']));
  });

  it('leaving the loop of downloadFolder stops the rest, and what a callback throws rejects it', async () => {
    await upload(Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`${n}.md`, `# ${n}`])));
    for await (const { outcome } of client.downloadFolder('/Tree', target, { transfers: 1 })) {
      expect(outcome).toBe('downloaded');
      break;
    }
    expect(readdirSync(target).length).toBeLessThan(12);
    const thrown = new Error('of the caller');
    const onProgress = () => {
      throw thrown;
    };
    await expect(download({ onProgress })).rejects.toBe(thrown);
    await download();
    expect(contentsOf(target)).toEqual(contentsOf(source));
  });

  it('downloadFolder waits for the rate limit with a notice, as uploads do', async () => {
    await upload(Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`${n}.md`, `# ${n}`])));
    await client.close();
    await sandbox.end();
    sandbox = await startSandbox({ dataDir: sandbox.dataDir, rateLimit: { limit: 20, windowSeconds: 3 } });
    const notices: Notice[] = [];
    client = openClient({ maxWaitMs: 1, onNotice: (each) => notices.push(each) });
    expect(new Set(Object.values(await download()))).toEqual(new Set(['downloaded']));
    expect(notices.map(({ kind }) => kind)).toContain('rate_limited');
  });

  it('two calls at once download each file once, and neither fails for what the other one has saved', async () => {
    await upload(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${n % 3}/${n}.md`, `# ${n}`])));
    const clients = [client, openClient(), openClient({ stateDir: join(temporaryFolder(), 'another') })];
    const all = await Promise.all(clients.map((each) => collect(each.downloadFolder('/Tree', target))));
    const outcomes = all.flat().map(({ outcome, error }) => error?.code ?? outcome);
    expect(outcomes.filter((outcome) => outcome === 'downloaded')).toHaveLength(30);
    // A file may be on its way until the end of another call.
    expect(outcomes.filter((outcome) => !['downloaded', 'skipped', 'locked'].includes(outcome))).toEqual([]);
    expect(contentsOf(target)).toEqual(contentsOf(source));
  });

  it('downloadFolder saves no file in a state directory', async () => {
    await upload({ 'a.md': '# a' });
    const results = await collect(client.downloadFolder('/Tree', join(stateDir(), 'sub')));
    expect(results.map(({ error }) => error?.message)).toEqual([expect.stringContaining("mediactl's own files")]);
    expect(readdirSync(join(stateDir(), 'sub'))).toEqual([]);
  });

  it('downloadFolder without a state directory leaves the files that are there', async () => {
    await upload({ 'a.md': '# a' });
    client = openClient({ stateDir: undefined });
    expect(await download()).toEqual({ 'a.md': 'downloaded' });
    expect(await download()).toEqual({ 'a.md': 'skipped' });
    expect(readdirSync(target)).toEqual(['a.md']);
  });
});

it('download continues in the middle of a file that an earlier call of the same state directory has begun', async () => {
  const size = 40 * 2 ** 20;
  write(join(source, 'large.bin'), pseudoRandomBytes(size, 'one'));
  const { uid } = await client.upload(join(source, 'large.bin'));
  for await (const { error } of client.assets.wait([uid])) if (error) throw error;
  const path = join(temporaryFolder(), 'large.bin');
  const abort = new AbortController();
  const onProgress = (received: number) => received > size / 2 && abort.abort(new Error('enough'));
  await expect(client.assets.download(uid, path, { signal: abort.signal, onProgress })).rejects.toThrow('enough');
  const received: number[] = [];
  await client.assets.download(uid, path, { onProgress: (bytes) => received.push(bytes) });
  expect(received[0]).toBeGreaterThan(size / 2);
  expect(readFileSync(path).equals(pseudoRandomBytes(size, 'one'))).toBe(true);
  expect(readdirSync(dirname(path))).toEqual(['large.bin']);
});

it.skipIf(isStrict)('check with download compares bytes, and keeps what it found for the next check', async () => {
  const other = openClient({ stateDir: undefined });
  for (const [name, text] of [
    ['same.txt', 'the same'],
    ['other.txt', 'of the other'],
  ] as const) {
    write(join(source, name), text);
    const { uid } = await other.upload(join(source, name), { folder: '/Tree' });
    for await (const { error } of client.assets.wait([uid])) if (error) throw error;
  }
  write(join(source, 'other.txt'), 'own content!');
  const outcomes = async (options: Parameters<Client['check']>[1]) =>
    (await client.check(source, { folder: '/Tree', ...options })).differences.map(({ path, outcome }) => [
      path.slice(source.length + 1),
      outcome,
    ]);
  expect(await outcomes({})).toEqual([
    ['other.txt', 'unverified'],
    ['same.txt', 'unverified'],
  ]);
  const progress: string[] = [];
  const onProgress = ({ phase }: DownloadProgress) => progress.push(phase);
  expect(await outcomes({ download: true, onProgress })).toEqual([['other.txt', 'different']]);
  expect(new Set(progress)).toEqual(new Set(['started', 'receiving']));
  expect((await outcomes({})).map(([name]) => name)).toEqual(['other.txt']);
});
