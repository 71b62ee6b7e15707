import { useState } from 'preact/hooks';
import { type AssetType, entryForType } from '../../../contract/asset-values.ts';
import { formatClockTime } from '../../../contract/figures.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { Card, SpriteFrame } from '../protocol.ts';
import { fetchFrames, sheetUrl, thumbnailUrl } from './api.ts';
import { startDrag } from './drops.ts';
import { useDelay } from './hooks.ts';

/** Hover delay, so that a pointer that only passes over a card sends no request. */
const hoverDelayMs = 250;
const frameIntervalMs = 350;
const maxFrames = 40;

const frameCache = new Map<string, Promise<SpriteFrame[]>>();

type CardProps = {
  /** Undefined until its page of results has loaded. */
  card: Card | undefined;
  index: number;
  /** Length of the whole list; -1 if unknown. */
  length: number;
  /** Position and size of the card, as CSS properties. */
  style: Record<string, string>;
  isFocusable: boolean;
  onFocus(): void;
  /** Returns true if the key moves the focus to another card. */
  onKey(key: string): boolean;
  onOpen(uid: string): void;
};

export function AssetCard({ card, index, length, style, isFocusable, onFocus, onKey, onOpen }: CardProps) {
  const [isHovered, setHovered] = useState(false);
  return (
    <li class="card" style={style} aria-setsize={length} aria-posinset={index + 1} aria-busy={card === undefined}>
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
        {card ? <CardBody card={card} isHovered={isHovered} /> : <CardSkeleton />}
      </a>
    </li>
  );
}

const CardSkeleton = () => (
  <span class="picture">
    <span class="hidden">Loading</span>
  </span>
);

function CardBody({ card, isHovered }: { card: Card; isHovered: boolean }) {
  const { uid, name, means, status, type, duration, createdAt } = card;
  const isFailed = means === 'failed';
  const facts = [typeName(type), createdAt?.slice(0, 10)];
  return (
    <>
      <span class="picture">
        <CardThumbnail card={card} />
        {type === 'video' && means === 'ready' && isHovered && <Preview uid={uid} />}
        {duration !== null && duration > 0 && <span class="badge">{formatClockTime(duration)}</span>}
        {means !== 'ready' && status && <span class={`badge state ${isFailed ? 'failed' : ''}`}>{status}</span>}
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
  const [brokenUrl, setBrokenUrl] = useState<string>();
  const url = card.thumbnail === null ? undefined : thumbnailUrl(card);
  if (!url || url === brokenUrl) return <TypeIcon type={card.type} />;
  return (
    <img
      class={card.type === 'image' ? 'whole' : ''}
      src={url}
      alt=""
      loading="lazy"
      decoding="async"
      draggable={false}
      onError={() => setBrokenUrl(url)}
    />
  );
}

/** Animates the preview frames of a video. If the user prefers reduced motion, shows only the middle frame. */
function Preview({ uid }: { uid: string }) {
  const [frames, setFrames] = useState<readonly SpriteFrame[]>([]);
  const [at, setAt] = useState(0);
  useDelay(hoverDelayMs, () => void loadFrames(uid).then(setFrames), [uid]);
  useDelay(frames.length > 1 ? frameIntervalMs : undefined, () => setAt((at + 1) % frames.length), [frames, at]);
  const frame = frames[at];
  if (!frame) return null;
  const { x, y, width, height, sheet } = frame;
  return (
    <svg class="frame" viewBox={`${x} ${y} ${width} ${height}`} preserveAspectRatio="xMidYMid slice" aria-hidden="true">
      <image href={sheetUrl(uid, sheet)} onError={() => frameCache.delete(uid)} />
    </svg>
  );
}

async function loadFrames(uid: string): Promise<SpriteFrame[]> {
  const request = frameCache.get(uid) ?? fetchFrames(uid);
  frameCache.set(uid, request);
  const all = await request.catch(() => {
    frameCache.delete(uid);
    return [];
  });
  const stride = Math.max(1, Math.ceil(all.length / maxFrames));
  const some = all.filter((_, n) => n % stride === 0);
  const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
  return isStill ? some.slice(some.length >> 1).slice(0, 1) : some;
}

const iconPaths = {
  video: 'M3 5h18v14H3z M10 9l5 3-5 3z',
  audio: 'M4 10v4 M8 7v10 M12 4v16 M16 8v8 M20 11v2',
  image: 'M3 5h18v14H3z M3 16l5-5 4 4 3-3 6 6 M15.5 9h.01',
  document: 'M6 3h8l4 4v14H6z M14 3v4h4 M9 12h6 M9 16h6',
  third_party: 'M10 4H4v16h16v-6 M14 4h6v6 M20 4l-9 9',
  generic: 'M6 3h8l4 4v14H6z M14 3v4h4',
} satisfies Record<AssetType, string>;

const TypeIcon = ({ type }: { type: string }) => (
  <span class="kind">
    <svg viewBox="0 0 24 24" aria-hidden="true">
      <path d={entryForType(iconPaths, type) ?? iconPaths.generic} />
    </svg>
    {typeName(type)}
  </span>
);

/** Formats an asset type or a status for display. */
export const typeName = (type: string) => type.replaceAll('_', ' ');
