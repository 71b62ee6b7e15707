import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/sdk/index.ts';
import type { Client } from '../../src/sdk/public-types.ts';
import { type BrowseClient, environmentOf, signIn } from '../support/browse.ts';
import { Cli } from '../support/cli.ts';
import { errorInTable, errorOf } from '../support/errors.ts';
import { has } from '../support/has.ts';
import { respond, startServer } from '../support/http-server.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { mediactl, type StartedProcess } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * A change of an asset has the same effects whichever program makes it: the history lists it, uploads know about it, and
 * undo reverts it. The programs of one user, with one state directory: command line, browse page, package and worker.
 */

type UploadAgain = { outcome: string; uid: string };

const folderPath = '/Moved';
const media = temporaryFolder();
let sandbox: TestSandbox;
let cli: Cli;
let page: BrowseClient;
let client: Client;
/** Another machine, which queues files and has no receipts. */
let queueing: Cli;
let store: RedisServer | undefined;
let folderUid: string;
const processes: StartedProcess[] = [];
/** Records that the worker has printed, by path. */
const workerRecords = new Map<string, { outcome: string; asset_uid: string }>();

const start = (args: string[], environment: Record<string, string>) => {
  const started = mediactl(args, environment);
  processes.push(started);
  return { ...started, lines: createInterface({ input: started.child.stdout as Readable }) };
};

beforeAll(async () => {
  sandbox = await startSandbox({ rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  const { url, key, workspace } = sandbox;
  const account = { MEDIACTL_API_KEY: key, MEDIACTL_BASE_URL: url, MEDIACTL_WORKSPACE: workspace };
  cli = new Cli(account);
  ({ uid: folderUid } = await cli.json(['folders', 'create', folderPath]));
  client = createClient({
    ...{ baseUrl: url, apiKey: key, workspace },
    ...{ stateDir: join(cli.home, 'state'), history: true },
  });
  const environment = environmentOf(sandbox, cli.home);
  const browse = start(['browse', '--no-open'], environment);
  const [address] = await once(browse.lines, 'line');
  page = await signIn(address);
  if (!has('redis-server')) return;
  store = await startRedis();
  const queue = { MEDIACTL_QUEUE: store.address };
  queueing = new Cli({ ...account, ...queue });
  start(['queue', 'work', '--root', media, '--jsonl'], { ...environment, ...queue }).lines.on('line', (line) => {
    const record = JSON.parse(line);
    workerRecords.set(record.path, record);
  });
});
afterAll(async () => {
  for (const { child } of processes) child.kill();
  await Promise.all(processes.map(({ finished }) => finished));
  await client.close();
  await store?.end();
  await sandbox.end();
});

/** Uploads a file to a folder, `/` or `folderPath`, by each program. */
const uploaders: Record<string, (path: string, folder: string) => Promise<UploadAgain>> = {
  'the command line': async (path, folder) => {
    const [{ outcome, asset_uid: uid }] = await cli.json(['upload', path, '--folder', folder]);
    return { outcome, uid };
  },
  'the browse page': async (path, folder) => {
    const bytes = readFileSync(path);
    const id = randomUUID();
    const query = new URLSearchParams({ id, name: basename(path), size: `${bytes.length}` });
    if (folder === folderPath) query.set('folder', folderUid);
    const { status } = await page.fetchPage(`uploads?${query}`, { method: 'POST', body: new Uint8Array(bytes) });
    expect(status).toBe(200);
    return waitForPageUpload(id);
  },
  'the package': async (path, folder) => {
    const { outcome, uid } = await client.upload(path, { folder });
    return { outcome, uid };
  },
  // The worker has the receipts of the command line, and the machine that queues the file has none.
  ...(has('redis-server') && {
    'a worker': async (path: string, folder: string) => {
      const [queued] = await queueing.json(['upload', path, '--folder', folder, '--queue']);
      // A file whose asset has another name now is queued. The folder has the others.
      if (queued.outcome !== 'queued') return { outcome: queued.outcome, uid: queued.asset_uid };
      await expect.poll(() => workerRecords.has(path)).toBe(true);
      const { outcome = '', asset_uid: uid = '' } = workerRecords.get(path) ?? {};
      return { outcome, uid };
    },
  }),
};

/** Reads the page's events, which repeat earlier ones, until an upload has ended. */
async function waitForPageUpload(id: string): Promise<UploadAgain> {
  const { body } = await page.fetchPage('events');
  let received = '';
  for await (const text of (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    received += text;
    for (const event of received.split('\n\n').slice(0, -1)) {
      const { upload } = event.startsWith('data: ') ? JSON.parse(event.slice('data: '.length)) : {};
      if (upload?.id !== id) continue;
      if (upload.state === 'failed') throw new Error(upload.problem);
      if (upload.assetUid) return { outcome: upload.state, uid: upload.assetUid };
    }
  }
  throw new Error(`the page ended its events before upload ${id} had ended`);
}

const patch = (uid: string, change: object) =>
  page.fetchPage(`assets/${uid}`, { method: 'PATCH', body: JSON.stringify(change) });

type MakeChange = (uid: string) => Promise<unknown>;
type HistoryLabel = [command: string, summary: string];

/** Each program's way to make each change, and how the history describes it. */
const programs: Record<
  string,
  Record<'trash' | 'move' | 'tag' | 'rename', [change: MakeChange, label: HistoryLabel]>
> = {
  'the command line': {
    trash: [(uid) => cli.json(['rm', uid, '--yes']), ['rm', 'move to the trash']],
    move: [(uid) => cli.json(['mv', uid, folderPath]), ['mv', `move to ${folderPath}`]],
    tag: [(uid) => cli.json(['tag', uid, '--add', 'sea']), ['tag', 'add tag sea']],
    rename: [(uid) => cli.json(['rename', uid, 'New name']), ['rename', 'rename to New name']],
  },
  'the browse page': {
    trash: [(uid) => page.fetchPage(`assets/${uid}`, { method: 'DELETE' }), ['browse', 'move to the trash']],
    move: [(uid) => patch(uid, { folder: folderUid }), ['browse', 'set folder']],
    tag: [(uid) => patch(uid, { tags: { add: ['sea'], remove: [] } }), ['browse', 'set tags']],
    rename: [(uid) => patch(uid, { name: 'New name' }), ['browse', 'set name']],
  },
  'the package': {
    trash: [(uid) => client.assets.trash(uid), ['library', 'move to the trash']],
    move: [(uid) => client.assets.move(uid, folderPath), ['library', `move to ${folderPath}`]],
    tag: [(uid) => client.assets.update(uid, { addTags: ['sea'] }), ['library', 'update']],
    rename: [(uid) => client.assets.update(uid, { name: 'New name' }), ['library', 'update']],
  },
};

const forEachUploader = (expected: unknown) =>
  Object.fromEntries(Object.keys(uploaders).map((uploader) => [uploader, expected]));

let fileCount = 0;

/** Writes a file with content and size of its own, and uploads it by the command line. */
async function createUploadedFile(): Promise<{ path: string; uid: string }> {
  const path = join(media, `${++fileCount}.md`);
  writeFileSync(path, `# ${fileCount}${' '.repeat(fileCount)}`);
  const { outcome, uid } = await uploadByCommandLine(path, '/');
  expect(outcome).toBe('uploaded');
  return { path, uid };
}
const uploadByCommandLine = uploaders['the command line'] as (path: string, folder: string) => Promise<UploadAgain>;

/** Returns the fields of an asset that the changes of these tests set. */
async function fetchFields(uid: string) {
  const [{ name, parent, tags }] = await cli.json(['get', uid]);
  return { name, parent, tags };
}
const listHistory = () => cli.json(['history']);

/** Makes a change, and checks that it is the latest one of the history. */
async function changeAndCheckHistory(
  uid: string,
  [change, [command, summary]]: [MakeChange, HistoryLabel],
): Promise<void> {
  await change(uid);
  const [latest] = await listHistory();
  expect(latest).toMatchObject({ command, summary, state: 'finished', item_count: 1, done_count: 1, undone_by: null });
  expect(await cli.json(['history', latest.change_id])).toMatchObject([{ uid, outcome: 'done' }]);
}

describe('with one state directory', { tags: 'undocumented-fields' }, () => {
  it.each(Object.entries(programs))(
    'a file whose asset %s moves to the trash is uploaded again by every program, and undo changes nothing',
    async (_program, { trash }) => {
      const trashed: string[] = [];
      const outcomes: Record<string, string> = {};
      for (const [uploader, upload] of Object.entries(uploaders)) {
        const { path, uid } = await createUploadedFile();
        await changeAndCheckHistory(uid, trash);
        trashed.push(uid);
        const again = await upload(path, '/');
        outcomes[uploader] = trashed.includes(again.uid) ? `${again.outcome}: the asset in the trash` : again.outcome;
      }
      expect(outcomes).toEqual(forEachUploader('uploaded'));
      const [latest] = await listHistory();
      const items = await cli.json(['history', latest.change_id]);
      expect(items).toMatchObject([{ local_path: join(media, `${fileCount}.md`) }]);
      const historyBefore = await listHistory();
      const listAssets = async () => (await cli.run(['ls', '--all', '-q'])).stdout;
      const assetsBefore = await listAssets();
      expect(errorOf(await cli.run(['undo', '--yes', '--json']))).toEqual(errorInTable('cannot_undo'));
      expect(await listHistory()).toEqual(historyBefore);
      expect(await listAssets()).toBe(assetsBefore);
      for (const uid of trashed) expect(assetsBefore).not.toContain(uid);
    },
  );

  const reversible = Object.entries(programs).flatMap(([program, { move, tag, rename }]) => [
    [program, 'moves', 'parent', move, folderPath] as const,
    [program, 'tags', 'tags', tag, '/'] as const,
    [program, 'renames', 'name', rename, '/'] as const,
  ]);
  it.each(reversible)(
    'a file whose asset %s %s is skipped by every program, and undo restores the %s of the asset',
    async (_program, _verb, field, change, folder) => {
      const { path, uid } = await createUploadedFile();
      const before = await fetchFields(uid);
      await changeAndCheckHistory(uid, change);
      const after = await fetchFields(uid);
      expect({ ...after, [field]: before[field] }).toEqual(before);
      expect(after[field]).not.toEqual(before[field]);
      const outcomes: Record<string, UploadAgain> = {};
      for (const [uploader, upload] of Object.entries(uploaders)) outcomes[uploader] = await upload(path, folder);
      // A browser shows no path, so to the page it is another file with the same content.
      expect(outcomes).toEqual({
        ...forEachUploader({ outcome: 'skipped', uid }),
        'the browse page': { outcome: 'duplicate', uid },
        ...(has('redis-server') && {
          'a worker': { outcome: field === 'name' ? 'skipped' : 'same_name_and_size', uid },
        }),
      });
      const findReceipt = async () =>
        (await cli.json(['uploads', 'ls', '--finished'])).filter((each: { path: string }) => each.path === path);
      expect(await findReceipt()).toMatchObject([{ asset_uid: uid, folder_uid: after.parent }]);

      expect(await cli.json(['undo', '--yes'])).toMatchObject([{ uid }]);
      expect(await fetchFields(uid)).toEqual(before);
      const [undo, undone] = await listHistory();
      expect([undo.undo_of, undone.undone_by]).toEqual([undone.change_id, undo.change_id]);
      expect(await uploadByCommandLine(path, '/')).toEqual({ outcome: 'skipped', uid });
    },
  );

  it('an edit on the page is undone if the key can see one workspace only', async () => {
    const { uid } = await createUploadedFile();
    const before = await fetchFields(uid);
    const proxy = await startServer(async (request, response) => {
      const bytes = Buffer.concat(await request.toArray());
      const answer = await fetch(sandbox.url + request.url, {
        method: request.method ?? 'GET',
        headers: { authorization: `${request.headers.authorization}`, 'content-type': 'application/json' },
        ...(bytes.length > 0 && { body: bytes }),
      });
      const body = (await answer.json()) as { items: object[]; count: number };
      if (/\/workspaces\/(?:\?|$)/.test(request.url ?? ''))
        Object.assign(body, { items: body.items.slice(0, 1), count: 1 });
      respond(response, answer.status, body);
    });
    const user = new Cli({ MEDIACTL_API_KEY: sandbox.key, MEDIACTL_BASE_URL: proxy });
    const browse = start(['browse', '--no-open'], environmentOf({ ...sandbox, url: proxy }, user.home));
    const [address] = await once(browse.lines, 'line');
    const otherPage = await signIn(address);
    const change = { name: 'New name', tags: { add: ['sea'], remove: [] } };
    const edit = { method: 'PATCH', body: JSON.stringify(change) };
    expect(await otherPage.fetchPage(`assets/${uid}`, edit)).toMatchObject({ status: 200 });
    expect(await fetchFields(uid)).not.toEqual(before);
    await user.json(['undo', '--yes']);
    expect(await fetchFields(uid)).toEqual(before);
  });
});
