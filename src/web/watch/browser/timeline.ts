import { clockTime } from '../../shared/clock-time.ts';
import type { Setup } from '../setup.ts';
import { Bubble } from './bubble.ts';
import { Frames } from './frames.ts';
import { keyLeadsTo } from './seek-keys.ts';
import { Waveform } from './waveform.ts';

/** Seek bar of the page: a slider for keyboard, mouse and touch. */
export class Timeline {
  readonly #media: HTMLMediaElement;
  readonly #element: HTMLElement;
  readonly #setup: Setup;
  readonly #bubble: Bubble;
  readonly #waveform: Waveform | undefined;
  /** Position being dragged to, in seconds; undefined while not dragging. */
  #dragged: number | undefined;
  #before = 0;
  /** Position last requested; the browser may land slightly beside it. */
  #sought: number | undefined;

  constructor(media: HTMLMediaElement, element: HTMLElement, setup: Setup) {
    const { chapters = [], sprites, waveform } = setup;
    this.#media = media;
    this.#element = element;
    this.#setup = setup;
    this.#bubble = new Bubble(this.#part('.bubble'), chapters, sprites && new Frames(sprites.url));
    this.#waveform = waveform && new Waveform(element, waveform.url);
    for (const event of ['durationchange', 'emptied'])
      media.addEventListener(event, () => this.#measure());
    for (const event of ['timeupdate', 'seeking', 'seeked'])
      media.addEventListener(event, () => this.#show());
    media.addEventListener('seeked', () => this.#follow());
    this.#listen();
    this.#measure();
  }

  /** Duration in seconds; 0 while unknown and for live streams. */
  get #duration(): number {
    return Number.isFinite(this.#media.duration) ? this.#media.duration : 0;
  }

  #listen(): void {
    const on = <K extends keyof HTMLElementEventMap>(
      type: K,
      then: (event: HTMLElementEventMap[K]) => void,
    ) => this.#element.addEventListener(type, then);
    on('keydown', (event) => this.#press(event));
    on('pointerdown', (event) => {
      if (!event.isPrimary || event.button !== 0) return;
      this.#element.setPointerCapture(event.pointerId);
      this.#before = this.#media.currentTime;
      this.#sought = undefined;
      this.#drag(event);
    });
    on('pointermove', (event) => {
      if (!event.isPrimary) return;
      if (this.#dragged === undefined) this.#point(event);
      else this.#drag(event);
    });
    on('pointerup', () => this.#drop());
    on('pointercancel', () => this.#drop(this.#before)); // the touch became a scroll of the page
    on('pointerleave', () => this.#bubble.hide());
  }

  #press(event: KeyboardEvent): void {
    const target = keyLeadsTo(event.key, this.#media.currentTime, this.#duration);
    if (target === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.#seek(target);
  }

  #drag(event: PointerEvent): void {
    this.#dragged = this.#point(event);
    if (this.#media.seeking) this.#show();
    else this.#follow();
  }

  /** Seeks to the dragged position, one seek at a time: a drag would otherwise overload the connection. */
  #follow(): void {
    if (this.#dragged !== undefined && this.#dragged !== this.#sought) this.#seek(this.#dragged);
  }

  #drop(at = this.#dragged): void {
    if (this.#dragged === undefined || at === undefined) return;
    this.#dragged = undefined;
    this.#seek(at);
  }

  /** Shows the preview at the pointer. @returns its time in seconds */
  #point({ clientX }: PointerEvent): number {
    const { left, width } = this.#element.getBoundingClientRect();
    const at = Math.max(0, Math.min(width, clientX - left));
    const moment = (at / width) * this.#duration;
    this.#bubble.show(moment, at, width);
    return moment;
  }

  #seek(seconds: number): void {
    this.#sought = seconds;
    this.#media.currentTime = Math.max(0, Math.min(this.#duration, seconds));
    this.#show();
  }

  #measure(): void {
    const duration = this.#duration;
    this.#element.hidden = duration === 0;
    if (duration === 0) this.#dragged = undefined;
    this.#element.ariaValueMax = String(Math.floor(duration));
    const ticks = (this.#setup.chapters ?? [])
      .filter(({ start }) => start > 0 && start < duration)
      .map(({ start }) => {
        const tick = document.createElement('i');
        tick.style.left = `${(start / duration) * 100}%`;
        return tick;
      });
    this.#part('.ticks').replaceChildren(...ticks);
    this.#show();
  }

  #show(): void {
    const duration = this.#duration;
    const now = this.#dragged ?? this.#media.currentTime;
    const fraction = duration === 0 ? 0 : Math.min(1, now / duration);
    this.#part('.played').style.width = `${fraction * 100}%`;
    this.#waveform?.showPlayed(fraction);
    this.#element.ariaValueNow = String(Math.floor(now));
    this.#element.ariaValueText = `${clockTime(now)} of ${clockTime(duration)}`;
  }

  #part(selector: string): HTMLElement {
    return this.#element.querySelector(selector) as HTMLElement;
  }
}
