import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { createLibrary, folderUid, numberedUid, testKey, workspaceUid } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';

/* The line that tells a user on a terminal what a command has changed, where, and how to undo it. */

let cli: Cli;
let url: string;
beforeEach(async () => {
  const assets = [1, 2, 3].map((n) => ({ uid: numberedUid(n), name: `take ${n}.mp4`, tags: ['rushes'], parent: null }));
  ({ url } = await startRecordingServer(createLibrary({ assets, shows: ['parent'] })));
  cli = new Cli({
    ...{ MEDIACTL_BASE_URL: url, MEDIACTL_API_KEY: testKey, MEDIACTL_WORKSPACE: workspaceUid, NO_COLOR: '1' },
  });
});

/** Runs a command on a terminal. @returns its only line, and what it writes to stdout */
async function lineOf(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli.run([...args, '--yes'], { tty: true, columns: 200 });
  expect([code, stdout]).toEqual([0, '']);
  return stderr.trimEnd();
}

const toUndo = '; to undo: mediactl undo [0-9a-f]{8}$';

it.each([
  ['mv of an asset', ['mv', numberedUid(1), '/Campaigns'], `^moved take 1.mp4 to /Campaigns${toUndo}`],
  ['mv to a uid', ['mv', numberedUid(1), folderUid], `^moved take 1.mp4 to /Campaigns${toUndo}`],
  ['mv of several', ['mv', numberedUid(1), numberedUid(2), '/Campaigns'], `^moved 2 assets to /Campaigns${toUndo}`],
  ['rename', ['rename', numberedUid(1), 'Quay.mp4'], `^renamed take 1.mp4 to Quay.mp4${toUndo}`],
  ['tag', ['tag', numberedUid(1), '--add', 'sea'], `^updated take 1.mp4 \\(add tag sea\\)${toUndo}`],
  ['update', ['update', numberedUid(1), '--name', 'Pier'], `^updated Pier \\(set name\\)${toUndo}`],
  ['rm of an asset', ['rm', numberedUid(1)], '^moved take 1.mp4 to the trash; the API cannot restore it$'],
  [
    'rm of several',
    ['rm', numberedUid(1), numberedUid(2)],
    '^moved 2 assets to the trash; the API cannot restore them$',
  ],
  ['rename of a folder', ['rename', '/Campaigns', 'Films'], `^renamed /Campaigns to /Films${toUndo}`],
  ['folders rename', ['folders', 'rename', '/Campaigns', 'Films'], `^renamed /Campaigns to /Films${toUndo}`],
  ['folders create', ['folders', 'create', '/Films'], '^created /Films; to undo: mediactl folders rm /Films$'],
  ['folders create -p', ['folders', 'create', '-p', '/A/B'], '^created /A/B and 1 folder above it$'],
  ['folders rm', ['folders', 'rm', '/Campaigns'], '^deleted /Campaigns; the API cannot restore it$'],
  [
    'embed restrict',
    ['embed', 'restrict'],
    '^embedding is restricted to the 1 domain on the allow-list; to undo: mediactl embed unrestrict$',
  ],
  [
    'embed domains add',
    ['embed', 'domains', 'rm', 'old.example'],
    '^removed old.example from the allow-list; to undo: mediactl embed domains add old.example$',
  ],
])('%s tells in one line on a terminal what it changed', async (_name, args, line) => {
  expect(await lineOf(...args)).toMatch(new RegExp(line));
});

it('tags that an asset has, or lacks, already are said, and nothing is written, counted or recorded', async () => {
  expect(await lineOf('tag', numberedUid(1), '--add', 'rushes')).toBe('take 1.mp4 already has the tag rushes');
  expect(await lineOf('tag', numberedUid(1), numberedUid(2), '--add', 'rushes', '--remove', 'draft')).toBe(
    '2 assets already have the tag rushes and lack the tag draft',
  );
  expect((await cli.run(['tag', numberedUid(1), '--add', 'rushes', '-n'])).stderr).toBe(
    'dry run: would send 0 requests\n',
  );
  expect(await cli.json(['history'])).toEqual([]);
});

it('the history of a script names the tag that an asset had already', async () => {
  expect((await cli.run(['tag', numberedUid(1), '--add', 'rushes'])).code).toBe(0);
  expect(await cli.json(['history'])).toEqual([expect.objectContaining({ summary: 'add tag rushes' })]);
});

it('the line of one asset names only the tags that have changed', async () => {
  expect(await lineOf('tag', numberedUid(1), '--add', 'sea', '--remove', 'draft')).toMatch(
    new RegExp(`^updated take 1.mp4 \\(add tag sea\\)${toUndo}`),
  );
});

it.each([
  ['rm', '--tag', 'none'],
  ['tag', '--tag', 'none', '--add', 'sea'],
  ['mv', '--tag', 'none', '/Campaigns'],
])('%s with filters that match nothing says so, and is no error', async (...args) => {
  const service = await startRecordingServer(createLibrary({ assets: [], shows: ['parent'] }));
  const { code, stdout, stderr } = await cli.run([...args, '--yes'], {
    environment: { MEDIACTL_BASE_URL: service.url },
  });
  expect([code, stdout, stderr]).toEqual([0, '', 'no assets match the filters\n']);
});

it('the history shows the top level as /, not as nothing', async () => {
  const id = (await lineOf('mv', numberedUid(1), '/Campaigns')).slice(-8);
  const { stdout } = await cli.run(['history', id], { tty: true, columns: 200 });
  expect(stdout).toContain('parent: / → /Campaigns');
});

it('the path of an asset that is elsewhere names the search, not a folder that is missing', async () => {
  const { code, stderr } = await cli.run(['share', '/take 9.mp4']);
  expect([code, stderr]).toEqual([
    3,
    [
      'error: no asset or folder at /take 9.mp4',
      '  cause: the top level has neither an asset nor a folder take 9.mp4',
      "  try:   mediactl search 'take 9.mp4', to find it in another folder\n",
    ].join('\n'),
  ]);
});

it('undo says what it has reverted, and how to take that back', async () => {
  const moved = await lineOf('mv', numberedUid(1), numberedUid(2), '/Campaigns');
  const id = moved.slice(-8);
  const { code, stdout, stderr } = await cli.run(['undo', id, '--yes'], { tty: true, columns: 200 });
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toMatch(new RegExp(`^reverted 2 items${toUndo}`, 'm'));
});

it('apply says how many assets it has changed, and how to undo it', async () => {
  const table = `uid,name\n${numberedUid(1)},One\n${numberedUid(2)},Two\n`;
  const { code, stdout, stderr } = await cli.run(['apply', '-', '--yes'], { tty: true, columns: 200, stdin: table });
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toMatch(new RegExp(`^changed 2 assets${toUndo}`, 'm'));
});

it('a change of which a part fails says how many were changed, then names the failures', async () => {
  const { code, stdout, stderr } = await cli.run(['rm', numberedUid(1), numberedUid(9), '--yes'], {
    ...{ tty: true, columns: 200 },
  });
  expect([code, stdout]).toEqual([11, '']);
  expect(stderr).toMatch(/^moved 1 of 2 assets to the trash; the API cannot restore it\nerror: 1 of 2 assets failed/);
});

it('the command to undo a change names the profile if it is not the current one', async () => {
  const profile = { baseUrl: url, key: testKey, keyStore: 'file', workspace: workspaceUid };
  mkdirSync(join(cli.home, 'config'), { mode: 0o700 });
  const config = JSON.stringify({ current: 'main', profiles: { main: profile, other: profile } });
  writeFileSync(join(cli.home, 'config/config.json'), config, { mode: 0o600 });
  const environment = { MEDIACTL_BASE_URL: undefined, MEDIACTL_API_KEY: undefined, MEDIACTL_WORKSPACE: undefined };
  const lineIn = async (...args: string[]) =>
    (await cli.run(['mv', numberedUid(1), '/Campaigns', ...args], { tty: true, columns: 200, environment })).stderr;
  expect(await lineIn('--profile', 'other')).toMatch(/; to undo: mediactl --profile other undo [0-9a-f]{8}\n$/);
  expect(await lineIn()).toMatch(/; to undo: mediactl undo [0-9a-f]{8}\n$/);
});

it('if the history cannot be written, the line has no command to undo the change', async () => {
  writeFileSync(join(cli.home, 'a file'), '');
  const { code, stderr } = await cli.run(['mv', numberedUid(1), '/Campaigns'], {
    ...{ tty: true, columns: 300, environment: { MEDIACTL_STATE_DIR: join(cli.home, 'a file/state') } },
  });
  expect([code, stderr]).toEqual([0, expect.stringMatching(/moved take 1.mp4 to \/Campaigns\n$/)]);
});

it('a pipe, --json and --fields have the records of a change, and a pipe no line', async () => {
  const piped = await cli.run(['mv', numberedUid(1), '/Campaigns']);
  expect([piped.stdout, piped.stderr]).toEqual([expect.stringMatching(/^uid\t/), '']);
  const json = await cli.run(['tag', numberedUid(1), '--add', 'sea', '--json']);
  expect([JSON.parse(json.stdout), json.stderr]).toMatchObject([[{ outcome: 'updated' }], '']);
  const fields = await cli.run(['rename', numberedUid(1), 'X', '--fields', 'name'], { tty: true });
  expect(fields.stdout).toMatch(/name +X/);
});

it('a control character in a name does not reach the terminal in the line', async () => {
  await cli.json(['rename', numberedUid(1), 'a\u001b[2Jb\nc']);
  expect(await lineOf('mv', numberedUid(1), '/Campaigns')).toMatch(/^moved a\\u001b\[2Jb\\nc to \/Campaigns; to undo/);
});

it('upload of one file tells its folder, asset, size and check in a line, and with --progress none in a table', async () => {
  writeFileSync(join(cli.home, 'four.txt'), 'four');
  writeFileSync(join(cli.home, 'five.txt'), 'fifth');
  const upload = (...args: string[]) => cli.run(['upload', ...args], { tty: true, columns: 200 });
  const told = await upload(join(cli.home, 'four.txt'), '/Campaigns');
  expect([told.code, told.stdout]).toEqual([0, '']);
  expect(told.stderr).toMatch(/^uploaded \S+four\.txt to \/Campaigns: asset [0-9a-f]{8}, 4 B, verified$/m);
  const again = await upload(join(cli.home, 'four.txt'), '/Campaigns', '--name', 'Four');
  expect(again.stderr).toMatch(/^\S+four\.txt: updated: .*metadata; to undo: mediactl undo [0-9a-f]{8}$/m);
  const table = await upload(join(cli.home, 'five.txt'), '--progress', 'none');
  expect(table.stdout).toMatch(/^\S+five\.txt .*verified$/m);
});
