import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';

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
  const testRoot = mkdtempSync(join(fastFolder(), 'mediactl-test-'));
  project.provide('testRoot', testRoot);
  // One compile cache for all programs of the run, whatever their home: compiling is half of a start.
  process.env.XDG_CACHE_HOME = join(testRoot, 'cache');
  mkdirSync(process.env.XDG_CACHE_HOME, { mode: 0o700 });
  const counted = process.env.MEDIACTL_TEST_EXECUTABLE && countRuns(testRoot, process.env.MEDIACTL_TEST_EXECUTABLE);
  return () => {
    const report = counted ? counted() : undefined;
    rmSync(testRoot, { recursive: true, force: true });
    if (report) process.stdout.write(`${report}\n`);
  };
}

/**
 * Lets tests start the executable through a script that counts its processes. @returns a function that reports how
 * many there were, and throws if there was none
 */
function countRuns(testRoot: string, executable: string): () => string {
  const program = join(testRoot, 'mediactl');
  // exec keeps the process id, so that tests can measure, signal and kill it.
  writeFileSync(program, `#!/bin/sh\necho >> '${program}.runs'\nexec '${resolve(executable)}' "$@"\n`, { mode: 0o755 });
  process.env.MEDIACTL_TEST_PROGRAM = program;
  writeFileSync(`${program}.in-process`, '');
  chmodSync(`${program}.in-process`, 0o666); // some tests give up the rights of root
  const count = (suffix: string) => (existsSync(program + suffix) ? statSync(program + suffix).size : 0);
  return () => {
    const [processes, others] = [count('.runs'), count('.in-process')];
    if (processes === 0) throw new Error('no process was the executable');
    return `Executable: ${processes} processes; ${others} runs needed the process of the test`;
  };
}
