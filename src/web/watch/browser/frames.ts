import { cuesOf, type Sprite } from '../../shared/sprites.ts';
import { fetched } from './fetched.ts';

const maxBytes = 1024 * 1024;

/** In CSS pixels, as a frame is shown. */
const [maxWidth, maxHeight] = [240, 160];

type Frame = { sprite: Sprite; sheet: HTMLImageElement };

/** The frames of a video's moments. Nothing is asked for before somebody wants one. */
export class Frames {
  readonly #url: string;
  #sprites: Promise<readonly Sprite[]> | undefined;
  readonly #sheets = new Map<string, Promise<HTMLImageElement | undefined>>();

  constructor(url: string) {
    this.#url = url;
  }

  /** Undefined where there is none, or its sheet cannot be loaded any more. */
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

/** The Content-Security-Policy allows no style in markup; properties of an element it does. */
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
