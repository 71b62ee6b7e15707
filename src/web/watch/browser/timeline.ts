import { formatClockTime } from '../../../shared/figures.ts';
import type { PlayerSetup } from '../setup.ts';
import type { PlaybackController } from './playback-controller.ts';
import { createSeekPreview, type SeekPreview } from './seek-preview.ts';
import { showWaveform } from './waveform.ts';

/** Seek bar of the watch page. It is a slider for mouse and touch, and by `handleKeys` for the keyboard. */
export class Timeline {
  readonly #media: HTMLMediaElement;
  readonly #playback: PlaybackController;
  readonly #element: HTMLElement;
  readonly #setup: PlayerSetup;
  readonly #bubble: SeekPreview;
  readonly #showPlayed: ((played: number) => void) | undefined;
  /** Position being dragged to, in seconds; undefined while not dragging. */
  #dragTarget: number | undefined;
  #timeBeforeDrag = 0;
  /** Position last requested, in seconds. The browser might seek to a slightly different position. */
  #lastSeek: number | undefined;

  constructor(media: HTMLMediaElement, playback: PlaybackController, element: HTMLElement, setup: PlayerSetup) {
    this.#media = media;
    this.#playback = playback;
    this.#element = element;
    this.#setup = setup;
    this.#bubble = createSeekPreview(this.#part('.bubble'), setup);
    this.#showPlayed = setup.waveform && showWaveform(element, setup.waveform.url);
    for (const event of ['durationchange', 'loadedmetadata', 'emptied'])
      media.addEventListener(event, () => this.#updateDuration());
    for (const event of ['timeupdate', 'seeking', 'seeked']) media.addEventListener(event, () => this.#render());
    media.addEventListener('seeked', () => this.#seekToDrag());
    this.#listen();
    this.#updateDuration();
  }

  #listen(): void {
    const on = <K extends keyof HTMLElementEventMap>(type: K, then: (event: HTMLElementEventMap[K]) => void) =>
      this.#element.addEventListener(type, then);
    on('pointerdown', (event) => {
      if (!event.isPrimary || event.button !== 0) return;
      this.#element.setPointerCapture(event.pointerId);
      this.#timeBeforeDrag = this.#playback.position;
      this.#lastSeek = undefined;
      this.#drag(event);
    });
    on('pointermove', (event) => {
      if (!event.isPrimary) return;
      if (this.#dragTarget === undefined) this.#showPreview(event);
      else this.#drag(event);
    });
    on('pointerup', () => this.#endDrag());
    on('pointercancel', () => this.#endDrag(this.#timeBeforeDrag)); // the touch became a page scroll
    on('pointerleave', () => this.#bubble.hide());
  }

  #drag(event: PointerEvent): void {
    this.#dragTarget = this.#showPreview(event);
    if (this.#media.seeking) this.#render();
    else this.#seekToDrag();
  }

  /** Called only after a running seek has ended, because concurrent seeks would overload the connection. */
  #seekToDrag(): void {
    if (this.#dragTarget !== undefined && this.#dragTarget !== this.#lastSeek) this.#seek(this.#dragTarget);
  }

  #endDrag(at = this.#dragTarget): void {
    if (this.#dragTarget === undefined || at === undefined) return;
    this.#dragTarget = undefined;
    this.#seek(at);
  }

  /** Returns the pointer position in seconds. */
  #showPreview({ clientX }: PointerEvent): number {
    const { left, width } = this.#element.getBoundingClientRect();
    const at = Math.max(0, Math.min(width, clientX - left));
    const moment = (at / width) * this.#playback.duration;
    void this.#bubble.show(moment, at, width);
    return moment;
  }

  #seek(seconds: number): void {
    this.#lastSeek = seconds;
    this.#playback.moveTo(seconds);
    this.#render();
  }

  #updateDuration(): void {
    const { duration } = this.#playback;
    this.#element.hidden = duration === 0;
    if (duration === 0) this.#dragTarget = undefined;
    this.#element.ariaValueMax = String(Math.floor(duration));
    const ticks = (this.#setup.chapters ?? [])
      .filter(({ start }) => start > 0 && start < duration)
      .map(({ start }) => {
        const tick = document.createElement('i');
        tick.style.left = `${(start / duration) * 100}%`;
        return tick;
      });
    this.#part('.ticks').replaceChildren(...ticks);
    this.#render();
  }

  #render(): void {
    const { duration } = this.#playback;
    const now = this.#dragTarget ?? this.#playback.position;
    const fraction = duration === 0 ? 0 : Math.min(1, now / duration);
    this.#part('.played').style.width = `${fraction * 100}%`;
    this.#showPlayed?.(fraction);
    this.#element.ariaValueNow = String(Math.floor(now));
    this.#element.ariaValueText = `${formatClockTime(now)} of ${formatClockTime(duration)}`;
  }

  #part(selector: string): HTMLElement {
    return this.#element.querySelector(selector) as HTMLElement;
  }
}
