import { cuesOf, type Sprite } from '../../shared/sprites.ts';
import { fetched } from './fetched.ts';

const maxBytes = 1024 * 1024;

/** Maximum size of a displayed frame, in CSS pixels. */
const [maxWidth, maxHeight] = [240, 160];

type Frame = { sprite: Sprite; sheet: HTMLImageElement };

/** Preview frames of a video by time. Fetches cues and sprite sheets on first use, and caches them. */
export class Frames {
  readonly #url: string;
  #sprites: Promise<readonly Sprite[]> | undefined;
  readonly #sheets = new Map<string, Promise<HTMLImageElement | undefined>>();

  constructor(url: string) {
    this.#url = url;
  }

  /** Returns the frame at a time in seconds; undefined if there is none or its sheet cannot be loaded. */
  async at(moment: number): Promise<Frame | undefined> {
    this.#sprites ??= spritesAt(this.#url).catch(() => []);
    const sprite = (await this.#sprites).findLast(({ start }) => start <= moment);
    if (!sprite || moment > sprite.end) return undefined;
    const sheet = await this.#sheetAt(sprite.url);
    return sheet && { sprite, sheet };
  }

  #sheetAt(url: string): Promise<HTMLImageElement | undefined> {
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

/** Displays a frame as the background of an element. Sets style properties: the policy forbids style attributes. */
export function showFrame(element: HTMLElement, { sprite, sheet }: Frame): void {
  const { url, x, y, width, height } = sprite;
  const scale = Math.min(1, maxWidth / width, maxHeight / height);
  const pixels = (count: number) => `${count * scale}px`;
  element.style.width = pixels(width);
  element.style.height = pixels(height);
  element.style.backgroundImage = `url(${JSON.stringify(url)})`;
  element.style.backgroundPosition = `${pixels(-x)} ${pixels(-y)}`;
  element.style.backgroundSize = `${pixels(sheet.naturalWidth)} ${pixels(sheet.naturalHeight)}`;
}

async function spritesAt(from: string): Promise<readonly Sprite[]> {
  const { content, url } = await fetched(from, maxBytes);
  return cuesOf(await content.text(), url);
}
