import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';

/** Creates a folder that is removed at the end of the whole run. */
export const temporaryFolder = () => mkdtempSync(join(inject('testRoot'), 'folder-'));
