import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { FakeService, handleThen, type FakeService as Service } from '../support/fake-service.ts';
import { killAtRequest } from '../support/kill-at-request.ts';
import { mediactlCommand, startProcess } from '../support/spawn.ts';

/* A deletion of uploaded files is killed, or its answer is lost; it is run twice, then the files are synced again. */

const names = ['a.mov', 'b.mov', 'c.mov'];
const requestKinds = { deletion: /^DELETE \/assets\//, look: /^GET \/assets\// };

type DeletionMoment = [when: 'before' | 'after', kind: keyof typeof requestKinds, nth: number];

const moments: DeletionMoment[] = [
  ['before', 'look', 1],
  ['after', 'look', 1],
  ['before', 'look', 2],
  ['after', 'look', 3],
  ...[1, 2, 3].flatMap((nth): DeletionMoment[] => [
    ['before', 'deletion', nth],
    ['after', 'deletion', nth],
  ]),
];

async function prepare() {
  const service = await FakeService.start({ shows: ['size', 'parent'] });
  const cli = new Cli(service.environment);
  const directory = join(cli.home, 'rushes');
  mkdirSync(directory);
  for (const name of names) writeFileSync(join(directory, name), `content of ${name}`);
  const sync = () => cli.run(['sync', directory, '/F', '--create-folders']);
  expect(await sync()).toMatchObject({ code: 0 });
  const uids = service.completeAssets.map(({ uid }) => uid);
  const environment = {
    ...service.environment,
    MEDIACTL_STATE_DIR: join(cli.home, 'state'),
    MEDIACTL_CONFIG_DIR: join(cli.home, 'config'),
  };
  const [program = '', ...args] = [...mediactlCommand, 'rm', ...uids, '--yes'];
  return { service, sync, remove: () => startProcess(program, args, environment) };
}

/** Runs the deletion twice, then a sync, and expects each file in the library once. */
async function expectEachOnce({ service, sync, remove }: Awaited<ReturnType<typeof prepare>>): Promise<void> {
  service.fault = () => undefined;
  const first = await remove().finished;
  const second = await remove().finished;
  expect([0, 3, 11], first.stderr).toContain(first.code);
  expect([3, 11], second.stderr).toContain(second.code);
  expect(service.completeAssets).toEqual([]);
  expect(await sync()).toMatchObject({ code: 0 });
  expect(service.paths).toEqual(names.map((name) => `/F/${name}`));
  expect(await sync()).toMatchObject({ code: 0, stderr: expect.stringContaining('3 already uploaded') });
}

it.each(moments)(
  'sync uploads files again, once each, after a rm that was killed %s its %s no. %i and was run twice',
  async (when, kind, nth) => {
    const state = await prepare();
    await killAtRequest(state.service, state.remove(), { when, pattern: requestKinds[kind], nth });
    await expectEachOnce(state);
  },
);

it('sync uploads files again, once each, after a rm whose answers were lost and that was run twice', async () => {
  const state = await prepare();
  const lose: Service['fault'] = ({ method }) => (method === 'DELETE' ? handleThen(() => undefined) : undefined);
  state.service.fault = lose;
  expect((await state.remove().finished).code).not.toBe(0);
  await expectEachOnce(state);
});
