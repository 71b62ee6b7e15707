import { createHash } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { fixturePath, startSandbox, type TestSandbox } from '../../../test/support/sandbox.ts';
import { holdLastChunk, Person } from './support.ts';

const MiB = 2 ** 20;
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ strict: false, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
});
afterAll(() => sandbox.end());

it('tools/list is the golden, and at most 9,000 bytes; CHANGELOG.md names its checksum, so that a change is said there', async () => {
  const agent = await new Person(sandbox).agent([]);
  const { tools } = await agent.client.listTools();
  const text = JSON.stringify({ tools });
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(9_000);
  await expect(`${JSON.stringify(tools, null, 2)}\n`).toMatchFileSnapshot('tools-list.json');
  expect(readFileSync(here('../CHANGELOG.md'), 'utf8')).toContain(
    createHash('sha256').update(text).digest('hex').slice(0, 12),
  );
  expect(tools.map(({ annotations }) => annotations?.destructiveHint ?? false)).not.toContain(true);
});

it('an agent uploads a directory, waits, tags and gets playback addresses in six calls', async () => {
  const person = new Person(sandbox);
  copyFileSync(fixturePath('clip.mp4'), join(person.files, 'clip.mp4'));
  copyFileSync(fixturePath('still.jpg'), join(person.files, 'still.jpg'));
  const agent = await person.agent();
  const plan = await agent.call('upload_plan', { path: '.', folder: '/Agent/Six' });
  expect(plan).toMatchObject({ files: 2, counted_all: true, sample: ['clip.mp4', 'still.jpg'], requests: 4 });
  let job = await agent.call('upload_start', { plan_id: plan.plan_id });
  if (job.state !== 'done') job = await agent.call('job_status', { job_id: job.job_id });
  expect(job).toMatchObject({ state: 'done', counts: { uploaded: 2 }, ready: 2, next: null });
  const uids = job.files.map(({ uid }: { uid: string }) => uid);
  const change = await agent.call('assets_change', { uids, add_tags: ['reviewed'] });
  expect(change).toMatchObject({ applied: false, left: [{ tags: [] }, { tags: [] }] });
  expect((await agent.call('assets_change', { plan_id: change.plan_id })).applied).toBe(true);
  const video = job.files.find(({ path }: { path: string }) => path === 'clip.mp4');
  const { playable, links } = await agent.call('playback_check', { uid: video.uid, links: true });
  expect([playable, (await fetch(links[0].url)).status]).toEqual([true, 200]);
  expect(agent.calls).toBeLessThanOrEqual(6);
  expect((await person.run('get', video.uid))[0].tags).toEqual(['reviewed']);
});

it('search, get, folders and playback answer from the library, without addresses that nobody asked for', async () => {
  const person = new Person(sandbox);
  copyFileSync(fixturePath('clip.mp4'), join(person.files, 'looked-at.mp4'));
  const agent = await person.agent();
  const { files } = await agent.upload({ path: 'looked-at.mp4', folder: '/Looked at', tags: ['look'] });
  const { assets } = await agent.call('assets_search', { search: 'looked-at', folder: '/Looked at', tag: 'look' });
  expect(assets).toMatchObject([{ uid: files[0].uid, name: 'looked-at.mp4', type: 'video', tags: ['look'] }]);
  const { asset } = await agent.call('assets_get', { uid: files[0].uid });
  expect(asset).toMatchObject({ name: 'looked-at.mp4', status: 'ready' });
  const { folders } = await agent.call('folders_tree', { below: 'Looked at' });
  expect(folders).toMatchObject([{ path: '/Looked at', uid: assets[0].folder }]);
  const check = await agent.call('playback_check', { uid: files[0].uid });
  expect(check).toMatchObject({ playable: true, links: [{ kind: 'hls', url: null }, {}] });
  expect(JSON.stringify([asset, assets, folders, check])).not.toMatch(/https?:|token|signature/i);
});

it('cancels an upload in the middle and continues it, with progress', async () => {
  const { held, release } = await holdLastChunk(sandbox, 100 * MiB);
  const person = new Person(held);
  person.create({ 'large.bin': 110 * MiB });
  const agent = await person.agent();
  const stop = new AbortController();
  const seen: number[] = [];
  const onprogress = ({ progress }: { progress: number }) => {
    seen.push(progress);
    if (progress > 60 * MiB) stop.abort('enough');
  };
  await expect(agent.upload({ path: 'large.bin' }, { signal: stop.signal, onprogress })).rejects.toThrow();
  release();
  expect(seen.every((progress, n) => n === 0 || progress > (seen[n - 1] as number))).toBe(true);
  const job = await agent.upload({ path: 'large.bin' });
  expect(job).toMatchObject({ state: 'done', counts: { uploaded: 1 } });
  const [upload] = await person.run('uploads', 'ls', '--finished');
  expect(upload.size_bytes).toBe(110 * MiB);
  expect(job.sent_bytes).toBe(110 * MiB);
}, 120_000);

it('a change is in the history with the name of the client, can be undone, and a plan that is not up to date is refused', async () => {
  const person = new Person(sandbox);
  person.create({ 'notes.txt': 100 });
  const agent = await person.agent();
  const { files } = await agent.upload({ path: 'notes.txt' });
  const [{ uid }] = files;
  const first = await agent.call('assets_change', { uids: [uid], name: 'first.txt' });
  const second = await agent.call('assets_change', { uids: [uid], name: 'second.txt' });
  expect(await agent.call('assets_change', { plan_id: first.plan_id })).toMatchObject({
    applied: true,
    changed: [{ uid, name: 'first.txt' }],
  });
  for (const { plan_id } of [first, second])
    expect((await agent.call('assets_change', { plan_id })).error.code).toBe('stale_plan');
  const [change, ...others] = await person.run('history');
  expect(others).toEqual([]);
  expect(change.command).toBe('library (mediactl-mcp, scripted-agent 1.2)');
  await person.run('undo', '--yes');
  expect((await agent.call('assets_get', { uid })).asset.name).toBe('notes.txt');
});

it('a change of several assets is one in the history, which one undo reverts', async () => {
  const person = new Person(sandbox);
  person.create({ 'pair/a.txt': 10, 'pair/b.txt': 11 });
  const agent = await person.agent();
  const { files } = await agent.upload({ path: 'pair', folder: '/Pair' });
  const uids = files.map(({ uid }: { uid: string }) => uid);
  const { plan_id } = await agent.call('assets_change', { uids, add_tags: ['pair'], folder: '/' });
  expect((await agent.call('assets_change', { plan_id })).changed).toHaveLength(2);
  expect(await person.run('history')).toMatchObject([{ summary: 'update 2 assets' }]);
  await person.run('undo', '--yes');
  const { assets } = await agent.call('assets_search', { folder: '/Pair' });
  expect(assets).toMatchObject([{ tags: [] }, { tags: [] }]);
});

it('moves assets to a folder, and names a folder that does not exist', async () => {
  const person = new Person(sandbox);
  person.create({ 'moved.txt': 100 });
  const agent = await person.agent();
  const { files } = await agent.upload({ path: 'moved.txt', folder: '/From' });
  await agent.upload({ path: 'moved.txt', folder: '/To' });
  const uids = [files[0].uid];
  expect((await agent.call('assets_change', { uids, folder: '/Nowhere' })).error.code).toBe('not_found');
  const { plan_id } = await agent.call('assets_change', { uids, folder: '/To', description: 'moved' });
  expect((await agent.call('assets_change', { plan_id })).applied).toBe(true);
  const { assets } = await agent.call('assets_search', { folder: '/To' });
  expect(assets.map(({ uid }: { uid: string }) => uid)).toContain(uids[0]);
});

it('a call for a job that takes long returns in time, and says how to ask for the rest', async () => {
  const person = new Person(sandbox);
  person.create(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`many/${n}.bin`, 3 * MiB])));
  const agent = await person.agent();
  const { plan_id } = await agent.call('upload_plan', { path: 'many', folder: '/Many' });
  const started = agent.call('upload_start', { plan_id });
  const { job_id } = await started;
  const job = await agent.call('job_status', { job_id, wait_seconds: 0, offset: 20 });
  expect(job.files.length).toBeLessThanOrEqual(10);
  const at = performance.now();
  await agent.call('job_status', { job_id, wait_seconds: 1 });
  expect(performance.now() - at).toBeLessThan(10_000);
});

it('with 20 requests left in the hour, an agent is told so and until when, and an hour later it finishes', async () => {
  let later = 0;
  const now = () => Date.now() + later;
  const limited = await startSandbox({ strict: false, rateLimit: { limit: 1000, windowSeconds: 3600 }, now });
  onTestFinished(() => limited.end());
  const headers = { authorization: `Bearer ${limited.key}` };
  const useOne = () => fetch(`${limited.url}/api/external/v1/workspaces/`, { headers });
  for (let used = 0; used < 980; used += 49) await Promise.all(Array.from({ length: 49 }, useOne));
  const person = new Person(limited);
  person.create(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`few/${n}.bin`, 1000])));
  const agent = await person.agent();
  const { plan_id, requests, requests_left } = await agent.call('upload_plan', { path: 'few', folder: '/Few' });
  expect([requests, requests_left]).toEqual([60, 19]); // one was for the plan
  const startedAt = performance.now();
  const job = await agent.call('upload_start', { plan_id });
  expect(job).toMatchObject({ state: 'uploading', next: expect.stringContaining('rate_limited_until') });
  const minutesLeft = (Date.parse(job.rate_limited_until) - Date.now()) / 60_000;
  expect([minutesLeft > 50, minutesLeft < 61, performance.now() - startedAt < 30_000]).toEqual([true, true, true]);
  await agent.client.close();
  later = 3600_000;
  const done = await (await person.agent()).upload({ path: 'few', folder: '/Few' });
  expect(done).toMatchObject({ state: 'done', ready: 30 });
  expect(await person.run('ls', '/Few', '--all')).toHaveLength(30);
}, 120_000);

it('an upload that the rate limit makes wait says until when, and the same server goes on by itself', async () => {
  const limited = await startSandbox({ strict: false, rateLimit: { limit: 40, windowSeconds: 10 } });
  onTestFinished(() => limited.end());
  const person = new Person(limited);
  person.create(Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`few/${n}.bin`, 1000])));
  const agent = await person.agent();
  const { plan_id, requests, requests_left } = await agent.call('upload_plan', { path: 'few' });
  expect([requests, requests_left]).toEqual([40, 39]);
  let job = await agent.call('upload_start', { plan_id, wait_seconds: 1 });
  while (job.state === 'uploading' && job.rate_limited_until === null)
    job = await agent.call('job_status', { job_id: job.job_id, wait_seconds: 1 });
  expect(job).toMatchObject({ state: 'uploading', next: expect.stringContaining('rate_limited_until') });
  expect(Date.parse(job.rate_limited_until)).toBeGreaterThan(Date.parse('2020-01-01'));
  const later = await agent.call('job_status', { job_id: job.job_id });
  expect(later).toMatchObject({ state: 'done', counts: { uploaded: 20 } });
}, 120_000);

it('a read when the requests of the hour are used up says at once when to call again', async () => {
  const limited = await startSandbox({ strict: false, rateLimit: { limit: 12, windowSeconds: 3600 } });
  onTestFinished(() => limited.end());
  const agent = await new Person(limited).agent();
  let error: { code: string; retry_after_seconds: number; next: string } | undefined;
  const at = performance.now();
  for (let calls = 0; !error && calls < 20; calls++) error = (await agent.call('assets_search')).error;
  expect(error).toMatchObject({ code: 'rate_limited', next: expect.stringContaining('retry_after_seconds') });
  expect(error?.retry_after_seconds).toBeGreaterThan(3000);
  expect(performance.now() - at).toBeLessThan(30_000);
});

it('the server imports nothing but the package of mediactl, that of the protocol, zod and Node.js', () => {
  const imports = readdirSync(here('../src')).flatMap((name) =>
    [...readFileSync(here(`../src/${name}`), 'utf8').matchAll(/(?:from|import\() ?'([^'.][^']*)'/g)].map(
      ([, from]) => from,
    ),
  );
  expect(imports.length).toBeGreaterThan(10);
  const allowed = /^(?:node:[\w/]+|mediactl|@modelcontextprotocol\/server(?:\/stdio)?|zod\/mini)$/;
  expect(imports.filter((from) => !allowed.test(from as string))).toEqual([]);
});
