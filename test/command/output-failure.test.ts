import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { Cli, type CliOptions } from '../support/cli.ts';
import { assetUid, folderUid, numberedUid } from '../support/fake-library.ts';
import { FakeService, respondWithError } from '../support/fake-service.ts';

/* A result that cannot be written, when the changes that it reports were made. */

const otherUid = numberedUid(98);
let service: FakeService;
let cli: Cli;
beforeEach(async () => {
  const assets = [assetUid, otherUid].map((uid) => ({ uid, name: `Quay ${uid}`, description: '', tags: [] }));
  service = await FakeService.start({ assets, shows: ['parent'] });
  service.folders.push({ uid: folderUid, name: 'Campaigns', parent: undefined });
  service.folders.push({ uid: numberedUid(99), name: 'Archive', parent: undefined });
  cli = new Cli(service.environment);
  mkdirSync(join(cli.home, 'shots'));
  for (const name of ['a.bin', 'b.bin']) writeFileSync(join(cli.home, 'shots', name), name);
  const rows = [assetUid, otherUid].map((uid) => `${uid},New ${uid}\n`);
  writeFileSync(join(cli.home, 'names.csv'), `uid,name\n${rows.join('')}`);
});

/** Runs a command that cannot write its result. @returns the exit code and the message of the error */
async function failingRun(args: readonly string[], options: CliOptions = { stdoutError: 'ENOSPC' }) {
  const absolute = args.map((word) => word.replace(/^(?=shots|names\.csv)/, `${cli.home}/`));
  const { code, stderr } = await cli.run([...absolute, '--json'], options);
  const { message, cause } = JSON.parse(stderr.slice(stderr.lastIndexOf('{"error":'))).error;
  return { code, message, cause };
}

it.each([
  [['tag', assetUid, otherUid, '--add', 'sea'], '2 assets were changed'],
  [['mv', assetUid, '/New', '--create-folders'], '1 folder was created and 1 asset was changed'],
  [['apply', 'names.csv', '--yes'], '2 assets were changed'],
  [['rm', assetUid, otherUid, '--yes'], '2 assets were moved to the trash'],
  [['rm', '-r', '/Archive', '--yes'], '1 folder was deleted'],
  [['folders', 'create', '-p', '/New/Below'], '2 folders were created'],
  [['folders', 'mv', '/Campaigns', '/Archive'], '1 folder was changed'],
  [['embed', 'domains', 'add', 'a.example', 'b.example'], '2 domains were added'],
  [['sync', 'shots', '/Campaigns'], '2 files were uploaded'],
] as const)('%j says first what was changed if stdout is on a full disk', async (args, changes) => {
  const { code, message, cause } = await failingRun(args);
  expect([code, message]).toEqual([1, `${changes}, but the result cannot be written`]);
  expect(cause).toMatch(/^cannot write the result: .*ENOSPC/);
});

it('undo and history --resume say first what was changed if stdout is on a full disk', async () => {
  service.fault = ({ method, path }) =>
    method === 'PATCH' && path.includes(otherUid) ? respondWithError(401) : undefined;
  expect((await cli.run(['tag', assetUid, otherUid, '--add', 'sea'])).code).toBe(11);
  service.fault = () => undefined;
  const [{ change_id: id }] = await cli.json(['history']);
  const changed = { code: 1, message: '1 asset was changed, but the result cannot be written' };
  expect(await failingRun(['history', id, '--resume', '--yes'])).toMatchObject(changed);
  expect(service.tags).toEqual([['sea'], ['sea']]);
  expect(await failingRun(['undo', '--yes'])).toMatchObject({
    ...changed,
    message: expect.stringMatching(/^2 assets/),
  });
});

it('apply says first what was changed if the report cannot be written', async () => {
  const { code, message, cause } = await failingRun(['apply', 'names.csv', '--yes', '--report', '/dev/full'], {});
  expect([code, message]).toEqual([1, '2 assets were changed, but the result cannot be written']);
  expect(cause).toMatch(/^cannot write \/dev\/full: ENOSPC/);
});

it('upload says first what was uploaded if the file of --results cannot be written', async () => {
  const { code, message, cause } = await failingRun(['upload', 'shots', '--flatten', '--results', '/dev/full'], {});
  expect([code, message]).toEqual([1, '2 files were uploaded, but the result cannot be written']);
  expect(cause).toMatch(/^\/dev\/full is incomplete: ENOSPC/);
});

it('a change says first what was changed if the filter of --jq fails', async () => {
  const { code, message } = await failingRun(['tag', assetUid, '--add', 'sea', '--jq', '.['], {});
  expect([code, message]).toEqual([2, '1 asset was changed, but the result cannot be written']);
});

it('a change of which some items failed says how many were changed', async () => {
  service.fault = ({ method, path }) =>
    method === 'PATCH' && path.includes(otherUid) ? respondWithError(422) : undefined;
  const { message } = await failingRun(['tag', assetUid, otherUid, '--add', 'sea']);
  expect(message).toBe('1 of 2 assets were changed, but the result cannot be written');
});

it.each([[['ls']], [['folders', 'create', '-p', '/Campaigns']]])(
  '%j says only that the result cannot be written, since it changed nothing',
  async (args) => {
    expect(await failingRun(args)).toMatchObject({ code: 1, message: 'cannot write the result' });
  },
);

it('a change whose reader has closed the pipe is no error', async () => {
  const { code, stderr } = await cli.run(['tag', assetUid, '--add', 'sea', '--json'], { stdoutError: 'EPIPE' });
  expect([code, stderr]).toEqual([0, '']);
});
