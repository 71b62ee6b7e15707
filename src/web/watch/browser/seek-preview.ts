import { formatClockTime } from '../../../shared/figures.ts';
import { parseSprites, type Sprite } from '../../shared/sprites.ts';
import type { PlayerSetup } from '../setup.ts';
import { fetchBlob } from './fetch-blob.ts';

const maxCueBytes = 1024 * 1024;

/** Maximum size of a displayed frame, in CSS pixels. */
const [maxWidth, maxHeight] = [240, 160];

export type SeekPreview = ReturnType<typeof createSeekPreview>;

/** Creates the preview above the timeline at the pointer position, with the time, chapter and video frame. */
export function createSeekPreview(element: HTMLElement, setup: PlayerSetup) {
  /** Frames of the video in time order. They and their sprite sheets are fetched on first use, and cached. */
  let sprites: Promise<readonly Sprite[]> | undefined;
  const sheets = new Map<string, Promise<HTMLImageElement | undefined>>();
  let time: number | undefined;
  const part = (selector: string) => element.querySelector(selector) as HTMLElement;
  const loadSheet = (url: string): Promise<HTMLImageElement | undefined> => {
    const load = async () => {
      const image = new Image();
      image.src = url;
      await image.decode();
      return image;
    };
    const sheet = sheets.get(url) ?? load().catch(() => undefined);
    sheets.set(url, sheet);
    return sheet;
  };
  const place = (left: number, width: number) => {
    element.style.left = '0'; // so that offsetWidth is the natural width
    const own = element.offsetWidth;
    element.style.left = `${Math.max(0, Math.min(width - own, left - own / 2))}px`;
  };
  return {
    /** Shows the preview of a time in seconds. `left` is the pointer position in the timeline, which is `width` wide. */
    show: async (moment: number, left: number, width: number): Promise<void> => {
      time = moment;
      element.hidden = false;
      part('time').textContent = formatClockTime(moment);
      const begun = setup.chapters?.filter(({ start }) => start <= moment) ?? [];
      const chapter = begun.toSorted((a, b) => a.start - b.start).at(-1);
      part('span').textContent = chapter?.title ?? '';
      place(left, width);
      if (!setup.sprites) return;
      sprites ??= fetchSprites(setup.sprites.url).catch(() => []);
      const sprite = (await sprites).findLast(({ start }) => start <= moment);
      const isShown = sprite && moment <= sprite.end;
      const sheet = isShown ? await loadSheet(sprite.url) : undefined;
      if (time !== moment) return; // the pointer has moved
      const frame = part('.sprite');
      frame.hidden = sheet === undefined;
      if (sprite && sheet) showFrame(frame, sprite, sheet);
      place(left, width);
    },
    hide: () => {
      time = undefined;
      element.hidden = true;
    },
  };
}

/** Displays a frame by style properties, because the Content-Security-Policy forbids style attributes. */
function showFrame({ style }: HTMLElement, { url, x, y, width, height }: Sprite, sheet: HTMLImageElement): void {
  const scale = Math.min(1, maxWidth / width, maxHeight / height);
  const pixels = (count: number) => `${count * scale}px`;
  style.width = pixels(width);
  style.height = pixels(height);
  style.backgroundImage = `url(${JSON.stringify(url)})`;
  style.backgroundPosition = `${pixels(-x)} ${pixels(-y)}`;
  style.backgroundSize = `${pixels(sheet.naturalWidth)} ${pixels(sheet.naturalHeight)}`;
}

async function fetchSprites(from: string): Promise<readonly Sprite[]> {
  const { content, url } = await fetchBlob(from, maxCueBytes);
  return parseSprites(await content.text(), url);
}
