import { useEffect, useState } from 'preact/hooks';
import type { SpriteFrame } from '../protocol.ts';
import { fetchFrames, sheetUrl } from './api.ts';

/** Hover delay, so that a pointer that only passes over a card sends no request. */
const hoverDelayMs = 250;
const frameIntervalMs = 350;
/** Maximum number of frames shown for a long video. */
const maxFrames = 40;

const frameCache = new Map<string, Promise<SpriteFrame[]>>();

/** Animates the preview frames of a video. If the user prefers reduced motion, shows only the middle frame. */
export function Preview({ uid }: { uid: string }) {
  const [frames, setFrames] = useState<readonly SpriteFrame[]>([]);
  const [at, setAt] = useState(0);
  const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
  useEffect(() => {
    let isCancelled = false;
    const timer = setTimeout(async () => {
      const request = frameCache.get(uid) ?? fetchFrames(uid);
      frameCache.set(uid, request);
      const all = await request.catch(() => {
        frameCache.delete(uid);
        return [];
      });
      const stride = Math.max(1, Math.ceil(all.length / maxFrames));
      const some = all.filter((_, n) => n % stride === 0);
      if (!isCancelled) setFrames(isStill ? some.slice(some.length >> 1).slice(0, 1) : some);
    }, hoverDelayMs);
    return () => {
      isCancelled = true;
      clearTimeout(timer);
    };
  }, [uid]);
  useEffect(() => {
    if (frames.length < 2) return;
    const timer = setInterval(() => setAt((now) => (now + 1) % frames.length), frameIntervalMs);
    return () => clearInterval(timer);
  }, [frames]);
  const frame = frames[at];
  return frame ? <FrameImage uid={uid} frame={frame} /> : null;
}

/** Renders one frame, cropped from its sprite sheet. */
function FrameImage({ uid, frame }: { uid: string; frame: SpriteFrame }) {
  const { x, y, width, height, sheet } = frame;
  return (
    <svg class="frame" viewBox={`${x} ${y} ${width} ${height}`} preserveAspectRatio="xMidYMid slice" aria-hidden="true">
      <image href={sheetUrl(uid, sheet)} onError={() => frameCache.delete(uid)} />
    </svg>
  );
}
