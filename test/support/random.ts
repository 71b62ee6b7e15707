import { isFullRun } from './full-run.ts';

/** Seeded pseudo-random number generator (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns an integer from 0 (inclusive) to `end` (exclusive). */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }
}

type SeedCounts = {
  /** In `npm test`. */
  quick: number;
  /** In CI, which sets MEDIACTL_TEST_SEEDS=ci, and in `npm run test:ci`. */
  ci?: number;
  /** In `npm run test:full`. */
  full?: number;
  first?: number;
};

/**
 * Returns the seeds of a test of random states. MEDIACTL_TEST_SEEDS=200 and MEDIACTL_TEST_FIRST=31 choose others.
 */
export function seedsOf({ quick, ci = quick, full = ci, first = 1 }: SeedCounts): number[] {
  const { MEDIACTL_TEST_SEEDS: wanted, MEDIACTL_TEST_FIRST: from } = process.env;
  const usual = isFullRun ? full : wanted === 'ci' ? ci : quick;
  const count = wanted === undefined || wanted === 'ci' ? usual : Number(wanted);
  return Array.from({ length: count }, (_, at) => Number(from ?? first) + at);
}
