import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildCommandTree } from '../../src/cli/program.ts';
import { leaves } from '../../src/cli/reference/command-node.ts';
import { describeCommand as describeTree } from '../../src/cli/reference/command-tree.ts';
import { inherited } from '../support/environment.ts';
import { hangMs } from '../support/hang.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { redis, type StoreServer } from '../support/stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * Runs every example of the help in bash, as a user who has the files, folders, profiles and player that it
 * refers to.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
const allExamples = leaves(describeTree(await buildCommandTree('0.0.0'))).flatMap((command) => command.examples);
/** Without those of `videos` that are those of `assets`, whose commands they share. */
const examples = allExamples.filter(
  (line) =>
    !allExamples.includes(line.replace(/^mediactl videos/, 'mediactl assets')) || !line.startsWith('mediactl videos'),
);

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
  'mediactl sandbox watch @last': { code: 3, why: 'no sandbox of this user runs' },
  'mediactl sandbox watch @last --open': { code: 3, why: 'no sandbox of this user runs' },
  'mediactl sandbox logs': { code: 3, why: 'no sandbox of this user ran' },
  'mediactl uploads resume 3f2a9c1d5e6b7a80 --wait': { code: 3, why: 'no such upload' },
  'mediactl check ./rushes --folder /Campaigns/2026': { code: 11, why: 'nothing is there' },
  'mediactl check ./rushes --folder /Campaigns/2026 --json': { code: 11, why: 'nothing is there' },
  'mediactl uploads forget 3f2a9c1d5e6b7a80': { code: 3, why: 'no such upload' },
  'mediactl uploads retry u3f2a9c1d5e6b7a8 --queue redis://queue.lan': { code: 3, why: 'no such upload' },
};

/** Address of the queue in examples. */
const queue = 'redis://queue.lan';
const isOfQueue = (line: string) => /--queue|mediactl worker|uploads (?:watch|retry)/.test(line);

let sandbox: TestSandbox;
let store: StoreServer | undefined;
let clip: string;
const { call, upload } = rawHttp(() => sandbox);
beforeAll(async () => {
  // Examples use workspace names, which strict mode omits.
  sandbox = await startSandbox({ strict: false, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  clip = (await upload(fixturePath('clip.mp4'), { asset_name: 'intro' })).uid;
  if (redis.isInstalled) store = await redis.start();
});
afterAll(() => Promise.all([sandbox.end(), store?.end()]));

type Folder = { uid: string; name: string; children: Folder[] };

/** Creates the folders that an example needs, and deletes those that it creates. */
async function arrangeFolders(line: string): Promise<void> {
  const path = `/workspaces/${sandbox.workspace}/folders/`;
  const tree = (await (await call('GET', path)).json()) as Folder[];
  const { items } = await (await call('GET', '/assets/?limit=100')).json();
  for (const { uid, parent } of items) if (parent) await call('DELETE', `/assets/${uid}/`);
  const remove = async ({ uid, children }: Folder): Promise<void> => {
    for (const child of children) await remove(child);
    await call('DELETE', `${path}${uid}/`);
  };
  for (const folder of tree) await remove(folder);
  if (/folders create/.test(line)) return;
  const make = async (name: string, parent_uid?: string) => {
    const body = JSON.stringify({ name, ...(parent_uid && { parent_uid }) });
    const headers = { 'content-type': 'application/json' };
    return (await (await call('POST', path, { headers, body })).json()).uid as string;
  };
  const [campaigns, archive] = [await make('Campaigns'), await make('Archive')];
  await make('2026', line.includes('/Archive/2026') ? archive : campaigns);
}

async function arrangeHome(): Promise<{
  home: string;
  env: Record<string, string>;
  token: string;
}> {
  const home = temporaryFolder();
  for (const folder of ['bin', 'config', 'state', 'rushes', '.zfunc', '.config/fish/completions'])
    mkdirSync(join(home, folder), { recursive: true, mode: 0o700 });
  symlinkSync(join(root, 'bin/mediactl.js'), join(home, 'bin/mediactl'));
  copyFileSync(fixturePath('clip.mp4'), join(home, 'clip.mp4'));
  copyFileSync(fixturePath('clip.mp4'), join(home, 'in.mov'));
  copyFileSync(fixturePath('still.jpg'), join(home, 'rushes/still.jpg'));
  copyFileSync(fixturePath('clip.mp4'), join(home, 'rushes/clip.mov'));
  writeFileSync(join(home, 'shots.csv'), 'path,name\nclip.mp4,Quay\n');
  writeFileSync(join(home, 'sent.jsonl'), '');
  writeFileSync(join(home, 'key.txt'), sandbox.key);
  writeFileSync(join(home, 'queue-address.txt'), `${queue}\n`);
  writeFileSync(join(home, 'domains.txt'), 'news.example.com\n');
  const { playback_token: token } = await (await call('GET', `/assets/${clip}/player/`)).json();
  writeFileSync(join(home, 'token.txt'), token);
  writeFileSync(join(home, 'state/last-upload'), JSON.stringify({ uid: clip, base_url: sandbox.url }));
  // Stand-ins for the player and the converter: only their invocation is tested.
  writeFileSync(join(home, 'bin/mpv'), '#!/bin/sh\ncase "$1" in http*) exit 0 ;; *) exit 1 ;; esac\n');
  writeFileSync(join(home, 'bin/ffmpeg'), '#!/bin/sh\ncat in.mov\n');
  writeFileSync(join(home, 'bin/ssh'), '#!/bin/sh\nshift; exec "$@"\n');
  for (const program of ['mpv', 'ffmpeg', 'ssh']) chmodSync(join(home, 'bin', program), 0o755);
  const profile = { baseUrl: sandbox.url, key: sandbox.key, keyStore: 'file', workspace: sandbox.workspace };
  const profiles = { default: profile, staging: profile };
  writeFileSync(join(home, 'config/config.json'), JSON.stringify({ current: 'default', profiles }), { mode: 0o600 });
  const env = {
    ...inherited,
    PATH: `${join(home, 'bin')}:${process.env.PATH}`,
    HOME: home,
    MEDIACTL_CONFIG_DIR: join(home, 'config'),
    MEDIACTL_STATE_DIR: join(home, 'state'),
    MEDIACTL_KEY_STORE: 'file',
    ...(store && { MEDIACTL_QUEUE: store.address }),
  };
  return { home, env, token };
}

/** Commands that run until they are interrupted, and the text that they print when ready. */
const endless = { 'mediactl browse': 'http://', 'mediactl worker': 'it reads below' };

it('those that are not run, or fail, are examples still', () => {
  for (const line of [...Object.keys(elsewhere), ...Object.keys(codes)]) expect(examples).toContain(line);
});

describe('examples', () => {
  it.for(examples.filter((line) => !(line in elsewhere)))('%s', async (line, { skip }) => {
    skip(isOfQueue(line) && !store, 'redis-server is not here');
    const { home, env, token } = await arrangeHome();
    if (line.includes('/Campaigns') || line.includes('/Archive')) await arrangeFolders(line);
    if (line.includes('old.example.com'))
      await call('POST', `/workspaces/${sandbox.workspace}/embed-domains/`, {
        headers: { 'content-type': 'application/json' },
        body: '{"domain":"old.example.com"}',
      });
    if (line.includes('auth switch'))
      await promisify(execFile)('mediactl', ['auth', 'rename', 'staging', 'production'], { env });
    const typed = line
      .replace('https://media.example.com', sandbox.url)
      .replace(/\bUID\b/, clip)
      .replace(/\bTOKEN\b/, token)
      // ports in examples may be in use here
      .replace('sandbox start', 'sandbox start --port 0')
      .replace('--port 0 --port 4600', '--port 0')
      .replace('--port 8123', '--port 0')
      .replaceAll(queue, store?.address ?? queue)
      .replace('/mnt/media', home)
      .replace('/Volumes/media', home)
      // an upload with --wait needs a worker
      .replace(/^mediactl upload .*--queue.*--wait$/, 'mediactl worker & $&; e=$?; kill %1; exit $e');
    const ready = Object.entries(endless).find(([start]) => line.startsWith(start))?.[1];
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
    if (line.startsWith('mediactl sandbox start'))
      await promisify(execFile)(
        'mediactl',
        ['sandbox', 'stop', ...(line.includes('--data') ? ['--data', './media-sandbox'] : [])],
        { cwd: home, env },
      );
    const expected = codes[line]?.code ?? 0;
    expect(ended).toEqual({ code: expected, stderr: ended.code === expected ? ended.stderr : '' });
  });
});
