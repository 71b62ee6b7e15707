import type { Reporter, TestModule } from 'vitest/node';

/** Reporter that ends a run with one line for CI: `Tests: 361 passed, 0 failed, 2 skipped`. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      const failedBefore = counts.failed;
      for (const test of module.children.allTests()) counts[test.result().state]++;
      // A file that cannot be loaded, or whose hooks fail, has no failed test of its own.
      if (module.state() === 'failed' && counts.failed === failedBefore) counts.failed++;
    }
    const { passed, failed, skipped, pending } = counts;
    process.stdout.write(`\nTests: ${passed} passed, ${failed + pending} failed, ${skipped} skipped\n`);
  }
}
