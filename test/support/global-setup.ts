import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { findProcessesWith, killAll, waitUntilNone, watchFiles } from './leftovers.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Parent of all temporary folders; removed at the end of the run. */
    testRoot: string;
  }
}

/** Returns a folder in memory, where fsync costs nothing, if the machine has one with room for all tests. */
function fastFolder(): string {
  const memory = '/dev/shm';
  if (process.env.TMPDIR !== undefined || !existsSync(memory)) return tmpdir();
  // Tests run scripts that they write; containers often forbid that here.
  if (/^\S+ \/dev\/shm \S+ \S*\bnoexec\b/m.test(readFileSync('/proc/mounts', 'utf8'))) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 8 * 1024 ** 3 ? memory : tmpdir();
}

export default function setup(project: TestProject) {
  // Without links: macOS's temporary folder is behind one.
  const testRoot = mkdtempSync(join(realpathSync(fastFolder()), 'mediactl-test-'));
  chmodSync(testRoot, 0o755); // some tests drop root privileges
  project.provide('testRoot', testRoot);
  // Default folders of programs and npm's cache are in the temporary folder too. All programs of the run share one
  // compile cache, since compiling takes half of their startup time.
  for (const [name, folder] of [
    ['TMPDIR', 'tmp'],
    ['HOME', 'home'],
    ['XDG_CACHE_HOME', 'cache'],
    ['npm_config_cache', 'npm'],
  ] as const) {
    process.env[name] = join(testRoot, folder);
    mkdirSync(join(testRoot, folder), { mode: 0o700 });
  }
  chmodSync(join(testRoot, 'tmp'), 0o1777);
  const listLeft = watchFiles(project.config.root, join(testRoot, 'tmp'));
  const counted = process.env.MEDIACTL_TEST_EXECUTABLE && countRuns(testRoot, process.env.MEDIACTL_TEST_EXECUTABLE);
  return async () => {
    const report = counted ? counted() : undefined;
    const processes = await waitUntilNone(() => findProcessesWith(testRoot));
    killAll(processes);
    // Developers add files while tests are repeated.
    const files = project.config.watch ? [] : listLeft();
    rmSync(testRoot, { recursive: true, force: true });
    if (report) process.stdout.write(`${report}\n`);
    const left = [...processes.map(({ pid, command }) => `process ${pid}: ${command}`), ...files];
    if (left.length > 0) fail(`the tests left behind:\n${left.join('\n')}`);
  };
}

/** Fails the run. Vitest only prints an error that is thrown at its end. */
function fail(reason: string): void {
  process.exitCode = 1;
  process.stderr.write(`\nFAILED: ${reason}\n`);
}

/**
 * Creates a script that starts the executable and counts its processes. @returns a function that reports the number of
 * processes, and fails the run if there were none
 */
function countRuns(testRoot: string, executable: string): () => string {
  const program = join(testRoot, 'mediactl');
  // exec keeps the process id, so that tests can measure, signal and kill it.
  writeFileSync(program, `#!/bin/sh\necho >> '${program}.runs'\nexec '${resolve(executable)}' "$@"\n`, { mode: 0o755 });
  process.env.MEDIACTL_TEST_PROGRAM = program;
  writeFileSync(`${program}.in-process`, '');
  chmodSync(`${program}.in-process`, 0o666); // some tests drop root privileges
  const count = (suffix: string) => (existsSync(program + suffix) ? statSync(program + suffix).size : 0);
  return () => {
    const [processes, others] = [count('.runs'), count('.in-process')];
    if (processes === 0) fail('no process was the executable');
    return `Executable: ${processes} processes; ${others} runs needed the process of the test`;
  };
}
