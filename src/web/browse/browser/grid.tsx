import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Query } from '../protocol.ts';
import { AssetCard } from './asset-card.tsx';
import { computeLayout, stepForKey } from './layout.ts';
import type { PagedList } from './paged-list.ts';

type GridProps = {
  list: PagedList;
  query: Query;
  onOpen(uid: string): void;
  /** Index of the card to focus after its dialog was closed; undefined if there is none. */
  focusIndex: number | undefined;
};

/** Number of skeleton cards shown until the list length is known. */
const skeletonCount = 12;

/** Renders a virtual list of assets: the visible rows, and one row above and below them. */
export function Grid({ list, query, onOpen, focusIndex: targetIndex }: GridProps) {
  const container = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [view, setView] = useState<[top: number, height: number]>([0, 600]);
  const [current, setCurrent] = useState(0);
  const pendingFocus = useRef<number | undefined>(undefined);
  /** Session storage key of the scroll position, which is restored after Back or a reload. */
  const scrollKey = `scroll ${JSON.stringify(query)}`;
  const scrollToRestore = useRef<number | undefined>(undefined);
  const isLoading = list.length === undefined && !list.problem;
  const length = list.length ?? (isLoading ? skeletonCount : 0);
  const layout = computeLayout(width, length);
  const [from, to] = layout.visibleRange(...view);

  useLayoutEffect(() => {
    const element = container.current as HTMLDivElement;
    const measure = () => {
      setWidth(element.clientWidth);
      setView([element.scrollTop, viewportHeight(element)]);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (container.current) container.current.scrollTop = 0;
    scrollToRestore.current = Number(sessionStorage.getItem(scrollKey));
    setCurrent(0);
  }, [list]);
  useLayoutEffect(() => {
    if (scrollToRestore.current === undefined || list.length === undefined || width === 0) return;
    if (container.current) container.current.scrollTop = scrollToRestore.current;
    scrollToRestore.current = undefined;
  });
  useLayoutEffect(() => list.setVisibleRange(from, to), [list, from, to]);
  useLayoutEffect(() => {
    if (pendingFocus.current === undefined) return;
    const target = container.current?.querySelector<HTMLElement>(`[data-at="${pendingFocus.current}"]`);
    if (!target) return;
    pendingFocus.current = undefined;
    target.focus({ preventScroll: true });
  });

  const goTo = (index: number) => {
    const element = container.current as HTMLDivElement;
    const { top, bottom } = layout.boundsOf(index);
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight;
    pendingFocus.current = index;
    setCurrent(index);
  };

  useLayoutEffect(() => {
    if (targetIndex !== undefined && targetIndex >= 0) goTo(targetIndex);
  }, [targetIndex]);
  const handleKey = (key: string, at: number): boolean => {
    const step = stepForKey(key, layout);
    if (step) goTo(Math.min(length - 1, Math.max(0, step(at, length))));
    return step !== undefined;
  };

  const visible = Array.from({ length: Math.max(0, to - from) }, (_, n) => from + n);
  // Keeps the focused card rendered while it is out of view, so that arrow keys continue from it.
  const isInView = current >= from && current < to;
  const hasFocus = container.current?.contains(document.activeElement) ?? false;
  if (hasFocus && current < length && !isInView) visible.push(current);
  return (
    <div
      class="shelf"
      ref={container}
      onScroll={({ currentTarget }) => {
        setView([currentTarget.scrollTop, viewportHeight(currentTarget)]);
        if (scrollToRestore.current === undefined) sessionStorage.setItem(scrollKey, String(currentTarget.scrollTop));
      }}
    >
      {list.length === 0 && <EmptyResult query={query} />}
      {list.length === undefined && list.problem && <LoadError list={list} />}
      <ul class="rows" style={{ height: `${layout.height}px` }} aria-label="Assets">
        {visible.map((index) => {
          return (
            <AssetCard
              key={index}
              card={list.at(index)}
              index={index}
              length={list.hasExactLength ? length : -1}
              bounds={layout.boundsOf(index)}
              isFocusable={index === (isInView || hasFocus ? current : from)}
              onFocus={() => setCurrent(index)}
              onKey={(key) => handleKey(key, index)}
              onOpen={onOpen}
            />
          );
        })}
      </ul>
    </div>
  );
}

/**
 * Returns the height of an element, limited to the window's height. Otherwise, a broken style could grow the
 * element and make it fetch every page.
 */
const viewportHeight = ({ clientHeight }: HTMLElement) => Math.min(clientHeight, innerHeight);

const LoadError = ({ list }: { list: PagedList }) => (
  <div class="empty" role="alert">
    <p class="problem">{list.problem?.message}</p>
    {list.problem?.hint && <p>{list.problem.hint}</p>}
    <p>The page tries again by itself.</p>
    <button type="button" onClick={() => list.retry()}>
      Try again
    </button>
  </div>
);

function EmptyResult({ query: { parent, ordering: _, ...filters } }: { query: Query }) {
  if (Object.keys(filters).length > 0)
    return (
      <p class="empty">
        Nothing {parent ? 'in this folder itself ' : ''}is like that. Clear the filters to see everything.
      </p>
    );
  return (
    <div class="empty">
      <p>
        {parent ? 'There is nothing in this folder itself.' : 'There is nothing here yet.'} Drop files or folders onto
        this page, or type <code>mediactl upload FILE</code>.
      </p>
    </div>
  );
}
