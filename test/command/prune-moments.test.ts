import { mkdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { FakeService } from '../support/fake-service.ts';
import { Random, seedsOf } from '../support/random.ts';

/* `sync --prune` while files are renamed, saved and edited: no asset of a file that is there goes to the trash. */

let service: FakeService;
let cli: Cli;
let directory: string;
beforeEach(async () => {
  service = await FakeService.start({ shows: ['parent'], readyAfterMs: 30, latencyMs: 2 });
  cli = new Cli(service.environment);
  directory = join(cli.home, 'rushes');
});

const write = (path: string, text = path): void => {
  mkdirSync(join(directory, path, '..'), { recursive: true });
  writeFileSync(join(directory, path), text);
};
const move = (from: string, to: string) => renameSync(join(directory, from), join(directory, to));
const sync = (...options: string[]) =>
  cli.run(['sync', directory, '/F', '--create-folders', '--prune', '--yes', ...options]);
const trashed = () => [...service.assets.values()].filter(({ isTrashed }) => isTrashed).map(({ name }) => name);

describe('a file that is renamed while the run goes on', () => {
  /** Syncs files, then syncs a new one and does something while it is sent. */
  async function syncMeanwhile(meanwhile: () => void) {
    for (const name of ['1.bin', '2.bin', 'day/3.bin', 'day/4.bin']) write(name);
    await sync();
    write('new.bin', 'a new file');
    let isSent = false;
    service.fault = ({ method, path }) => {
      if (method === 'PATCH' && path.startsWith('/upload/') && !isSent) meanwhile();
      isSent ||= method === 'PATCH';
      return undefined;
    };
    const { code, stderr } = await sync();
    service.fault = () => undefined;
    return { code, stderr };
  }

  it.each([
    ['file', () => move('1.bin', '5.bin'), '1.bin', 1],
    ['directory', () => move('day', 'night'), 'day/3.bin', 2],
  ])('keeps the assets of a renamed %s, which follow it in the next run', async (_, rename, path, count) => {
    const { code, stderr } = await syncMeanwhile(rename);
    expect([code, trashed()]).toEqual([11, []]);
    expect(stderr).toMatch(new RegExp(`${count} of ${count} assets? (was|were) not moved to the trash`));
    expect(stderr).toContain(`${join(directory, path)} was kept: it was there when the run began`);
    const uids = service.completeAssets.map(({ uid }) => uid);
    expect((await sync()).code).toBe(0);
    expect(service.completeAssets.map(({ uid }) => uid)).toEqual(uids);
  });

  it('trashes the asset of a file that was deleted before the run', async () => {
    await syncMeanwhile(() => {});
    unlinkSync(join(directory, '1.bin'));
    expect((await sync()).code).toBe(0);
    expect(trashed()).toEqual(['1.bin']);
  });
});

it.each(['--exclude', '--include'])(
  'a file that was moved to where %s leaves it out keeps its asset',
  async (option) => {
    for (const name of ['raw/1.bin', 'raw/2.bin', 'other/stays.bin']) write(name);
    await sync();
    move('raw', 'raw-old');
    const filter = option === '--exclude' ? ['--exclude', 'raw-old/**'] : ['--include', '{raw,other}/**'];
    const preview = await sync(...filter, '-n');
    expect(preview.stderr).toContain('--prune keeps assets whose files may not be deleted');
    const { code, stderr } = await sync(...filter);
    expect([code, trashed()]).toEqual([11, []]);
    const [old, now] = [join(directory, 'raw/1.bin'), join(directory, 'raw-old')];
    expect(stderr).toContain(`${old} was kept: it may be ${now}`);
    rmSync(join(directory, 'raw-old'), { recursive: true });
    await sync(...filter);
    expect(trashed().sort()).toEqual(['1.bin', '2.bin']);
  },
);

/** Files of a directory that somebody works in. The content of each begins with its number. */
class Desk {
  readonly #random: Random;
  readonly #paths = new Map<number, string>();
  /** Round in which a file was moved last. Until a whole run has seen it there, one that is edited too is a new file. */
  readonly #movedIn = new Map<number, number>();
  /**
   * Round in which a file was saved last, which deletes it for a moment. If the run looks in that moment, and the file has
   * other content and another path afterwards, it is a deleted file and a new one.
   */
  readonly #savedIn = new Map<number, number>();
  #round = 0;
  #version = 0;

  constructor(random: Random, count: number) {
    this.#random = random;
    for (let number = 0; number < count; number++) this.#write(number, `d${number % 3}/${number}.bin`);
  }

  get numbers(): number[] {
    return [...this.#paths.keys()];
  }

  #write(number: number, path: string): void {
    write(path, this.#newText(number));
    this.#paths.set(number, path);
  }

  #newText = (number: number) => `${number}: ${'x'.repeat(10 + number * 7 + this.#version++)}`;

  /** Deletes a file before the next run. */
  delete(number: number): void {
    this.#round++;
    unlinkSync(join(directory, this.#paths.get(number) as string));
    this.#paths.delete(number);
  }

  #isNew = (rounds: Map<number, number>, number: number) =>
    this.#round - (rounds.get(number) ?? Number.NEGATIVE_INFINITY) < 2;

  #isNewlySavedBelow = (top: string) =>
    [...this.#paths].some(([number, path]) => path.startsWith(`${top}/`) && this.#isNew(this.#savedIn, number));

  #move(number: number, to: string): void {
    this.#paths.set(number, to);
    this.#movedIn.set(number, this.#round);
  }

  /** Renames, moves, saves or edits a file, or renames a directory. */
  async act(): Promise<void> {
    const number = this.numbers[this.#random.below(this.numbers.length)] as number;
    const path = this.#paths.get(number) as string;
    const place = join(directory, path);
    const name = `${++this.#version}-${number}.bin`;
    const [top = ''] = path.split('/');
    switch (this.#random.below(5)) {
      case 0:
        if (this.#isNew(this.#savedIn, number)) break;
        move(path, `${top}/${name}`);
        this.#move(number, `${top}/${name}`);
        break;
      case 1: {
        if (this.#isNew(this.#savedIn, number)) break;
        mkdirSync(join(directory, 'moved'), { recursive: true });
        move(path, `moved/${name}`);
        this.#move(number, `moved/${name}`);
        break;
      }
      case 2:
        if (this.#isNew(this.#movedIn, number)) break;
        this.#savedIn.set(number, this.#round);
        unlinkSync(place);
        await sleep(this.#random.below(8));
        writeFileSync(place, this.#newText(number));
        break;
      case 3:
        if (this.#isNew(this.#movedIn, number)) break;
        writeFileSync(place, this.#newText(number));
        break;
      default: {
        if (this.#isNewlySavedBelow(top)) break;
        const to = `${top}-${this.#version}`;
        move(top, to);
        for (const [each, old] of this.#paths) if (old.startsWith(`${top}/`)) this.#move(each, old.replace(top, to));
      }
    }
  }
}

it.each(seedsOf({ quick: 2, ci: 6 }))(
  'no asset of a file that is there is in the trash, whatever happens meanwhile (seed %i)',
  async (seed) => {
    const random = new Random(seed);
    const desk = new Desk(random, 24);
    expect((await sync()).code).toBe(0);
    for (let round = 0; round < 4; round++) {
      desk.delete(desk.numbers[random.below(desk.numbers.length)] as number);
      let isDone = false;
      const run = sync('--wait').finally(() => {
        isDone = true;
      });
      while (!isDone) {
        await sleep(random.below(12));
        await desk.act();
      }
      await run;
      const kept = new Set(service.completeAssets.map(({ bytes }) => Number(String(bytes).split(':')[0])));
      expect(desk.numbers.filter((number) => !kept.has(number))).toEqual([]);
    }
  },
);
