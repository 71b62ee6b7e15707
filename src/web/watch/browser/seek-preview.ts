import { formatClockTime } from '../../../contract/figures.ts';
import type { PlayerChapter } from '../chapters.ts';
import { type SpriteFrames, showFrame } from './sprite-frames.ts';

/** Preview above the timeline at the pointer position, with the time, chapter and video frame. */
export class SeekPreview {
  readonly #element: HTMLElement;
  readonly #chapters: readonly PlayerChapter[];
  readonly #frames: SpriteFrames | undefined;
  #time: number | undefined;

  constructor(element: HTMLElement, chapters: readonly PlayerChapter[], frames: SpriteFrames | undefined) {
    this.#element = element;
    this.#chapters = chapters.toSorted((a, b) => a.start - b.start);
    this.#frames = frames;
  }

  /**
   * Shows the preview of a time.
   * @param moment time in seconds
   * @param left pointer position in the timeline, in pixels
   * @param width width of the timeline, in pixels
   */
  show(moment: number, left: number, width: number): void {
    this.#time = moment;
    this.#element.hidden = false;
    this.#part('time').textContent = formatClockTime(moment);
    const chapter = this.#chapters.findLast(({ start }) => start <= moment);
    this.#part('span').textContent = chapter?.title ?? '';
    this.#position(left, width);
    this.#frames?.fetchFrame(moment).then((frame) => {
      if (this.#time !== moment) return; // the pointer has moved
      const sprite = this.#part('.sprite');
      sprite.hidden = frame === undefined;
      if (frame) showFrame(sprite, frame);
      this.#position(left, width);
    });
  }

  hide(): void {
    this.#time = undefined;
    this.#element.hidden = true;
  }

  /** Centers the preview on the pointer, clamped to the timeline. */
  #position(left: number, width: number): void {
    this.#element.style.left = '0'; // so that offsetWidth is the natural width
    const own = this.#element.offsetWidth;
    this.#element.style.left = `${Math.max(0, Math.min(width - own, left - own / 2))}px`;
  }

  #part(selector: string): HTMLElement {
    return this.#element.querySelector(selector) as HTMLElement;
  }
}
