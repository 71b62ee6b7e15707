import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildCommandTree } from '../../src/cli/program.ts';
import { leaves } from '../../src/cli/reference/command-node.ts';
import { describeCommand } from '../../src/cli/reference/command-tree.ts';
import { outputSchemas } from '../../src/cli/reference/output-schemas.lazy.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { compileSchema, findSchemaErrors } from '../support/output-schema.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';

/* Validates the output of commands against the schemas that `mediactl commands COMMAND --json` shows. */

let sandbox: TestSandbox;
let cli: Cli;
const { createUploadOfSize } = rawHttp(() => sandbox);
beforeAll(async () => {
  sandbox = await startSandbox();
  cli = new Cli({
    MEDIACTL_API_KEY: sandbox.key,
    MEDIACTL_BASE_URL: sandbox.url,
    MEDIACTL_WORKSPACE: sandbox.workspace,
  });
});
afterAll(() => sandbox.end());

const commandTree = describeCommand(await buildCommandTree('0.0.0'));
const commandNames = leaves(commandTree).map(({ path }) => path.replace('mediactl ', ''));
const allSchemas = JSON.parse(readFileSync(new URL('../../docs/schemas.json', import.meta.url), 'utf8'));

/** Validates a value against a schema of docs/schemas.json. */
function expectMatches(name: string, value: unknown) {
  const validate = compileSchema(allSchemas[name]);
  validate(value);
  expect(validate.errors ?? []).toEqual([]);
}

const unknownUid = '00000000-0000-4000-8000-000000000000';
const createAsset = async (): Promise<string> =>
  (await (await createUploadOfSize(5, { asset_name: 'created' })).json()).asset_uid;
function directoryWithFile(): string {
  const directory = join(cli.home, 'synced');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'note.txt'), 'note');
  return directory;
}

const uploadedUid = async (name: string): Promise<string> =>
  (await cli.json(['upload', fixturePath(name), '--wait']))[0].asset_uid;

type Call = { args: string[]; options?: CliOptions };

/** A call for each row of the table, whose output is not an empty list. */
const calls: Record<string, () => Promise<Call> | Call> = {
  upload: () => {
    const broken = join(cli.home, 'broken.mp4');
    writeFileSync(broken, 'no media');
    return { args: ['upload', fixturePath('still.jpg'), broken, '--wait'] };
  },
  'upload --dry-run': () => ({ args: ['upload', fixturePath('clip.mp4'), '--existing', 'upload', '--dry-run'] }),
  check: () => {
    const directory = join(cli.home, 'checked');
    mkdirSync(directory);
    writeFileSync(join(directory, 'missing.txt'), 'only here');
    const environment = { MEDIACTL_PRIMARY_WORKSPACE: sandbox.workspace };
    return { args: ['check', directory, '/'], options: { environment } };
  },
  sync: () => ({ args: ['sync', directoryWithFile(), '/Synced'] }),
  'sync --dry-run': () => ({ args: ['sync', directoryWithFile(), '/Synced', '--dry-run'] }),
  'play --probe': async () => ({ args: ['play', await uploadedUid('clip.mp4'), '--probe'] }),
  'play ID ID --url': async () => ({
    args: ['play', await uploadedUid('clip.mp4'), await uploadedUid('tone.mp3'), '--url'],
  }),
  'play --url': async () => ({ args: ['play', await uploadedUid('clip.mp4'), '--url'] }),
  'assets ls --html': () => ({ args: ['assets', 'ls', '--html', join(cli.home, 'sheet.html')] }),
  'assets download': async () => ({
    args: ['download', await uploadedUid('tone.mp3'), unknownUid, '-d', join(cli.home, 'down')],
  }),
  'assets update': async () => ({ args: ['assets', 'update', await createAsset(), unknownUid, '--name', 'New'] }),
  'assets tag': async () => ({ args: ['assets', 'tag', await createAsset(), '--set', 'sea'] }),
  'assets mv': async () => ({ args: ['assets', 'mv', await createAsset(), '/'] }),
  'assets mv /FOLDER /INTO': async () => {
    await cli.run(['folders', 'create', '-p', '/From/Below']);
    return { args: ['assets', 'mv', '/From/Below', '/'] };
  },
  'assets rm': async () => ({ args: ['assets', 'rm', await createAsset(), unknownUid, '--yes'] }),
  'assets apply': async () => ({
    args: ['assets', 'apply', '-', '--yes'],
    options: { stdin: `uid,name\n${await createAsset()},Applied\n` },
  }),
  'assets stats': async () => {
    await createAsset();
    return { args: ['assets', 'stats'] };
  },
  undo: async () => {
    await cli.run(['tag', await createAsset(), '--add', 'undone']);
    return { args: ['undo', '--yes'] };
  },
  history: async () => {
    await cli.run(['tag', await createAsset(), '--add', 'recorded']);
    return { args: ['history'] };
  },
  'history CHANGE': async () => {
    await cli.run(['tag', await createAsset(), '--add', 'listed']);
    return { args: ['history', await lastChange()] };
  },
  'history CHANGE --resume': async () => {
    await cli.run(['rm', await createAsset(), unknownUid, '--yes']);
    return { args: ['history', await lastChange(), '--resume', '--yes'] };
  },
  'uploads ls --finished': async () => {
    await uploadedUid('tone.mp3');
    return { args: ['uploads', 'ls', '--finished'] };
  },
  'embed domains add': () => ({ args: ['embed', 'domains', 'add', 'a.example', 'b.example'] }),
  'embed domains rm': async () => {
    await cli.run(['embed', 'domains', 'add', 'c.example']);
    return { args: ['embed', 'domains', 'rm', 'c.example'] };
  },
  'embed domains sync': () => ({ args: ['embed', 'domains', 'sync', '-'], options: { stdin: 'd.example\n' } }),
  commands: () => ({ args: ['commands'] }),
  'commands COMMAND': () => ({ args: ['commands', 'assets'] }),
};

/** Rows whose output another test validates. */
const coveredElsewhere: Record<string, string> = {
  'assets ls --follow': 'test/command/follow.test.ts',
  'uploads resume': 'test/command/upload-no-duplicates.test.ts',
  'queue ls': 'test/command/queue.test.ts',
  'queue forget': 'test/command/queue.test.ts',
  'queue watch': 'test/command/queue.test.ts',
  'queue retry': 'test/command/queue.test.ts',
  'queue work': 'test/command/queue.test.ts',
};

const lastChange = async (): Promise<string> => (await cli.json(['history']))[0].change_id;

describe('output_schema of mediactl commands COMMAND --json', () => {
  it('every row of the table of schemas begins with a command, and has its output validated', () => {
    for (const row of Object.keys(outputSchemas))
      expect([row, commandNames.some((name) => `${row} `.startsWith(`${name} `))]).toEqual([row, true]);
    expect([...Object.keys(calls), ...Object.keys(coveredElsewhere)].sort()).toEqual(Object.keys(outputSchemas).sort());
  });

  it('every schema is that of a command, but for errors, dry runs and planned stops, which several may print', () => {
    const names = new Set([
      ...Object.values(outputSchemas).filter((name) => name !== null),
      'error',
      'stopped',
      'dry-run',
    ]);
    expect([...names].sort()).toEqual(Object.keys(allSchemas).sort());
  });

  it.each(Object.entries(calls))('matches the output of mediactl %s', async (row, prepareCall) => {
    const { args, options } = await prepareCall();
    const { stdout, stderr } = await cli.run([...args, '--json'], options);
    expect(stdout, stderr).not.toBe('');
    const value = JSON.parse(stdout);
    expect(Array.isArray(value) ? value.length : 1).toBeGreaterThan(0);
    expect(await findSchemaErrors(cli, row, value)).toEqual([]);
  });

  it.each(['assets get', 'config ls', 'folders tree', 'assets'])('is null for mediactl %s', async (name) => {
    expect(await cli.json(['commands', ...name.split(' ')])).toMatchObject({ output_schema: null });
  });

  it('names the command of videos for a twin of a command of assets', async () => {
    const { output_schema } = await cli.json(['commands', 'videos', 'ls']);
    expect(output_schema.anyOf.map(({ title }: { title: string }) => title)).toEqual([
      ...['mediactl videos ls', 'mediactl videos ls --follow', 'mediactl videos ls --html'],
    ]);
    expect((await cli.json(['commands', 'videos', 'rm'])).output_schema).toEqual(allSchemas.changes);
  });

  it('that of upload rejects an incomplete record and accepts an empty list', async () => {
    expect(await findSchemaErrors(cli, 'upload', [{ path: 'x' }])).not.toEqual([]);
    expect(await findSchemaErrors(cli, 'upload', [])).toEqual([]);
  });
});

it('the records of upload --wait have an error for each file that failed, and only for those', async () => {
  const broken = join(cli.home, 'damaged.mp4');
  writeFileSync(broken, 'damaged media');
  const { stdout } = await cli.run([
    'upload',
    fixturePath('still.jpg'),
    broken,
    '--wait',
    '--existing',
    'upload',
    '--json',
  ]);
  const records: { error: unknown }[] = JSON.parse(stdout);
  expect(records.map(({ error }) => error !== null).sort()).toEqual([false, true]);
});

it('the dry run of an upload from stdin matches the schema of upload --dry-run', async () => {
  const { stdout } = await cli.run(['upload', '-', '--name', 'piped', '--folder', '/', '--dry-run', '--json']);
  expect(await findSchemaErrors(cli, 'upload --dry-run', JSON.parse(stdout))).toEqual([]);
});

it('the output of folders create --dry-run matches the schema “dry-run”', async () => {
  expectMatches('dry-run', await cli.json(['folders', 'create', '-p', '/a/b', '--dry-run']));
});

it.each([
  [['assets', 'get', unknownUid]],
  [['assets', 'ls', '--nonsense']],
  [['assets', 'rm', unknownUid, unknownUid, '--yes']],
])('the error that mediactl %j prints with --json matches the schema “error”', async (args) => {
  const { stderr } = await cli.run([...args, '--json']);
  expectMatches('error', JSON.parse(stderr.trimEnd().split('\n').at(-1) as string));
});

it('mediactl commands lists each command, also those of three words, and hides those for completion', async () => {
  for (const args of [['commands'], ['commands', 'assets']])
    expect(JSON.stringify(await cli.json(args))).not.toContain('__complete');
  const { stdout } = await cli.run(['commands']);
  expect(stdout).toContain('mediactl embed domains sync  ');
});
