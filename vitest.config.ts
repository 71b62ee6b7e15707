import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Packages in CommonJS as Node itself gives them: jq-web exports a promise.
    deps: { interopDefault: false },
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Most of a test is waiting: vitest's own choice would leave a machine of two cores half idle.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    globalSetup: './test/support/global-setup.ts',
    reporters: ['default', './test/support/closing-line.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
