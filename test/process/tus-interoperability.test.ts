import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FileStore } from '@tus/file-store';
import { Server, Upload } from '@tus/server';
import { Upload as StockUpload } from 'tus-js-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { b3sum, pseudoRandomBytes, writeRandomFile } from '../support/files.ts';
import { respond, startServer } from '../support/http-server.ts';
import { programPaths } from '../support/requirements.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

const size = 3_000_000;

describe('mediactl with @tus/server', () => {
  /** Starts @tus/server for transfers; creations respond with the session of §2, as our client requires. */
  async function startTusServer() {
    const directory = temporaryFolder();
    const datastore = new FileStore({ directory });
    const path = '/api/external/v1/upload';
    const server = new Server({ path, datastore, respectForwardedHeaders: false });
    let created = 0;
    const url = await startServer(async (request, response) => {
      if (request.method !== 'POST') return server.handle(request, response);
      created++;
      const id = `session${created}`;
      await datastore.create(new Upload({ id, offset: 0, size: Number(request.headers['upload-length']) }));
      respond(response, 201, {
        uid: id,
        location: `${path}/${id}`,
        asset_uid: '00000000-0000-4000-8000-000000000001',
        total_size: size,
        expires_at: new Date(Date.now() + 86_400_000).toISOString(),
      });
    });
    return { url, stored: () => readFileSync(join(directory, 'session1')), createdCount: () => created };
  }

  /** Uploads a file over a connection that drops once. @returns its record */
  async function uploadWithDroppedConnection() {
    const { url, stored, createdCount } = await startTusServer();
    const proxy = await FaultProxy.start(url, ({ method, nth }) =>
      method === 'PATCH' && nth === 2 ? { cutAfterBytes: 300_000 } : undefined,
    );
    const cli = new Cli({
      MEDIACTL_API_KEY: 'any-key-will-do',
      MEDIACTL_BASE_URL: proxy.url,
      MEDIACTL_WORKSPACE: sandbox.workspace,
    });
    const path = join(cli.home, 'clip.bin');
    const bytes = writeRandomFile(path, { size });
    const [record] = await cli.json(['upload', path, '--chunk-size', '1MiB'], { clock: acceleratedClock() });
    return { path, bytes, record, stored: stored(), created: createdCount(), methods: proxy.methods };
  }

  it('mediactl resumes an upload to @tus/server after a dropped connection and reports it as unverified', async () => {
    const { bytes, record, stored, created, methods } = await uploadWithDroppedConnection();
    expect(stored.equals(bytes)).toBe(true);
    expect(record).toMatchObject({ verified: null, size_bytes: size });
    expect(created).toBe(1);
    expect(methods).toContain('HEAD');
  });

  it('mediactl computes the same checksum as b3sum', { tags: 'b3sum' }, async () => {
    const { path, record } = await uploadWithDroppedConnection();
    expect(record.blake3).toBe(b3sum(path));
  });
});

describe('other tus clients with the sandbox', () => {
  const readNewAsset = async ({ assetsBefore }: { assetsBefore: number }) => {
    const page = await fetch(`${sandbox.url}/api/external/v1/assets/`, {
      headers: { authorization: `Bearer ${sandbox.key}` },
    });
    const { items } = (await page.json()) as { items: { uid: string }[] };
    expect(items.length).toBe(assetsBefore + 1);
    return readFileSync(join(sandbox.dataDir, 'media', items[0]?.uid as string, 'source'));
  };

  it('tus-js-client uploads a file to the sandbox', async () => {
    const path = join(temporaryFolder(), 'stock.bin');
    const bytes = writeRandomFile(path, { size, seed: 'stock' });
    await new Promise<void>((resolve, reject) => {
      new StockUpload(bytes, {
        endpoint: `${sandbox.url}/api/external/v1/upload/`,
        headers: { Authorization: `Bearer ${sandbox.key}` },
        metadata: { filename: 'stock.bin', workspace_uid: sandbox.workspace },
        chunkSize: 1_000_000,
        onSuccess: () => resolve(),
        onError: reject,
      }).start();
    });
    expect((await readNewAsset({ assetsBefore: 0 })).equals(bytes)).toBe(true);
  });

  it('tus-js-client pauses and resumes an upload within one run and in the next run', async () => {
    // In strict mode HEAD returns no length, which tus-js-client needs to resume.
    const nonStrictSandbox = await startSandbox({ strict: false });
    const bytes = pseudoRandomBytes(size, 'paused');
    const startUploader = (uploadUrl?: string) => {
      const offsets: number[] = [];
      const done = new Promise<void>((resolve, reject) => {
        const upload: StockUpload = new StockUpload(bytes, {
          endpoint: `${nonStrictSandbox.url}/api/external/v1/upload/`,
          headers: { Authorization: `Bearer ${nonStrictSandbox.key}` },
          metadata: { filename: 'paused.bin', workspace_uid: nonStrictSandbox.workspace },
          chunkSize: 500_000,
          retryDelays: [],
          ...(uploadUrl && { uploadUrl }),
          onChunkComplete: (_size, offset) => {
            offsets.push(offset);
            if (offset === 1_000_000 && !uploadUrl) void upload.abort().then(() => upload.start()); // the user pauses
            if (offset === 2_000_000 && !uploadUrl) void upload.abort().then(() => resolve()); // the user closes the page
          },
          onSuccess: () => resolve(),
          onError: reject,
        });
        url = () => upload.url as string;
        upload.start();
      });
      return { done, offsets };
    };
    let url = () => '';
    try {
      const firstRun = startUploader();
      await firstRun.done;
      const secondRun = startUploader(url());
      await secondRun.done;
      expect([firstRun.offsets.at(-1), secondRun.offsets[0]]).toEqual([2_000_000, 2_500_000]);
      const page = await fetch(`${nonStrictSandbox.url}/api/external/v1/assets/`, {
        headers: { authorization: `Bearer ${nonStrictSandbox.key}` },
      });
      const { items } = (await page.json()) as { items: { uid: string }[] };
      const source = join(nonStrictSandbox.dataDir, 'media', items[0]?.uid as string, 'source');
      expect(readFileSync(source).equals(bytes)).toBe(true);
    } finally {
      await nonStrictSandbox.end();
    }
  });

  it('tuspy resumes an upload that was stopped halfway', { tags: 'tuspy' }, async () => {
    const path = join(temporaryFolder(), 'tuspy.bin');
    const bytes = writeRandomFile(path, { size, seed: 'tuspy' });
    const script = `
import sys
from tusclient import client
url, key, workspace, path = sys.argv[1:]
tus = client.TusClient(url + '/api/external/v1/upload/', headers={'Authorization': 'Bearer ' + key})
first = tus.uploader(path, chunk_size=1000000, metadata={'filename': 'tuspy.bin', 'workspace_uid': workspace})
first.upload(stop_at=1500000)
second = tus.uploader(path, chunk_size=1000000, url=first.url)
assert second.offset == 1500000, second.offset
second.upload()
`;
    const child = spawn(programPaths.python, [
      ...['-c', script],
      ...[sandbox.url, sandbox.key, sandbox.workspace, path],
    ]);
    let output = '';
    child.stderr.on('data', (chunk) => {
      output += chunk;
    });
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect([code, output]).toEqual([0, '']);
    expect((await readNewAsset({ assetsBefore: 1 })).equals(bytes)).toBe(true);
  });
});
