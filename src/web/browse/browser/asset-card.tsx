import { computed, signal } from '@preact/signals';
import { Component } from 'preact';
import { useState } from 'preact/hooks';
import { assetTypes } from '../../../contract/asset-values.ts';
import { formatBytes, formatClockTime } from '../../../contract/figures.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { Card, SpriteFrame } from '../protocol.ts';
import { fetchFrames, sheetUrl, thumbnailUrl } from './api.ts';
import { startDrag } from './drops.ts';
import { useDelay } from './hooks.ts';
import { Icon } from './icon.tsx';
import { boxed, current, selection } from './selected.ts';
import { isSelected } from './selection.ts';

/** Hover delay, so that a pointer that only passes over a card sends no request. */
const hoverDelayMs = 250;
const frameIntervalMs = 350;
const maxFrames = 40;

const frameCache = new Map<string, Promise<SpriteFrame[]>>();

/** What a card does with keys and the pointer. */
export type CardEvents = {
  /** @param uid undefined as long as the card is not loaded */
  onKey(event: KeyboardEvent, index: number, uid: string | undefined): void;
  onClick(event: MouseEvent, index: number, uid: string): void;
  onOpen(uid: string): void;
};

type CardProps = {
  /** Undefined until its page of results has loaded. */
  card: Card | undefined;
  index: number;
  /** Length of the whole list; -1 if unknown. */
  length: number;
  /** Position and size, as CSS lengths. */
  left: string;
  top: string;
  width: string;
  height: string;
  /** True if Tab goes to this card although another is the current one, which is not rendered. */
  isTabStop: boolean;
  events: CardEvents;
};

const comparedProps = ['card', 'index', 'length', 'left', 'top', 'width', 'height', 'isTabStop'] as const;

/** A card of the list. It is rendered again when its place or its record changes, not when it is selected or focused. */
export class AssetCard extends Component<CardProps> {
  /** A signal, since a computed value does not see that a prop has changed. */
  readonly #uid = signal(this.props.card?.uid);
  readonly #isSelected = computed(() => {
    const uid = this.#uid.value;
    return boxed.value.has(this.props.index) || (uid !== undefined && isSelected(selection.value, uid));
  });
  readonly #tabIndex = computed(() => (current.value === this.props.index ? 0 : -1));

  override shouldComponentUpdate(next: CardProps): boolean {
    return comparedProps.some((name) => next[name] !== this.props[name]);
  }

  override render({ card, index, length, isTabStop, events, ...style }: CardProps) {
    this.#uid.value = card?.uid;
    return (
      <div
        class="card thing"
        role="option"
        style={{ left: style.left, top: style.top, width: style.width, height: style.height }}
        data-at={index}
        data-uid={card?.uid}
        tabIndex={isTabStop ? 0 : (this.#tabIndex as unknown as number)}
        aria-selected={this.#isSelected as unknown as boolean}
        aria-setsize={length}
        aria-posinset={index + 1}
        aria-busy={card === undefined}
        draggable={card !== undefined}
        onDragStart={(event) => card && startDrag(event, card.uid)}
        onFocus={() => {
          current.value = index;
        }}
        onClick={(event) => card && events.onClick(event, index, card.uid)}
        onDblClick={() => card && events.onOpen(card.uid)}
        onKeyDown={(event) => events.onKey(event, index, card?.uid)}
      >
        {card ? <CardBody card={card} /> : <CardSkeleton />}
      </div>
    );
  }
}

const CardSkeleton = () => (
  <span class="picture">
    <span class="hidden">Loading</span>
  </span>
);

function CardBody({ card }: { card: Card }) {
  const [isHovered, setHovered] = useState(false);
  const { uid, name, means, status, reason, type, duration, createdAt, size, tags } = card;
  const isFailed = means === 'failed';
  const facts = [size === null ? typeName(type) : formatBytes(size), formatAge(createdAt)];
  return (
    <>
      <span
        class="picture"
        onPointerEnter={({ pointerType }) => setHovered(pointerType === 'mouse')}
        onPointerLeave={() => setHovered(false)}
      >
        <CardThumbnail card={card} />
        {type === 'video' && means === 'ready' && isHovered && <Preview uid={uid} />}
        <span class="mark" aria-hidden="true" />
        {duration !== null && duration > 0 && <span class="badge">{formatClockTime(duration)}</span>}
        {means !== 'ready' && status && <span class={`badge state ${isFailed ? 'failed' : ''}`}>{status}</span>}
      </span>
      <MiddleCut text={name} />
      <span class="more" title={createdAt === null ? undefined : new Date(createdAt).toLocaleString()}>
        {isFailed && reason ? <span class="problem">{escapeControls(reason)}</span> : facts.filter(Boolean).join(' · ')}
      </span>
      <span class="tags">
        {(tags ?? []).map((tag) => (
          <span key={tag} class="tag">
            {tag}
          </span>
        ))}
      </span>
    </>
  );
}

/** Number of characters at the end of a name that are always shown, such as a version and the extension. */
const nameEnd = 12;

/** Shows a name on one line. If it is too long, it is cut in the middle, since versions and extensions are at its end. */
function MiddleCut({ text }: { text: string }) {
  const characters = [...escapeControls(text)];
  const end = characters.length > 2 * nameEnd ? characters.slice(-nameEnd).join('') : '';
  const start = characters.slice(0, characters.length - [...end].length).join('');
  return (
    <span class="name" title={text} dir="auto">
      <span class="start">{start}</span>
      {end && <span class="end">{end}</span>}
    </span>
  );
}

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

/** Formats how long ago an asset was created, by the clock and the calendar of this machine. */
function formatAge(createdAt: string | null): string | undefined {
  if (createdAt === null) return undefined;
  const then = new Date(createdAt);
  const ageMs = Date.now() - then.getTime();
  if (ageMs < hourMs) return ageMs < minuteMs ? 'just now' : `${Math.floor(ageMs / minuteMs)} min ago`;
  if (ageMs < dayMs) return `${Math.floor(ageMs / hourMs)} h ago`;
  const days = Math.floor(ageMs / dayMs);
  if (days < 7) return `${days} ${days === 1 ? 'day' : 'days'} ago`;
  const year = then.getFullYear() === new Date().getFullYear() ? undefined : 'numeric';
  return then.toLocaleDateString(undefined, { day: 'numeric', month: 'short', year });
}

/** Renders the thumbnail of an asset, or the icon of its type as a fallback. */
export function CardThumbnail({ card }: { card: Card }) {
  const [brokenUrl, setBrokenUrl] = useState<string>();
  const url = card.thumbnail === null ? undefined : thumbnailUrl(card);
  if (!url || url === brokenUrl) return <TypeIcon type={card.type} />;
  return <img src={url} alt="" loading="lazy" decoding="async" draggable={false} onError={() => setBrokenUrl(url)} />;
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

const TypeIcon = ({ type }: { type: string }) => (
  <span class="kind">
    <Icon name={assetTypes.find((each) => each === type) ?? 'generic'} />
    {typeName(type)}
  </span>
);

/** Formats an asset type or a status for display. */
export const typeName = (type: string) => type.replaceAll('_', ' ');
