import type { Reporter, TestModule } from 'vitest/node';

/** Ends a run with one plain line that any CI reads: `Tests: 361 passed, 0 failed, 2 skipped`. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      const failedBefore = counts.failed;
      for (const test of module.children.allTests()) counts[test.result().state]++;
      // A file that cannot be loaded, or whose hooks fail, fails without a failed test.
      if (module.state() === 'failed' && counts.failed === failedBefore) counts.failed++;
    }
    const { passed, failed, skipped, pending } = counts;
    process.stdout.write(
      `\nTests: ${passed} passed, ${failed + pending} failed, ${skipped} skipped\n`,
    );
  }
}
