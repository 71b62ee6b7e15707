import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatClockTime, formatTimeOfDay } from '../../../shared/figures.ts';
import { type Card, maxMoved, type Query } from '../protocol.ts';
import { setup } from './api.ts';
import { AssetCard, type CardEvents } from './asset-card.tsx';
import { SelectionBox, startBox } from './box.tsx';
import { Button, FileButton } from './controls.tsx';
import { density } from './density.tsx';
import { type Dragged, type DropContents, startDrag } from './drops.ts';
import { computeLayout, type Layout, stepForKey } from './grid-layout.ts';
import { useDelay, useRedraw } from './hooks.ts';
import type { PagedList } from './paged-list.ts';
import { current, listLength, moveAnchor, selectedCount, selection, selectOnly, selectTo, toggle } from './selected.ts';
import { isSelected } from './selection.ts';
import type { ServiceWait } from './uploads.ts';
import { formatLocation } from './view.ts';

type GridProps = {
  list: PagedList;
  query: Query;
  onOpen(uid: string): void;
  onFiles(drop: DropContents): void;
  /** Index of the card to focus after its dialog was closed; undefined if there is none. */
  focusIndex: number | undefined;
  /** Why the service is waited for, if so. */
  wait: ServiceWait | undefined;
};

type Container = RefObject<HTMLDivElement | null>;

const skeletonCount = 12; // until the length is known

/** Renders a virtual list of assets, of which any can be selected. */
export function Grid({ list, query, onOpen, onFiles, focusIndex, wait }: GridProps) {
  const container = useRef<HTMLDivElement>(null);
  const { width, top, height, measure } = useViewport(container);
  const length = list.length ?? (list.problem || wait ? 0 : skeletonCount);
  const layout = computeLayout(width, length, density.value);
  const [from, to] = layout.visibleRange(top, height);
  useLayoutEffect(() => list.setVisibleRange(from, to), [list, from, to]);
  const saveScroll = useScrollRestore(container, list, query, width > 0);
  const goTo = useFocus(container, list, layout);
  useLayoutEffect(() => {
    if (focusIndex !== undefined && focusIndex >= 0) goTo(focusIndex);
  }, [focusIndex]);
  const exactLength = list.hasExactLength ? length : undefined;
  useLayoutEffect(() => {
    listLength.value = exactLength;
  }, [exactLength]);
  const latest = useRef({ list, layout, goTo, onOpen });
  latest.current = { list, layout, goTo, onOpen };
  const events = useRef(createCardEvents(() => latest.current)).current;

  const { visible, tabStop } = cardsToRender(container, [from, to], length);
  const addressOf = (card: Card | undefined) => card && formatLocation({ query, asset: card.uid });
  const onScroll = () => {
    measure();
    saveScroll();
  };
  return (
    <div
      class="shelf"
      ref={container}
      onScroll={onScroll}
      onPointerDown={(event) => startBox(event, event.currentTarget, list, () => latest.current.layout)}
    >
      {list.length === 0 && <EmptyResult query={query} onFiles={onFiles} />}
      {list.length === undefined && list.problem && <LoadError list={list} />}
      {list.length === undefined && !list.problem && wait && <Waiting list={list} wait={wait} />}
      <div
        class="rows"
        role="listbox"
        aria-multiselectable="true"
        aria-label="Assets"
        style={{ height: `${layout.height}px` }}
      >
        {visible.map((index) => (
          <AssetCard
            key={index}
            card={list.at(index)}
            href={addressOf(list.at(index))}
            index={index}
            length={exactLength ?? -1}
            {...layout.styleOf(index)}
            isTabStop={index === tabStop}
            events={events}
          />
        ))}
      </div>
      <SelectionBox />
    </div>
  );
}

/** Returns the indexes of the cards to render, and to which of them Tab goes if the current one is not rendered. */
function cardsToRender(container: Container, [from, to]: readonly [number, number], length: number) {
  const visible = Array.from({ length: Math.max(0, to - from) }, (_, n) => from + n);
  // Keeps the focused card rendered while it is out of view, so that arrow keys continue from it.
  const isInView = current.value >= from && current.value < to;
  const hasFocus = container.current?.contains(document.activeElement) ?? false;
  if (hasFocus && current.value < length && !isInView) visible.push(current.value);
  return { visible, tabStop: isInView || hasFocus ? undefined : from };
}

type GridState = { list: PagedList; layout: Layout; goTo(index: number): void; onOpen(uid: string): void };

/** Returns what the keys and the pointer do on cards: always the same object, so that no card is rendered again for it. */
function createCardEvents(state: () => GridState): CardEvents {
  const step = (event: KeyboardEvent, index: number) => {
    const { list, layout, goTo } = state();
    const next = stepForKey(event.key, layout)?.(index, layout.length);
    if (next === undefined) return false;
    const to = Math.min(layout.length - 1, Math.max(0, next));
    if (event.shiftKey) void selectTo(list, to);
    else moveAnchor(to);
    goTo(to);
    return true;
  };
  return {
    onKey: (event, index, uid) => {
      const isHandled =
        step(event, index) || (uid !== undefined && [' ', 'Enter'].includes(event.key) && !event.ctrlKey);
      if (!isHandled) return;
      event.preventDefault();
      if (event.key === ' ' && uid !== undefined) toggle(uid, index);
      if (event.key === 'Enter' && uid !== undefined) state().onOpen(uid);
    },
    onClick: (event, index, uid) => {
      // Ctrl-Enter on a link opens it in another tab; a middle click is no click.
      if (event.detail === 0 && (event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      const isTouch = (event as PointerEvent).pointerType === 'touch';
      const isOnMark = (event.target as HTMLElement).closest('.mark') !== null;
      if (event.shiftKey) void selectTo(state().list, index);
      else if (isOnMark || event.ctrlKey || event.metaKey || (isTouch && selectedCount.value !== 0)) toggle(uid, index);
      else if (isTouch) state().onOpen(uid);
      else selectOnly(uid, index);
    },
    onDrag: (event, uid) => startDrag(event, draggedWith(state().list, uid)),
    onOpen: (uid) => state().onOpen(uid),
  };
}

/** Returns what is dragged with a card: all that is selected, if it is. */
function draggedWith(list: PagedList, uid: string): Dragged {
  const { all, uids } = selection.value;
  if (!isSelected(selection.value, uid)) return { uids: [uid], count: 1 };
  const count = selectedCount.value ?? Number.POSITIVE_INFINITY;
  if (!all || count > maxMoved) return { uids: [...uids], count };
  const listed = Array.from({ length: list.length ?? 0 }, (_, at) => list.at(at)?.uid ?? '');
  const selected = listed.filter((each) => each && isSelected(selection.value, each));
  return { uids: selected, count: selected.length };
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

/** Returns a function that scrolls to a card and focuses it. */
function useFocus(container: Container, list: PagedList, layout: Layout): (index: number) => void {
  const pendingFocus = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    current.value = 0;
  }, [list]);
  const focusPending = () => {
    const target = container.current?.querySelector<HTMLElement>(`[data-at="${pendingFocus.current}"]`);
    if (!target) return; // the card is rendered after the scroll event
    pendingFocus.current = undefined;
    target.focus({ preventScroll: true });
  };
  useLayoutEffect(focusPending);
  return (index) => {
    const element = container.current as HTMLDivElement;
    const { top, bottom } = layout.extentOf(index);
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight;
    pendingFocus.current = index;
    current.value = index;
    focusPending(); // nothing may be rendered again
  };
}

type WaitingProps = { list: PagedList; wait: ServiceWait };

/** Says where the cards would be why the service is waited for, and how long. */
function Waiting({ list, wait: { why, until } }: WaitingProps) {
  const redraw = useRedraw();
  const seconds = Math.max(0, Math.ceil((until - Date.now()) / 1000));
  useDelay(seconds > 0 ? 1_000 : undefined, redraw, [seconds]);
  return (
    <div class="empty" role="status">
      <p>{`Waiting for the service: ${why}`}</p>
      <p>
        {seconds > 0 ? `It goes on in ${formatClockTime(seconds)}, at ${formatTimeOfDay(until)}.` : 'It goes on now.'}
      </p>
      <Button text="Try now" onClick={() => list.retry()} />
    </div>
  );
}

function LoadError({ list }: { list: PagedList }) {
  const { problem } = list;
  return (
    <div class="empty" role="alert">
      <p class="problem">{problem?.message}</p>
      {problem?.hint && <p>{problem.hint}</p>}
      {!problem?.isLasting && <p>The page retries automatically.</p>}
      <Button text="Try again" onClick={() => list.retry()} />
    </div>
  );
}

type EmptyResultProps = { query: Query; onFiles(drop: DropContents): void };

/** Says why there are no cards, with the button to upload if there is nothing that hides them. */
function EmptyResult({ query: { parent, ordering: _, ...filters }, onFiles }: EmptyResultProps) {
  const where = parent ? 'directly in this folder' : '';
  if (Object.keys(filters).length > 0)
    return (
      <p class="empty">{`No assets ${where ? `${where} ` : ''}match these filters. Clear the filters to see all assets.`}</p>
    );
  return (
    <div class="empty">
      <p>{`No assets ${where || 'yet'}. Drop files or folders onto this page to upload them.`}</p>
      {!setup.pick && <FileButton text="Upload files" onFiles={onFiles} />}
    </div>
  );
}
