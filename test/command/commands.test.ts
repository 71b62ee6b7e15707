import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isReading } from '../../src/cli/reference/reading-commands.ts';
import { StateDatabase } from '../../src/client/state/state-database.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { stoppedClock } from '../support/clock.ts';
import {
  type CommandRow,
  commandTable,
  declaredCommands,
  nameOf,
  type SpecifiedRequest,
} from '../support/command-table.ts';
import { createLibrary, testKey, workspaceUid } from '../support/fake-library.ts';
import { findSchemaErrors } from '../support/output-schema.ts';
import { type Responder, startRecordingServer } from '../support/recording-server.ts';
import { databaseContents, writeStoredUploadText } from '../support/state-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * What must be true of each command: one row a command (test/support/command-table.ts), and the checks over all rows. The
 * server here shares no code with the client or the sandbox.
 */

const rows = Object.entries(commandTable);
const rowsWith = <Field extends keyof CommandRow>(field: Field) =>
  rows.flatMap(([name, row]): [string, CommandRow & Required<Pick<CommandRow, Field>>][] =>
    row[field] === undefined ? [] : [[name, row as CommandRow & Required<Pick<CommandRow, Field>>]],
  );

/** A user with a key and two profiles, whose service records its requests. */
async function startUser(responder: Responder = createLibrary(), environment: Record<string, string> = {}) {
  const { url, requests } = await startRecordingServer(responder);
  const cli = new Cli(environment);
  const profile = { baseUrl: url, key: testKey, keyStore: 'file', workspace: workspaceUid };
  const config = JSON.stringify({ current: 'main', profiles: { main: profile, other: profile } });
  mkdirSync(join(cli.home, 'config'), { mode: 0o700 });
  writeFileSync(join(cli.home, 'config/config.json'), config, { mode: 0o600 });
  writeFileSync(join(cli.home, 'four.txt'), 'four');
  const run = (args: readonly string[], options?: CliOptions) =>
    cli.run(
      args.map((word) => word.replace('HOME', cli.home).replace('URL', url)),
      options,
    );
  const writes = () => requests.filter(({ method, path }) => method !== 'GET' && !path.endsWith('/playback/info/'));
  return { cli, url, requests, writes, run };
}

it('every command has a row in the table of the tests, and every row is a command', () => {
  expect(Object.keys(commandTable).sort()).toEqual(declaredCommands.map(nameOf).sort());
});

it('every command has a summary, a description and an example', () => {
  for (const { path, short, summary, description, examples } of declaredCommands) {
    expect([path, summary.length > 5, description.length > 20]).toEqual([path, true, true]);
    expect([path, examples.length > 0]).toEqual([path, true]);
    const spellings = [path.replace(/ ls$/, ' '), ...short.map((word) => `mediactl ${word} `)];
    for (const line of examples)
      expect([line, spellings.some((each) => `${line} `.includes(each))]).toEqual([line, true]);
  }
});

describe('dry run of each command', () => {
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

  /** Runs a dry run, and expects that it changes no file and sends no write request. @returns the exit code */
  async function exitCodeOf({ args, stdin = '', dryRun }: CommandRow, prepare: (stateDir: string) => Promise<void>) {
    const { cli, writes, run } = await startUser();
    mkdirSync(join(cli.home, 'state'));
    await prepare(join(cli.home, 'state'));
    const homeBefore = temporaryFolder();
    cpSync(cli.home, homeBefore, { recursive: true });
    const { code, stderr } = await run([...(dryRun?.args ?? args), '-n'], { stdin });
    expect(folderContents(cli.home)).toEqual(folderContents(homeBefore));
    expect(writes()).toEqual([]);
    if (code === 2) expect(stderr).toContain('changes nothing, so it has no --dry-run');
    return code;
  }

  /** Stores an upload that has not begun. */
  async function storeUpload(stateDir: string): Promise<void> {
    await (await StateDatabase.open(stateDir)).close(); // creates the database
    const upload = {
      id: 'abc',
      path: 'a.txt',
      realPath: '/a.txt',
      baseUrl: 'https://media.example',
      profile: 'none',
      state: 'planned',
      metadata: { filename: 'a.txt', workspace_uid: workspaceUid },
      file: { sizeBytes: 1, mtimeNs: '1' },
      begunAt: '2026-01-01',
    };
    writeStoredUploadText(stateDir, 'abc', JSON.stringify(upload));
  }

  const [reading, changing] = [true, false].map((reads) =>
    rows.filter(([name, { dryRun }]) => reads === (isReading(name, {}) && !dryRun?.args)),
  ) as [typeof rows, typeof rows];

  it.each(reading)('%s -n is refused, since the command changes nothing', async (_, row) => {
    expect(await exitCodeOf(row, async () => {})).toBe(2);
  });

  it.each(changing)('%s -n changes no local file and sends no write request', async (_, row) => {
    expect(await exitCodeOf(row, storeUpload)).toBe(row.dryRun?.exit ?? 0);
  });

  it.each(changing)(
    '%s -n with an empty state folder changes no local file and sends no write request',
    async (_, row) => {
      expect(await exitCodeOf(row, async () => {})).toBe(row.dryRun?.exitIfEmpty ?? row.dryRun?.exit ?? 0);
    },
  );
});

describe('requests of each command', () => {
  const v1 = '/api/external/v1';
  const cases = rows.flatMap(([, { args, stdin = '', sends, alsoSends = [] }]) =>
    [...(sends ? [{ args, sends }] : []), ...alsoSends].map((each) => ({ ...each, stdin })),
  );

  it.each(cases)(
    'mediactl $args sends the specified request',
    async ({ args, stdin, sends: { query, body, ...first } }) => {
      const { requests, run } = await startUser();
      expect(await run(args, { stdin, clock: stoppedClock() })).toMatchObject({ code: 0 });
      const expected: SpecifiedRequest = { ...first, path: v1 + first.path };
      const found = requests.find(({ method, path }) => method === expected.method && path === expected.path);
      expect(found).toMatchObject(expected);
      if (query) expect(found?.query).toEqual(query);
      if (body !== undefined) expect(found?.body).toEqual(body);
      if (body) expect(found?.headers['content-type']).toBe('application/json');
    },
  );
});

describe('commands that change the library', () => {
  it.each(rowsWith('changes'))('%s says first what was changed if stdout is on a full disk', async (_, row) => {
    const { run } = await startUser();
    const { code, stderr } = await run([...row.args, '--json'], { stdin: row.stdin ?? '', stdoutError: 'ENOSPC' });
    const { message, cause } = JSON.parse(stderr.slice(stderr.lastIndexOf('{"error":'))).error;
    expect([code, message]).toEqual([1, `${row.changes}, but the result cannot be written`]);
    expect(cause).toMatch(/^cannot write the result: .*ENOSPC/);
  });

  it.each(rowsWith('changes'))(
    '%s with a key that may only read is refused as forbidden, and sends one write request',
    async (_, row) => {
      const library = createLibrary();
      const { writes, run } = await startUser((request) =>
        request.method === 'GET' ? library(request) : { status: 403, body: { error: { message: 'read only' } } },
      );
      const { code, stderr } = await run([...row.args, '--json'], { stdin: row.stdin ?? '' });
      const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
      const [refused = error] = row.reportsItems ? error.details : [];
      expect([code, refused.code]).toEqual([row.reportsItems ? 11 : 5, 'forbidden']);
      expect(writes().length).toBe(1); // a second one would be refused, too
    },
  );
});

/*
 * Golden files of the output on a terminal, through a pipe, with --json and in CI, in goldens/ for review;
 * `npx vitest run test/command/commands.test.ts -u` updates them.
 */
describe('output of each command', () => {
  /** Removes spinner frames, whose number depends on timing. */
  const withoutSpinner = (text: string) =>
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: matches cursor movements
      .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
      .replace(/[\u2800-\u28ff] [^\n⠀-⣿]*/g, '')
      .replace(/^ {2}[\d.]+ \w*B$/gm, '') // progress of a download, which only a slow machine shows
      .trimEnd();

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

  /** Responds as the library does, at a fixed time, and without a checksum: the golden of `upload` shows the warning. */
  function createResponder(): Responder {
    const library = createLibrary();
    return (request) => {
      const response = library(request);
      const date = 'Sun, 01 Mar 2026 12:00:00 GMT';
      const { 'x-checksum-blake3': _, ...headers }: Record<string, string> = { ...response?.headers, date };
      return response && { ...response, headers };
    };
  }

  it.each(rows.filter(([, { outputIn }]) => outputIn === undefined))(
    '%s prints its golden output in each mode',
    async (name, { args, stdin }) => {
      const outputs: string[] = [];
      for (const [mode, { args: modeArgs, options }] of Object.entries(modes)) {
        const { cli, url, run } = await startUser(createResponder(), { NO_COLOR: '1' });
        const { code, stdout, stderr } = await run([...args, ...modeArgs], {
          ...options,
          ...(stdin !== undefined && { stdin }),
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
            .replace(/[\d.]+ [KMGT]?i?B free/, 'SIZE free')
            .replace(/mediactl undo [0-9a-f]{8}/, 'mediactl undo CHANGE');
        outputs.push(
          [
            `$ mediactl ${[...args, ...modeArgs].join(' ')}    (${mode}, exit ${code})`,
            normalize(stdout).trimEnd(),
            ...(withoutSpinner(stderr) === '' ? [] : ['-- stderr --', normalize(withoutSpinner(stderr)).trimEnd()]),
            '',
          ].join('\n'),
        );
      }
      await expect(outputs.join('\n')).toMatchFileSnapshot(`goldens/${name.replaceAll(' ', '-')}.txt`);
    },
  );
});
