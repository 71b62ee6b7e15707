import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './temporary-folder.ts';

const mountTmpfs = (folder: string, options: string) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status === 0;

/** A 4 MiB tmpfs, unmounted when the test ends; needs 'root-mount'. */
export class SmallDisk {
  readonly path: string;

  /** @param options further options of mount(8) */
  constructor(options = '') {
    this.path = join(temporaryFolder(), 'disk');
    mkdirSync(this.path);
    if (!mountTmpfs(this.path, `size=4m,mode=700${options && `,${options}`}`)) throw new Error('cannot mount');
    onTestFinished(() => void spawnSync('umount', ['-l', this.path]));
  }

  /** Fills the disk to the last byte. */
  fill(): void {
    for (const bytes of [64 * 1024, 4096, 1])
      try {
        for (;;) appendFileSync(this.#ballast, Buffer.alloc(bytes));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
  }

  free(): void {
    rmSync(this.#ballast);
  }

  /** Mounts the same disk read-only at another path. @returns that path */
  mountReadOnly(): string {
    const path = join(temporaryFolder(), 'read-only');
    mkdirSync(path);
    for (const args of [
      ['--bind', this.path, path],
      ['-o', 'remount,bind,ro', path],
    ])
      if (spawnSync('mount', args).status !== 0) throw new Error('cannot mount');
    onTestFinished(() => void spawnSync('umount', ['-l', path]));
    return path;
  }

  get #ballast(): string {
    return join(this.path, 'ballast');
  }
}
