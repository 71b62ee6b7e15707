import { expect, it } from 'vitest';
import {
  folderF,
  folderG,
  folderH,
  type OddAsset,
  type Oddities,
  randomOddities,
  startOddService,
} from '../support/odd-service.ts';
import { Random, seedsOf } from '../support/random.ts';

/*
 * Services that choose otherwise, or lie: no command ends with 0 after it has said what is false. Without a total, what a
 * hole hides cannot be known.
 */

type OddService = Awaited<ReturnType<typeof startOddService>>;
type Run = Awaited<ReturnType<OddService['cli']['run']>>;

const uidsOf = (assets: readonly OddAsset[]) => assets.map(({ uid }) => uid).sort();
const linesOf = ({ stdout }: Run) => stdout.split('\n').filter(Boolean).sort();

/** Commands, and whether what they have said is true of the library. */
const reads: Record<string, (service: OddService, odd: Oddities) => Promise<void>> = {
  'ls of all': async (service, odd) => {
    const run = await service.cli.run(['ls', '--all', '-q'], service);
    expectTrue(run, odd, service, linesOf(run), () => true);
  },
  'ls of a tree': async (service, odd) => {
    const run = await service.cli.run(['ls', '/F', '-r', '--all', '-q'], service);
    expectTrue(run, odd, service, linesOf(run), ({ folder }) => folder === folderF || folder === folderG);
  },
  'ls of a glob': async (service, odd) => {
    const run = await service.cli.run(['ls', '/F/*', '--all', '-q'], service);
    expectTrue(run, odd, service, linesOf(run), ({ folder }) => folder === folderF);
  },
  'export of a tree': async (service, odd) => {
    const run = await service.cli.run(['export', '/F', '-r', '--jsonl'], service);
    const uids = linesOf(run).map((line): string => JSON.parse(line).uid);
    expectTrue(run, odd, service, uids.sort(), ({ folder }) => folder === folderF || folder === folderG);
  },
  'stats of a tree': async (service, odd) => {
    const run = await service.cli.run(['stats', '/F', '--json'], service);
    if (run.code !== 0) return;
    const rows: { section: string; asset_count: number }[] = JSON.parse(run.stdout);
    const count = service.assets.filter(({ folder }) => folder === folderF || folder === folderG).length;
    if (odd.hole && odd.total === 'none') return;
    expect(rows.find(({ section }) => section === 'total')?.asset_count).toBe(count);
  },
  'get of a path': async (service, odd) => {
    const inside = service.assets.find((asset) => asset.folder === folderF && !service.isHidden(asset)) as OddAsset;
    const below = service.assets.find((asset) => asset.folder === folderG) as OddAsset;
    const run = await service.cli.run(['get', `/F/${inside.name}`, '--json'], service);
    // What is behind a hole is not listed without a total.
    if (!(odd.hole && odd.total === 'none')) expect(JSON.parse(run.stdout)).toMatchObject([{ uid: inside.uid }]);
    expect((await service.cli.run(['get', `/F/${below.name}`], service)).code).not.toBe(0);
  },
};

function expectTrue(
  { code, stderr }: Run,
  odd: Oddities,
  { assets, isHidden }: OddService,
  uids: readonly string[],
  isMeant: (asset: OddAsset) => boolean,
): void {
  const meant = assets.filter(isMeant);
  if (odd.hole && odd.total === 'none') return;
  if (code === 0) expect(uids).toEqual(uidsOf(meant));
  else
    expect([odd, code, stderr]).toEqual([odd, expect.toBeOneOf([6, 11]), expect.stringMatching(/incomplete|filter/)]);
  if (!odd.hole && odd.total !== 'too high' && !(odd.isDeep && odd.showsParent)) expect(code).toBe(0);
  expect(meant.filter(isHidden).some(({ uid }) => uids.includes(uid))).toBe(false);
}

/** Changes, what they are meant to change, and what is true of each such asset afterwards. */
const changes: [
  args: readonly string[],
  isMeant: (asset: OddAsset) => boolean,
  isDone: (asset: OddAsset) => boolean,
][] = [
  [['rm', '/F/a1.mp4', '--yes'], ({ name }) => name === 'a1.mp4', ({ isDeleted }) => isDeleted],
  [['rm', '/H/*', '--yes'], ({ folder }) => folder === folderH, ({ isDeleted }) => isDeleted],
  [['rm', '/F/*', '--yes', '--max-changes', '500'], ({ folder }) => folder === folderF, ({ isDeleted }) => isDeleted],
  [['rm', '--search', 'a', '--yes'], () => true, ({ isDeleted }) => isDeleted],
  [['rm', '-r', '/F/G', '--yes'], ({ folder }) => folder === folderG, ({ isDeleted }) => isDeleted],
  [['mv', '/F/*', '/H', '--yes'], ({ folder }) => folder === folderF, ({ folder }) => folder === folderH],
  [['mv', '/a0.mp4', '/F', '--yes'], ({ name }) => name === 'a0.mp4', ({ folder }) => folder === folderF],
];

it.each(seedsOf({ quick: 8, ci: 30 }))(
  'no list of an odd service is taken for what it is not, and no change is believed (seed %i)',
  async (seed) => {
    const random = new Random(seed);
    const odd = randomOddities(random);
    for (const read of Object.values(reads)) await read(await startOddService(odd), odd);
    for (const [args, isMeant, isDone] of changes) {
      const service = await startOddService(odd);
      const meant = new Set(service.assets.filter(isMeant));
      const before = new Map(service.assets.map((asset) => [asset, { ...asset }]));
      const { code } = await service.cli.run(args, service);
      service.settle();
      for (const asset of service.assets)
        if (!meant.has(asset)) expect([args, asset]).toEqual([args, before.get(asset)]);
      const isKnown = !(odd.hole && odd.total === 'none');
      if (code === 0 && isKnown && !args.includes('--max-changes'))
        expect([args, odd, [...meant].filter((asset) => !isDone(asset))]).toEqual([args, odd, []]);
    }
  },
);
