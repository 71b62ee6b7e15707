import { copyFileSync, mkdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { blake3 } from '@napi-rs/blake-hash';
import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import type { FakeAsset } from '../support/fake-library.ts';
import { FakeService, respondWithError } from '../support/fake-service.ts';
import { pseudoRandomBytes } from '../support/files.ts';
import { killAtRequest } from '../support/kill-at-request.ts';
import { mediactlCommand, type ProcessResult, type StartedProcess, startProcess } from '../support/spawn.ts';
import { databaseFile } from '../support/state-database.ts';

/*
 * An upload of a directory with a file of each kind is killed at one moment, and then run twice. The second run after a
 * kill shows what the first has recorded wrongly.
 */

type Command = 'upload' | 'sync';

/** Requests of a run, by what they do. */
const requestKinds = {
  list: /^GET \/assets\/\?/,
  'creation of a folder': /^POST \/workspaces\/.*\/folders\/$/,
  creation: /^POST \/upload\/$/,
  offset: /^HEAD \/upload\//,
  chunk: /^PATCH \/upload\//,
  'change of tags': /^PATCH \/assets\//,
};

type RequestMoment = [Command, when: 'before' | 'after', kind: keyof typeof requestKinds, nth: number];

/** Before a request takes effect, or after that and before its response. */
const requestMoments: RequestMoment[] = [
  ...(['upload', 'sync'] as const).flatMap((command): RequestMoment[] => [
    [command, 'before', 'list', 1],
    [command, 'after', 'offset', 1],
    [command, 'before', 'creation', 1],
    [command, 'after', 'creation', 2],
    [command, 'after', 'creation', 5],
    [command, 'after', 'chunk', 1],
    [command, 'before', 'chunk', 2],
    [command, 'after', 'chunk', 4],
    [command, 'after', 'chunk', 7],
    [command, 'before', 'change of tags', 1],
    [command, 'after', 'change of tags', 4],
  ]),
  ['sync', 'before', 'creation of a folder', 1],
  ['sync', 'after', 'creation of a folder', 1],
  ['sync', 'after', 'creation of a folder', 2],
  ['sync', 'after', 'creation', 6],
];

/** Writes to the log of the database, of which each commit takes several: of entries, then of receipts too. */
const writeMoments: [Command, nth: number][] = [
  ['upload', 45],
  ['upload', 75],
  ['sync', 60],
  ['sync', 100],
];

const chunkBytes = 64 * 1024;
const folderName = 'Set';

/** A user with a directory that was uploaded in part, and changed since. */
class KilledUploader {
  readonly #command: Command;
  readonly #service: FakeService;
  readonly #cli: Cli;
  readonly #directory: string;
  /** Output of all runs. */
  #output = '';
  #before: ReadonlyMap<string, FakeAsset> = new Map();

  constructor(command: Command, service: FakeService) {
    this.#command = command;
    this.#service = service;
    this.#cli = new Cli(service.environment);
    this.#directory = join(this.#cli.home, 'rushes');
  }

  get databaseFile(): string {
    return databaseFile(join(this.#cli.home, 'state'));
  }

  get #args(): string[] {
    return [
      ...[this.#command, this.#directory, `/${folderName}`, '--create-folders', '--jsonl', '--progress', 'none'],
      ...['--tag', 'dailies', '--chunk-size', String(chunkBytes), ...(this.#command === 'upload' ? ['--flatten'] : [])],
    ];
  }

  async prepare(): Promise<void> {
    for (const day of ['day 1', 'day 2']) mkdirSync(join(this.#directory, day), { recursive: true });
    const write = (name: string, size: number, seed = name) =>
      writeFileSync(join(this.#directory, name), pseudoRandomBytes(size, seed));
    for (const name of ['kept.bin', 'changed.bin', 'touched.bin', 'moved.bin']) write(name, 1000);
    expect(await this.#cli.run(this.#args)).toMatchObject({ code: 0 });

    write('half sent.bin', 4 * chunkBytes);
    let chunks = 0;
    this.#service.fault = ({ method }) => (method === 'PATCH' && ++chunks === 3 ? respondWithError(402) : undefined);
    expect(await this.#cli.run(this.#args)).toMatchObject({ code: 7 });
    this.#service.fault = () => undefined;

    const otherMachine = new Cli(this.#service.environment);
    for (const name of ['theirs.bin', 'not compared.bin']) {
      write(name, 2000);
      await otherMachine.json(['upload', join(this.#directory, name), `/${folderName}`]);
    }
    for (const asset of this.#service.assets.values())
      if (asset.name === 'theirs.bin') asset.fields.checksum_blake3 = asset.blake3;

    write('changed.bin', 1000, 'later');
    utimesSync(join(this.#directory, 'touched.bin'), 1, 1);
    renameSync(join(this.#directory, 'moved.bin'), join(this.#directory, 'day 1/renamed.bin'));
    copyFileSync(join(this.#directory, 'kept.bin'), join(this.#directory, 'duplicate.bin'));
    write('new 1.bin', 3 * chunkBytes);
    write('new 2.bin', 500);
    write('day 2/new 3.bin', 500);
    write('empty.bin', 0);
    this.#before = new Map([...this.#service.assets].map(([uid, asset]) => [uid, { ...asset }]));
  }

  /** Starts the command. @param prefix a command that starts it */
  start(prefix: readonly string[] = []): StartedProcess {
    const environment = {
      ...this.#service.environment,
      MEDIACTL_STATE_DIR: join(this.#cli.home, 'state'),
      MEDIACTL_CONFIG_DIR: join(this.#cli.home, 'config'),
    };
    const [program = '', ...args] = [...prefix, ...mediactlCommand, ...this.#args];
    return startProcess(program, args, environment);
  }

  /** Adds the output of a run. */
  note({ stdout, stderr }: Pick<ProcessResult, 'stdout' | 'stderr'>): void {
    this.#output += stdout + stderr;
  }

  /** Runs the command twice: the second run sends nothing. Expects that nothing was sent twice, and nothing is lost. */
  async expectNothingTwiceAndNothingLost(): Promise<void> {
    this.#service.fault = () => undefined;
    const first = await this.start().finished;
    expectOnlyMissingTags(first);
    this.note(first);
    this.#checkAssets();

    const sent: string[] = [];
    this.#service.fault = ({ method, path }) => {
      if (method !== 'GET') sent.push(`${method} ${path}`);
      return undefined;
    };
    const second = await this.start().finished;
    expectOnlyMissingTags(second);
    expect(sent, second.stderr).toEqual([]);
    this.#checkRecords(second.stdout);
    expect(await this.#cli.json(['uploads', 'ls'])).toEqual([]);
  }

  #checkAssets(): void {
    const { assets, folders } = this.#service;
    // Nothing is lost: what was there is there, and whole.
    for (const [uid, { blake3: digest, completedAt }] of this.#before)
      if (completedAt) expect(assets.get(uid)).toMatchObject({ blake3: digest, isTrashed: false });
    // Nothing is there twice: each file that was to be sent has one asset. Assets that a run lost have no bytes, and it names them.
    const created = [...assets.values()].filter(({ uid }) => !this.#before.get(uid)?.completedAt);
    const named = ({ uid, bytes }: FakeAsset) => bytes.length === 0 && this.#output.includes(uid);
    const found = created.filter((asset) => asset.name === 'empty.bin' || !named(asset));
    const folderOf = (uid?: string) => folders.find((folder) => folder.uid === uid)?.name;
    const described = found.map(({ name, folder, blake3: digest }) => [folderOf(folder), name, digest]);
    const expected = this.#filesToSend().map(([folder, path]) => [folder, basename(path), this.#digestOf(path)]);
    expect(described.sort()).toEqual(expected.sort());
    // The asset of an empty file is whole once it is created, so that a run that lost the creation finds it in the folder.
    for (const { name, fields } of found)
      if (name !== 'empty.bin') expect([name, fields.tags]).toEqual([name, ['dailies']]);
    expect(folders.map(({ name }) => name).sort()).toEqual(
      this.#command === 'sync' ? [folderName, 'day 1', 'day 2'] : [folderName],
    );
  }

  /** Returns the files without an asset of their own in the library, with their folders. */
  #filesToSend(): [folder: string, path: string][] {
    const inBoth = ['half sent.bin', 'changed.bin', 'duplicate.bin', 'new 1.bin', 'new 2.bin', 'empty.bin'];
    const inSet = this.#command === 'sync' ? inBoth : [...inBoth, 'day 2/new 3.bin'];
    const inDays = this.#command === 'sync' ? ['day 2/new 3.bin'] : []; // the asset of a renamed file follows it
    return [
      ...inSet.map((path): [string, string] => [folderName, path]),
      ...inDays.map((path): [string, string] => [dirname(path), path]),
    ];
  }

  #digestOf(path: string): string {
    return blake3(readFileSync(join(this.#directory, path))).toString('hex');
  }

  /** Expects that the records of a run name an asset with the content of each file. */
  #checkRecords(stdout: string): void {
    const records: { path: string; asset_uid: string }[] = stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    const digests = records.map(({ path, asset_uid }) => [path, this.#service.assets.get(asset_uid)?.blake3]);
    expect(digests).toEqual(records.map(({ path }) => [path, blake3(readFileSync(path)).toString('hex')]));
    expect(new Set(records.map(({ path }) => path)).size).toBe(12);
  }
}

/** Expects that each file is uploaded. The asset of a file that was not compared with it may lack the given tags. */
function expectOnlyMissingTags({ code, stderr }: ProcessResult): void {
  const { error } = code === 0 ? { error: undefined } : JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
  const codes = [error?.details ?? []].flat().map((each: { code: string }) => each.code);
  expect([code, new Set(codes)], stderr).toEqual(error ? [11, new Set(['skipped'])] : [0, new Set()]);
}

async function prepareUploader(command: Command) {
  const service = await FakeService.start({ shows: ['size', 'parent'] });
  const uploader = new KilledUploader(command, service);
  await uploader.prepare();
  return { service, uploader };
}

it.each(requestMoments)(
  '%s that is killed %s its %s no. %i sends nothing twice and loses nothing when it is run twice',
  async (command, when, kind, nth) => {
    const { service, uploader } = await prepareUploader(command);
    uploader.note(await killAtRequest(service, uploader.start(), { when, pattern: requestKinds[kind], nth }));
    await uploader.expectNothingTwiceAndNothingLost();
  },
);

it.each(writeMoments)(
  '%s that is killed at write no. %i to its log sends nothing twice and loses nothing when it is run twice',
  { tags: 'strace' },
  async (command, nth) => {
    const { uploader } = await prepareUploader(command);
    const kill = ['-P', `${uploader.databaseFile}-wal`, '-e', `inject=pwrite64:signal=KILL:when=${nth}`];
    const killed = await uploader.start(['strace', '-D', '-f', '-qq', '-o', '/dev/null', ...kill]).finished;
    expect([killed.code, killed.signal], killed.stderr).toEqual([null, 'SIGKILL']);
    uploader.note(killed);
    await uploader.expectNothingTwiceAndNothingLost();
  },
);
