import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { respondWith } from '../support/fault-proxy.ts';
import { pseudoRandomBytes } from '../support/files.ts';
import { createLatch } from '../support/latch.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

const setup = setUpUploader();
const postRequests = () => setup.faultProxy.methods.filter((method) => method === 'POST');

/** Returns the path of the file in another directory, as in another checkout. */
function pathInDirectory(directory: string): string {
  mkdirSync(join(setup.cli.home, directory), { recursive: true });
  return join(setup.cli.home, directory, basename(setup.path));
}

async function uploadFrom(path: string, args: string[] = []) {
  setup.path = path;
  return setup.upload(args);
}

describe('upload of a moved file', () => {
  it('upload resumes a file that was moved after an interruption, and skips it at its new path afterwards', async () => {
    await setup.interruptAfterTwoChunks();
    const { session } = setup.storedEntry();
    const oldPath = setup.path;
    const newPath = pathInDirectory('checkout-2');
    copyFileSync(oldPath, newPath);
    rmSync(oldPath);
    const { record, stderr } = await uploadFrom(newPath);
    expect(record).toMatchObject({ asset_uid: session.assetUid, resumed_from_bytes: 2 * chunkBytes, path: newPath });
    expect(stderr).toContain(`resuming asset ${session.assetUid}, started as ${oldPath}`);
    await setup.expectUploaded(record);
    expect(postRequests()).toEqual([]);
    const secondRun = await setup.upload();
    expect(secondRun.record).toMatchObject({ outcome: 'skipped', request_count: 0, path: newPath });
  });

  it('upload resumes a moved file that was interrupted again at its new path', async () => {
    await setup.interruptAfterTwoChunks();
    const newPath = pathInDirectory('checkout-2');
    renameSync(setup.path, newPath);
    setup.fault = ({ method, nth }) => (method === 'PATCH' && nth === 2 ? respondWith(402, {}) : undefined);
    expect((await uploadFrom(newPath)).code).toBe(7);
    expect(setup.storedEntry()).toMatchObject({ offset: 3 * chunkBytes, realPath: newPath });
    setup.fault = () => undefined;
    const { record } = await setup.upload();
    expect(record.resumed_from_bytes).toBe(3 * chunkBytes);
    await setup.expectUploaded(record);
    expect(postRequests()).toEqual([]);
  });

  it.each<[string, (path: string) => void]>([
    ['is a copy of a file that still exists', (moved) => copyFileSync(setup.path, moved)],
    [
      'has other content',
      (moved) => {
        rmSync(setup.path);
        setup.bytes = pseudoRandomBytes(setup.bytes.length, 'other');
        writeFileSync(moved, setup.bytes);
      },
    ],
  ])(
    'upload creates a new session and names the old asset if a file of the same name %s',
    async (_what, createFileAt) => {
      await setup.interruptAfterTwoChunks();
      const { session } = setup.storedEntry();
      const oldPath = setup.path;
      const newPath = pathInDirectory('checkout-2');
      createFileAt(newPath);
      const { code, record, stderr } = await uploadFrom(newPath);
      expect([code, record.verified, record.resumed_from_bytes]).toEqual([0, true, null]);
      expect(setup.storedBytes(record.asset_uid).equals(setup.bytes)).toBe(true);
      expect(stderr).toContain(`not resumed: asset ${session.assetUid} of ${oldPath}; see mediactl uploads ls`);
      expect(setup.storedEntry()).toMatchObject({ session, realPath: oldPath });
    },
  );

  it('upload creates a new session and names the old asset if a moved file has no acknowledged chunk', async () => {
    setup.fault = ({ method }) => (method === 'PATCH' ? respondWith(402, {}) : undefined);
    await setup.upload();
    setup.fault = () => undefined;
    const { session } = setup.storedEntry();
    const newPath = pathInDirectory('checkout-2');
    renameSync(setup.path, newPath);
    const { record, stderr } = await uploadFrom(newPath);
    expect(record).toMatchObject({ verified: true, resumed_from_bytes: null });
    expect(stderr).toContain(`not resumed: asset ${session.assetUid}`);
  });

  it('upload creates a new session and names both old assets if a moved file matches two uploads', async () => {
    const copyPath = pathInDirectory('checkout-2');
    copyFileSync(setup.path, copyPath);
    await setup.interruptAfterTwoChunks();
    const originalPath = setup.path;
    setup.path = copyPath;
    await setup.interruptAfterTwoChunks();
    const oldAssetUids = (await setup.findAssets()).map(({ uid }) => uid);
    const newPath = pathInDirectory('checkout-3');
    renameSync(originalPath, newPath);
    rmSync(copyPath);
    const { record, stderr } = await uploadFrom(newPath);
    expect(record).toMatchObject({ verified: true, resumed_from_bytes: null });
    for (const uid of oldAssetUids) expect(stderr).toContain(`not resumed: asset ${uid}`);
    expect(oldAssetUids).toHaveLength(2);
  });

  it.each([
    ['name', ['--name', 'Other']],
    ['folder', ['--folder', 'Somewhere else', '--create-folders']],
  ])(
    'upload creates a new session for a moved file without a warning if the command sets another %s',
    async (_what, args) => {
      await setup.interruptAfterTwoChunks();
      const newPath = pathInDirectory('checkout-2');
      renameSync(setup.path, newPath);
      const { code, record, stderr } = await uploadFrom(newPath, args);
      expect([code, record.verified, record.resumed_from_bytes]).toEqual([0, true, null]);
      expect(stderr).not.toContain('continue');
      expect(setup.unfinishedIds()).toHaveLength(1);
    },
  );

  it('upload resumes only one of two copies of a moved file that two processes upload simultaneously', async () => {
    await setup.interruptAfterTwoChunks();
    const paths = [pathInDirectory('checkout-2'), pathInDirectory('checkout-3')];
    for (const path of paths) copyFileSync(setup.path, path);
    rmSync(setup.path);
    const uploadFile = (path: string) =>
      setup.run(['upload', path, '--json', '--chunk-size', '64KiB', '--existing', 'file']);
    const records = (await Promise.all(paths.map(uploadFile))).map(({ stdout }) => JSON.parse(stdout)[0]);
    expect(records.map(({ resumed_from_bytes: offset }) => offset).sort()).toEqual([2 * chunkBytes, null]);
    expect(new Set(records.map(({ asset_uid: uid }) => uid)).size).toBe(2);
    for (const record of records) expect(setup.storedBytes(record.asset_uid).equals(setup.bytes)).toBe(true);
    expect(postRequests()).toHaveLength(1);
    expect(setup.unfinishedIds()).toEqual([]);
  });

  it('upload creates a new session for a moved file while another process still uploads the old path', async () => {
    const chunkSent = createLatch();
    const chunkReleased = createLatch();
    setup.fault = ({ method, nth }) =>
      method === 'PATCH' && nth === 2
        ? {
            beforeResponse: async () => {
              chunkSent.open();
              await chunkReleased.opened;
            },
          }
        : undefined;
    const oldPath = setup.path;
    const firstRun = setup.upload();
    await chunkSent.opened;
    const newPath = pathInDirectory('checkout-2');
    renameSync(oldPath, newPath);
    const { record } = await uploadFrom(newPath);
    expect(record).toMatchObject({ verified: true, resumed_from_bytes: null });
    chunkReleased.open();
    expect((await firstRun).record.error.code).toBe('file_unusable');
    expect(postRequests()).toHaveLength(2);
  });
});
