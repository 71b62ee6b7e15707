import { appendFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { keepState, makeStateFolder } from '../../client/folders.ts';
import { readTextFileIfAny } from '../../client/read-file.ts';
import type { ShortUids, UidKind } from '../output/result.ts';

/** What is shown has so many; what is typed may have six. */
export const fewestDigits = 8;
/** As many as a person may still remember; a file past twice that is cut to the newest. */
const mostKept = 5_000;
const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The uids that this machine has shown to a person of late, for one service: on a terminal they are
 * shown short, and what is typed short is looked up here, never in a listing.
 */
export class ShownUids implements ShortUids {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Those that begin so. */
  find(kind: UidKind, prefix: string): string[] {
    const wanted = prefix.toLowerCase();
    return this.#known()
      .get(kind)
      .filter((uid) => uid.startsWith(wanted));
  }

  /**
   * How uids are shown in one table: as short as tells them from each other and from those shown
   * before, eight digits at least. They can be typed so from then on.
   */
  async shorten(kind: UidKind, uids: readonly string[]): Promise<(uid: string) => string> {
    const own = new Set(uids.map((uid) => uid.toLowerCase()).filter((uid) => isUuid.test(uid)));
    const known = this.#known();
    const digits = digitsOf(own, [...own, ...known.get(kind)]);
    try {
      await this.#keep(
        [...own].map((uid) => `${kind} ${uid}\n`),
        known,
      );
    } catch {
      return (uid) => uid; // what cannot be kept could not be typed short
    }
    return (uid) => (own.has(uid.toLowerCase()) ? uid.slice(0, digits) : uid);
  }

  #known() {
    const text = readTextFileIfAny(this.#path);
    const lines = text.split('\n').filter((line) => line !== '');
    const isTorn = text !== '' && !text.endsWith('\n');
    const get = (kind: UidKind) => {
      const begin = `${kind} `;
      const uids = lines.filter((line) => line.startsWith(begin));
      const read = uids.map((line) => line.slice(begin.length));
      return [...new Set(read.filter((uid) => isUuid.test(uid)))];
    };
    return { lines, isTorn, get };
  }

  /** Short lines, added whole: several processes may show something at once. */
  async #keep(
    added: readonly string[],
    { lines: known, isTorn }: { lines: readonly string[]; isTorn: boolean },
  ): Promise<void> {
    if (known.length + added.length < 2 * mostKept) {
      await makeStateFolder(dirname(this.#path));
      const begin = isTorn ? '\n' : ''; // a line that lost its end
      appendFileSync(this.#path, begin + added.join(''), { mode: 0o600 });
      return;
    }
    const all = [...new Set([...known.map((line) => `${line}\n`), ...added].reverse())];
    // A table is kept whole, however long: its first row was shown as late as its last.
    const newest = all.slice(0, Math.max(mostKept, added.length)).reverse();
    await keepState(this.#path, newest.join(''));
  }
}

/** Digits, and the dash between them, that tell each of `own` from all the others. */
function digitsOf(own: ReadonlySet<string>, all: readonly string[]): number {
  const sorted = [...new Set(all)].sort();
  let digits = fewestDigits;
  for (let at = 1; at < sorted.length; at++) {
    const [before, uid] = [sorted[at - 1] as string, sorted[at] as string];
    if (own.has(before) || own.has(uid)) digits = Math.max(digits, alike(before, uid) + 1);
  }
  return sorted.some((uid) => uid[digits - 1] === '-') ? digits + 1 : digits;
}

function alike(one: string, other: string): number {
  let count = 0;
  while (count < one.length && one[count] === other[count]) count++;
  return count;
}
