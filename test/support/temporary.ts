import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder of this test alone, gone when it ends. */
export function temporaryFolder(): string {
  const folder = makeFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The same for suites that remove it themselves. */
export const makeFolder = () => mkdtempSync(join(tmpdir(), 'mediactl-test-'));
