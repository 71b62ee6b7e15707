import { parseSprites, type Sprite } from '../../shared/sprites.ts';
import { fetchBlob } from './fetch-blob.ts';

const maxBytes = 1024 * 1024;

/** Maximum size of a displayed frame, in CSS pixels. */
const [maxWidth, maxHeight] = [240, 160];

type LoadedFrame = { sprite: Sprite; sheet: HTMLImageElement };

/** Preview frames of a video, found by time. Fetches cues and sprite sheets on first use, and caches them. */
export class SpriteFrames {
  readonly #url: string;
  #sprites: Promise<readonly Sprite[]> | undefined;
  readonly #sheets = new Map<string, Promise<HTMLImageElement | undefined>>();

  constructor(url: string) {
    this.#url = url;
  }

  /** Returns the frame at a time in seconds; undefined if there is none or its sprite sheet cannot be loaded. */
  async fetchFrame(moment: number): Promise<LoadedFrame | undefined> {
    this.#sprites ??= fetchSprites(this.#url).catch(() => []);
    const sprite = (await this.#sprites).findLast(({ start }) => start <= moment);
    if (!sprite || moment > sprite.end) return undefined;
    const sheet = await this.#loadSheet(sprite.url);
    return sheet && { sprite, sheet };
  }

  #loadSheet(url: string): Promise<HTMLImageElement | undefined> {
    const known = this.#sheets.get(url);
    if (known) return known;
    const image = new Image();
    image.src = url;
    const sheet = image.decode().then(
      () => image,
      () => undefined,
    );
    this.#sheets.set(url, sheet);
    return sheet;
  }
}

/**
 * Displays a frame as the background of an element. Sets style properties, because the Content-Security-Policy
 * forbids style attributes.
 */
export function showFrame(element: HTMLElement, { sprite, sheet }: LoadedFrame): void {
  const { url, x, y, width, height } = sprite;
  const scale = Math.min(1, maxWidth / width, maxHeight / height);
  const pixels = (count: number) => `${count * scale}px`;
  element.style.width = pixels(width);
  element.style.height = pixels(height);
  element.style.backgroundImage = `url(${JSON.stringify(url)})`;
  element.style.backgroundPosition = `${pixels(-x)} ${pixels(-y)}`;
  element.style.backgroundSize = `${pixels(sheet.naturalWidth)} ${pixels(sheet.naturalHeight)}`;
}

async function fetchSprites(from: string): Promise<readonly Sprite[]> {
  const { content, url } = await fetchBlob(from, maxBytes);
  return parseSprites(await content.text(), url);
}
