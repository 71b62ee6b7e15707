import { dirname, sep } from 'node:path';
import { pathExists } from '../../local-path.ts';

/** Number of files that were uploaded from below a directory, and how many of them are missing. */
export type DirectoryCounts = { known: number; missing: number };

/** A directory whose disk may not be mounted. @property isGone true if the directory does not exist */
export type DoubtfulDirectory = DirectoryCounts & { path: string; isGone: boolean };

/** Maximum number of missing files that are never most of a directory's files. */
const maxMissing = 10;

/**
 * Counts the uploaded files of each directory below one, and those of them that are missing, to find out whether a disk
 * may not be mounted. `--prune` deletes no asset of such a directory, and a sync moves none.
 */
export class MissingFiles {
  readonly #top: string;
  /** `later` is the number of existing files that were added after the last missing one. */
  readonly #counts = new Map<string, DirectoryCounts & { later: number }>();

  /** @param top real path of the directory to count in */
  constructor(top: string) {
    this.#top = top;
  }

  /** Adds an uploaded file below the top directory. Files are added in the order in which they were uploaded. */
  add(realPath: string, isMissing: boolean): void {
    for (const path of this.directoriesOf(realPath)) {
      const { known, missing, later } = this.#counts.get(path) ?? { known: 0, missing: 0, later: 0 };
      const counts = { known: known + 1, missing: missing + Number(isMissing), later: isMissing ? 0 : later + 1 };
      this.#counts.set(path, counts);
    }
  }

  /** Returns the directories above a path, from the nearest one to the top. */
  directoriesOf(realPath: string): string[] {
    const found: string[] = [];
    for (let at = dirname(realPath); at.length >= this.#top.length; at = dirname(at)) {
      found.push(at);
      if (at === this.#top) break;
    }
    return found;
  }

  /**
   * Returns the directories whose disk may not be mounted, in order of their paths: most files are missing (of more than a
   * few), or all files of a directory that still exists.
   *
   * @param isStrict true if files that were uploaded after all missing ones prove nothing, as they may be files of the
   *   mount point
   */
  async findDoubtful({ isStrict = false } = {}): Promise<DoubtfulDirectory[]> {
    const found: DoubtfulDirectory[] = [];
    for (const [path, { missing, later, ...counts }] of [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (missing === 0) continue;
      const known = counts.known - (isStrict ? later : 0);
      const areMost = missing > maxMissing && missing > known / 2;
      if (!areMost && missing < known) continue;
      const isGone = !(await pathExists(path));
      if (areMost || !isGone) found.push({ path, known, missing, isGone });
    }
    return found;
  }
}

/** Returns true if a path is below a directory. Both are real paths. */
export const isBelow = (path: string, directory: string) =>
  path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
