import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { pseudoRandomBytes } from '../support/files.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox } from '../support/sandbox.ts';
import { openDatabase } from '../support/sqlite.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const startSandboxForTest = async (options: Parameters<typeof startSandbox>[0] = {}) => {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.end());
  return { sandbox, ...rawHttp(() => sandbox) };
};

/** Takes a write lock on the store as another program. @returns a function that releases it */
function lockDatabase(dataDir: string): () => void {
  const other = openDatabase(join(dataDir, 'sandbox.db'));
  other.exec('BEGIN IMMEDIATE');
  return () => {
    other.exec('ROLLBACK');
    other.close();
  };
}

describe('locked database', () => {
  it('writes return 503 in the format of the endpoint while the database is locked, and reads succeed', async () => {
    const { sandbox, call, send, createUploadOfSize } = await startSandboxForTest();
    const folders = `/workspaces/${sandbox.workspace}/folders/`;
    const unlock = lockDatabase(sandbox.dataDir);
    const refused = await send('POST', folders, { name: 'Campaigns' });
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { error: { code: 'unavailable', message: expect.any(String) } },
    ]);
    const refusedUpload = await createUploadOfSize(5);
    expect([refusedUpload.status, refusedUpload.headers.get('content-type')]).toEqual([
      503,
      expect.stringMatching(/^text\/plain/),
    ]);
    expect((await call('GET', '/assets/')).status).toBe(200);
    unlock();
    expect((await send('POST', folders, { name: 'Campaigns' })).status).toBe(201);
    expect((await call('GET', '/assets/')).status).toBe(200);
  });

  it('the last PATCH of an upload waits for the locked database while other requests are served', async () => {
    const { sandbox, call, createUploadOfSize, patch, waitUntilProcessed } = await startSandboxForTest();
    const bytes = readFileSync(fixturePath('still.jpg'));
    const { location, asset_uid } = await (await createUploadOfSize(bytes.length)).json();
    const unlock = lockDatabase(sandbox.dataDir);
    const lastPatch = patch(location, 0, bytes);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect((await call('GET', '/assets/')).status).toBe(200);
    unlock();
    const { status, headers } = await lastPatch;
    expect([status, headers.get('X-Checksum-Blake3')]).toEqual([204, expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect((await waitUntilProcessed(asset_uid)).status).toBe('ready');
  });
});

describe('failed creation of an asset', () => {
  const createBlockedUpload = async () => {
    const { sandbox, ...http } = await startSandboxForTest();
    const bytes = readFileSync(fixturePath('still.jpg'));
    const { location, asset_uid } = await (await http.createUploadOfSize(bytes.length)).json();
    const blockingFile = join(sandbox.dataDir, 'media', asset_uid);
    writeFileSync(blockingFile, 'no folder');
    const last = await http.patch(location, 0, bytes);
    expect(last.status).toBeGreaterThanOrEqual(500);
    const { headers } = await http.head(location);
    expect(headers.get('Upload-Offset')).toBe(String(bytes.length));
    return { ...http, bytes, location, asset_uid, unblock: () => rmSync(blockingFile) };
  };

  it('a complete upload that cannot be stored becomes an asset once the disk allows it', async () => {
    const { waitUntilProcessed, unblock, asset_uid } = await createBlockedUpload();
    unblock();
    expect((await waitUntilProcessed(asset_uid)).status).toBe('ready');
  });

  it('an empty PATCH retries to store a complete upload and returns the checksum', async () => {
    const { patch, waitUntilProcessed, unblock, location, bytes, asset_uid } = await createBlockedUpload();
    unblock();
    const emptyPatch = await patch(location, bytes.length, new Uint8Array());
    expect([emptyPatch.status, emptyPatch.headers.get('X-Checksum-Blake3')]).toEqual([
      204,
      expect.stringMatching(/^[0-9a-f]{64}$/),
    ]);
    expect((await waitUntilProcessed(asset_uid)).status).toBe('ready');
  });
});

describe('replaced or corrupt databases', () => {
  /** Creates the data folder of a stopped sandbox that has one asset. */
  const createUsedDataDir = async () => {
    const before = await startSandbox();
    await rawHttp(() => before).upload(fixturePath('still.jpg'));
    await before.close();
    const dataDir = temporaryFolder(); // a copy, in which no file is open
    cpSync(before.dataDir, dataDir, { recursive: true });
    return { dataDir, path: join(dataDir, 'sandbox.db'), key: before.key };
  };

  it('the sandbox starts without a note when its database is intact', async () => {
    const { dataDir, key } = await createUsedDataDir();
    const { sandbox } = await startSandboxForTest({ dataDir });
    expect(sandbox.notes).toEqual([]);
    expect(sandbox.hasKey(key)).toBe(true);
  });

  it('stopping the sandbox leaves all data in sandbox.db itself', async () => {
    const { dataDir, path, key } = await createUsedDataDir();
    for (const name of ['sandbox.db-wal', 'sandbox.db-shm']) rmSync(join(dataDir, name), { force: true });
    const { sandbox } = await startSandboxForTest({ dataDir });
    expect([sandbox.hasKey(key), sandbox.notes, existsSync(path)]).toEqual([true, [], true]);
  });

  it('the sandbox initializes an empty database and reports that assets are missing', async () => {
    const { dataDir, path, key } = await createUsedDataDir();
    truncateSync(path, 0);
    const { sandbox, call } = await startSandboxForTest({ dataDir });
    expect(sandbox.notes).toEqual(['sandbox.db lacks 1 of the assets in media/: it was replaced or has lost data']);
    expect(sandbox.hasKey(key)).toBe(false);
    expect((await call('GET', '/assets/', { key })).status).toBe(401);
  });

  it.each([
    ['random bytes', pseudoRandomBytes(20_000), 'is not a database or is corrupt'],
    ['a text file', Buffer.from('hello'), 'is not a database or is corrupt'],
  ])(
    'the sandbox does not start with %s as its database, and leaves the file unchanged',
    async (_what, bytes, reason) => {
      const dataDir = temporaryFolder();
      const path = join(dataDir, 'sandbox.db');
      writeFileSync(path, bytes);
      await expect(startSandbox({ dataDir })).rejects.toThrow(`${path} ${reason}`);
      expect(readFileSync(path).equals(bytes)).toBe(true);
    },
  );

  it('the sandbox does not start with a database of another program or of a newer version', async () => {
    const dataDir = temporaryFolder();
    const other = openDatabase(join(dataDir, 'sandbox.db'));
    other.exec('CREATE TABLE notes (text)');
    await expect(startSandbox({ dataDir })).rejects.toThrow('belongs to another program');
    expect(other.prepare('SELECT name FROM sqlite_master').all()).toHaveLength(1);
    other.exec('DROP TABLE notes; PRAGMA user_version = 99');
    await expect(startSandbox({ dataDir })).rejects.toThrow('was created by a newer mediactl');
    other.close();
  });

  it('the sandbox does not start when its database is missing and other files remain', async () => {
    const { dataDir, path } = await createUsedDataDir();
    rmSync(path);
    writeFileSync(join(dataDir, 'credentials.json'), '{}');
    await expect(startSandbox({ dataDir })).rejects.toThrow('whose sandbox.db is missing');
    expect(existsSync(path)).toBe(false);
  });

  it('the sandbox starts after a start that was stopped before it created a database', async () => {
    const dataDir = temporaryFolder();
    mkdirSync(join(dataDir, 'media'));
    for (const name of ['lock', 'lock-journal']) writeFileSync(join(dataDir, name), '');
    expect((await startSandboxForTest({ dataDir })).sandbox.notes).toEqual([]);
  });
});
