import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { isFullRun } from './test/support/full-run.ts';
import { hangMs } from './test/support/hang.ts';
import { allRequirements, findMissing } from './test/support/requirements.ts';

const missing = findMissing();

/** Files of tests that wait for a minute, whatever the machine: they begin first, beside all the others. */
const waiting = /\/(?:fleet-\w+|examples|manual|media-table|many-files)\.(?:full\.)?test\.ts$/;

class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const waits = ({ moduleId }: TestSpecification) => Number(waiting.test(moduleId));
    return (await super.sort(files)).sort((a, b) => waits(b) - waits(a));
  }
}

export default defineConfig({
  test: {
    // Packages in CommonJS as Node itself gives them: jq-web exports a promise.
    deps: { interopDefault: false },
    include: ['test/**/*.test.ts'],
    // Soaks, the media kinds in a browser, and the queue's suite on the second store: `npm run test:full`.
    exclude: isFullRun ? [] : ['test/**/*.full.test.ts'],
    pool: 'forks',
    // What files share they import once. Nothing is mocked; on what a process keeps (V8's flags, a memo) no test may rely.
    isolate: false,
    // Most of a test is waiting: vitest's own choice would leave a machine of two cores half idle.
    maxWorkers: Math.max(6, availableParallelism() - 1),
    sequence: { sequencer: WaitingFirst },
    globalSetup: './test/support/global-setup.ts',
    setupFiles: './test/support/setup.ts',
    provide: { missing },
    // An explicit `skip: false` would win over the other tags of a test.
    tags: allRequirements.map((name) => (missing.includes(name) ? { name, skip: true } : { name })),
    reporters: ['default', './test/support/summary-reporter.ts'],
    expect: { poll: { timeout: hangMs } },
    // A little later, so that a wait that hangs can say what it waited for.
    testTimeout: hangMs + 20_000,
    hookTimeout: hangMs + 20_000,
  },
});
