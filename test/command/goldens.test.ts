import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildCommandTree } from '../../src/cli/program.ts';
import { leaves } from '../../src/cli/reference/command-node.ts';
import { describeCommand as describeTree } from '../../src/cli/reference/command-tree.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { assetUid, createLibrary, folderUid, testKey, workspaceUid } from '../support/fake-library.ts';
import { findSchemaErrors } from '../support/output-schema.ts';
import { startRecordingServer } from '../support/recording-server.ts';

/*
 * Golden files of every command's output on a terminal, through a pipe, with --json and in CI, in goldens/ for
 * review; `npx vitest run test/command/goldens.test.ts -u` updates them.
 */

const commands: Record<string, { args: string[]; options?: CliOptions }> = {
  'auth ls': { args: ['auth', 'ls'] },
  'auth status': { args: ['auth', 'status'] },
  'auth switch': { args: ['auth', 'switch', 'other'] },
  'auth logout': { args: ['auth', 'logout', 'other'] },
  'auth login': {
    args: ['auth', 'login', '--profile', 'new', '--with-key', '--base-url', 'URL'],
    options: { stdin: 'another-key-of-this-test' },
  },
  'auth token': { args: ['auth', 'token', '--show-token'] },
  'assets ls': { args: ['assets', 'ls'] },
  'assets get': { args: ['assets', 'get', assetUid] },
  'assets update': { args: ['assets', 'update', assetUid, '--name', 'New', '--add-tag', 'sea'] },
  'assets rm': { args: ['assets', 'rm', assetUid, '--yes'] },
  'assets player-data': { args: ['assets', 'player-data', assetUid] },
  'assets thumb': { args: ['assets', 'thumb', assetUid, '-o', 'HOME/t.jpg', '--yes'] },
  'assets download': { args: ['assets', 'download', assetUid, '-o', 'HOME/a.pdf', '--yes'] },
  'assets wait': { args: ['assets', 'wait', assetUid] },
  'assets mv': { args: ['assets', 'mv', assetUid, '/'] },
  'assets rename': { args: ['assets', 'rename', assetUid, 'New'] },
  'assets tag': { args: ['assets', 'tag', '--search', 'quay', '--add', 'sea', '--yes'] },
  'assets export': { args: ['assets', 'export'] },
  'assets apply': { args: ['assets', 'apply', '-', '--yes'], options: { stdin: `uid,name\n${assetUid},New\n` } },
  'assets stats': { args: ['assets', 'stats'] },
  history: { args: ['history'] },
  undo: { args: ['undo'] },
  'videos ls': { args: ['videos', 'ls'] },
  'videos get': { args: ['videos', 'get', assetUid] },
  'videos update': { args: ['videos', 'update', assetUid, '--name', 'New', '--add-tag', 'sea'] },
  'videos rm': { args: ['videos', 'rm', '--search', 'quay', '--yes'] },
  'videos player-data': { args: ['videos', 'player-data', assetUid] },
  'videos thumb': { args: ['videos', 'thumb', assetUid, '-o', 'HOME/t.jpg', '--yes'] },
  'videos download': { args: ['videos', 'download', assetUid, '-o', 'HOME/a.pdf', '--yes'] },
  'videos wait': { args: ['videos', 'wait', assetUid] },
  upload: { args: ['upload', 'HOME/four.txt', '--progress', 'none'] },
  'uploads ls': { args: ['uploads', 'ls'] },
  'uploads resume': { args: ['uploads', 'resume', '--all'] },
  'uploads forget': { args: ['uploads', 'forget', '--expired'] },
  'workspaces ls': { args: ['workspaces', 'ls'] },
  'workspaces use': { args: ['workspaces', 'use', 'Main'] },
  'folders tree': { args: ['folders', 'tree'] },
  'folders ls': { args: ['folders', 'ls'] },
  'folders create': { args: ['folders', 'create', '-p', '/Campaigns/2026'] },
  'folders rename': { args: ['folders', 'rename', folderUid, 'Films'] },
  'folders mv': { args: ['folders', 'mv', folderUid, '/'] },
  'folders rm': { args: ['folders', 'rm', folderUid, '--yes'] },
  'embed show': { args: ['embed', 'show'] },
  'embed restrict': { args: ['embed', 'restrict'] },
  'embed unrestrict': { args: ['embed', 'unrestrict'] },
  'embed domains ls': { args: ['embed', 'domains', 'ls'] },
  'embed domains add': { args: ['embed', 'domains', 'add', 'new.example'] },
  'embed domains rm': { args: ['embed', 'domains', 'rm', 'old.example'] },
  'embed domains sync': {
    args: ['embed', 'domains', 'sync', '-', '--prune', '--yes'],
    options: { stdin: 'new.example\n# ours\n' },
  },
  play: { args: ['play', assetUid] },
  api: { args: ['api', '/workspaces/'] },
  'config ls': { args: ['config', 'ls'] },
  'config path': { args: ['config', 'path'] },
  'config get': { args: ['config', 'get', 'workspace'] },
  'config set': { args: ['config', 'set', 'max_wait', '10m'] },
  'config unset': { args: ['config', 'unset', 'max_wait'] },
  doctor: { args: ['doctor'] },
};

/** Removes spinner frames, whose number depends on timing. */
const withoutSpinner = (text: string) =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: matches cursor movements
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
    .replace(/[\u2800-\u28ff] [^\n⠀-⣿]*/g, '')
    .replace(/^ {2}[\d.]+ \w*B$/gm, '') // progress of a download, which only a slow machine shows
    .trimEnd();

/** Commands without golden files, since their output varies, and the tests that cover them. */
const coveredElsewhere: Record<string, string> = {
  browse: 'test/process/browse-page.test.ts',
  'sandbox start': 'test/command/sandbox.test.ts',
  'sandbox stop': 'test/command/sandbox.test.ts',
  'sandbox status': 'test/command/sandbox.test.ts',
  'sandbox reset': 'test/command/sandbox.test.ts',
  'sandbox logs': 'test/command/sandbox.test.ts',
  'sandbox open': 'test/command/sandbox.test.ts',
  completion: 'test/process/completion.test.ts',
  commands: 'test/command/schemas.test.ts',
  check: 'test/command/sync.test.ts',
  'uploads cleanup': 'test/command/receipts.test.ts',
  'queue ls': 'test/command/queue.test.ts',
  'queue forget': 'test/command/queue.test.ts',
  'queue watch': 'test/command/queue.test.ts',
  'queue retry': 'test/command/queue.test.ts',
  'queue work': 'test/command/queue.test.ts',
};

const modes: Record<string, { args: string[]; options: CliOptions }> = {
  terminal: { args: [], options: { tty: true, columns: 160 } },
  pipe: { args: [], options: {} },
  json: { args: ['--json'], options: {} },
  CI: { args: [], options: { tty: true, columns: 160, environment: { CI: 'true' } } },
};

const clock = {
  now: () => Date.parse('2026-03-01T12:00:00Z'),
  steady: () => 0,
  random: () => 0.5,
  sleep: async () => {},
};

const allNames = leaves(describeTree(await buildCommandTree('0.0.0'))).map(({ path }) => path.replace('mediactl ', ''));

it('every command has a golden file, or another test that covers it', () => {
  expect([...Object.keys(commands), ...Object.keys(coveredElsewhere)].sort()).toEqual([...allNames].sort());
});

it.each(Object.entries(commands))('%s prints its golden output in each mode', async (name, { args, options }) => {
  const outputs: string[] = [];
  for (const [mode, { args: modeArgs, options: modeOptions }] of Object.entries(modes)) {
    const respond = createLibrary();
    const { url } = await startRecordingServer((request) => {
      const response = respond(request);
      const date = 'Sun, 01 Mar 2026 12:00:00 GMT';
      // Without its checksum: the golden of `upload` then shows the warning.
      const { 'x-checksum-blake3': _, ...headers }: Record<string, string> = { ...response?.headers, date };
      return response && { ...response, headers };
    });
    const cli = new Cli({ NO_COLOR: '1' });
    const profile = { baseUrl: url, key: testKey, keyStore: 'file', workspace: workspaceUid };
    mkdirSync(join(cli.home, 'config'), { mode: 0o700 });
    writeFileSync(
      join(cli.home, 'config/config.json'),
      JSON.stringify({ current: 'main', profiles: { main: profile, other: profile } }),
      { mode: 0o600 },
    );
    writeFileSync(join(cli.home, 'four.txt'), 'four');
    const fullArgs = [...args, ...modeArgs].map((word) => word.replace('HOME', cli.home).replace('URL', url));
    const { code, stdout, stderr } = await cli.run(fullArgs, {
      ...options,
      ...modeOptions,
      environment: { ...options?.environment, ...modeOptions.environment },
      clock,
    });
    // In every mode the result parses, and errors are not mixed into it.
    if (mode === 'json' && stdout !== '')
      expect((await findSchemaErrors(cli, name, JSON.parse(stdout))) ?? []).toEqual([]);
    expect(stdout).not.toContain('\u001b');
    if (stdout !== '') expect(stderr).not.toContain(stdout);
    // Paths and URLs of this run vary in length: the columns after them are not compared.
    const normalize = (text: string) =>
      (text.includes(cli.home) || text.includes(url) ? text.replace(/ {2,}/g, '  ') : text)
        .replaceAll(cli.home, '~')
        .replaceAll(url, 'https://media.example')
        .replace(/[\d.]+ [KMGT]?i?B free/, 'SIZE free');
    outputs.push(
      [
        `$ mediactl ${[...args, ...modeArgs].join(' ')}    (${mode}, exit ${code})`,
        normalize(stdout).trimEnd(),
        ...(withoutSpinner(stderr) === '' ? [] : [`-- stderr --`, normalize(withoutSpinner(stderr)).trimEnd()]),
        '',
      ].join('\n'),
    );
  }
  await expect(`${outputs.join('\n')}`).toMatchFileSnapshot(`goldens/${name.replaceAll(' ', '-')}.txt`);
});
