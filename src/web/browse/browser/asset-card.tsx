import { computed, signal } from '@preact/signals';
import { Component } from 'preact';
import { useState } from 'preact/hooks';
import { assetTypes } from '../../../contract/asset-values.ts';
import { formatBytes, formatClockTime } from '../../../shared/figures.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import type { Card, SpriteFrame } from '../protocol.ts';
import { fetchCard, fetchFrames, sheetUrl, thumbnailUrl } from './api.ts';
import { useDelay, useRedraw } from './hooks.ts';
import { Icon } from './icon.tsx';
import { boxed, current, selection } from './selected.ts';
import { isSelected } from './selection.ts';

/** Hover delay, so that a pointer that only passes over a card sends no request. */
const hoverDelayMs = 250;
const frameIntervalMs = 350;
const maxFrames = 40;
/** Time after which a video that has no frames is asked again: the service may be making them. */
const noFramesTtlMs = 60_000;

const frameCache = new Map<string, Promise<SpriteFrame[]>>();

export type CardEvents = {
  /** @param uid undefined as long as the card is not loaded */
  onKey(event: KeyboardEvent, index: number, uid: string | undefined): void;
  onClick(event: MouseEvent, index: number, uid: string): void;
  onDrag(event: DragEvent, uid: string): void;
  onOpen(uid: string): void;
};

type CardProps = {
  /** Undefined until its page of results has loaded. */
  card: Card | undefined;
  index: number;
  /** Length of the whole list; -1 if unknown. */
  length: number;
  /** Address of the page with the asset open, for another tab. */
  href: string | undefined;
  /** Position and size, as CSS lengths. */
  left: string;
  top: string;
  width: string;
  height: string;
  /** True if Tab goes to this card although another is the current one, which is not rendered. */
  isTabStop: boolean;
  events: CardEvents;
};

const comparedProps = ['card', 'href', 'index', 'length', 'left', 'top', 'width', 'height', 'isTabStop'] as const;

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

  override render({ card, href, index, length, isTabStop, events, ...style }: CardProps) {
    this.#uid.value = card?.uid;
    return (
      <a
        class="card thing"
        role="option"
        href={href}
        style={{ left: style.left, top: style.top, width: style.width, height: style.height }}
        data-at={index}
        data-uid={card?.uid}
        tabIndex={isTabStop ? 0 : (this.#tabIndex as unknown as number)}
        aria-selected={this.#isSelected as unknown as boolean}
        aria-setsize={length}
        aria-posinset={index + 1}
        aria-busy={card === undefined}
        draggable={card !== undefined}
        onDragStart={(event) => card && events.onDrag(event, card.uid)}
        onFocus={() => {
          current.value = index;
        }}
        onClick={(event) => card && events.onClick(event, index, card.uid)}
        onDblClick={() => card && events.onOpen(card.uid)}
        onKeyDown={(event) => events.onKey(event, index, card?.uid)}
      >
        {card ? <CardBody card={card} /> : <CardSkeleton />}
      </a>
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
  const { uid, name, means, status, type, duration, createdAt, size, tags } = card;
  const isFailed = means === 'failed';
  const reason = useReason(card, isHovered);
  const facts = [size === null ? typeName(type) : formatBytes(size), formatAge(createdAt)];
  return (
    <>
      <span
        class={isFailed ? 'picture broken' : 'picture'}
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
      <span class="more" title={isFailed && reason ? escapeControls(reason) : titleOf(createdAt, tags)}>
        {isFailed && reason ? <span class="problem">{escapeControls(reason)}</span> : facts.filter(Boolean).join(' · ')}
        {(tags ?? []).map((tag) => (
          <span key={tag} class="tag">
            {tag}
          </span>
        ))}
      </span>
    </>
  );
}

/** Returns the time of creation and all tags, of which the line shows as much as fits. */
const titleOf = (createdAt: string | null, tags: string[] | null) =>
  [...(createdAt === null ? [] : [new Date(createdAt).toLocaleString()]), ...(tags ?? [])].join(' · ');

/** The end of a name that is always shown: a version or a number, and the extension. */
const nameEnd = /[ _.-]?v?\d{0,4}\.[a-z0-9]{1,5}$/i;

/** Shows a name on one line. If it is too long, it is cut before the version and the extension. */
function MiddleCut({ text }: { text: string }) {
  const name = escapeControls(text);
  const end = nameEnd.exec(name)?.[0] ?? '';
  return (
    <span class="name" title={text} dir="auto">
      <span class="start">{name.slice(0, name.length - end.length)}</span>
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

/** Why assets failed, of those whose list does not say it, by uid; empty if their record does not, either. */
const reasons = new Map<string, string>();
/** Number of failed assets that are read for their reason, at one request each, without a pointer on their card. */
const maxReadUnasked = 10;

/** Returns why an asset failed. A list may not say it: then the asset itself is read. */
function useReason({ uid, means, reason }: Card, isWanted: boolean): string | undefined {
  const redraw = useRedraw();
  const known = reason ?? reasons.get(uid);
  const isRead = means === 'failed' && known === undefined && (isWanted || reasons.size < maxReadUnasked);
  const read = () => {
    reasons.set(uid, '');
    void fetchCard(uid).then(
      (whole) => {
        reasons.set(uid, whole.reason ?? '');
        redraw();
      },
      () => reasons.delete(uid),
    );
  };
  useDelay(isRead ? hoverDelayMs : undefined, read, [uid, isRead]);
  return known || undefined;
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

function fetchFramesOnce(uid: string): Promise<SpriteFrame[]> {
  const request = fetchFrames(uid);
  frameCache.set(uid, request);
  const forget = () => frameCache.delete(uid);
  request.then((frames) => frames.length === 0 && setTimeout(forget, noFramesTtlMs), forget);
  return request;
}

async function loadFrames(uid: string): Promise<SpriteFrame[]> {
  const all = await (frameCache.get(uid) ?? fetchFramesOnce(uid)).catch(() => []);
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

export const typeName = (type: string) => type.replaceAll('_', ' ');
