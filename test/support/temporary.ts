import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';

/** A new folder; it goes when the whole run ends. */
export const temporaryFolder = () => mkdtempSync(join(inject('testRoot'), 'folder-'));
