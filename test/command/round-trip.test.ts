import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { UploadRecord } from '../../src/cli/uploading/upload-record.ts';
import { setUpCli } from '../support/cli-setup.ts';
import { acceleratedClock } from '../support/clock.ts';
import { Random, seedsOf } from '../support/random.ts';
import { isStrict } from '../support/sandbox.ts';

/*
 * A folder comes home, is edited there, checked, synced and downloaded again: what was edited goes up, once, and nothing
 * else is sent or fetched.
 */

const { setup } = setUpCli();

const names = ['a.md', 'b.md', 'ü é.md', '-dash.md', 'no extension', "it's 100% #1.md", '.hidden.md'];
const directories = ['', 'day 1/', 'day 1/cam ü/', 'day 2/'];

const filesIn = (directory: string) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

const contentsOf = (directory: string) =>
  Object.fromEntries(filesIn(directory).map((path) => [path.slice(directory.length + 1), readFileSync(path, 'utf8')]));

/** One directory, its folder, and the directory at home. */
class RoundTrip {
  readonly #random: Random;
  readonly #folder: string;
  readonly #source: string;
  readonly #home: string;
  readonly #environment: Record<string, string>;
  /** What was done at home, by the path relative to it. */
  readonly edited = new Map<string, string>();
  readonly deleted = new Set<string>();
  readonly #prunes: boolean;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#folder = `/Trip ${seed}`;
    this.#source = join(setup.cli.home, 'source');
    this.#home = join(setup.cli.home, 'home');
    // The same machine, or another one.
    this.#environment = this.#random.chance(0.5) ? {} : { MEDIACTL_STATE_DIR: join(setup.cli.home, 'other-state') };
    this.#prunes = this.#random.chance(0.5);
  }

  #json(args: string[]) {
    return setup.cli.json(args, { environment: this.#environment, clock: acceleratedClock() });
  }

  async upload(): Promise<void> {
    for (const directory of directories)
      for (const name of names) if (this.#random.chance(0.3)) write(join(this.#source, directory, name), this.#text());
    write(join(this.#source, 'always.md'), this.#text());
    await setup.cli.json(['sync', this.#source, this.#folder, '--wait'], { clock: acceleratedClock() });
  }

  #text(): string {
    // Some files are equal.
    return this.#random.chance(0.1) ? '# the same' : `# text ${this.#random.below(1_000_000)}`;
  }

  download(...args: string[]): Promise<{ path: string; outcome: string }[]> {
    return this.#json(['download', this.#folder, '-d', this.#home, ...args]);
  }

  /** Edits files at home in the ways of people and programs. */
  edit(): void {
    for (const path of Object.keys(contentsOf(this.#home))) {
      const full = join(this.#home, path);
      switch (this.#random.below(8)) {
        case 0:
          appendFileSync(full, ', edited');
          this.edited.set(path, readFileSync(full, 'utf8'));
          break;
        case 1: {
          const text = readFileSync(full, 'utf8');
          writeFileSync(full, text.toUpperCase().replace('#', '*'));
          this.edited.set(path, readFileSync(full, 'utf8'));
          break;
        }
        case 2: {
          // Saved in place of the old file.
          write(`${full}.tmp`, `# saved ${this.#random.below(1_000_000)}`);
          renameSync(`${full}.tmp`, full);
          this.edited.set(path, readFileSync(full, 'utf8'));
          break;
        }
        case 3: {
          rmSync(full);
          this.deleted.add(path);
          break;
        }
        case 4:
          if (this.#random.chance(0.5)) utimesSync(full, new Date(), new Date());
      }
    }
    if (this.#random.chance(0.5)) {
      write(join(this.#home, 'new.md'), `# new ${this.#random.below(1_000_000)}`);
      this.edited.set('new.md', readFileSync(join(this.#home, 'new.md'), 'utf8'));
    }
  }

  /** Returns the files that a check says the sync would send. */
  async check(): Promise<string[]> {
    const args = this.#random.chance(0.3) ? ['--download'] : [];
    const { stdout } = await setup.cli.run(['check', this.#home, this.#folder, '--json', ...args], {
      environment: this.#environment,
    });
    const sent = ['changed', 'different', 'same_name', 'missing_remotely'];
    const found = JSON.parse(stdout) as { path: string; outcome: string }[];
    return found.flatMap(({ path, outcome }) => (sent.includes(outcome) ? [this.#relative(path)] : [])).sort();
  }

  /** Returns the files that are sent. */
  async sync(): Promise<string[]> {
    const prune = this.#prunes ? ['--prune', '--yes'] : [];
    const records: UploadRecord[] = await this.#json(['sync', this.#home, this.#folder, '--wait', ...prune]);
    return records.flatMap(({ path, outcome }) => (outcome === 'uploaded' ? [this.#relative(path)] : [])).sort();
  }

  contents(): Record<string, string> {
    return contentsOf(this.#home);
  }

  #relative(path: string): string {
    return path.slice(this.#home.length + 1);
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Returns the paths with an outcome. */
const downloaded = (records: readonly { path: string; outcome: string }[]) =>
  records.flatMap(({ path, outcome }) => (outcome === 'skipped' || outcome === 'not_in_library' ? [] : [path])).sort();

describe.skipIf(isStrict)('a folder that comes home', () => {
  it.each(seedsOf({ quick: 8, ci: 30, full: 200 }))(
    'what was edited at home goes up once, and nothing else is sent or fetched (seed %i)',
    async (seed) => {
      const trip = new RoundTrip(seed);
      await trip.upload();
      await trip.download();
      trip.edit();
      const edited = [...trip.edited.keys()].sort();
      expect(await trip.check()).toEqual(edited);
      expect(await trip.sync()).toEqual(edited);
      const synced = trip.contents();
      const missing = downloaded(await trip.download('--yes'));
      // What was deleted here is in the library still, and comes back.
      const back = trip.contents();
      expect(Object.fromEntries(Object.entries(back).filter(([path]) => !trip.deleted.has(path)))).toEqual(synced);
      expect(missing.length).toBeLessThanOrEqual(trip.deleted.size);
      expect(await trip.check()).toEqual([]);
      expect(await trip.sync()).toEqual([]);
      expect(downloaded(await trip.download('--yes'))).toEqual([]);
      expect(trip.contents()).toEqual(back);
    },
  );
});
