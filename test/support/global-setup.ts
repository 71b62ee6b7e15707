import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Parent of all temporary folders; removed at the end of the run. */
    testRoot: string;
  }
}

export default function setup(project: TestProject) {
  const testRoot = mkdtempSync(join(tmpdir(), 'mediactl-test-'));
  project.provide('testRoot', testRoot);
  // One compile cache for all programs of the run, whatever their home: compiling is half of a start.
  process.env.XDG_CACHE_HOME = join(testRoot, 'cache');
  mkdirSync(process.env.XDG_CACHE_HOME, { mode: 0o700 });
  return () => rmSync(testRoot, { recursive: true, force: true });
}
