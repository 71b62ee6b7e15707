import {
  type BigIntStats,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { asObject } from '../shared/json-values.ts';
import { isOwnPath, stateMarker } from '../shared/own-names.ts';
import { usageError } from './errors.ts';
import { toSlashes } from './local-path.ts';

const maxConfigurationBytes = 1024 * 1024;

/** Returns true for bytes that cannot be the first of a configuration, which is an object in JSON. */
const isNoObject = (start: Buffer) => !/^\s*(?:\{|$)/.test(start.toString('latin1', 0, 64));

/** Returns true for the text of a configuration with a profile, which may contain API keys. */
function isConfiguration(text: string): boolean {
  if (!text.includes('"profiles"')) return false;
  try {
    const profiles = Object.values(asObject(asObject(JSON.parse(text)).profiles)).map(asObject);
    return profiles.length > 0 && profiles.every((each) => 'baseUrl' in each && 'keyStore' in each);
  } catch {
    return false; // not JSON
  }
}

/** Returns true if an open file has the content of a configuration. It is read again for that only if it may be one. */
export function hasConfiguration(descriptor: number, sizeBytes: number): boolean {
  if (sizeBytes > maxConfigurationBytes) return false;
  const start = Buffer.alloc(Math.min(sizeBytes, 64));
  readSync(descriptor, start, 0, start.length, 0);
  if (isNoObject(start)) return false;
  const bytes = Buffer.alloc(sizeBytes);
  return isConfiguration(bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, sizeBytes, 0)));
}

/**
 * Checks bytes that are not on this disk before they are uploaded.
 *
 * @throws CodedError `usage` (exit 2) if they are a configuration
 */
export async function assertNoConfiguration(
  path: string,
  sizeBytes: number,
  read: () => AsyncIterable<Buffer>,
): Promise<void> {
  if (sizeBytes > maxConfigurationBytes) return;
  const parts: Buffer[] = [];
  for await (const part of read()) {
    if (parts.length === 0 && isNoObject(part)) return;
    parts.push(part);
  }
  if (isConfiguration(Buffer.concat(parts).toString())) throw ownFileError(path);
}

/** Matches the names that a configuration has, also while it is written, and as a copy. */
const configurationName = /^config.*\.json(?!.*\.lock$)/i;

/** Returns true for a file with the name and the content of a configuration. One that cannot be read is not. */
function isConfigurationFile(path: string): boolean {
  if (!configurationName.test(basename(path))) return false;
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return hasConfiguration(descriptor, fstatSync(descriptor).size);
  } catch {
    return false; // reported when it is opened
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Returns the folder for copies of stdin, the only files of the state folder that may be uploaded. */
export const spoolFolderOf = (stateDir: string) => join(stateDir, 'spool');

/**
 * Recognizes the files of mediactl itself, by what they are: all files in a state folder, which its marker shows, and
 * configurations, by their content, whichever program, profile or home they belong to; the settings of projects; and all
 * files in the folders of this process. They may contain API keys, and closing a file releases the locks that this process has on
 * it (POSIX), so no source opens them. Compares folders by device and inode, since a path can have several spellings.
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
    if (existsSync(join(directory, stateMarker))) return true;
    if (this.#missing.size + this.#identities.size === 0) return false;
    const identity = identityOf(directory);
    return identity !== undefined && this.#isIdentity(identity);
  }

  /** Returns true if a directory is one of the folders or inside one. @param directory its real path */
  includesDirectory(directory: string): boolean {
    const known = this.#decisions.get(directory);
    if (known !== undefined) return known;
    const parent = dirname(directory);
    const isOwn = this.isFolder(directory) || (parent !== directory && this.includesDirectory(parent));
    // A directory that does not exist yet might become one of the folders.
    if (isOwn || existsSync(directory)) this.#decisions.set(directory, isOwn);
    return isOwn;
  }

  /** Returns true for a file of mediactl. @param real its real path; the file need not exist */
  includesFile(real: string): boolean {
    return this.includesDirectory(dirname(real)) || this.isFile(real);
  }

  /** Returns true for a file of mediactl by its name or content, wherever it is. */
  isFile(path: string): boolean {
    return isOwnPath(toSlashes(path)) || isConfigurationFile(path);
  }

  /** Returns true for a path that leads to a file of mediactl, also by a link, or that one would have. */
  includes(path: string): boolean {
    try {
      // Links are rare. The real path of a directory is read for its first file only.
      if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
        return this.includesFile(realpathSync.native(path));
      return this.#includesDirectoryAt(resolve(dirname(path))) || this.isFile(path);
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
    throw ownFileError(path);
  }

  #isSpooled(path: string): boolean {
    const spool = this.#spool === undefined ? undefined : identityOf(this.#spool);
    return spool !== undefined && identityOf(dirname(realpathSync.native(path))) === spool;
  }

  /** @param directory absolute path of an existing directory, which may contain links */
  #includesDirectoryAt(directory: string): boolean {
    const known = this.#decisions.get(directory);
    if (known !== undefined) return known;
    const isOwn = this.includesDirectory(realpathSync.native(directory));
    this.#decisions.set(directory, isOwn);
    return isOwn;
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

export const ownFileError = (path: string) =>
  usageError(
    `${path} is one of mediactl's own files`,
    'use another file',
    'it belongs to the configuration or the state',
  );

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
