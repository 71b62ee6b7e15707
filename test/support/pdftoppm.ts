import { spawnSync } from 'node:child_process';

/** poppler's own; undefined where it is not installed. */
export const pdftoppm =
  spawnSync('pdftoppm', ['-v']).status === 0 ? '/usr/bin/pdftoppm' : undefined;
