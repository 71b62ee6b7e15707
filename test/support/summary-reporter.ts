import type { Reporter, TestModule, Vitest } from 'vitest/node';

/**
 * Prints the reasons for skipped tests at the end of a run, and one line for CI:
 * `Tests: 361 passed, 0 failed, 2 skipped`.
 */
export default class SummaryReporter implements Reporter {
  /** Tags of tests that this machine cannot run. */
  #missing: readonly string[] = [];

  onInit({ config }: Vitest): void {
    this.#missing = config.tags.filter(({ skip }) => skip).map(({ name }) => name);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    const lacking = new Map<string, number>();
    for (const module of modules) {
      const failedBefore = counts.failed;
      for (const test of module.children.allTests()) {
        const result = test.result();
        counts[result.state]++;
        if (result.state !== 'skipped') continue;
        const reasons = this.#missing.filter((name) => test.tags.includes(name));
        const named = reasons.length > 0 || result.note === undefined ? reasons : [result.note];
        for (const reason of named) lacking.set(reason, (lacking.get(reason) ?? 0) + 1);
      }
      // A file that cannot be loaded, or whose hooks fail, has no failed test of its own.
      if (module.state() === 'failed' && counts.failed === failedBefore) counts.failed++;
    }
    if (lacking.size > 0) {
      const list = [...lacking].sort().map(([reason, tests]) => `${reason} (${tests})`);
      process.stdout.write(`\nSkipped, since this machine lacks: ${list.join(', ')}\n`);
    }
    const { passed, failed, skipped, pending } = counts;
    process.stdout.write(`\nTests: ${passed} passed, ${failed + pending} failed, ${skipped} skipped\n`);
  }
}
