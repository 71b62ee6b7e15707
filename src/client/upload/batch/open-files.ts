import type { BigIntStats } from 'node:fs';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { isLinux } from '../../../shared/platform.ts';
import { inodeOf } from '../../local-path.ts';

/**
 * Finds out whether a process has a file open for writing. Only Linux tells that, and to an ordinary user only of
 * processes of their own: no answer is no proof.
 */
export class OpenFiles {
  #scan: Promise<ReadonlyMap<string, string>> = Promise.resolve(new Map());
  #nextScan: Promise<ReadonlyMap<string, string>> | undefined;

  /**
   * Returns the process that has a file open for writing, such as `obs (process 4242)`. One look at all processes answers
   * all questions that were asked before it began.
   */
  async findWriter(file: BigIntStats): Promise<string | undefined> {
    this.#nextScan ??= this.#scan.then(() => {
      this.#nextScan = undefined;
      this.#scan = isLinux ? findWriters() : Promise.resolve(new Map());
      return this.#scan;
    });
    return (await this.#nextScan).get(inodeOf(file));
  }
}

/** Returns the processes that have files open for writing, by the inodes of the files. */
async function findWriters(): Promise<Map<string, string>> {
  const writers = new Map<string, string>();
  const processes = await readdir('/proc').catch(() => []);
  for (const id of processes.filter((name) => /^\d+$/.test(name))) {
    // Fails for a process of another user, and for one that has ended.
    const descriptors = await readdir(`/proc/${id}/fd`).catch(() => []);
    const inodes = await Promise.all(descriptors.map((descriptor) => findWritten(id, descriptor)));
    const written = inodes.filter((inode) => inode !== undefined);
    if (written.length === 0) continue;
    const name = await readFile(`/proc/${id}/comm`, 'utf8').catch(() => '');
    for (const inode of written) writers.set(inode, `${name.trim() || 'a program'} (process ${id})`);
  }
  return writers;
}

/** Returns the inode of a file that a process has open for writing; undefined for anything else. */
async function findWritten(process: string, descriptor: string): Promise<string | undefined> {
  try {
    const link = `/proc/${process}/fd/${descriptor}`;
    if (!(await readlink(link)).startsWith('/')) return undefined; // a socket or a pipe
    const flags = /^flags:\s*([0-7]+)$/m.exec(await readFile(`/proc/${process}/fdinfo/${descriptor}`, 'utf8'))?.[1];
    const accessMode = Number.parseInt(flags ?? '0', 8) & 3; // O_ACCMODE: 0 is O_RDONLY
    return accessMode === 0 ? undefined : inodeOf(await stat(link, { bigint: true }));
  } catch {
    return undefined; // it was closed meanwhile
  }
}
