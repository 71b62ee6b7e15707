import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { FakeService } from '../support/fake-service.ts';
import { Random } from '../support/random.ts';

/* Random moves, renames and swaps of files and directories between syncs with --prune. Every asset keeps its uid. */

const directoryNames = ['', 'a', 'b', 'a/x', 'a/y', 'b/x', 'c'];
const newNames = ['a', 'b', 'c', 'x', 'f1.mov', 'f2.mov', 'g.mov'];

class RandomMirror {
  readonly #service: FakeService;
  readonly #cli: Cli;
  readonly #random: Random;
  readonly #directory: string;

  constructor(service: FakeService, random: Random) {
    this.#service = service;
    this.#random = random;
    this.#cli = new Cli(service.environment);
    this.#directory = join(this.#cli.home, 'rushes');
  }

  writeFiles(): void {
    for (let n = 0; n < 12; n++) {
      const path = join(this.#directory, this.#random.pick(directoryNames), `f${this.#random.below(5)}.mov`);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, `content ${n}`);
      utimesSync(path, 1_700_000_000 + n, 1_700_000_000 + n); // a swap of files with equal sizes and times is not seen
    }
  }

  /** Moves or renames a file or a directory, or swaps it with another. @returns what it did */
  change(): string {
    const all = this.#list();
    const from = this.#random.pick(all.map(({ path }) => path));
    const parents = all.filter(({ path, isFile }) => !isFile && !`${path}${sep}`.startsWith(`${from}${sep}`));
    const parent = this.#random.pick([this.#directory, ...parents.map(({ path }) => path)]);
    const name = this.#random.chance(0.5) ? (from.split(sep).at(-1) ?? '') : this.#random.pick(newNames);
    const to = join(parent, name);
    if (to === from || from.startsWith(`${to}${sep}`)) return 'nothing';
    const isSwap = existsSync(to);
    if (isSwap) renameSync(to, `${this.#directory}.swapped`);
    renameSync(from, to);
    if (isSwap) renameSync(`${this.#directory}.swapped`, from);
    return `${isSwap ? 'swap' : 'move'} ${from.slice(this.#directory.length)} ${to.slice(this.#directory.length)}`;
  }

  #list() {
    const entries = readdirSync(this.#directory, { withFileTypes: true, recursive: true });
    return entries.map((each) => ({ path: join(each.parentPath, each.name), isFile: each.isFile() }));
  }

  async sync(...args: string[]) {
    const run = await this.#cli.run(['sync', this.#directory, '/F', '--prune', '--yes', '--json', ...args]);
    const records: { path: string; outcome: string }[] = run.stdout ? JSON.parse(run.stdout) : [];
    return { ...run, outcomes: Object.fromEntries(records.map(({ path, outcome }) => [path, outcome])) };
  }

  /** Uids of the assets by their content. */
  get uids() {
    return Object.fromEntries(this.#service.completeAssets.map(({ uid, bytes }) => [bytes.toString(), uid]));
  }

  get localPaths(): string[] {
    const files = this.#list().filter(({ isFile }) => isFile);
    return files.map(({ path }) => `/F${path.slice(this.#directory.length)}=${readFileSync(path)}`).sort();
  }

  get libraryPaths(): string[] {
    const pathOf = (uid: string | undefined): string => {
      const folder = this.#service.folders.find((each) => each.uid === uid);
      return folder ? `${pathOf(folder.parent)}/${folder.name}` : '';
    };
    return this.#service.completeAssets.map(({ name, folder, bytes }) => `${pathOf(folder)}/${name}=${bytes}`).sort();
  }
}

const seeds = Array.from({ length: 60 }, (_, at) => at + 1);

it.each(seeds.flatMap((seed) => [[seed, 'show'] as const, [seed, 'do not show'] as const]))(
  'sync --prune after random moves with seed %i keeps each uid if records %s the folder, and -n says so before',
  async (seed, shown) => {
    const random = new Random(seed);
    const service = await FakeService.start({ shows: shown === 'show' ? ['parent', 'size'] : [] });
    const mirror = new RandomMirror(service, random);
    mirror.writeFiles();
    expect((await mirror.sync()).code).toBe(0);
    const { uids } = mirror;
    for (let round = 0; round < 2; round++) {
      const changes = Array.from({ length: 1 + random.below(5) }, () => mirror.change());
      const args = random.chance(0.3) ? ['--checksum'] : [];
      const preview = await mirror.sync('-n', ...args);
      const run = await mirror.sync(...args);
      const what = [...changes, run.stderr].join('\n');
      expect([run.code, run.outcomes], what).toEqual([0, preview.outcomes]);
      expect(mirror.libraryPaths, what).toEqual(mirror.localPaths);
      expect(mirror.uids, what).toEqual(uids);
      const again = await mirror.sync();
      expect([again.code, new Set(Object.values(again.outcomes))], what).toEqual([0, new Set(['skipped'])]);
    }
  },
);
