import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createClient } from '../../src/sdk/index.ts';
import { Cli } from '../support/cli.ts';
import { FakeService } from '../support/fake-service.ts';
import { respondWith } from '../support/fault-proxy.ts';
import { writeRandomFile } from '../support/files.ts';
import { setUpUploader } from '../support/upload-setup.ts';

/* Metadata given for a file that was uploaded before reaches its asset, or the command says that it does not. */

const setup = setUpUploader();

/** Returns a name that no other test gives, since all share one service. */
const nameOf = (word: string) => `${word} ${basename(setup.path)}`;
const getAsset = async (uid: string) => JSON.parse((await setup.run(['get', uid, '--json'])).stdout)[0];
const slugsOf = ({ tags }: { tags: ({ slug: string } | string)[] }) =>
  tags.map((tag) => (typeof tag === 'string' ? tag : tag.slug)).sort();
const edit = (uid: string, ...args: string[]) => setup.run(['update', uid, '--yes', ...args]);

/** Runs a command. @returns its result, and its requests as `PATCH assets` or `GET assets` */
async function countRequests<T>(run: () => Promise<T>): Promise<[T, string[]]> {
  const { requests } = setup.faultProxy;
  const before = requests.length;
  const result = await run();
  const kinds = requests.slice(before).map(({ method, path }) => `${method} ${/v1\/(\w+)/.exec(path)?.[1]}`);
  return [result, kinds.filter((kind) => !kind.endsWith('workspaces'))];
}

describe('the metadata of a file that is uploaded already', () => {
  it('upload writes a given name, description and tags with one PATCH, then costs no request', async () => {
    const { record: first } = await setup.upload(['--tag', 'sea']);
    const args = ['--name', nameOf('harbor'), '--description', 'At dawn', '--tag', 'sea', '--tag', 'night'];
    const [preview, previewed] = await countRequests(() => setup.upload([...args, '-n']));
    expect(preview.record).toMatchObject({
      ...{ outcome: 'updated', asset_uid: first.asset_uid, remaining_bytes: 0, error: null },
      changes: { name: nameOf('harbor'), description: 'At dawn', added_tags: ['night'] },
      request: { method: 'PATCH' },
    });
    expect(preview.stderr).toContain('1 to update; 0 B, 3 requests');
    expect(previewed).not.toContain('PATCH assets');
    const [{ code, record }, requests] = await countRequests(() => setup.upload(args));
    expect([code, record.outcome, record.asset_uid]).toEqual([0, 'updated', first.asset_uid]);
    expect(requests.filter((kind) => kind !== 'GET assets')).toEqual(['PATCH assets']);
    const asset = await getAsset(first.asset_uid);
    expect([asset.name, asset.description, slugsOf(asset)]).toEqual([nameOf('harbor'), 'At dawn', ['night', 'sea']]);
    const [again, none] = await countRequests(() => setup.upload(args));
    expect([again.code, again.record.outcome, none]).toEqual([0, 'skipped', []]);
  });

  it('the same command again does not revert what somebody edited in the library meanwhile', async () => {
    const args = ['--name', nameOf('harbor'), '--description', 'At dawn', '--tag', 'sea'];
    const { record } = await setup.upload(args);
    await edit(record.asset_uid, '--description', 'At noon');
    await setup.run(['tag', record.asset_uid, '--remove', 'sea', '--yes']);
    expect((await setup.upload(args)).record.outcome).toBe('skipped');
    const renamed = ['--name', nameOf('quay'), ...args.slice(2)];
    expect((await setup.upload(renamed)).record.outcome).toBe('updated');
    const asset = await getAsset(record.asset_uid);
    expect([asset.name, asset.description, slugsOf(asset)]).toEqual([nameOf('quay'), 'At noon', []]);
  });

  it('a tag that the asset has already costs one read, and no PATCH', async () => {
    const { record } = await setup.upload();
    await setup.run(['tag', record.asset_uid, '--add', 'sea', '--yes']);
    const [again, requests] = await countRequests(() => setup.upload(['--tag', 'sea']));
    expect([again.code, again.record.outcome, requests]).toEqual([0, 'skipped', ['GET assets']]);
    expect((await countRequests(() => setup.upload(['--tag', 'sea'])))[1]).toEqual([]);
  });

  it('undo takes back what upload wrote, and the same upload does not write it again', async () => {
    const { record } = await setup.upload(['--description', 'At dawn']);
    await setup.upload(['--description', 'At noon', '--tag', 'sea']);
    const undone = await setup.run(['undo', '--yes']);
    expect(undone.code).toBe(0);
    const asset = await getAsset(record.asset_uid);
    expect([asset.description, slugsOf(asset)]).toEqual(['At dawn', []]);
    expect((await setup.upload(['--description', 'At noon', '--tag', 'sea'])).record.outcome).toBe('skipped');
  });

  it('an asset that no longer exists is not updated: its file is uploaded again', async () => {
    const { record } = await setup.upload();
    await setup.run(['rm', record.asset_uid, '--yes'], {
      environment: { MEDIACTL_STATE_DIR: join(setup.cli.home, 'b') },
    });
    const again = await setup.upload(['--tag', 'sea']);
    expect(again.record.outcome).toBe('uploaded');
    expect(slugsOf(await getAsset(again.record.asset_uid))).toEqual(['sea']);
  });

  it('a manifest whose cells were edited sends a PATCH for each edited row, in one change that undo reverts', async () => {
    const directory = join(setup.cli.home, 'listed');
    mkdirSync(directory);
    const paths = Array.from({ length: 300 }, (_, at) => join(directory, `${at}.bin`));
    for (const path of paths) writeRandomFile(path, { size: 50, seed: path });
    const manifest = join(setup.cli.home, 'list.csv');
    const write = (edited: number) => {
      const rows = paths.map((path, at) => `${path},${at < edited ? 'edited' : 'first'}`);
      writeFileSync(manifest, ['path,description', ...rows].join('\n'));
    };
    const upload = () => setup.run(['upload', '--manifest', manifest, '--json']);
    write(0);
    await upload();
    write(40);
    const [run, requests] = await countRequests(upload);
    const outcomes = JSON.parse(run.stdout).map(({ outcome }: { outcome: string }) => outcome);
    expect(outcomes.filter((outcome: string) => outcome === 'updated')).toHaveLength(40);
    expect(requests.filter((kind) => kind === 'PATCH assets')).toHaveLength(40);
    expect(requests.filter((kind) => kind.endsWith('upload'))).toEqual([]);
    expect((await countRequests(upload))[1]).toEqual([]);
    const undone = await setup.run(['undo', '--yes', '--json']);
    expect(JSON.parse(undone.stdout)).toHaveLength(40);
  });

  it('the package writes given metadata of a file that is uploaded already', async () => {
    const { record } = await setup.upload();
    const client = createClient({
      baseUrl: setup.faultProxy.url,
      apiKey: setup.sandbox.key,
      workspace: setup.sandbox.workspace,
      stateDir: setup.stateDir,
    });
    const result = await client
      .upload(setup.path, { description: 'At dawn', tags: ['sea'] })
      .finally(() => client.close());
    expect([result.uid, result.outcome]).toEqual([record.asset_uid, 'updated']);
    expect((await getAsset(record.asset_uid)).description).toBe('At dawn');
  });
});

describe('given metadata that are not written', () => {
  it('upload says that the asset of a duplicate does not get the metadata of the copy, and exits with 11', async () => {
    const { record: first } = await setup.upload(['--tag', 'sea']);
    const copy = join(dirname(setup.path), `copy-${basename(setup.path)}`);
    copyFileSync(setup.path, copy);
    const { code, stderr, stdout } = await setup.run(['upload', copy, '--tag', 'night', '--json']);
    expect(code).toBe(11);
    expect(JSON.parse(stdout)[0]).toMatchObject({ outcome: 'duplicate', error: { code: 'skipped' } });
    expect(stderr).toContain(`asset ${first.asset_uid} did not get the given tags`);
    expect((await setup.run(['upload', copy, '--tag', 'sea'])).code).toBe(0);
  });

  it('upload says that the content type of an asset stays as it was created, and exits with 11', async () => {
    await setup.upload();
    const { code, stderr } = await setup.upload(['--content-type', 'video/mp4']);
    expect(code).toBe(11);
    expect(stderr).toContain('did not get the given content type');
  });

  it('upload says that tags are not added to an asset whose tags the service does not show, and exits with 11', async () => {
    const service = await FakeService.start();
    const cli = new Cli(service.environment);
    const path = join(cli.home, 'a.bin');
    writeFileSync(path, 'a');
    await cli.run(['upload', path]);
    const { code, stderr } = await cli.run(['upload', path, '--tag', 'sea']);
    expect([code, service.tags]).toEqual([11, []]);
    expect(stderr).toContain('did not get the given tags');
  });
});

describe('an interrupted upload that is run again with other metadata', () => {
  it('goes on with its asset, which gets the metadata in the end', async () => {
    await setup.interruptAfterTwoChunks();
    const { assetUid } = setup.storedEntry().session;
    const { code, record } = await setup.upload(['--description', 'At dawn', '--name', nameOf('harbor')]);
    expect([code, record.asset_uid]).toEqual([0, assetUid]);
    expect(record.resumed_from_bytes).toBeGreaterThan(0);
    const asset = await getAsset(assetUid);
    expect(asset.name).toBe(nameOf('harbor'));
    expect(asset.description).toBe('At dawn');
    expect(setup.unfinishedIds()).toEqual([]);
  });

  it('is finished by the next run if the request for its metadata is refused', async () => {
    await setup.interruptAfterTwoChunks();
    const { assetUid } = setup.storedEntry().session;
    setup.fault = ({ method, path }) =>
      method === 'PATCH' && path.includes('/assets/') ? respondWith(500, {}) : undefined;
    const args = ['--name', nameOf('harbor')];
    expect((await setup.upload(args)).code).not.toBe(0);
    setup.fault = () => undefined;
    const { code, record } = await setup.upload(args);
    expect([code, record.asset_uid, record.bytes_sent]).toEqual([0, assetUid, 0]);
    expect((await getAsset(assetUid)).name).toBe(nameOf('harbor'));
  });
});
