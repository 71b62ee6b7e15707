import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Query } from '../protocol.ts';
import { setup } from './api.ts';
import { AssetCard } from './asset-card.tsx';
import { Button } from './controls.tsx';
import type { PagedList } from './paged-list.ts';

type GridProps = {
  list: PagedList;
  query: Query;
  onOpen(uid: string): void;
  /** Index of the card to focus after its dialog was closed; undefined if there is none. */
  focusIndex: number | undefined;
};

type Container = RefObject<HTMLDivElement | null>;

const gap = 12;
/** Margin of `.rows` in the style sheet, rounded to pixels. */
const margin = 14;
const textHeight = 78;
const minCardWidth = 190;
const minPhoneCardWidth = 140; // leaves room for two columns
const skeletonCount = 12; // until the length is known

/** Renders a virtual list of assets. */
export function Grid({ list, query, onOpen, focusIndex }: GridProps) {
  const container = useRef<HTMLDivElement>(null);
  const { width, top, height, measure } = useViewport(container);
  const length = list.length ?? (list.problem ? 0 : skeletonCount);
  const layout = computeLayout(width, length);
  const [from, to] = layout.visibleRange(top, height);
  useLayoutEffect(() => list.setVisibleRange(from, to), [list, from, to]);
  const saveScroll = useScrollRestore(container, list, query, width > 0);
  const [current, setCurrent, goTo] = useFocus(container, list, layout);
  useLayoutEffect(() => {
    if (focusIndex !== undefined && focusIndex >= 0) goTo(focusIndex);
  }, [focusIndex]);
  const handleKey = (key: string, index: number): boolean => {
    const step = stepForKey(key, layout);
    if (step) goTo(Math.min(length - 1, Math.max(0, step(index, length))));
    return step !== undefined;
  };

  const visible = Array.from({ length: Math.max(0, to - from) }, (_, n) => from + n);
  // Keeps the focused card rendered while it is out of view, so that arrow keys continue from it.
  const isInView = current >= from && current < to;
  const hasFocus = container.current?.contains(document.activeElement) ?? false;
  if (hasFocus && current < length && !isInView) visible.push(current);
  const onScroll = () => {
    measure();
    saveScroll();
  };
  return (
    <div class="shelf" ref={container} onScroll={onScroll}>
      {list.length === 0 && <EmptyResult query={query} />}
      {list.length === undefined && list.problem && <LoadError list={list} />}
      <ul class="rows" style={{ height: `${layout.height}px` }} aria-label="Assets">
        {visible.map((index) => (
          <AssetCard
            key={index}
            card={list.at(index)}
            index={index}
            length={list.hasExactLength ? length : -1}
            style={layout.styleOf(index)}
            isFocusable={index === (isInView || hasFocus ? current : from)}
            onFocus={() => setCurrent(index)}
            onKey={(key) => handleKey(key, index)}
            onOpen={onOpen}
          />
        ))}
      </ul>
    </div>
  );
}

/** Returns the width of the container and its visible part, and a function that measures it again. */
function useViewport(container: Container) {
  const [viewport, setViewport] = useState({ width: 0, top: 0, height: 600 });
  const measure = () => {
    const { clientWidth: width, clientHeight, scrollTop: top } = container.current as HTMLDivElement;
    // Limited to the window, because a broken style could grow the container and make it fetch every page.
    setViewport({ width, top, height: Math.min(clientHeight, innerHeight) });
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(container.current as HTMLDivElement);
    measure();
    return () => observer.disconnect();
  }, []);
  return { ...viewport, measure };
}

/** Restores the scroll position of a query after Back or a reload. Returns a function that saves it. */
function useScrollRestore(container: Container, list: PagedList, query: Query, isMeasured: boolean): () => void {
  const key = `scroll ${JSON.stringify(query)}`;
  const scrollTop = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    if (container.current) container.current.scrollTop = 0;
    scrollTop.current = Number(sessionStorage.getItem(key));
  }, [list]);
  useLayoutEffect(() => {
    if (scrollTop.current === undefined || list.length === undefined || !isMeasured) return;
    if (container.current) container.current.scrollTop = scrollTop.current;
    scrollTop.current = undefined;
  });
  return () => {
    if (scrollTop.current === undefined) sessionStorage.setItem(key, String(container.current?.scrollTop));
  };
}

/** Returns the index of the current card, its setter, and a function that scrolls to a card and focuses it. */
function useFocus(container: Container, list: PagedList, layout: Layout) {
  const [current, setCurrent] = useState(0);
  const pendingFocus = useRef<number | undefined>(undefined);
  useLayoutEffect(() => setCurrent(0), [list]);
  useLayoutEffect(() => {
    const target = container.current?.querySelector<HTMLElement>(`[data-at="${pendingFocus.current}"]`);
    if (!target) return; // the card is rendered after the scroll event
    pendingFocus.current = undefined;
    target.focus({ preventScroll: true });
  });
  const goTo = (index: number) => {
    const element = container.current as HTMLDivElement;
    const { top, bottom } = layout.extentOf(index);
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight;
    pendingFocus.current = index;
    setCurrent(index);
  };
  return [current, setCurrent, goTo] as const;
}

const LoadError = ({ list }: { list: PagedList }) => (
  <div class="empty" role="alert">
    <p class="problem">{list.problem?.message}</p>
    {list.problem?.hint && <p>{list.problem.hint}</p>}
    <p>The page retries automatically.</p>
    <Button text="Try again" onClick={() => list.retry()} />
  </div>
);

function EmptyResult({ query: { parent, ordering: _, ...filters } }: { query: Query }) {
  const where = parent ? 'directly in this folder' : '';
  if (Object.keys(filters).length > 0)
    return (
      <p class="empty">{`No assets ${where ? `${where} ` : ''}match these filters. Clear the filters to see all assets.`}</p>
    );
  return (
    <p class="empty">
      No assets {where || 'yet'}. Drop files or folders onto this page, or run <code>{setup.program} upload FILE</code>.
    </p>
  );
}

type Layout = ReturnType<typeof computeLayout>;

/** Computes the grid of the virtual list. All rows have the same height, so the position of any card is known. */
function computeLayout(outerWidth: number, length: number) {
  const width = Math.max(0, outerWidth - 2 * margin);
  const minWidth = width < 480 ? minPhoneCardWidth : minCardWidth;
  const columns = Math.max(1, Math.floor((width + gap) / (minWidth + gap)));
  const cardWidth = (width - (columns - 1) * gap) / columns;
  const cardHeight = Math.round((cardWidth * 9) / 16 + textHeight);
  const rowHeight = cardHeight + gap;
  const rows = Math.ceil(length / columns);
  const topOf = (index: number) => Math.floor(index / columns) * rowHeight;
  return {
    columns,
    height: Math.max(0, rows * rowHeight - gap),
    /** Returns the indexes [from, to) of the cards to render: the visible rows, and one row above and below them. */
    visibleRange: (top: number, height: number): [from: number, to: number] => {
      const first = Math.max(0, Math.floor((top - margin) / rowHeight) - 1);
      const last = Math.min(rows, Math.ceil((top + height) / rowHeight) + 1);
      return [Math.min(first * columns, length), Math.min(last * columns, length)];
    },
    extentOf: (index: number) => ({ top: topOf(index), bottom: topOf(index) + cardHeight + 2 * margin }),
    styleOf: (index: number) => ({
      left: `${(index % columns) * (cardWidth + gap)}px`,
      top: `${topOf(index)}px`,
      width: `${cardWidth}px`,
      height: `${cardHeight}px`,
    }),
  };
}

/** Returns a function that computes the index of the card to which a key moves the focus; undefined for other keys. */
function stepForKey(key: string, { columns }: Layout) {
  const steps: Record<string, (index: number, length: number) => number> = {
    ArrowRight: (index) => index + 1,
    ArrowLeft: (index) => index - 1,
    ArrowDown: (index, length) => (index + columns < length ? index + columns : index),
    ArrowUp: (index) => (index >= columns ? index - columns : index),
    PageDown: (index) => index + 4 * columns,
    PageUp: (index) => index - 4 * columns,
    Home: () => 0,
    End: (_, length) => length - 1,
  };
  return Object.hasOwn(steps, key) ? steps[key] : undefined;
}
