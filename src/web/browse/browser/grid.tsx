import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Query } from '../protocol.ts';
import { Thing } from './card.tsx';
import { layoutOf, stepOf } from './layout.ts';
import type { Shelf } from './shelf.ts';

type Props = {
  shelf: Shelf;
  query: Query;
  onOpen(uid: string): void;
  /** Index of the card to focus after its dialog was closed. */
  goesTo: number | undefined;
};

/** Number of skeleton cards until the length is known. */
const blanks = 12;

/** Virtual list of assets: renders the visible rows and one row on either side. */
export function Grid({ shelf, query, onOpen, goesTo: wanted }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [view, setView] = useState<[top: number, height: number]>([0, 600]);
  const [current, setCurrent] = useState(0);
  const goesTo = useRef<number | undefined>(undefined);
  /** Restores the scroll position after Back and a reload, once the length of the list is known. */
  const place = `scroll ${JSON.stringify(query)}`;
  const restored = useRef<number | undefined>(undefined);
  const isLoading = shelf.length === undefined && !shelf.problem;
  const length = shelf.length ?? (isLoading ? blanks : 0);
  const layout = layoutOf(width, length);
  const [from, to] = layout.inView(...view);

  useLayoutEffect(() => {
    const element = box.current as HTMLDivElement;
    const measure = () => {
      setWidth(element.clientWidth);
      setView([element.scrollTop, heightOf(element)]);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = 0;
    restored.current = Number(sessionStorage.getItem(place));
    setCurrent(0);
  }, [shelf]);
  useLayoutEffect(() => {
    if (restored.current === undefined || shelf.length === undefined || width === 0) return;
    if (box.current) box.current.scrollTop = restored.current;
    restored.current = undefined;
  });
  useLayoutEffect(() => shelf.show(from, to), [shelf, from, to]);
  useLayoutEffect(() => {
    if (goesTo.current === undefined) return;
    const target = box.current?.querySelector<HTMLElement>(`[data-at="${goesTo.current}"]`);
    if (!target) return;
    goesTo.current = undefined;
    target.focus({ preventScroll: true });
  });

  const goTo = (index: number) => {
    const element = box.current as HTMLDivElement;
    const { top, bottom } = layout.placeOf(index);
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight)
      element.scrollTop = bottom - element.clientHeight;
    goesTo.current = index;
    setCurrent(index);
  };

  useLayoutEffect(() => {
    if (wanted !== undefined && wanted >= 0) goTo(wanted);
  }, [wanted]);
  const follow = (key: string, at: number): boolean => {
    const step = stepOf(key, layout);
    if (step) goTo(Math.min(length - 1, Math.max(0, step(at, length))));
    return step !== undefined;
  };

  const visible = Array.from({ length: Math.max(0, to - from) }, (_, n) => from + n);
  // Keeps the focused card rendered while it is out of view: arrow keys continue from it.
  const isInView = current >= from && current < to;
  const hasFocus = box.current?.contains(document.activeElement) ?? false;
  if (hasFocus && current < length && !isInView) visible.push(current);
  return (
    <div
      class="shelf"
      ref={box}
      onScroll={({ currentTarget }) => {
        setView([currentTarget.scrollTop, heightOf(currentTarget)]);
        if (restored.current === undefined)
          sessionStorage.setItem(place, String(currentTarget.scrollTop));
      }}
    >
      {shelf.length === 0 && <Empty query={query} />}
      {shelf.length === undefined && shelf.problem && <Failed shelf={shelf} />}
      <ul class="rows" style={{ height: `${layout.height}px` }} aria-label="Assets">
        {visible.map((index) => {
          return (
            <Thing
              key={index}
              card={shelf.at(index)}
              index={index}
              length={shelf.isCounted ? length : -1}
              place={layout.placeOf(index)}
              isFocusable={index === (isInView || hasFocus ? current : from)}
              onFocus={() => setCurrent(index)}
              onKey={(key) => follow(key, index)}
              onOpen={onOpen}
            />
          );
        })}
      </ul>
    </div>
  );
}

/** Limits the height to the window: a broken style could grow it and fetch every page. */
const heightOf = ({ clientHeight }: HTMLElement) => Math.min(clientHeight, innerHeight);

const Failed = ({ shelf }: { shelf: Shelf }) => (
  <div class="empty" role="alert">
    <p class="problem">{shelf.problem?.message}</p>
    {shelf.problem?.hint && <p>{shelf.problem.hint}</p>}
    <p>The page tries again by itself.</p>
    <button type="button" onClick={() => shelf.retry()}>
      Try again
    </button>
  </div>
);

function Empty({ query: { parent, ordering: _, ...filters } }: { query: Query }) {
  if (Object.keys(filters).length > 0)
    return (
      <p class="empty">
        Nothing {parent ? 'in this folder itself ' : ''}is like that. Clear the filters to see
        everything.
      </p>
    );
  return (
    <div class="empty">
      <p>
        {parent ? 'There is nothing in this folder itself.' : 'There is nothing here yet.'} Drop
        files or folders onto this page, or type <code>mediactl upload FILE</code>.
      </p>
    </div>
  );
}
