import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeRandomFile } from '../support/files.ts';
import { describeQueueUploads, describeStoreConnection } from '../support/fleet-suite.ts';
import { waitUntil } from '../support/machines.ts';
import { redis } from '../support/stores.ts';

describeQueueUploads(redis);

describeStoreConnection(redis, (throughProxy) => {
  it('a worker reopens a second connection that drops while it opens, and uploads a file', async () => {
    const cutIds = new Set([2, 3]);
    const { proxy, folder, fleet } = await throughProxy((_sent, connection) =>
      cutIds.has(connection) ? 'cut' : 'pass',
    );
    const worker = fleet.worker();
    await waitUntil(() => proxy.connections > 3);
    const path = join(folder, 'second line.bin');
    writeRandomFile(path, { size: 1000, seed: 'second' });
    const { code, stderr } = await fleet.upload([path], ['--wait']).finished;
    expect(code, stderr).toBe(0);
    worker.child.kill('SIGTERM');
    expect((await worker.finished).code).toBe(0);
  });
});
