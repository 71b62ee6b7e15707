/* What is selected of a list. No DOM in this file. */

/** Selected assets. With `all`, each asset of the list is selected, loaded or not, and `uids` are the exceptions. */
export type Selection = { readonly all: boolean; readonly uids: ReadonlySet<string> };

export const nothing: Selection = { all: false, uids: new Set() };
export const everything: Selection = { all: true, uids: new Set() };

export const isSelected = ({ all, uids }: Selection, uid: string) => uids.has(uid) !== all;

/** Returns the number of selected assets of a list; undefined if all are, and its length is not known. */
export function countSelected({ all, uids }: Selection, length: number | undefined): number | undefined {
  if (!all) return uids.size;
  return length === undefined ? undefined : Math.max(0, length - uids.size);
}

/** Returns a selection with more assets, or without them. */
export function withUids({ all, uids }: Selection, changed: Iterable<string>, isOn: boolean): Selection {
  const next = new Set(uids);
  for (const uid of changed)
    if (isOn !== all) next.add(uid);
    else next.delete(uid);
  return { all, uids: next };
}
