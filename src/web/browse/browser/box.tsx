import { batch, signal } from '@preact/signals';
import { type DrawnBox, type Layout, margin } from './grid-layout.ts';
import type { PagedList } from './paged-list.ts';
import { boxed, selectIndexes, selection } from './selected.ts';
import { nothing } from './selection.ts';

/** The box that is being drawn, in the coordinates of the rows. */
const drawn = signal<DrawnBox | undefined>(undefined);

/** Distance from the edge at which the shelf scrolls, and by how much each frame, in pixels. */
const [edge, scrollStep] = [30, 24];

/** Draws a box from where a mouse was pressed between cards, and selects what it touches. Escape leaves the selection. */
export function startBox(event: PointerEvent, shelf: HTMLElement, list: PagedList, layout: () => Layout): void {
  const rows = shelf.querySelector('.rows') as HTMLElement;
  // Not on a card or a message, which has buttons and text of its own.
  const isBetween = event.target === shelf || event.target === rows;
  if (event.button !== 0 || event.pointerType !== 'mouse' || !isBetween) return;
  const before = event.ctrlKey || event.metaKey || event.shiftKey ? selection.value : nothing;
  const placeOf = (x: number, y: number) => {
    const { left, top } = rows.getBoundingClientRect();
    return { x: x - left, y: y - top };
  };
  const start = placeOf(event.clientX, event.clientY);
  let [x, y, frame] = [event.clientX, event.clientY, 0];
  shelf.setPointerCapture(event.pointerId);
  const draw = () => {
    const { top, bottom } = shelf.getBoundingClientRect();
    shelf.scrollTop += y > bottom - edge ? scrollStep : y < top + edge ? -scrollStep : 0;
    const end = placeOf(x, y);
    const box = {
      x: Math.min(start.x, end.x),
      y: Math.min(start.y, end.y),
      width: Math.abs(end.x - start.x),
      height: Math.abs(end.y - start.y),
    };
    batch(() => {
      drawn.value = box;
      boxed.value = new Set(layout().indexesIn(box));
    });
    frame = requestAnimationFrame(draw);
  };
  const listeners = new AbortController();
  const end = (isKept: boolean) => {
    cancelAnimationFrame(frame);
    listeners.abort(); // also the pointerup that follows Escape
    const indexes = boxed.value;
    batch(() => {
      drawn.value = undefined;
      boxed.value = new Set();
    });
    if (!isKept) return;
    const sorted = [...indexes].sort((a, b) => a - b);
    const [first, last] = [sorted[0], sorted.at(-1)];
    if (first === undefined || last === undefined) selection.value = before;
    else void selectIndexes(list, before, [first, last + 1], (index) => indexes.has(index));
  };
  const options = { signal: listeners.signal };
  const move = ({ clientX, clientY }: PointerEvent) => {
    [x, y] = [clientX, clientY];
    frame ||= requestAnimationFrame(draw);
  };
  shelf.addEventListener('pointermove', move, options);
  shelf.addEventListener('pointerup', () => end(true), options);
  shelf.addEventListener('pointercancel', () => end(false), options);
  const cancel = (pressed: KeyboardEvent) => {
    if (pressed.key !== 'Escape') return;
    pressed.stopPropagation();
    end(false);
  };
  addEventListener('keydown', cancel, { capture: true, ...options });
}

export function SelectionBox() {
  const box = drawn.value;
  if (!box) return null;
  const style = {
    left: `${box.x + margin}px`,
    top: `${box.y + margin}px`,
    width: `${box.width}px`,
    height: `${box.height}px`,
  };
  return <div class="box" style={style} />;
}
