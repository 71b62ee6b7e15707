import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { isFullRun } from './test/support/full-run.ts';
import { hangMs } from './test/support/hang.ts';
import { allRequirements, findMissing } from './test/support/requirements.ts';

const missing = findMissing();

/** Files of tests that wait for a minute, whatever the machine: they begin first, beside all the others. */
const waiting = /\/(?:fleet-\w+|examples|manual|media-table|many-files)\.(?:full\.)?test\.ts$/;

/** Runs the files of a project one after the other, since its test workers serve no other project. */
class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) =>
      (waiting.test(moduleId) ? 0 : 1) + (project.name === 'processes' ? 0 : 2);
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

/** Tests of processes that `npm test` runs too: kills, locks, pipes, terminals, the page and the package's start. */
const smokeTests = ['browse-page', 'error-codes', 'kill', 'lock', 'missing-libsql', 'package', 'terminal'].map(
  (name) => `test/process/${name}.test.ts`,
);

/** Soaks, the media kinds in a browser, and all else that takes long: `npm run test:full`. */
const slowTests = isFullRun ? [] : ['test/**/*.full.test.ts'];

const project = (name: string, include: string[], exclude: string[] = []): TestProjectInlineConfiguration => ({
  test: {
    name,
    include,
    exclude: [...exclude, ...slowTests],
    // Packages in CommonJS as Node itself gives them: jq-web exports a promise.
    deps: { interopDefault: false },
    pool: 'forks',
    // What files share they import once. Nothing is mocked; on what a process keeps (V8's flags, a memo) no test may rely.
    isolate: false,
    // Fewer and cheaper collections of short-lived objects: 13 % less CPU time over seven files of commands.
    execArgv: ['--max-semi-space-size=64', '--single-threaded-gc'],
    setupFiles: './test/support/setup.ts',
    provide: { missing },
    // An explicit `skip: false` would win over the other tags of a test.
    tags: allRequirements.map((tag) => (missing.includes(tag) ? { name: tag, skip: true } : { name: tag })),
    expect: { poll: { timeout: hangMs } },
    // A little later, so that a wait that hangs can say what it waited for.
    testTimeout: hangMs + 20_000,
    hookTimeout: hangMs + 20_000,
  },
});

export default defineConfig({
  test: {
    // `npm test` runs the first, `npm run test:ci` both.
    projects: [
      project('quick', ['test/{architecture,command,contract,unit}/**/*.test.ts', ...smokeTests]),
      project('processes', ['test/process/**/*.test.ts', 'packages/*/test/**/*.test.ts'], smokeTests),
    ],
    // Some tests wait: vitest's own choice would leave a machine of two cores half idle, and three workers a quarter.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    sequence: { sequencer: WaitingFirst },
    globalSetup: './test/support/global-setup.ts',
    reporters: ['default', './test/support/summary-reporter.ts'],
  },
});
