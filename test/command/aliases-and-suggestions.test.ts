import { beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { assetUid, createLibrary, testKey, workspaceUid } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';

/* Commands that new users type before they have read the documentation. */

let cli: Cli;
beforeEach(async () => {
  const service = await startRecordingServer(createLibrary());
  cli = new Cli({
    MEDIACTL_API_KEY: testKey,
    MEDIACTL_BASE_URL: service.url,
    MEDIACTL_WORKSPACE: workspaceUid,
  });
});

it('the help of videos ls offers no folder, which it refuses', async () => {
  expect((await cli.run(['videos', 'ls', '--help'])).stdout).not.toMatch(/folder or glob/);
  expect((await cli.run(['assets', 'ls', '--help'])).stdout).toMatch(/folder or\s+glob/);
});

describe('aliases', () => {
  it.each([
    [['ls', '-q'], assetUid],
    [['get', assetUid, '-q'], assetUid],
    [['search', 'quay', '-q'], assetUid],
    [['rm', assetUid, '-n', '-q'], `/api/external/v1/assets/${assetUid}/`],
    [['--json', 'whoami'], '"profile": "environment"'],
    [['whoami', '--jq', '.authenticated'], 'true'],
    [['download', assetUid, '-n', '--json'], ''],
  ])('the alias %j runs the full command', async (args, output) => {
    const { code, stdout } = await cli.run(args as string[]);
    expect(code).toBe(0);
    expect(stdout.replaceAll('":"', '": "')).toContain(output);
  });

  it('the help of a shortcut has its own name, and the command if it stands for options of it', async () => {
    const usageOf = async (alias: string) => /Usage: (.*)/.exec((await cli.run([alias, '--help'])).stdout)?.[1];
    expect(await usageOf('login')).toBe('mediactl login [profile] [options]');
    expect(await usageOf('share')).toBe('mediactl share [id...] [options] (is mediactl play --url)');
  });

  it('the CLI does not expand an alias that is an argument or the value of an option', async () => {
    expect((await cli.run(['--profile', 'ls', 'get', assetUid])).stderr).toContain('profile ls does not exist');
    expect((await cli.run(['get', 'ls'])).stderr).toContain('finds no asset named ls');
  });

  it('ls sends its words as the search query, and exits with 2 if they are empty', async () => {
    const service = await startRecordingServer(createLibrary());
    await cli.run(['ls', 'harbour', 'dusk'], { environment: { MEDIACTL_BASE_URL: service.url } });
    expect(service.requests[0]?.query.search).toBe('harbour dusk');
    expect((await cli.run(['ls', ''])).code).toBe(2);
  });

  it('--format sets the output format, and -o always names a file', async () => {
    expect(JSON.parse((await cli.run(['ls', '--format', 'json'])).stdout)).toHaveLength(1);
    expect((await cli.run(['ls', '--format', 'uid'])).stdout).toBe(`${assetUid}\n`);
    expect((await cli.run(['ls', '--format', 'yaml'])).stderr).toContain("--format does not accept 'yaml'");
    const unknownOption = await cli.run(['ls', '--format', 'json', '--nonsense']);
    expect(JSON.parse(unknownOption.stderr).error.code).toBe('usage');
    expect((await cli.run(['ls', '-o', 'json'])).code).toBe(2);
    const download = await cli.run(['--format', 'json', 'download', assetUid, '-o', `${cli.home}/a.pdf`]);
    expect(JSON.parse(download.stdout)[0].path).toBe(`${cli.home}/a.pdf`);
    expect((await cli.run(['ls', '--format', 'json', '--csv'])).code).toBe(2);
  });

  it('help --json prints the command index', async () => {
    const index: { path: string }[] = JSON.parse((await cli.run(['help', '--json'])).stdout);
    expect(index).toEqual(await cli.json(['commands']));
    expect(index.map(({ path }) => path)).toContain('mediactl assets ls');
    expect(index.filter(({ path }) => !path.startsWith('mediactl '))).toEqual([]);
  });
});

/** Misspelled commands and options, and the hint that each gets. */
const misspelled: [typed: string, hint: string][] = [
  ['asets', 'did you mean assets?'],
  ['assets lst', 'did you mean ls?'],
  ['lst', 'did you mean ls?'],
  ['upolad', 'did you mean upload?'],
  ['rm --serch', 'did you mean --search?'],
  ['ls -R', 'did you mean -r?'],
  ['download --overwrit', 'leave it out: no file is replaced without a question'],
  ['embed domains add --nonsense', 'mediactl embed domains add --help'],
  ['upload --prunes', 'mediactl upload --help'],
  ['frobnicate', 'mediactl --help'],
];

const commandsOfOtherTools = [
  ...'copy copyto move moveto sync bisync lsd lsf lsl lsjson cat rcat size about dedupe'.split(' '),
  ...'cleanup link tree ncdu mount serve touch hashsum obscure'.split(' '),
  ...'alias extension view cp mb presign live-streams playback-ids sign webhooks clip'.split(' '),
  ...'trim transcode preview publish unpublish archive restore undelete share url'.split(' '),
  ...'stream ingest import export find grep mkdir mpv undo unrm rmm'.split(' '),
];

it('the hint for a command of another tool that deletes nothing never suggests anything that deletes', async () => {
  for (const command of commandsOfOtherTools) {
    const { code, stderr } = await cli.run([command, '--json']);
    const hint = code === 2 && stderr ? JSON.parse(stderr.split('\n')[0] ?? '').error.hint : '';
    expect([command, hint]).toEqual([
      command,
      expect.not.stringMatching(/\b(rm|delete|forget|reset|logout|prune)\b|--yes|--trash/),
    ]);
  }
});

it('upload help prints the help of upload, and rename names the number of arguments that it accepts', async () => {
  const stderrOf = async (...args: string[]) => (await cli.run(args)).stderr;
  expect((await cli.run(['upload', 'help'])).stdout).toContain('Usage: mediactl upload ');
  expect(await stderrOf('rename', 'a', 'b', 'c')).toContain('error: rename accepts 2 arguments, not 3');
});

it('ls suggests the correct syntax for a folder without a slash, a list of fields and a jq filter', async () => {
  const emptyService = await startRecordingServer(() => ({ body: { items: [], count: 0 } }));
  const stderrOf = async (...args: string[]) =>
    (await cli.run(args, { environment: { MEDIACTL_BASE_URL: emptyService.url } })).stderr;
  expect(await stderrOf('ls', 'projects/2024')).toContain('mediactl ls /projects/2024');
  for (const format of ['--json', '--jsonl', '--csv', '--format=tsv'])
    expect(await stderrOf('ls', format, 'name,uid')).toContain('--fields name,uid');
  expect((await cli.run(['ls', '--json', 'name,uid'])).code).toBe(2);
  const filter = await cli.run(['ls', '-q', '.[].name']);
  expect([filter.code, filter.stderr]).toEqual([2, expect.stringContaining("--jq '.[].name'")]);
});

/** Words of earlier builds and of other programs, and the command that each is answered with. */
const replaced: [typed: string, hint: string][] = [
  ['du', 'mediactl stats'],
  ['thumb', 'mediactl assets thumb ID -o FILE'],
  ['thumbnail', 'mediactl assets thumb ID -o FILE'],
  ['poster', 'mediactl assets thumb ID -o FILE'],
  ['schema upload', 'mediactl commands NAME --json'],
  ['history CHANGE --pause', 'mediactl history CHANGE --resume'],
  ['history CHANGE --cancel', 'Ctrl-C where it runs'],
  ['update ID --manifest shots.csv', 'mediactl apply FILE'],
  ['update ID --set-tags sea', 'mediactl tag ID --set sea,night'],
  ['videos update ID --no-tags', "mediactl tag ID --set ''"],
  ['update --tag draft --name x', 'mediactl ls -q --tag … | mediactl update -'],
  ['videos update --status=ready', 'mediactl ls -q --status … | mediactl update -'],
  ['wait --created-after 1d', 'mediactl ls -q --created-after … | mediactl wait -'],
  ['upload ./rushes --estimate', 'mediactl upload FILE -n'],
  ['upload ./rushes --duplicates skip', '--existing content'],
  ['sync ./rushes /F --duplicates=upload', '--existing content, anywhere or file'],
  ['upload ./rushes --ignore-existing', '--existing name'],
  ['uploads resume --all --force', '--existing upload'],
  ['upload - --stdin-size 5', 'stdin is saved to a file first'],
  ['sync . / --on-session-expired fail', 'an expired session starts again'],
  ['uploads resume --all --on-session-expired fail', 'an expired session starts again'],
  ['uploads export', 'mediactl uploads ls --finished --jsonl'],
  ['uploads import', 'mediactl check DIR /FOLDER --download'],
  ['ls --search quay', 'mediactl ls WORDS'],
  ['videos ls --search quay', 'mediactl ls WORDS'],
  ['browse --search=quay', 'mediactl browse WORDS'],
  ['export --folder /F', 'mediactl export /FOLDER'],
  ['ls --folder /F', 'mediactl ls /FOLDER'],
  ['export --sort name', 'sort the table in the spreadsheet program'],
  ['check ./rushes --folder /F', 'mediactl check DIR /FOLDER'],
  ['embed domains sync -f domains.txt', 'mediactl embed domains sync FILE'],
  ['config ls --show-origin', 'mediactl config ls, which always shows it'],
  ['ls --color never', 'NO_COLOR=1'],
  ['update ID --body -', '--set KEY=VALUE'],
  ['assets share ID', 'mediactl play ID --url'],
  ['rm ID --max-delete 5', '--max-changes'],
  ['sync ./rushes /F --prune --max-delete=5', '--max-changes'],
  ['uploads cleanup --trash --max-delete 5', '--max-changes'],
  ['worker --root /media', 'mediactl queue work'],
  ['uploads ls --queue', 'mediactl queue ls'],
  ['uploads watch', 'mediactl queue watch'],
  ['uploads forget --finished --queue', 'mediactl queue forget --finished'],
  ['uploads forget u3f2a9c1 --queue', 'mediactl queue forget ID'],
  ['upload a.mp4 --queue=postgres://host/db', 'redis://HOST or rediss://HOST'],
];

it.each(replaced)('mediactl %s is answered with what does it now', async (typed, hint) => {
  const { code, stderr, stdout } = await cli.run([...typed.split(' '), '--json']);
  expect([code, stdout, JSON.parse(stderr).error.hint]).toEqual([2, '', expect.stringContaining(hint)]);
});

it.each(misspelled)('mediactl %s suggests a similar name, or the help if there is none', async (typed, hint) => {
  const { code, stderr, stdout } = await cli.run([...typed.split(' '), '--json']);
  expect([code, stdout, JSON.parse(stderr).error.hint]).toEqual([2, '', hint]);
});

it.each([
  ['rm', '--by', 'date'],
  ['rm', '--ye', assetUid],
  ['update', '--ys', assetUid],
])('the error of mediactl %s %s does not suggest -y or --yes', async (...args) => {
  const { code, stderr } = await cli.run(args);
  expect(code).toBe(2);
  expect(stderr).not.toMatch(/-y\b|--yes/);
});
