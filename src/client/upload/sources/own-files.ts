import { type BigIntStats, lstatSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { usageError } from '../../errors.ts';

/** Name of the settings file of a project. */
export const projectFileName = '.mediactl.json';

/** Returns true for the name of a project's settings file, in any case, since some file systems ignore it. */
export const isProjectFile = (name: string) => name.toLowerCase() === projectFileName;

/** Returns the folder for copies of stdin, the only files of the state folder that may be uploaded. */
export const spoolFolderOf = (stateDir: string) => join(stateDir, 'spool');

/**
 * Recognizes the files of mediactl itself: all files in its configuration folder and its state folder, and the settings
 * files of projects. They may contain API keys, and closing a file releases the locks that this process has on it
 * (POSIX), so no source opens them. Compares folders by device and inode, since a path can have several spellings.
 * Synchronous, because the thread pool would cost more than the calls.
 */
export class OwnFiles {
  readonly #spool: string | undefined;
  /** Folders that did not exist yet. */
  readonly #missing: Set<string>;
  readonly #identities = new Set<string>();
  /** Maps directories to whether they are one of the folders or inside one. */
  readonly #decisions = new Map<string, boolean>();

  constructor({ config, state }: { config?: string | undefined; state?: string | undefined }) {
    this.#missing = new Set([config, state].filter((folder) => folder !== undefined));
    this.#spool = state === undefined ? undefined : spoolFolderOf(state);
  }

  /** Returns true if a directory is one of the folders, and false if it is only inside one. */
  isFolder(directory: string): boolean {
    if (this.#hasNoFolders) return false;
    const identity = identityOf(directory);
    return identity !== undefined && this.#isIdentity(identity);
  }

  /** Returns true if a directory is one of the folders or inside one. @param directory its real path */
  includesDirectory(directory: string): boolean {
    if (this.#hasNoFolders) return false;
    const known = this.#decisions.get(directory);
    if (known !== undefined) return known;
    const identity = identityOf(directory);
    const parent = dirname(directory);
    const isOwn =
      (identity !== undefined && this.#isIdentity(identity)) ||
      (parent !== directory && this.includesDirectory(parent));
    if (identity !== undefined) this.#decisions.set(directory, isOwn);
    return isOwn;
  }

  /** Returns true for a file of mediactl. @param real its real path; the file need not exist */
  includesFile(real: string): boolean {
    return isProjectFile(basename(real)) || this.includesDirectory(dirname(real));
  }

  /** Returns true for a path that leads to a file of mediactl, also by a link. */
  includes(path: string): boolean {
    try {
      // Links are rare. The real path of a directory is read for its first file only.
      if (lstatSync(path).isSymbolicLink()) return this.includesFile(realpathSync.native(path));
      return isProjectFile(basename(path)) || this.#includesDirectoryAt(resolve(dirname(path)));
    } catch {
      return false; // reported when it is opened
    }
  }

  /**
   * Checks a file before it is opened. Copies of stdin may be opened, since they are meant to be uploaded.
   *
   * @throws CodedError `usage` (exit 2) if it is a file of mediactl
   */
  assertForeign(path: string): void {
    if (!this.includes(path) || this.#isSpooled(path)) return;
    throw usageError(
      `${path} is one of mediactl's own files`,
      'use another file',
      'it belongs to the configuration or the state',
    );
  }

  #isSpooled(path: string): boolean {
    const spool = this.#spool === undefined ? undefined : identityOf(this.#spool);
    return spool !== undefined && identityOf(dirname(realpathSync.native(path))) === spool;
  }

  /** @param directory absolute path of an existing directory, which may contain links */
  #includesDirectoryAt(directory: string): boolean {
    if (this.#hasNoFolders) return false;
    const known = this.#decisions.get(directory);
    if (known !== undefined) return known;
    const isOwn = this.includesDirectory(realpathSync.native(directory));
    this.#decisions.set(directory, isOwn);
    return isOwn;
  }

  get #hasNoFolders(): boolean {
    return this.#missing.size + this.#identities.size === 0;
  }

  #isIdentity(identity: string): boolean {
    for (const folder of this.#missing) {
      const found = identityOf(folder);
      if (found === undefined) continue;
      this.#identities.add(found);
      this.#missing.delete(folder);
    }
    return this.#identities.has(identity);
  }
}

/**
 * Returns device and inode of a directory, or its real path on a Windows file system without inodes; undefined if it
 * does not exist.
 */
function identityOf(directory: string): string | undefined {
  let found: BigIntStats;
  try {
    found = statSync(directory, { bigint: true });
    if (!found.isDirectory()) return undefined;
    return found.ino === 0n ? realpathSync.native(directory) : `${found.dev} ${found.ino}`;
  } catch {
    return undefined;
  }
}
