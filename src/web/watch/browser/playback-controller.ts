import type { PlayerSetup } from '../setup.ts';
import { showProblem } from './notices.ts';
import { type PlaybackFailure, type PlaybackStrategy, strategiesFor } from './playback-strategies.ts';

/** Plays an asset with the first strategy that works, and resumes at the saved position. */
export class PlaybackController {
  readonly #media: HTMLMediaElement;
  readonly #setup: PlayerSetup;
  readonly #strategies: PlaybackStrategy[];
  /** Position in seconds to seek to once the metadata has loaded. */
  #startAt: number;
  /** True if the asset is to play, also while its source changes, which pauses the element. */
  #isAsked = false;
  #fail = (_failure: PlaybackFailure) => {};
  /** First HTTP status of a failure, which explains more than the failure of a fallback. */
  #status: number | undefined;

  constructor(media: HTMLMediaElement, setup: PlayerSetup) {
    this.#media = media;
    this.#setup = setup;
    this.#startAt = setup.resumeAt;
    this.#strategies = strategiesFor(media, setup);
    media.addEventListener('loadedmetadata', () => this.#onLoaded());
    for (const event of ['play', 'pause'])
      media.addEventListener(event, () => {
        this.#isAsked = event === 'play';
      });
  }

  /** Prepares the element, so that its controls can be used. */
  start(): void {
    this.#attach();
    if (this.#setup.autoPlay) this.play();
  }

  /** Duration in seconds: of the media, or by the record of the asset before it has loaded; 0 if it is unknown. */
  get duration(): number {
    const { duration, readyState } = this.#media;
    if (readyState < HTMLMediaElement.HAVE_METADATA) return this.#setup.duration ?? 0;
    return Number.isFinite(duration) ? duration : 0; // a live stream has none
  }

  /** Position in seconds: of the media, or where it will start. */
  get position(): number {
    return this.#media.readyState < HTMLMediaElement.HAVE_METADATA ? this.#startAt : this.#media.currentTime;
  }

  /** Moves to a position in seconds. Before the media has loaded, it will start there. */
  moveTo(seconds: number): void {
    const target = Math.max(0, Math.min(this.duration || Number.POSITIVE_INFINITY, seconds));
    if (this.#media.readyState >= HTMLMediaElement.HAVE_METADATA) {
      this.#media.currentTime = target;
      return;
    }
    this.#startAt = target;
    this.#media.dispatchEvent(new Event('seeking'));
  }

  /** Starts playback, muted if the browser's autoplay policy requires it. */
  play(): void {
    this.#media.play().catch((error: DOMException) => {
      if (error.name !== 'NotAllowedError' || this.#media.muted) return; // the user can still press play
      this.#media.muted = true;
      this.play();
    });
  }

  #attach(): void {
    const strategy = this.#strategies.shift();
    if (!strategy) {
      showProblem('This browser cannot play this asset.');
      return;
    }
    let hasFailed = false;
    let detach = () => {};
    this.#fail = ({ status }) => {
      if (hasFailed) return;
      hasFailed = true;
      if (this.#media.currentTime > 0) this.#startAt = this.#media.currentTime;
      detach();
      this.#status ??= status;
      if (this.#strategies.length === 0) return showProblem(failureMessage(strategy, this.#status));
      this.#attach();
      this.#playIfAsked();
    };
    detach = strategy.attach(this.#media, {
      startAt: () => this.#startAt,
      play: () => this.#playIfAsked(),
      fail: (failure) => this.#fail(failure),
    });
  }

  #playIfAsked(): void {
    if (this.#isAsked) this.play();
  }

  #onLoaded(): void {
    // If the browser cannot decode the picture, it plays only the sound, and reports no error.
    const hasNoPicture = this.#media instanceof HTMLVideoElement && this.#media.videoWidth === 0;
    if (hasNoPicture && this.#strategies.length > 0) {
      this.#fail({});
      return;
    }
    if (hasNoPicture) showProblem('Only the audio plays: this browser does not support the video codec.');
    if (this.#startAt > 0) this.#media.currentTime = this.#startAt;
    this.#startAt = 0; // metadata loads again after a recovery, which must not seek
  }
}

function failureMessage({ source }: PlaybackStrategy, status: number | undefined): string {
  if (source.expiresAt !== undefined && Date.parse(source.expiresAt) <= Date.now())
    return 'The link to this media has expired. Ask for a new one.';
  if (status === 401 || status === 403)
    return `The service refused access to this media (${status}). The link may have expired: ask for a new one.`;
  if (status !== undefined) return `The media cannot be loaded: the service returned HTTP ${status}.`;
  return 'The media cannot be loaded or decoded. The service may be unreachable, or this browser may not support the codec.';
}
