import { useEffect, useState } from 'preact/hooks';
import type { Frame } from '../protocol.ts';
import { framesOf, sheetUrl } from './api.ts';

/** Hover delay: a pointer that only passes by sends no request. */
const pauseMs = 250;
const frameMs = 350;
/** Maximum number of frames shown of a long video. */
const mostSteps = 40;

const kept = new Map<string, Promise<Frame[]>>();

/** Animates the frames of a video; with reduced motion, shows only the middle one. */
export function Preview({ uid }: { uid: string }) {
  const [frames, setFrames] = useState<readonly Frame[]>([]);
  const [at, setAt] = useState(0);
  const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
  useEffect(() => {
    let isGone = false;
    const timer = setTimeout(async () => {
      const asked = kept.get(uid) ?? framesOf(uid);
      kept.set(uid, asked);
      const all = await asked.catch(() => {
        kept.delete(uid);
        return [];
      });
      const stride = Math.max(1, Math.ceil(all.length / mostSteps));
      const some = all.filter((_, n) => n % stride === 0);
      if (!isGone) setFrames(isStill ? some.slice(some.length >> 1).slice(0, 1) : some);
    }, pauseMs);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [uid]);
  useEffect(() => {
    if (frames.length < 2) return;
    const timer = setInterval(() => setAt((now) => (now + 1) % frames.length), frameMs);
    return () => clearInterval(timer);
  }, [frames]);
  const frame = frames[at];
  return frame ? <Shown uid={uid} frame={frame} /> : null;
}

/** Renders one frame, cropped from its sprite sheet. */
function Shown({ uid, frame }: { uid: string; frame: Frame }) {
  const { x, y, width, height, sheet } = frame;
  return (
    <svg
      class="frame"
      viewBox={`${x} ${y} ${width} ${height}`}
      preserveAspectRatio="xMidYMid slice"
      aria-hidden="true"
    >
      <image href={sheetUrl(uid, sheet)} onError={() => kept.delete(uid)} />
    </svg>
  );
}
