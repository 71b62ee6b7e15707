/* What is selected of a list. No DOM in this file. */

/** Selected assets. With `all`, each asset of the list is selected, loaded or not, and `uids` are the exceptions. */
export type ListSelection = { readonly all: boolean; readonly uids: ReadonlySet<string> };

export const nothing: ListSelection = { all: false, uids: new Set() };
export const everything: ListSelection = { all: true, uids: new Set() };

export const isSelected = ({ all, uids }: ListSelection, uid: string) => uids.has(uid) !== all;

/** Returns the number of selected assets of a list; undefined if all are, and its length is not known. */
export function countSelected({ all, uids }: ListSelection, length: number | undefined): number | undefined {
  if (!all) return uids.size;
  return length === undefined ? undefined : Math.max(0, length - uids.size);
}

export function withUids({ all, uids }: ListSelection, changed: Iterable<string>, isOn: boolean): ListSelection {
  const next = new Set(uids);
  for (const uid of changed)
    if (isOn !== all) next.add(uid);
    else next.delete(uid);
  return { all, uids: next };
}
