import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { startRecordingServer } from '../support/recording-server.ts';

const uids = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
const items = [
  { uid: uids[0], name: 'plain', tags: ['a', 'b'], player: { theme: 'dark' } },
  { uid: uids[1], name: 'with, "quotes"\nand\tmore\\', tags: [], extra: true },
  { uid: uids[2], name: '映像 🎬 \u001b]0;title\u0007', tags: null, player: { theme: 'light' } },
];

async function listAssets(...args: string[]) {
  const { url } = await startRecordingServer(() => ({ body: { items, count: 3 } }));
  const cli = new Cli({ MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_BASE_URL: url });
  return cli.run(['assets', 'ls', ...args]);
}

it('--csv prints a header with the fields of all records and quotes values where needed', async () => {
  expect((await listAssets('--csv')).stdout).toBe(
    [
      'uid,name,tags,player,extra',
      `${uids[0]},plain,"[""a"",""b""]","{""theme"":""dark""}",`,
      `${uids[1]},"with, ""quotes""\nand\tmore\\",[],,true`,
      `${uids[2]},映像 🎬 \u001b]0;title\u0007,,"{""theme"":""light""}",`,
      '',
    ].join('\n'),
  );
});

it('--format tsv prints one line per record and escapes tabs and line breaks', async () => {
  expect((await listAssets('--format', 'tsv', '--fields', 'name,player.theme')).stdout).toBe(
    [
      'name\tplayer.theme',
      'plain\tdark',
      'with, "quotes"\\nand\\tmore\\\\\t',
      '映像 🎬 \u001b]0;title\u0007\tlight',
      '',
    ].join('\n'),
  );
});

it('--fields selects fields in every output format and warns about a field that no record has', async () => {
  const fields = ['--fields', 'name,player.theme,nonsense'];
  const { stdout, stderr, code } = await listAssets(...fields, '--jsonl', '--limit', '1');
  expect(code).toBe(0);
  expect(JSON.parse(stdout.split('\n')[0] as string)).toEqual({
    name: 'plain',
    'player.theme': 'dark',
    nonsense: null,
  });
  expect(stderr.split('\n')[0]).toBe('warning: no record has a field nonsense; --json shows all fields');
  expect((await listAssets('--fields', 'name,player.theme')).stdout.split('\n')[0]).toBe('plain\tdark');
  expect((await listAssets('--fields', 'name', '-q')).stdout).toBe(`${uids.join('\n')}\n`);
  expect((await listAssets('--fields', 'tags.0', '--json')).stdout).toContain('{"tags.0":"a"}');
});

it('--fields proposes the field that a misspelled one may mean', async () => {
  const { stderr } = await listAssets('--fields', 'nmae,created at,tasg', '--limit', '1');
  expect(stderr.split('\n')).toEqual([
    'warning: no record has a field nmae; did you mean name?',
    'warning: no record has a field created at; did you mean created_at?',
    'warning: no record has a field tasg; did you mean tags?',
    'all workspaces',
    '',
  ]);
});

it('--jq filters the whole list, or each record with --jsonl', async () => {
  expect((await listAssets('--jq', '.[].player.theme')).stdout).toBe('dark\nnull\nlight\n');
  expect((await listAssets('--jq', 'length')).stdout).toBe('3\n');
  expect((await listAssets('--jq', '.tags', '--jsonl')).stdout).toBe('["a","b"]\n[]\nnull\n');
  expect((await listAssets('--jq', 'empty')).stdout).toBe('');
});

it.each([
  [['--jq', '.['], 'syntax error'],
  [['--jq', '.[0].uid.x'], 'Cannot index string'],
  [['--jq', 'import "x" as x; 1'], 'module not found'],
  [['--jq', '.', '--csv'], '--jq and --csv cannot be used together'],
  [['--csv', '--jsonl'], '--jsonl and --csv cannot be used together'],
  [['--fields', 'a,,b'], "--fields does not accept 'a,,b'"],
])('assets ls with the options %j exits with 2 and explains the error', async (args, words) => {
  const { code, stdout, stderr } = await listAssets(...args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(words);
});

it('--jq cannot read environment variables', async () => {
  const { stdout } = await listAssets('--jq', '[env.HOME, env.PATH, $ENV.MEDIACTL_API_KEY] | join(",")');
  expect(stdout).not.toContain(String(process.env.PATH));
  expect(stdout).not.toContain('a-key-of-this-test');
});

it('assets ls --csv prints no header for an empty list unless --fields names the columns', async () => {
  const { url } = await startRecordingServer(() => ({ body: { items: [], count: 0 } }));
  const cli = new Cli({ MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_BASE_URL: url });
  expect((await cli.run(['assets', 'ls', '--csv'])).stdout).toBe('');
  expect((await cli.run(['assets', 'ls', '--csv', '--fields', 'uid,name'])).stdout).toBe('uid,name\n');
});

it('every output format keeps wide characters and escapes control characters on a terminal', async () => {
  const { url } = await startRecordingServer(() => ({ body: { items, count: 3 } }));
  const cli = new Cli({ MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_BASE_URL: url, NO_COLOR: '1' });
  for (const formatOptions of [[], ['--csv'], ['--format', 'tsv'], ['--json'], ['--jq', '.[].name']]) {
    const { stdout } = await cli.run(['assets', 'ls', ...formatOptions], { tty: true, columns: 100 });
    expect(stdout).not.toContain('\u001b');
    expect(stdout).not.toContain('\u0007');
    expect(stdout).toContain('映像 🎬 \\u001b]0;title\\u0007');
  }
});

it('--jq takes precedence over the default format in MEDIACTL_FORMAT', async () => {
  const { url } = await startRecordingServer(() => ({ body: { items, count: 3 } }));
  const cli = new Cli({ MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_BASE_URL: url, MEDIACTL_FORMAT: 'csv' });
  expect((await cli.run(['assets', 'ls', '--jq', 'length'])).stdout).toBe('3\n');
});

it('ls --quiet reports on stderr that it lists only one page, and rm --dry-run names the assets', async () => {
  const { url } = await startRecordingServer(({ path }) => {
    const [asset] = items.filter(({ uid = '' }) => path.endsWith(`${uid}/`));
    return { body: asset ?? { items, count: 308 } };
  });
  const cli = new Cli({ MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_BASE_URL: url });
  const { stdout, stderr } = await cli.run(['ls', '-q', '--limit', '3']);
  expect(stdout.trim().split('\n')).toEqual(uids);
  const defaultPage = await cli.run(['ls', '-q']);
  expect(defaultPage.stderr).toContain('of 308; --all for all');
  expect(stderr).toBe('all workspaces\n');
  const dryRun = await cli.run(['rm', uids[0] as string, '-n'], { tty: true });
  expect(dryRun.stdout).toMatch(/^plain +0{8}/m);
});
