import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildCommandTree } from '../../src/cli/program.ts';
import { leaves } from '../../src/cli/reference/command-node.ts';
import { describeCommand as describeTree } from '../../src/cli/reference/command-tree.ts';
import {
  addProfiles,
  createHome,
  isOfQueue,
  readyText,
  runInProcess,
  setLastUpload,
  toRunnable,
} from '../support/command-lines.ts';
import { hangMs } from '../support/hang.ts';
import { has } from '../support/has.ts';
import { commandsIn, readPage, userPages } from '../support/manual.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { redis, type StoreServer } from '../support/stores.ts';

/*
 * Runs every example of the help, as a user who has the files, folders, profiles and player that it refers to.
 */

const allExamples = leaves(describeTree(await buildCommandTree('0.0.0'))).flatMap((command) => command.examples);
/** Without those of `videos` that are those of `assets`, whose commands they share. */
const examples = allExamples.filter(
  (line) =>
    !allExamples.includes(line.replace(/^mediactl videos/, 'mediactl assets')) || !line.startsWith('mediactl videos'),
);

/** Command lines of the README and the manual, which manual.test.ts runs. */
const inManual = new Set(userPages.flatMap((page) => commandsIn(readPage(page)).map(({ text }) => text)));

/** Examples that are not run here, and where they are tested. */
const elsewhere: Record<string, string> = {
  'mediactl sandbox logs -f': 'runs until it is interrupted: test/command/sandbox.test.ts',
  'mediactl auth login --base-url https://media.example.com':
    'asks for a key at a terminal: test/process/terminal.test.ts',
  'mediactl upload https://example.com/clip.mp4 rclone:archive:2026/clip.mov':
    'asks the network: test/unit/upload-sources.test.ts, test/process/rclone.test.ts',
};

/** Examples that exit with another code than 0 here, and why. */
const codes: Record<string, { code: number; why: string }> = {
  'mediactl assets rm @last': { code: 2, why: 'asks, and nobody sits there' },
  'mediactl assets thumb @last -o poster.jpg': { code: 3, why: 'this sandbox has no ffmpeg' },
  'mediactl assets thumb @last --show': { code: 2, why: 'no terminal is there' },
  'mediactl sandbox open @last': { code: 3, why: 'no sandbox of this user runs' },
  'mediactl sandbox open @last --open': { code: 3, why: 'no sandbox of this user runs' },
  'mediactl sandbox logs': { code: 3, why: 'no sandbox of this user ran' },
  'mediactl uploads resume 3f2a9c1d5e6b7a80 --wait': { code: 3, why: 'no such upload' },
  'mediactl check ./rushes /Campaigns/2026': { code: 11, why: 'nothing is there' },
  'mediactl check ./rushes /Campaigns/2026 --download': { code: 11, why: 'nothing is there' },
  'mediactl check ./rushes /Campaigns/2026 --json': { code: 11, why: 'nothing is there' },
  "mediactl mv '/Inbox/*.mp4' /Archive": { code: 2, why: 'asks, and there is no terminal' },
  "mediactl tag '/Campaigns/2026/*' --add campaign-2026": { code: 2, why: 'asks, and there is no terminal' },
  'mediactl mv --tag done /Archive --create-folders': { code: 2, why: 'asks, and there is no terminal' },
  'mediactl uploads forget 3f2a9c1d5e6b7a80': { code: 3, why: 'no such upload' },
  'mediactl uploads retry u3f2a9c1d5e6b7a8 --queue redis://queue.lan': { code: 3, why: 'no such upload' },
};

let sandbox: TestSandbox;
let store: StoreServer | undefined;
let clip: string;
const { call, upload } = rawHttp(() => sandbox);
beforeAll(async () => {
  // Examples use workspace names, which strict mode omits.
  sandbox = await startSandbox({ strict: false, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  clip = (await upload(fixturePath('clip.mp4'), { asset_name: 'intro' })).uid;
  if (has('redis-server')) store = await redis.start();
});
afterAll(() => Promise.all([sandbox.end(), store?.end()]));

type Folder = { uid: string; name: string; children: Folder[] };

/** Creates the folders that an example needs, and deletes those that it creates. */
async function arrangeFolders(line: string): Promise<void> {
  const path = `/workspaces/${sandbox.workspace}/folders/`;
  const tree = (await (await call('GET', path)).json()) as Folder[];
  const { items } = await (await call('GET', '/assets/?limit=100')).json();
  const headers = { 'content-type': 'application/json' };
  for (const { uid, parent } of items)
    if (uid === clip) await call('PATCH', `/assets/${uid}/`, { headers, body: '{"parent":null}' });
    else if (parent) await call('DELETE', `/assets/${uid}/`);
  const remove = async ({ uid, children }: Folder): Promise<void> => {
    for (const child of children) await remove(child);
    await call('DELETE', `${path}${uid}/`);
  };
  for (const folder of tree) await remove(folder);
  if (/folders create/.test(line)) return;
  const make = async (name: string, parent_uid?: string) => {
    const body = JSON.stringify({ name, ...(parent_uid && { parent_uid }) });
    return (await (await call('POST', path, { headers, body })).json()).uid as string;
  };
  const [campaigns, archive] = [await make('Campaigns'), await make('Archive')];
  const isMovedBack = line.includes('folders mv /Archive/2026');
  const year = await make('2026', isMovedBack ? archive : campaigns);
  await make('Old');
  const put = (asset_name: string, parent_folder_uid: string) =>
    upload(fixturePath('clip.mp4'), { asset_name, parent_folder_uid });
  if (/\/Campaigns\/2026/.test(line) && !line.includes('folders')) await put('intro', year);
  if (line.includes('/Inbox/')) await put('A001.mp4', await make('Inbox'));
  if (line.includes('--tag done')) {
    const { uid } = await put('done', campaigns);
    await call('PATCH', `/assets/${uid}/`, { headers, body: '{"tags":["done"]}' });
  }
}

async function arrangeHome() {
  const { home, env } = createHome(sandbox, store);
  const { playback_token: token } = await (await call('GET', `/assets/${clip}/player/`)).json();
  writeFileSync(join(home, 'token.txt'), token);
  setLastUpload(home, clip, sandbox.url);
  addProfiles(home, sandbox);
  return { home, env, token };
}

it('those that are not run, or fail, are examples still', () => {
  for (const line of [...Object.keys(elsewhere), ...Object.keys(codes)]) expect(examples).toContain(line);
});

describe('examples', () => {
  it.for(examples.filter((line) => !(line in elsewhere) && !inManual.has(line)))('%s', async (line, { skip }) => {
    skip(isOfQueue(line) && !store, 'redis-server');
    const { home, env, token } = await arrangeHome();
    if (/ '?\/(?:Campaigns|Archive|Inbox|Old)/.test(line)) await arrangeFolders(line);
    if (line.includes('old.example.com'))
      await call('POST', `/workspaces/${sandbox.workspace}/embed-domains/`, {
        headers: { 'content-type': 'application/json' },
        body: '{"domain":"old.example.com"}',
      });
    const typed = toRunnable(line, { home, sandbox, store, uid: clip })
      .replace(/\bTOKEN\b/, token)
      // an upload with --wait needs a worker
      .replace(/^mediactl upload .*--queue.*--wait$/, 'mediactl worker & $&; e=$?; kill %1; exit $e');
    const expected = codes[line]?.code ?? 0;
    const check = (ended: { code: number; stderr: string }) =>
      expect(ended).toEqual({ code: expected, stderr: ended.code === expected ? ended.stderr : '' });
    if (line.startsWith('mediactl sandbox start'))
      onTestFinished(async () => {
        const data = line.includes('--data-dir') ? ['--data-dir', './media-sandbox'] : [];
        await promisify(execFile)('mediactl', ['sandbox', 'stop', ...data], { cwd: home, env });
      });
    const inProcess = await runInProcess(typed, env);
    if (inProcess) return check(inProcess);
    const ready = readyText(line);
    const script = ready ? `exec ${typed}` : `set -o pipefail; ${typed}`;
    const run = promisify(execFile)('bash', ['-c', script], { cwd: home, env, timeout: hangMs });
    let printed = '';
    for (const stream of ready ? [run.child.stdout, run.child.stderr] : [])
      stream?.on('data', (text) => {
        const wasReady = printed.includes(ready as string);
        printed += text;
        // Only one signal: a second one would end it at once, with 130.
        if (!wasReady && printed.includes(ready as string)) run.child.kill('SIGINT');
      });
    // Closes stdin, for examples that read it.
    run.child.stdin?.end();
    const ended = await run.then(
      ({ stderr }) => ({ code: 0, stderr }),
      ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
    );
    check(ended);
  });
});
