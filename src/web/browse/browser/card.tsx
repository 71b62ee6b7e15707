import { useState } from 'preact/hooks';
import { printable } from '../../../contract/sanitize.ts';
import { clockTime } from '../../shared/clock-time.ts';
import type { Card } from '../protocol.ts';
import { thumbnailUrl } from './api.ts';
import { drag } from './dragging.ts';
import { Kind } from './kind.tsx';
import type { Place } from './layout.ts';
import { Preview } from './preview.tsx';

type Props = {
  /** Asset of the card; undefined while its page loads. */
  card: Card | undefined;
  index: number;
  /** Length of the whole list; -1 if unknown. */
  length: number;
  place: Place;
  isFocusable: boolean;
  onFocus(): void;
  /** @returns true if the key moves the focus to another card */
  onKey(key: string): boolean;
  onOpen(uid: string): void;
};

/** Renders one asset of the grid. */
export function Thing({ card, index, length, place, isFocusable, onFocus, onKey, onOpen }: Props) {
  const { left, top, width, height } = place;
  const style = {
    ...{ left: `${left}px`, top: `${top}px` },
    ...{ width: `${width}px`, height: `${height}px` },
  };
  const [isPointed, setPointed] = useState(false);
  const list = { 'aria-setsize': length, 'aria-posinset': index + 1 };
  return (
    <li class="card" style={style} {...list} aria-busy={card === undefined}>
      <a
        class="thing"
        href={card ? `?asset=${encodeURIComponent(card.uid)}` : '?'}
        data-at={index}
        tabIndex={isFocusable ? 0 : -1}
        draggable={card !== undefined}
        onDragStart={(event) => card && drag(event, card.uid)}
        onFocus={onFocus}
        onPointerEnter={({ pointerType }) => setPointed(pointerType === 'mouse')}
        onPointerLeave={() => setPointed(false)}
        onClick={(event) => {
          if (card && (event.ctrlKey || event.metaKey || event.shiftKey)) return;
          event.preventDefault();
          if (card) onOpen(card.uid);
        }}
        onKeyDown={(event) => {
          const isOpening = event.key === ' ';
          if (!isOpening && !onKey(event.key)) return;
          event.preventDefault();
          if (isOpening && card) onOpen(card.uid);
        }}
      >
        {card ? <Face card={card} isPointed={isPointed} /> : <Blank />}
      </a>
    </li>
  );
}

const Blank = () => (
  <>
    <span class="picture" />
    <span class="hidden">Loading</span>
  </>
);

function Face({ card, isPointed }: { card: Card; isPointed: boolean }) {
  const { uid, name, means, status, type, duration, createdAt } = card;
  const isVideo = type === 'video' && means === 'ready';
  const facts = [type.replaceAll('_', ' '), createdAt?.slice(0, 10)];
  return (
    <>
      <span class="picture">
        <Picture card={card} />
        {isVideo && isPointed && <Preview uid={uid} />}
        {duration !== null && duration > 0 && <span class="badge">{clockTime(duration)}</span>}
        {means !== 'ready' && status && (
          <span class={`badge state${means === 'failed' ? ' failed' : ''}`}>{status}</span>
        )}
      </span>
      <span class="name" title={name} dir="auto">
        {printable(name)}
      </span>
      <span class="more">{facts.filter(Boolean).join(' · ')}</span>
    </>
  );
}

/** Renders the thumbnail of an asset, or an icon of its type as a fallback. */
export function Picture({ card }: { card: Card }) {
  const [broken, setBroken] = useState<string>();
  const url = card.thumbnail === null ? undefined : thumbnailUrl(card);
  if (!url || url === broken) return <Kind type={card.type} />;
  return (
    <img
      class={card.type === 'image' ? 'whole' : ''}
      src={url}
      alt=""
      loading="lazy"
      decoding="async"
      draggable={false}
      onError={() => setBroken(url)}
    />
  );
}
