import type { Setup } from '../setup.ts';
import { tell } from './telling.ts';
import { type Failure, type Way, waysOf } from './ways.ts';

/** Plays an asset with the first playback strategy that works, and resumes at the saved position. */
export class Playback {
  readonly #media: HTMLMediaElement;
  readonly #autoPlay: boolean;
  readonly #ways: Way[];
  /** Position to seek to once metadata is loaded, in seconds. */
  #startAt: number;
  #detach = () => {};
  #fail = (_failure: Failure) => {};
  /** First failure with a status: it explains more than the failure of a fallback. */
  #failure: Failure = {};

  constructor(media: HTMLMediaElement, setup: Setup) {
    this.#media = media;
    this.#autoPlay = setup.autoPlay;
    this.#startAt = setup.resumeAt;
    this.#ways = waysOf(media, setup);
    media.addEventListener('loadedmetadata', () => this.#loaded());
  }

  begin(): void {
    const way = this.#ways.shift();
    if (!way) {
      tell('This browser cannot play this asset.');
      return;
    }
    let isTried = false;
    this.#fail = (failure: Failure) => {
      if (isTried) return;
      isTried = true;
      this.#next(way, failure);
    };
    this.#detach = way.attach(this.#media, this.#startAt, this.#fail);
  }

  goTo(seconds: number): void {
    this.#startAt = seconds;
    if (this.#media.readyState >= HTMLMediaElement.HAVE_METADATA) this.#media.currentTime = seconds;
    this.#play();
  }

  #next(failed: Way, { status }: Failure): void {
    if (this.#media.currentTime > 0) this.#startAt = this.#media.currentTime;
    this.#detach();
    this.#failure.status ??= status;
    if (this.#ways.length > 0) this.begin();
    else tell(inWords(failed, this.#failure));
  }

  #loaded(): void {
    if (this.#lacksPicture && this.#ways.length > 0) {
      this.#fail({});
      return;
    }
    if (this.#lacksPicture)
      tell('Only the sound plays: this browser does not know the codec of the picture.');
    if (this.#startAt > 0) this.#media.currentTime = this.#startAt;
    this.#startAt = 0; // after a recovery, metadata loads again: playback stays where it is
    if (this.#autoPlay) this.#play();
  }

  /** True if the browser cannot decode the picture: it then plays only the sound and reports no error. */
  get #lacksPicture(): boolean {
    return this.#media instanceof HTMLVideoElement && this.#media.videoWidth === 0;
  }

  /** Starts playback; muted if the browser's autoplay policy requires it. */
  #play(): void {
    this.#media.play().catch((error: DOMException) => {
      if (error.name !== 'NotAllowedError' || this.#media.muted) return; // the controls remain
      this.#media.muted = true;
      this.#play();
    });
  }
}

function inWords({ from }: Way, { status }: Failure): string {
  if (from.expiresAt !== undefined && Date.parse(from.expiresAt) <= Date.now())
    return 'The link to this media has expired. Ask for a new one.';
  if (status === 401 || status === 403)
    return `The service refuses this media (${status}). Its link may have expired: ask for a new one.`;
  if (status !== undefined) return `The service answers ${status} where the media should be.`;
  return 'The media cannot be loaded or decoded. The service may be out of reach, or this browser may lack the codec.';
}
