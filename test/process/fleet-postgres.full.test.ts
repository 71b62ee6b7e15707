import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeRandomFile } from '../support/files.ts';
import { describeQueueUploads, describeStoreConnection } from '../support/fleet-suite.ts';
import { pause, waitForStderr, waitUntil } from '../support/machines.ts';
import { postgresError } from '../support/store-proxy.ts';
import { postgres } from '../support/stores.ts';

describeQueueUploads(postgres);

describeStoreConnection(postgres, (throughProxy) => {
  const count = 6;

  it('several processes that connect to an empty database at once create its tables once', async () => {
    // Delays the creation of the tables until all processes have seen that they do not exist.
    let lookups = 0;
    const { fleet } = await throughProxy(async (sent): Promise<'pass'> => {
      if (sent.includes('to_regclass')) lookups++;
      if (sent.includes('create schema')) for (let waits = 0; lookups < count && waits < 200; waits++) await pause(20);
      return 'pass';
    });
    const processes = Array.from({ length: count }, () => fleet.run(['uploads', 'ls', '--queue', '--json']));
    const results = await Promise.all(processes.map(({ finished }) => finished));
    expect(results.map(({ code, stdout, stderr }) => [code, stdout, stderr])).toEqual(
      Array(count).fill([0, '[]\n', expect.not.stringContaining('error')]),
    );
  });

  it('a worker retries if its connection drops while it checks the tables', async () => {
    let lookups = 0;
    const { folder, fleet } = await throughProxy((sent) => {
      if (!sent.includes('"bullmq".migration')) return 'pass';
      lookups++;
      return [2, 3, 5, 6].includes(lookups) ? 'cut' : 'pass'; // first mediactl's lookups, then BullMQ's
    });
    expect(await fleet.json(['uploads', 'ls', '--queue'])).toEqual([]); // creates the tables
    lookups = 0;
    const worker = fleet.worker();
    await waitUntil(() => lookups === 7);
    const path = join(folder, 'looked again.bin');
    writeRandomFile(path, { size: 1000, seed: 'again' });
    const { code, stderr } = await fleet.upload([path], ['--wait']).finished;
    expect(code, stderr).toBe(0);
    worker.child.kill('SIGTERM');
    expect((await worker.finished).code).toBe(0);
  });

  it('a worker backs off while PostgreSQL is starting up and then reconnects', async () => {
    let isStartingUp = false;
    const { store, proxy, folder, fleet } = await throughProxy((sent) =>
      isStartingUp && sent.includes('user\0') ? postgresError('57P03', 'the database system is starting up') : 'pass',
    );
    const worker = fleet.worker();
    const messages = ['cannot reach the queue', 'reconnected to queue'].map((words) => waitForStderr(worker, words));
    writeRandomFile(join(folder, 'before.bin'), { size: 1000, seed: 'before' });
    expect((await fleet.upload([folder], ['--wait']).finished).code).toBe(0);
    isStartingUp = true;
    await store.kill();
    await store.start();
    const connectionsBefore = proxy.connections;
    await pause(3_000);
    expect(proxy.connections - connectionsBefore).toBeLessThan(15);
    isStartingUp = false;
    writeRandomFile(join(folder, 'after.bin'), { size: 1000, seed: 'after' });
    const { code, stderr } = await fleet.upload([folder], ['--wait']).finished;
    expect(code, stderr).toBe(0);
    await Promise.all(messages);
  });
});
