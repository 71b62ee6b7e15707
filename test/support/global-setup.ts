import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  return () => rmSync(testRoot, { recursive: true, force: true });
}
