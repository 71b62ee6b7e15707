import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { blake3 } from '@napi-rs/blake-hash';
import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { FakeService } from '../support/fake-service.ts';
import { killAtRequest } from '../support/kill-at-request.ts';
import { mediactlCommand, startProcess } from '../support/spawn.ts';

/* A sync of renamed files and directories is killed at one moment, and then run twice. All assets keep their uids. */

/** Requests of the run, by what they do. */
const requestKinds = {
  'listing of a folder': /^GET \/assets\/\?/,
  'change of a folder': /^PATCH \/workspaces\//,
  'creation of a folder': /^POST \/workspaces\/.*\/folders\/$/,
  'change of an asset': /^PATCH \/assets\//,
  chunk: /^PATCH \/upload\//,
};

type Moment = [when: 'before' | 'after', kind: keyof typeof requestKinds, nth: number];

const moments: Moment[] = [
  ['after', 'listing of a folder', 1],
  ['before', 'change of a folder', 1],
  ['after', 'change of a folder', 1],
  ['after', 'change of a folder', 2],
  ['after', 'creation of a folder', 1],
  ['before', 'change of an asset', 1],
  ['after', 'change of an asset', 1],
  ['after', 'change of an asset', 3],
  ['after', 'change of an asset', 5],
  ['after', 'chunk', 1],
];

/** New paths by the old ones: two directories, a swap, a chain, and files in directories that exist and that do not. */
const renamed: Record<string, string> = {
  'day 1/a.mov': 'day one/a.mov',
  'day 1/raw/b.mov': 'day one/raw/b.mov',
  'day 2/c.mov': 'archive/day 2/c.mov',
  'x.mov': 'y.mov',
  'y.mov': 'x.mov',
  'take 1.mov': 'take 2.mov',
  'take 2.mov': 'take 3.mov',
  'best.mov': 'day 3/best of all.mov',
  'last.mov': 'new/last.mov',
};
const kept = ['day 3/d.mov', 'e.mov'];

async function prepare() {
  const service = await FakeService.start({ shows: ['size', 'parent'] });
  const cli = new Cli(service.environment);
  const directory = join(cli.home, 'rushes');
  const write = (path: string) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), `content of ${path}`);
  };
  for (const path of [...Object.keys(renamed), ...kept]) write(path);
  expect(await cli.run(['sync', directory, '/F'])).toMatchObject({ code: 0 });

  const move = (from: string, to: string) => {
    mkdirSync(dirname(join(directory, to)), { recursive: true });
    renameSync(join(directory, from), join(directory, to));
  };
  move('day 1', 'day one');
  move('day 2', 'archive/day 2');
  const files = Object.entries(renamed).filter(([path]) => !path.startsWith('day '));
  for (const [from] of files) move(from, `${from}.moved`);
  for (const [from, to] of files) move(`${from}.moved`, to);
  write('new/new.mov');
  const environment = {
    ...service.environment,
    MEDIACTL_STATE_DIR: join(cli.home, 'state'),
    MEDIACTL_CONFIG_DIR: join(cli.home, 'config'),
  };
  const [program = '', ...args] = [...mediactlCommand, 'sync', directory, '/F', '--jsonl', '--progress', 'none'];
  return { service, start: () => startProcess(program, args, environment) };
}

it.each(moments)(
  'sync of renamed files that is killed %s its %s no. %i keeps all uids when it is run twice',
  async (...moment) => {
    const [when, kind, nth] = moment;
    const { service, start } = await prepare();
    const uidsByContent = () =>
      Object.fromEntries(service.completeAssets.map(({ uid, blake3: digest }) => [digest, uid]));
    const before = uidsByContent();

    await killAtRequest(service, start(), { when, pattern: requestKinds[kind], nth });

    service.fault = () => undefined;
    const first = await start().finished;
    expect(first.code, first.stderr + first.stdout).toBe(0);
    const expected = [...Object.values(renamed), ...kept, 'new/new.mov'].map((path) => `/F/${path}`).sort();
    expect(service.paths).toEqual(expected);
    expect(uidsByContent()).toMatchObject(before);
    for (const [from, to] of Object.entries(renamed)) {
      const asset = service.completeAssets.find(
        ({ blake3: digest }) => digest === blake3(`content of ${from}`).toString('hex'),
      );
      expect(asset?.name).toBe(to.split('/').at(-1));
    }

    const writes: string[] = [];
    service.fault = ({ method, path }) => {
      if (method !== 'GET') writes.push(`${method} ${path}`);
      return undefined;
    };
    const second = await start().finished;
    expect([second.code, writes], second.stderr).toEqual([0, []]);
    expect(service.paths).toEqual(expected);
  },
);
