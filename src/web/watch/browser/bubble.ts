import { clockTime } from '../../shared/clock-time.ts';
import type { Chapter } from '../chapters.ts';
import { type Frames, showFrame } from './frames.ts';

/** What is at the place of the timeline that somebody points at. */
export class Bubble {
  readonly #element: HTMLElement;
  readonly #chapters: readonly Chapter[];
  readonly #frames: Frames | undefined;
  #moment: number | undefined;

  constructor(element: HTMLElement, chapters: readonly Chapter[], frames: Frames | undefined) {
    this.#element = element;
    this.#chapters = chapters.toSorted((a, b) => a.start - b.start);
    this.#frames = frames;
  }

  /** At `left` of so many pixels. */
  show(moment: number, left: number, width: number): void {
    this.#moment = moment;
    this.#element.hidden = false;
    this.#part('time').textContent = clockTime(moment);
    const chapter = this.#chapters.findLast(({ start }) => start <= moment);
    this.#part('span').textContent = chapter?.title ?? '';
    this.#place(left, width);
    this.#frames?.at(moment).then((frame) => {
      if (this.#moment !== moment) return; // they point elsewhere by now
      const sprite = this.#part('.sprite');
      sprite.hidden = frame === undefined;
      if (frame) showFrame(sprite, frame);
      this.#place(left, width);
    });
  }

  hide(): void {
    this.#moment = undefined;
    this.#element.hidden = true;
  }

  /** Above the place, as far as the timeline reaches. */
  #place(left: number, width: number): void {
    this.#element.style.left = '0'; // as wide as it would be
    const own = this.#element.offsetWidth;
    this.#element.style.left = `${Math.max(0, Math.min(width - own, left - own / 2))}px`;
  }

  #part(selector: string): HTMLElement {
    return this.#element.querySelector(selector) as HTMLElement;
  }
}
