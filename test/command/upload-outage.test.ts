import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { pluralize } from '../../src/shared/figures.ts';
import { Cli } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { dropConnection, FakeService, respondWithError } from '../support/fake-service.ts';

/* Outages of half an hour, during an upload. */

const speed = 1000;
const outageMs = 30 * 60_000;

/** Creates files, and a user of a service. */
async function start(count: number) {
  const service = await FakeService.start();
  const cli = new Cli(service.environment);
  const paths = Array.from({ length: count }, (_, n) => join(cli.home, `${n}.bin`));
  for (const [n, path] of paths.entries()) writeFileSync(path, `${n}`.repeat(5000));
  const upload = (...options: string[]) =>
    cli.run(['upload', ...paths, ...options], { clock: acceleratedClock({ speed }) });
  return { service, upload };
}

/** Ways in which a service is away. @returns what ends it */
const outages = {
  'refuses connections': (service: FakeService) => {
    service.stop();
    return () => service.listen();
  },
  'cuts connections': (service: FakeService) => {
    service.fault = () => dropConnection;
    return () => endFaults(service);
  },
  'is behind a gateway that answers with 503': (service: FakeService) => {
    service.fault = () => respondWithError(503);
    return () => endFaults(service);
  },
} as const;

const endFaults = (service: FakeService) => {
  service.fault = () => undefined;
};

it.each(
  Object.entries(outages).flatMap(([what, begin]) =>
    [1, 3].map((count) => [pluralize(count, 'file'), what, count, begin] as const),
  ),
)('an upload of %s goes on if the service %s for half an hour', async (_files, _what, count, begin) => {
  const { service, upload } = await start(count);
  let isBegun = false;
  service.fault = ({ method }) => {
    if (method === 'PATCH' && !isBegun) {
      isBegun = true;
      const end = begin(service);
      void sleep(outageMs / speed).then(end);
      return dropConnection;
    }
    return undefined;
  };
  const { code, stderr } = await upload();
  expect([code, isBegun], stderr).toEqual([0, true]);
  expect(service.completeAssets).toHaveLength(count);
});

it('an upload gives up after --max-wait of an outage, and the next run continues it', async () => {
  const { service, upload } = await start(1);
  let patches = 0;
  service.fault = ({ method }) => (patches > 0 || (method === 'PATCH' && ++patches) ? dropConnection : undefined);
  const given = await upload('--max-wait', '10m');
  expect([given.code, given.stderr]).toEqual([10, expect.stringContaining('was lost')]);
  endFaults(service);
  expect((await upload()).code).toBe(0);
  expect(service.completeAssets).toHaveLength(1);
  expect(service.assets.size).toBe(1);
});

it('an upload whose bytes are refused each time, by a service that answers, fails after ten tries without progress', async () => {
  const { service, upload } = await start(1);
  let patches = 0;
  service.fault = ({ method }) => (method === 'PATCH' && ++patches ? dropConnection : undefined);
  expect((await upload()).code).toBe(10);
  expect(patches).toBe(11); // the offset that answers the second try is progress
});
