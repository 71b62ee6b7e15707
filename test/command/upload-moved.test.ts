import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { someBytes } from '../support/files.ts';
import { respondWith } from '../support/interposer.ts';
import { createLatch } from '../support/latch.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

const world = setUpUploader();
const posts = () => world.interposer.methods.filter((method) => method === 'POST');

/** Returns the path of the file in another directory, as in another checkout. */
function elsewhere(directory: string): string {
  mkdirSync(join(world.cli.home, directory), { recursive: true });
  return join(world.cli.home, directory, basename(world.path));
}

async function uploadAt(path: string, args: string[] = []) {
  world.path = path;
  return world.upload(args);
}

describe('a file that was moved while its upload was unfinished', () => {
  it('is continued at its other path, once, and known there afterwards', async () => {
    await world.interruptAfterTwoChunks();
    const { session } = world.storedEntry();
    const old = world.path;
    const moved = elsewhere('checkout-2');
    copyFileSync(old, moved);
    rmSync(old);
    const { record, stderr } = await uploadAt(moved);
    expect(record).toMatchObject({
      asset_uid: session.assetUid,
      resumed_from_bytes: 2 * chunkBytes,
      path: moved,
    });
    expect(stderr).toContain(`resuming asset ${session.assetUid}, started as ${old}`);
    await world.expectUploaded(record);
    expect(posts()).toEqual([]);
    const again = await world.upload();
    expect(again.record).toMatchObject({ outcome: 'skipped', request_count: 0, path: moved });
  });

  it('stopped again at its other path: is continued there', async () => {
    await world.interruptAfterTwoChunks();
    const moved = elsewhere('checkout-2');
    renameSync(world.path, moved);
    world.fault = ({ method, nth }) => (method === 'PATCH' && nth === 2 ? respondWith(402, {}) : undefined);
    expect((await uploadAt(moved)).code).toBe(7);
    expect(world.storedEntry()).toMatchObject({ offset: 3 * chunkBytes, realPath: moved });
    world.fault = () => undefined;
    const { record } = await world.upload();
    expect(record.resumed_from_bytes).toBe(3 * chunkBytes);
    await world.expectUploaded(record);
    expect(posts()).toEqual([]);
  });

  const others: [string, (moved: string) => void][] = [
    ['is still there as well', (moved) => copyFileSync(world.path, moved)],
    [
      'begins with other bytes',
      (moved) => {
        rmSync(world.path);
        world.bytes = someBytes(world.bytes.length, 'other');
        writeFileSync(moved, world.bytes);
      },
    ],
  ];
  it.each(others)('%s: a new session, and the old asset is named', async (_what, move) => {
    await world.interruptAfterTwoChunks();
    const { session } = world.storedEntry();
    const old = world.path;
    const moved = elsewhere('checkout-2');
    move(moved);
    const { code, record, stderr } = await uploadAt(moved);
    expect([code, record.verified, record.resumed_from_bytes]).toEqual([0, true, null]);
    expect(world.storedBytes(record.asset_uid).equals(world.bytes)).toBe(true);
    expect(stderr).toContain(`not resumed: asset ${session.assetUid} of ${old}; see mediactl uploads ls`);
    expect(world.storedEntry()).toMatchObject({ session, realPath: old });
  });

  it('with no acknowledged chunk: a new session, and the old asset is named', async () => {
    world.fault = ({ method }) => (method === 'PATCH' ? respondWith(402, {}) : undefined);
    await world.upload();
    world.fault = () => undefined;
    const { session } = world.storedEntry();
    const moved = elsewhere('checkout-2');
    renameSync(world.path, moved);
    const { record, stderr } = await uploadAt(moved);
    expect(record).toMatchObject({ verified: true, resumed_from_bytes: null });
    expect(stderr).toContain(`not resumed: asset ${session.assetUid}`);
  });

  it('two uploads that it could be: a new session, and both assets are named', async () => {
    const copy = elsewhere('checkout-2');
    copyFileSync(world.path, copy);
    await world.interruptAfterTwoChunks();
    const first = world.path;
    world.path = copy;
    await world.interruptAfterTwoChunks();
    const left = (await world.findAssets()).map(({ uid }) => uid);
    const moved = elsewhere('checkout-3');
    renameSync(first, moved);
    rmSync(copy);
    const { record, stderr } = await uploadAt(moved);
    expect(record).toMatchObject({ verified: true, resumed_from_bytes: null });
    for (const uid of left) expect(stderr).toContain(`not resumed: asset ${uid}`);
    expect(left).toHaveLength(2);
  });

  it.each([
    ['name', ['--name', 'Other']],
    ['folder', ['--folder', 'Somewhere else', '--create-folders']],
  ])('sent to another %s: another upload, and nothing is named', async (_what, args) => {
    await world.interruptAfterTwoChunks();
    const moved = elsewhere('checkout-2');
    renameSync(world.path, moved);
    const { code, record, stderr } = await uploadAt(moved, args);
    expect([code, record.verified, record.resumed_from_bytes]).toEqual([0, true, null]);
    expect(stderr).not.toContain('continue');
    expect(world.unfinishedIds()).toHaveLength(1);
  });

  it('uploaded by two processes at two paths at once: one continues, one asset each', async () => {
    await world.interruptAfterTwoChunks();
    const paths = [elsewhere('checkout-2'), elsewhere('checkout-3')];
    for (const path of paths) copyFileSync(world.path, path);
    rmSync(world.path);
    const run = (path: string) =>
      world.run(['upload', path, '--json', '--chunk-size', '64KiB', '--duplicates', 'upload']);
    const records = (await Promise.all(paths.map(run))).map(({ stdout }) => JSON.parse(stdout)[0]);
    expect(records.map(({ resumed_from_bytes: from }) => from).sort()).toEqual([2 * chunkBytes, null]);
    expect(new Set(records.map(({ asset_uid: uid }) => uid)).size).toBe(2);
    for (const record of records) expect(world.storedBytes(record.asset_uid).equals(world.bytes)).toBe(true);
    expect(posts()).toHaveLength(1);
    expect(world.unfinishedIds()).toEqual([]);
  });

  it('while another process still sends it: left to that one', async () => {
    const sending = createLatch();
    const released = createLatch();
    world.fault = ({ method, nth }) =>
      method === 'PATCH' && nth === 2
        ? {
            beforeResponse: async () => {
              sending.open();
              await released.opened;
            },
          }
        : undefined;
    const old = world.path;
    const first = world.upload();
    await sending.opened;
    const moved = elsewhere('checkout-2');
    renameSync(old, moved);
    const { record } = await uploadAt(moved);
    expect(record).toMatchObject({ verified: true, resumed_from_bytes: null });
    released.open();
    expect((await first).record.error.code).toBe('file_missing');
    expect(posts()).toHaveLength(2);
  });
});
