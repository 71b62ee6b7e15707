import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { buildCommandTree } from '../../src/cli/program.ts';
import { leaves } from '../../src/cli/reference/command-node.ts';
import { describeCommand as describeTree } from '../../src/cli/reference/command-tree.ts';
import { StateDatabase } from '../../src/client/upload/store/state-database.ts';
import { Cli } from '../support/cli.ts';
import { respond, startServer } from '../support/http-server.ts';
import { databaseContents, writeStoredUploadText } from '../support/state-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const uid = '00000000-0000-4000-8000-000000000001';

/** Arguments of each command; a missing command fails the test. */
const commandArgs: Record<string, string[]> = {
  'auth login': ['auth', 'login', '--profile', 'main', '--with-key', '--skip-verify'],
  'auth ls': ['auth', 'ls'],
  'auth status': ['auth', 'status'],
  'auth switch': ['auth', 'switch', 'other'],
  'auth logout': ['auth', 'logout', '--all'],
  'auth token': ['auth', 'token', '--show-token'],
  'assets ls': ['assets', 'ls'],
  'assets get': ['assets', 'get', uid],
  'assets player-data': ['assets', 'player-data', uid],
  'assets wait': ['assets', 'wait', uid],
  'assets mv': ['assets', 'mv', uid, '/'],
  'assets rename': ['assets', 'rename', uid, 'x'],
  'assets tag': ['assets', 'tag', uid, '--add', 'sea'],
  'assets export': ['assets', 'export', '-o', 'library.csv'],
  'assets apply': ['assets', 'apply', '/dev/null'],
  'assets stats': ['assets', 'stats'],
  history: ['history'],
  undo: ['undo'],
  'videos ls': ['videos', 'ls'],
  'videos get': ['videos', 'get', uid],
  'videos player-data': ['videos', 'player-data', uid],
  'videos wait': ['videos', 'wait', uid],
  upload: ['upload', '-'],
  check: ['check', fileURLToPath(new URL('../fixtures', import.meta.url))],
  'uploads cleanup': ['uploads', 'cleanup', '--trash'],
  'uploads ls': ['uploads', 'ls'],
  'queue ls': ['queue', 'ls', '--queue', 'redis://127.0.0.1:1'],
  'queue forget': ['queue', 'forget', '--all', '--queue', 'redis://127.0.0.1:1'],
  'queue watch': ['queue', 'watch', '--queue', 'redis://127.0.0.1:1'],
  'queue retry': ['queue', 'retry', '--all', '--queue', 'redis://127.0.0.1:1'],
  'queue work': ['queue', 'work', '--queue', 'redis://127.0.0.1:1'],
  'uploads resume': ['uploads', 'resume', '--all'],
  'uploads forget': ['uploads', 'forget', 'abc'],
  'workspaces ls': ['workspaces', 'ls'],
  'workspaces use': ['workspaces', 'use', 'Main'],
  browse: ['browse'],
  play: ['play', uid, '--web'],
  api: ['api', '/assets/x/', '-X', 'DELETE'],
  'assets update': ['assets', 'update', uid, '--name', 'x'],
  'assets rm': ['assets', 'rm', uid],
  'assets thumb': ['assets', 'thumb', uid],
  'assets download': ['assets', 'download', uid],
  'videos update': ['videos', 'update', uid, '--name', 'x'],
  'videos rm': ['videos', 'rm', '--status', 'ready'],
  'videos thumb': ['videos', 'thumb', uid],
  'videos download': ['videos', 'download', uid],
  'folders tree': ['folders', 'tree'],
  'folders ls': ['folders', 'ls'],
  'folders create': ['folders', 'create', '-p', '/Main/below/it'],
  'folders rename': ['folders', 'rename', '/Main', 'x'],
  'folders mv': ['folders', 'mv', '/Main', '/'],
  'folders rm': ['folders', 'rm', '/Main'],
  'embed show': ['embed', 'show'],
  'embed restrict': ['embed', 'restrict'],
  'embed unrestrict': ['embed', 'unrestrict'],
  'embed domains ls': ['embed', 'domains', 'ls'],
  'embed domains add': ['embed', 'domains', 'add', 'a.example'],
  'embed domains rm': ['embed', 'domains', 'rm', 'old.example'],
  'embed domains sync': ['embed', 'domains', 'sync', '-', '--prune'],
  'config ls': ['config', 'ls'],
  'config get': ['config', 'get', 'format'],
  'config set': ['config', 'set', 'format', 'json'],
  'config unset': ['config', 'unset', 'format'],
  'config path': ['config', 'path'],
  doctor: ['doctor'],
  completion: ['completion', 'bash'],
  commands: ['commands'],
  'sandbox start': ['sandbox', 'start', '--port', '0'],
  'sandbox stop': ['sandbox', 'stop'],
  'sandbox status': ['sandbox', 'status'],
  'sandbox reset': ['sandbox', 'reset'],
  'sandbox logs': ['sandbox', 'logs'],
  'sandbox open': ['sandbox', 'open', uid],
};

/** Exit codes other than 0: the sandbox and the queue are not running, and `check` finds a difference. */
const nonZeroExits: Record<string, number> = {
  'sandbox logs': 3,
  'sandbox open': 3,
  check: 11,
  'assets apply': 2, // the table is empty
  undo: 3, // there is no change
  'assets tag': 6, // the record shows no tags to change
  'queue ls': 10,
  'queue forget': 10,
  'queue watch': 10,
  'queue retry': 10,
};

const commandTree = describeTree(await buildCommandTree('0.0.0'));
const commandNames = leaves(commandTree).map(({ path }) => path.replace('mediactl ', ''));

const database = 'state/receipts.db';
/** Files of SQLite that reading changes. What they hold is read through SQLite. */
const filesChangedByReads = [`${database}-wal`, `${database}-shm`];

/** Reads every file below a folder; of the database, its schema and rows. */
const folderContents = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .filter((name) => !filesChangedByReads.includes(name))
    .map((name) => {
      const path = join(folder, name);
      if (name === database) return [name, databaseContents(join(folder, 'state'))];
      return [name, statSync(path).isFile() ? readFileSync(path, 'utf8') : null];
    });

/** Runs a dry run in a state folder, and expects that it changes nothing. @returns the exit code */
async function exitCodeOfDryRun(name: string, prepare: (stateDir: string) => Promise<void>): Promise<number> {
  const writeRequests: string[] = [];
  const serviceUrl = await startServer((request, response) => {
    const path = request.url ?? '';
    const isRead = request.method === 'GET' || path.endsWith('/playback/info/');
    if (!isRead) writeRequests.push(`${request.method} ${path}`);
    if (path.includes('/player/')) return respond(response, 200, { uid, playback_token: 'a.token' });
    if (path.includes('/info/')) return respond(response, 200, { type: 'document', url: serviceUrl });
    if (path.includes('/folders/')) return respond(response, 200, [{ uid, name: 'Main' }]);
    if (path.includes('/embed-')) return respond(response, 200, { enabled: true, domains: ['old.example'] });
    if (path.includes('/assets/?')) return respond(response, 200, { items: [], count: 0 });
    if (path.includes(uid))
      return respond(response, 200, { uid, status: 'ready', thumbnail_url: `${serviceUrl}/a.jpg` });
    respond(response, 200, { items: [{ uid, name: 'Main', status: 'ready' }], count: 1 });
  });
  const cli = new Cli();
  const homeBefore = temporaryFolder();
  const profile = { baseUrl: serviceUrl, key: 'a-key-of-this-test', keyStore: 'file', workspace: uid };
  mkdirSync(join(cli.home, 'config'));
  mkdirSync(join(cli.home, 'state'));
  writeFileSync(
    join(cli.home, 'config/config.json'),
    JSON.stringify({ current: 'main', profiles: { main: profile, other: profile } }),
    { mode: 0o600 },
  );
  await prepare(join(cli.home, 'state'));
  writeFileSync(join(cli.home, 'a.txt'), 'text');
  cpSync(cli.home, homeBefore, { recursive: true });
  const args = commandArgs[name];
  expect(args, `${name} is called by this test`).toBeDefined();
  const { code } = await cli.run([...(args as string[]), '-n'], { stdin: 'a-new-key.example' });
  expect(folderContents(cli.home)).toEqual(folderContents(homeBefore));
  expect(writeRequests).toEqual([]);
  return code;
}

it.each(commandNames)('%s -n changes no local file and sends no write request', async (name) => {
  const code = await exitCodeOfDryRun(name, async (stateDir) => {
    await (await StateDatabase.open(stateDir)).close(); // creates the database
    const baseUpload = {
      id: 'abc',
      path: 'a.txt',
      realPath: '/a.txt',
      baseUrl: 'https://media.example',
      profile: 'none',
    };
    const metadata = { filename: 'a.txt', workspace_uid: uid };
    const unfinishedUpload = {
      ...baseUpload,
      state: 'planned',
      metadata,
      file: { sizeBytes: 1, mtimeNs: '1' },
      begunAt: '2026-01-01',
    };
    writeStoredUploadText(stateDir, 'abc', JSON.stringify(unfinishedUpload));
  });
  expect(code).toBe(nonZeroExits[name] ?? 0);
});

it.each(commandNames)('%s -n with an empty state folder writes nothing', async (name) => {
  // exitCodeOfDryRun fails if a file of the home directory changes or a write request is sent.
  const code = await exitCodeOfDryRun(name, async () => {});
  const noUploadToForget = { 'uploads forget': 3 };
  expect(code).toBe({ ...nonZeroExits, ...noUploadToForget }[name] ?? 0);
});

it('every command has a summary, a description and an example', () => {
  for (const { path, short, summary, description, examples } of leaves(commandTree)) {
    expect([path, summary.length > 5, description.length > 20]).toEqual([path, true, true]);
    expect([path, examples.length > 0]).toEqual([path, true]);
    const spellings = [path.replace(/ ls$/, ' '), ...short.map((word) => `mediactl ${word} `)];
    for (const line of examples)
      expect([line, spellings.some((each) => `${line} `.includes(each))]).toEqual([line, true]);
  }
});
