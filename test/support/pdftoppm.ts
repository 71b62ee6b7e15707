import { spawnSync } from 'node:child_process';

/** Path of poppler's pdftoppm(1); undefined if it is not installed. */
export const pdftoppm = spawnSync('pdftoppm', ['-v']).status === 0 ? '/usr/bin/pdftoppm' : undefined;
