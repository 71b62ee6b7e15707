import { fileURLToPath } from 'node:url';
import { buildCommandTree } from '../../src/cli/program.ts';
import { leaves } from '../../src/cli/reference/command-node.ts';
import { describeCommand } from '../../src/cli/reference/command-tree.ts';
import { assetUid, folderUid, workspaceUid } from './fake-library.ts';

/* One row for each command: how it is called, and what must be true of it. test/command/commands.test.ts has the checks. */

/** A request of the specification: method, path below the API prefix, query and body. */
export type SpecifiedRequest = { method: string; path: string; query?: Record<string, string>; body?: unknown };

export type CommandRow = {
  /** Arguments, for the library of `createLibrary`. HOME stands for the home directory, URL for the service. */
  args: string[];
  stdin?: string;
  /** The first request that the command is for, as a literal of the specification. */
  sends?: SpecifiedRequest;
  /** Other arguments, and their requests. */
  alsoSends?: { args: string[]; sends: SpecifiedRequest }[];
  /** What it has changed in the library, as an error says if the result cannot be written. */
  changes?: string;
  /** True if it reports what the service refuses item by item (exit 11), also of one. */
  reportsItems?: boolean;
  /** How `-n` is called, if in another way, and its exit codes: of any state folder, and of an empty one. */
  dryRun?: { args?: string[]; exit?: number; exitIfEmpty?: number };
  /** True if it parses what the service returns. */
  readsLibrary?: boolean;
  /** The test that covers its output, if that varies. The others have a golden file. */
  outputIn?: string;
};

const folders = `/workspaces/${workspaceUid}/folders/`;
const embedding = `/workspaces/${workspaceUid}/embed-`;

/** Rows of the commands that assets and videos share. */
const twins = (noun: 'assets' | 'videos'): Record<string, CommandRow> => ({
  [`${noun} ls`]: {
    args: [noun, 'ls'],
    sends: { method: 'GET', path: `/${noun}/`, query: { limit: '20', offset: '0' } },
    alsoSends: [
      {
        args: [
          ...[noun, 'ls', 'two words', '--status', 'ready', '--tag', 'a-tag'],
          ...['--created-after', '2026-01-02', '--created-before', '2026-02-03', '--sort', '-duration'],
          ...['--limit', '7', '--offset', '3'],
        ],
        sends: {
          method: 'GET',
          path: `/${noun}/`,
          query: {
            search: 'two words',
            status: 'ready',
            tag: 'a-tag',
            created_after: '2026-01-02',
            created_before: '2026-02-03',
            ordering: '-duration',
            limit: '7',
            offset: '3',
          },
        },
      },
    ],
  },
  [`${noun} get`]: {
    args: [noun, 'get', assetUid],
    sends: { method: 'GET', path: `/${noun}/${assetUid}/`, query: {} },
  },
  [`${noun} update`]: {
    args: [noun, 'update', assetUid, '--name', 'New', '--set', 'tags=sea'],
    sends: { method: 'PATCH', path: `/${noun}/${assetUid}/`, query: {}, body: { name: 'New', tags: ['sea'] } },
    alsoSends: [
      {
        args: [noun, 'update', assetUid, '--name', 'New', '--set-json', 'tags=["a","b"]'],
        sends: { method: 'PATCH', path: `/${noun}/${assetUid}/`, query: {}, body: { name: 'New', tags: ['a', 'b'] } },
      },
    ],
    changes: '1 asset was changed',
  },
  [`${noun} player-data`]: {
    args: [noun, 'player-data', assetUid],
    sends: { method: 'GET', path: `/${noun}/${assetUid}/player/`, query: {} },
  },
  [`${noun} thumb`]: { args: [noun, 'thumb', assetUid, '-o', 'HOME/t.jpg', '--yes'] },
  [`${noun} download`]: { args: [noun, 'download', assetUid, '-o', 'HOME/a.pdf', '--yes'] },
  [`${noun} wait`]: { args: [noun, 'wait', assetUid] },
});

const ofLibrary: Record<string, CommandRow> = {
  ...twins('assets'),
  ...twins('videos'),
  'assets rm': {
    args: ['assets', 'rm', assetUid, '--yes'],
    sends: { method: 'DELETE', path: `/assets/${assetUid}/`, query: {}, body: null },
    changes: '1 asset was moved to the trash',
  },
  'videos rm': {
    args: ['videos', 'rm', '--search', 'quay', '--yes'],
    sends: { method: 'DELETE', path: `/videos/${assetUid}/`, query: {}, body: null },
    changes: '1 asset was moved to the trash',
  },
  'assets mv': { args: ['assets', 'mv', assetUid, '/Campaigns'], changes: '1 asset was changed' },
  'assets rename': { args: ['assets', 'rename', assetUid, 'New'], changes: '1 asset was changed' },
  'assets tag': {
    args: ['assets', 'tag', '--search', 'quay', '--add', 'sea', '--yes'],
    sends: { method: 'PATCH', path: `/assets/${assetUid}/`, query: {}, body: { tags: ['sea'] } },
    alsoSends: [
      {
        args: ['assets', 'tag', assetUid, '--set', 'a,b'],
        sends: { method: 'PATCH', path: `/assets/${assetUid}/`, query: {}, body: { tags: ['a', 'b'] } },
      },
      // The asset has no tags, so there is nothing to remove.
      {
        args: ['assets', 'tag', assetUid, '--set', ''],
        sends: { method: 'GET', path: `/assets/${assetUid}/`, query: {} },
      },
    ],
    changes: '1 asset was changed',
  },
  'assets export': { args: ['assets', 'export'], dryRun: { args: ['assets', 'export', '-o', 'HOME/library.csv'] } },
  'assets apply': {
    args: ['assets', 'apply', '-', '--yes'],
    stdin: `uid,name\n${assetUid},New\n`,
    reportsItems: true,
    changes: '1 asset was changed',
  },
  'assets stats': { args: ['assets', 'stats'] },
  history: { args: ['history'] },
  undo: { args: ['undo'], dryRun: { exit: 3 } }, // there is no change
  play: {
    args: ['play', assetUid],
    dryRun: { args: ['play', assetUid, '--web'] },
    sends: {
      method: 'POST',
      path: '/playback/info/',
      query: {},
      body: { asset_id: assetUid, playback_token: 'token-of-this-test' },
    },
  },
  browse: { args: ['browse'], outputIn: 'test/process/browse-page.test.ts' },
  'workspaces ls': {
    args: ['workspaces', 'ls'],
    sends: { method: 'GET', path: '/workspaces/', query: { limit: '100', offset: '0' } },
  },
  'workspaces use': { args: ['workspaces', 'use', 'Main'] },
  'folders tree': { args: ['folders', 'tree'], sends: { method: 'GET', path: folders, query: {} } },
  'folders ls': {
    args: ['folders', 'ls'],
    alsoSends: [
      {
        args: ['assets', 'ls', '--type', 'image', '/'],
        sends: {
          method: 'GET',
          path: '/assets/',
          query: { type: 'image', parent: 'root', limit: '20', offset: '0' },
        },
      },
      {
        args: ['assets', 'ls', '/Campaigns'],
        sends: { method: 'GET', path: '/assets/', query: { parent: folderUid, limit: '20', offset: '0' } },
      },
    ],
  },
  'folders create': {
    args: ['folders', 'create', '-p', '/Campaigns/2026'],
    sends: { method: 'POST', path: folders, body: { name: '2026', parent_uid: folderUid } },
    alsoSends: [
      { args: ['folders', 'create', '/New'], sends: { method: 'POST', path: folders, body: { name: 'New' } } },
    ],
    changes: '1 folder was created',
  },
  'folders rename': {
    args: ['folders', 'rename', folderUid, 'Films'],
    sends: { method: 'PATCH', path: `${folders}${folderUid}/`, body: { name: 'Films' } },
    changes: '1 folder was changed',
  },
  'folders mv': {
    args: ['folders', 'mv', folderUid, '/'],
    alsoSends: [
      {
        args: ['folders', 'mv', '/Campaigns', '/'],
        sends: { method: 'PATCH', path: `${folders}${folderUid}/`, body: { parent_uid: null } },
      },
    ],
  },
  'folders rm': {
    args: ['folders', 'rm', folderUid, '--yes'],
    sends: { method: 'DELETE', path: `${folders}${folderUid}/`, body: null },
    changes: '1 folder was deleted',
  },
  'embed show': { args: ['embed', 'show'], sends: { method: 'GET', path: `${embedding}settings/`, query: {} } },
  'embed restrict': {
    args: ['embed', 'restrict'],
    sends: { method: 'PATCH', path: `${embedding}settings/`, body: { enabled: true } },
    changes: '1 setting was changed',
  },
  'embed unrestrict': { args: ['embed', 'unrestrict'] },
  'embed domains ls': { args: ['embed', 'domains', 'ls'] },
  'embed domains add': {
    args: ['embed', 'domains', 'add', 'new.example'],
    sends: { method: 'POST', path: `${embedding}domains/`, body: { domain: 'new.example' } },
    changes: '1 domain was added',
  },
  'embed domains rm': {
    args: ['embed', 'domains', 'rm', 'old.example'],
    sends: { method: 'DELETE', path: `${embedding}domains/`, body: { domain: 'old.example' } },
    changes: '1 domain was removed',
  },
  'embed domains sync': {
    args: ['embed', 'domains', 'sync', '-', '--prune', '--yes'],
    stdin: 'new.example\n# ours\n',
    reportsItems: true,
    changes: '1 domain was added and 1 domain was removed',
  },
};

const queue = ['--queue', 'redis://127.0.0.1:1'];
const inQueueTest = { outputIn: 'test/command/queue.test.ts' };

/** Rows of the verbs that ask a queue, which does not run. */
const ofQueue = (verbs: readonly string[]): Record<string, CommandRow> =>
  Object.fromEntries(
    verbs.map((words) => {
      const row = { args: ['queue', ...words.split(' '), ...queue], dryRun: { exit: 10 }, ...inQueueTest };
      return [`queue ${words.split(' ')[0]}`, row];
    }),
  );

const ofUploads: Record<string, CommandRow> = {
  upload: { args: ['upload', 'HOME/four.txt', '--progress', 'none'], changes: '1 file was uploaded' },
  sync: { args: ['sync', 'HOME', '--include', 'four.txt', '--progress', 'none'], changes: '1 file was uploaded' },
  check: {
    args: ['check', fileURLToPath(new URL('../fixtures', import.meta.url))],
    outputIn: 'test/command/sync.test.ts',
  },
  'uploads ls': { args: ['uploads', 'ls'] },
  'uploads resume': { args: ['uploads', 'resume', '--all'] },
  'uploads forget': {
    args: ['uploads', 'forget', '--expired'],
    dryRun: { args: ['uploads', 'forget', 'abc'], exitIfEmpty: 3 },
  },
  'uploads cleanup': { args: ['uploads', 'cleanup', '--trash'], outputIn: 'test/command/receipts.test.ts' },
  'queue work': { args: ['queue', 'work', ...queue], ...inQueueTest },
  ...ofQueue(['ls', 'watch', 'forget --all', 'retry --all']),
};

const inSandboxTest = { outputIn: 'test/command/sandbox.test.ts' };

const ofThisMachine: Record<string, CommandRow> = {
  'auth login': {
    args: ['auth', 'login', '--profile', 'new', '--with-key', '--base-url', 'URL'],
    stdin: 'another-key-of-this-test',
  },
  'auth ls': { args: ['auth', 'ls'] },
  'auth status': { args: ['auth', 'status'], readsLibrary: true },
  'auth switch': { args: ['auth', 'switch', 'other'] },
  'auth logout': { args: ['auth', 'logout', 'other'] },
  'auth token': { args: ['auth', 'token', '--show-token'] },
  'config ls': { args: ['config', 'ls'] },
  'config path': { args: ['config', 'path'] },
  'config get': { args: ['config', 'get', 'workspace'] },
  'config set': { args: ['config', 'set', 'max_wait', '10m'] },
  'config unset': { args: ['config', 'unset', 'max_wait'] },
  doctor: { args: ['doctor'], readsLibrary: true },
  api: { args: ['api', '/workspaces/'], dryRun: { args: ['api', '/assets/x/', '-X', 'DELETE'] } },
  completion: { args: ['completion', 'bash'], outputIn: 'test/process/completion.test.ts' },
  commands: { args: ['commands'], outputIn: 'test/command/schemas.test.ts' },
  'sandbox start': { args: ['sandbox', 'start', '--port', '0'], ...inSandboxTest },
  'sandbox stop': { args: ['sandbox', 'stop'], ...inSandboxTest },
  'sandbox status': { args: ['sandbox', 'status'], ...inSandboxTest },
  'sandbox reset': { args: ['sandbox', 'reset'], ...inSandboxTest },
  'sandbox logs': { args: ['sandbox', 'logs'], ...inSandboxTest },
};

const read = (table: Record<string, CommandRow>): Record<string, CommandRow> =>
  Object.fromEntries(Object.entries(table).map(([name, row]) => [name, { ...row, readsLibrary: !row.outputIn }]));

/** Rows by the path of their command, such as `embed domains add`. */
export const commandTable: Readonly<Record<string, CommandRow>> = {
  ...read(ofLibrary),
  ...ofUploads,
  ...ofThisMachine,
};

/** All commands that do something, as the program declares them. */
export const declaredCommands = leaves(describeCommand(await buildCommandTree('0.0.0')));

/** Path of a command without the name of the program. */
export const nameOf = ({ path }: { path: string }): string => path.replace('mediactl ', '');
