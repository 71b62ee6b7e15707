import { formatClockTime } from '../../../shared/figures.ts';
import { parseSprites, type Sprite } from '../../shared/sprites.ts';
import type { PlayerSetup } from '../setup.ts';
import { fetchBlob } from './fetch-blob.ts';

const maxCueBytes = 1024 * 1024;

/** Maximum size of a displayed frame, in CSS pixels. */
const [maxWidth, maxHeight] = [240, 160];

/** Preview above the timeline at the pointer position, with the time, chapter and video frame. */
export class SeekPreview {
  readonly #element: HTMLElement;
  readonly #setup: PlayerSetup;
  /** Frames of the video in time order. They and their sprite sheets are fetched on first use, and cached. */
  #sprites: Promise<readonly Sprite[]> | undefined;
  readonly #sheets = new Map<string, Promise<HTMLImageElement | undefined>>();
  #time: number | undefined;

  constructor(element: HTMLElement, setup: PlayerSetup) {
    this.#element = element;
    this.#setup = setup;
  }

  /** Shows the preview of a time in seconds. `left` is the pointer position in the timeline, which is `width` wide. */
  async show(moment: number, left: number, width: number): Promise<void> {
    this.#time = moment;
    this.#element.hidden = false;
    this.#part('time').textContent = formatClockTime(moment);
    const begun = this.#setup.chapters?.filter(({ start }) => start <= moment) ?? [];
    const chapter = begun.toSorted((a, b) => a.start - b.start).at(-1);
    this.#part('span').textContent = chapter?.title ?? '';
    this.#position(left, width);
    if (!this.#setup.sprites) return;
    this.#sprites ??= fetchSprites(this.#setup.sprites.url).catch(() => []);
    const sprite = (await this.#sprites).findLast(({ start }) => start <= moment);
    const isShown = sprite && moment <= sprite.end;
    const sheet = isShown ? await this.#loadSheet(sprite.url) : undefined;
    if (this.#time !== moment) return; // the pointer has moved
    const frame = this.#part('.sprite');
    frame.hidden = sheet === undefined;
    if (sprite && sheet) showFrame(frame, sprite, sheet);
    this.#position(left, width);
  }

  hide(): void {
    this.#time = undefined;
    this.#element.hidden = true;
  }

  #loadSheet(url: string): Promise<HTMLImageElement | undefined> {
    const load = async () => {
      const image = new Image();
      image.src = url;
      await image.decode();
      return image;
    };
    const sheet = this.#sheets.get(url) ?? load().catch(() => undefined);
    this.#sheets.set(url, sheet);
    return sheet;
  }

  #position(left: number, width: number): void {
    this.#element.style.left = '0'; // so that offsetWidth is the natural width
    const own = this.#element.offsetWidth;
    this.#element.style.left = `${Math.max(0, Math.min(width - own, left - own / 2))}px`;
  }

  #part(selector: string): HTMLElement {
    return this.#element.querySelector(selector) as HTMLElement;
  }
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
