import { useState } from 'preact/hooks';
import { escapeControls } from '../../../contract/sanitize.ts';
import { formatClockTime } from '../../shared/clock-time.ts';
import type { Card } from '../protocol.ts';
import { thumbnailUrl } from './api.ts';
import { startDrag } from './dragging.ts';
import type { CardBounds } from './layout.ts';
import { Preview } from './preview.tsx';
import { TypeIcon } from './type-icon.tsx';

type CardProps = {
  /** Asset of the card; undefined until its page of results has loaded. */
  card: Card | undefined;
  index: number;
  /** Length of the whole list; -1 if unknown. */
  length: number;
  bounds: CardBounds;
  isFocusable: boolean;
  onFocus(): void;
  /** Called when a key is pressed. Returns true if the key moves the focus to another card. */
  onKey(key: string): boolean;
  onOpen(uid: string): void;
};

/** Renders the card of one asset in the grid. */
export function AssetCard({ card, index, length, bounds, isFocusable, onFocus, onKey, onOpen }: CardProps) {
  const { left, top, width, height } = bounds;
  const style = {
    ...{ left: `${left}px`, top: `${top}px` },
    ...{ width: `${width}px`, height: `${height}px` },
  };
  const [isHovered, setHovered] = useState(false);
  const list = { 'aria-setsize': length, 'aria-posinset': index + 1 };
  return (
    <li class="card" style={style} {...list} aria-busy={card === undefined}>
      <a
        class="thing"
        href={card ? `?asset=${encodeURIComponent(card.uid)}` : '?'}
        data-at={index}
        tabIndex={isFocusable ? 0 : -1}
        draggable={card !== undefined}
        onDragStart={(event) => card && startDrag(event, card.uid)}
        onFocus={onFocus}
        onPointerEnter={({ pointerType }) => setHovered(pointerType === 'mouse')}
        onPointerLeave={() => setHovered(false)}
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
        {card ? <CardBody card={card} isPointed={isHovered} /> : <CardSkeleton />}
      </a>
    </li>
  );
}

const CardSkeleton = () => (
  <>
    <span class="picture" />
    <span class="hidden">Loading</span>
  </>
);

function CardBody({ card, isPointed }: { card: Card; isPointed: boolean }) {
  const { uid, name, means, status, type, duration, createdAt } = card;
  const isVideo = type === 'video' && means === 'ready';
  const facts = [type.replaceAll('_', ' '), createdAt?.slice(0, 10)];
  return (
    <>
      <span class="picture">
        <CardThumbnail card={card} />
        {isVideo && isPointed && <Preview uid={uid} />}
        {duration !== null && duration > 0 && <span class="badge">{formatClockTime(duration)}</span>}
        {means !== 'ready' && status && (
          <span class={`badge state${means === 'failed' ? ' failed' : ''}`}>{status}</span>
        )}
      </span>
      <span class="name" title={name} dir="auto">
        {escapeControls(name)}
      </span>
      <span class="more">{facts.filter(Boolean).join(' · ')}</span>
    </>
  );
}

/** Renders the thumbnail of an asset, or the icon of its type as a fallback. */
export function CardThumbnail({ card }: { card: Card }) {
  const [broken, setBroken] = useState<string>();
  const url = card.thumbnail === null ? undefined : thumbnailUrl(card);
  if (!url || url === broken) return <TypeIcon type={card.type} />;
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
