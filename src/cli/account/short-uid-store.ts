import { appendFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { readTextFileOrEmpty } from '../../client/read-file.ts';
import { makeStateFolder, writeStateFile } from '../../client/state-files.ts';
import type { ShortUids, UidKind } from '../output/result.ts';

/** Minimum number of digits of a displayed short uid. The user may type as few as six. */
export const minPrefix = 8;
/** Maximum number of stored uids. A file of twice that size is truncated to the newest. */
const maxStoredUids = 5_000;
const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Stores the uids recently shown to the user for one service. A terminal displays short prefixes; when the user
 * types one, it is resolved here instead of by listing assets.
 */
export class ShortUidStore implements ShortUids {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Finds stored uids by prefix. */
  find(kind: UidKind, prefix: string): string[] {
    const normalized = prefix.toLowerCase();
    return this.#load()
      .get(kind)
      .filter((uid) => uid.startsWith(normalized));
  }

  /**
   * Returns a function that shortens the uids of one table to the shortest prefix that is unique among them and
   * the stored uids, at least eight digits. Stores them, so that the user can type the prefixes.
   */
  async shorten(kind: UidKind, uids: readonly string[]): Promise<(uid: string) => string> {
    const own = new Set(uids.map((uid) => uid.toLowerCase()).filter((uid) => isUuid.test(uid)));
    const known = this.#load();
    const digits = uniquePrefixLength(own, [...own, ...known.get(kind)]);
    try {
      await this.#append(
        [...own].map((uid) => `${kind} ${uid}\n`),
        known,
      );
    } catch {
      return (uid) => uid; // without storage, short uids could not be resolved
    }
    return (uid) => (own.has(uid.toLowerCase()) ? uid.slice(0, digits) : uid);
  }

  #load() {
    const text = readTextFileOrEmpty(this.#path);
    const lines = text.split('\n').filter((line) => line !== '');
    const hasPartialLine = text !== '' && !text.endsWith('\n');
    const get = (kind: UidKind) => {
      const begin = `${kind} `;
      const uids = lines.filter((line) => line.startsWith(begin));
      const read = uids.map((line) => line.slice(begin.length));
      return [...new Set(read.filter((uid) => isUuid.test(uid)))];
    };
    return { lines, isTorn: hasPartialLine, get };
  }

  /** Appends short lines in single writes, since several processes may do so concurrently. */
  async #append(
    added: readonly string[],
    { lines: known, isTorn }: { lines: readonly string[]; isTorn: boolean },
  ): Promise<void> {
    if (known.length + added.length < 2 * maxStoredUids) {
      await makeStateFolder(dirname(this.#path));
      const begin = isTorn ? '\n' : ''; // after a line truncated by a crash
      appendFileSync(this.#path, begin + added.join(''), { mode: 0o600 });
      return;
    }
    const all = [...new Set([...known.map((line) => `${line}\n`), ...added].reverse())];
    // Keep a table complete, however long: its first row is as recent as its last.
    const newest = all.slice(0, Math.max(maxStoredUids, added.length)).reverse();
    await writeStateFile(this.#path, newest.join(''));
  }
}

/** Returns the length, including dashes, of the shortest prefix that makes each of `own` unique. */
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
