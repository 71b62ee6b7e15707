import { computed, signal } from '@preact/signals';
import { formatCount } from '../../../shared/figures.ts';
import type { SeenList } from '../protocol.ts';
import type { PagedList } from './paged-list.ts';
import { countSelected, everything, isSelected, type ListSelection, nothing, withUids } from './selection.ts';

/* The selection of the page, and what changes it. Signals, so that no card is rendered again when it changes. */

export const selection = signal<ListSelection>(nothing);
/** Indexes of the cards that the box touches while it is drawn. */
export const boxed = signal<ReadonlySet<number>>(new Set());
/** Index of the card that has the keyboard. */
export const current = signal(0);
/** Length of the list; undefined if it is not known. */
export const listLength = signal<number | undefined>(undefined);
/** Says why a selection is not changed, or what is loaded for it. */
export const selectionNotice = signal('');
/** True once the command that waits for a selection has one, or was canceled: it ends, and this page with it. */
export const isPickEnded = signal(false);
/** The list as the service has it, which the user was told after it had changed, until something else is selected. */
export const changedList = signal<SeenList | undefined>(undefined);
export const selectedCount = computed(
  () => changedList.value?.count ?? countSelected(selection.value, listLength.value),
);
/** Creation time of the newest asset when all were selected, if another comes first. */
let newestOfAll: Promise<string | null> | undefined;

selection.subscribe(() => {
  changedList.value = undefined;
});

/** Card at which the next range begins. */
let anchor = 0;

export function clearSelection(): void {
  selection.value = nothing;
  selectionNotice.value = '';
}

/** Returns what the user sees of a list of which all is selected. */
export async function seenList(list: PagedList): Promise<SeenList> {
  const seen = { total: list.total, newest: list.newest ?? null, count: selectedCount.value ?? null };
  return changedList.value ?? { ...seen, ...(newestOfAll && { newest: await newestOfAll }) };
}

/** Selects all assets of a list, loaded or not. */
export function selectAll(list: PagedList): void {
  selection.value = everything;
  selectionNotice.value = '';
  // Without it, the service is asked twice before anything is handed on.
  newestOfAll = list.newest === undefined ? list.fetchNewest().catch(() => null) : undefined;
}

export function selectOnly(uid: string, index: number): void {
  selection.value = withUids(nothing, [uid], true);
  anchor = index;
}

export function toggle(uid: string, index: number): void {
  selection.value = withUids(selection.value, [uid], !isSelected(selection.value, uid));
  anchor = index;
}

/** Selects what is between the last selected card and another. */
export const selectTo = (list: PagedList, index: number): Promise<void> =>
  selectIndexes(list, nothing, [Math.min(anchor, index), Math.max(anchor, index) + 1]);

export function moveAnchor(index: number): void {
  anchor = index;
}

/**
 * Adds the assets of a range to a selection, and loads those that are not loaded, unless there are too many.
 *
 * @param isIn returns true for the indexes to add; all of the range by default
 */
export async function selectIndexes(
  list: PagedList,
  before: ListSelection,
  [from, to]: readonly [from: number, to: number],
  isIn: (index: number) => boolean = () => true,
): Promise<void> {
  if (list.isLongToFetch(from, to)) {
    selectionNotice.value = `That is a range of ${formatCount(to - from)} assets. Select all of them, or filter first.`;
    return;
  }
  const missing = list.hasAll(from, to) ? '' : 'Loading the assets of the range';
  selectionNotice.value = missing;
  const cards = await list.fetchRange(from, to);
  selection.value = withUids(
    before,
    cards.flatMap((card, at) => (card && isIn(from + at) ? [card.uid] : [])),
    true,
  );
  selectionNotice.value = '';
}
