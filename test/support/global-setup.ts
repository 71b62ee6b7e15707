import { mkdtempSync, rmSync } from 'node:fs';
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
  return () => rmSync(testRoot, { recursive: true, force: true });
}
