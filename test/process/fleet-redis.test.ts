import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeSome } from '../support/files.ts';
import { until } from '../support/fleet.ts';
import { describeFleet, describeLine } from '../support/fleet-suite.ts';
import { redis } from '../support/stores.ts';

describeFleet(redis);

describeLine(redis, (overLine) => {
  it('a worker and a follower whose second line breaks as it is opened open another, and end', async () => {
    const cut = new Set([2, 3]);
    const { line, folder, fleet } = await overLine((_sent, connection) =>
      cut.has(connection) ? 'cut' : 'pass',
    );
    const worker = fleet.worker();
    await until(() => line.connections > 3);
    for (const next of [2, 3, 4]) cut.add(line.connections + next);
    const path = join(folder, 'second line.bin');
    writeSome(path, 1000, 'second');
    const { code, stderr } = await fleet.upload([path], ['--wait']).finished;
    expect(code, stderr).toBe(0);
    worker.child.kill('SIGTERM');
    expect((await worker.finished).code).toBe(0);
  });
});
