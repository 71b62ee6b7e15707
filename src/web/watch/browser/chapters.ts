/** List of chapters, whose buttons seek to a chapter. Highlights the current chapter. */
export class Chapters {
  readonly #media: HTMLMediaElement;
  readonly #buttons = [...document.querySelectorAll<HTMLButtonElement>('button[data-seconds]')];

  constructor(media: HTMLMediaElement, goTo: (seconds: number) => void) {
    this.#media = media;
    for (const button of this.#buttons) button.addEventListener('click', () => goTo(startOf(button)));
    for (const event of ['timeupdate', 'seeking']) media.addEventListener(event, () => this.#mark());
  }

  #mark(): void {
    const now = this.#media.currentTime;
    // A seek might end slightly before the start of the chapter.
    const current = this.#buttons.findLast((button) => startOf(button) <= now + 0.05);
    for (const button of this.#buttons) {
      if (button === current) button.setAttribute('aria-current', 'true');
      else button.removeAttribute('aria-current');
    }
  }
}

const startOf = (button: HTMLButtonElement) => Number(button.dataset.seconds);
