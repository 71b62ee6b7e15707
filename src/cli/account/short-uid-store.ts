import { appendFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { readTextFileOrEmpty } from '../../client/read-file.ts';
import { makeStateFolder, writeStateFile } from '../../client/state-files.ts';
import type { UidKind } from '../output/result.ts';

/** Minimum length of a displayed short uid. Users can enter as few as `minTypedDigits`. */
export const minPrefix = 8;
/** Number of uids to keep. A file with twice as many is reduced to the newest uids. */
const maxStoredUids = 5_000;
const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Stores the uids of one service that were recently displayed to the user. A terminal displays only short prefixes.
 * If the user enters one, the store resolves it without a request to the service.
 */
export class ShortUidStore {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  find(kind: UidKind, prefix: string): string[] {
    const known = this.#load().get(kind);
    return known.filter((uid) => uid.startsWith(prefix.toLowerCase()));
  }

  /**
   * Stores the uids that a printed table shows, so that the user can enter prefixes of them. Returns a function
   * that shortens a uid to the shortest unique prefix of at least eight characters.
   */
  async shorten(kind: UidKind, uids: readonly string[]): Promise<(uid: string) => string> {
    const own = new Set(uids.map((uid) => uid.toLowerCase()).filter((uid) => isUuid.test(uid)));
    const known = this.#load();
    const digits = uniquePrefixLength(own, [...own, ...known.get(kind)]);
    try {
      const added = [...own].map((uid) => `${kind} ${uid}\n`);
      await this.#append(added, known);
    } catch {
      return (uid) => uid; // without storage, short uids could not be resolved
    }
    return (uid) => (own.has(uid.toLowerCase()) ? uid.slice(0, digits) : uid);
  }

  #load() {
    const text = readTextFileOrEmpty(this.#path);
    const lines = text.split('\n').filter((line) => line !== '');
    const get = (kind: UidKind) => {
      const read = lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1));
      return [...new Set(read.filter((uid) => isUuid.test(uid)))];
    };
    return { lines, isTorn: text !== '' && !text.endsWith('\n'), get };
  }

  /** Appends lines in a single write, since several processes can append at the same time. */
  async #append(added: readonly string[], { lines: known, isTorn }: { lines: readonly string[]; isTorn: boolean }) {
    if (known.length + added.length < 2 * maxStoredUids) {
      await makeStateFolder(dirname(this.#path));
      const begin = isTorn ? '\n' : ''; // after a line truncated by a crash
      appendFileSync(this.#path, begin + added.join(''), { mode: 0o600 });
      return;
    }
    const all = [...new Set([...known.map((line) => `${line}\n`), ...added].reverse())];
    // The displayed table is always stored completely, since all of its rows are equally recent.
    const newest = all.slice(0, Math.max(maxStoredUids, added.length)).reverse();
    await writeStateFile(this.#path, newest.join(''));
  }
}

/** Returns the shortest prefix length, including dashes, at which each uid in `own` is unique among `all`. */
function uniquePrefixLength(own: ReadonlySet<string>, all: readonly string[]): number {
  const sorted = [...new Set(all)].sort();
  let digits = minPrefix;
  for (let at = 1; at < sorted.length; at++) {
    const [before, uid] = [sorted[at - 1] as string, sorted[at] as string];
    if (own.has(before) || own.has(uid)) digits = Math.max(digits, commonPrefix(before, uid) + 1);
  }
  return sorted.some((uid) => uid[digits - 1] === '-') ? digits + 1 : digits;
}

function commonPrefix(one: string, other: string): number {
  let count = 0;
  while (count < one.length && one[count] === other[count]) count++;
  return count;
}
