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
  #fail = (_failure: PlaybackFailure) => {};
  /** First HTTP status of a failure, which explains more than the failure of a fallback. */
  #status: number | undefined;

  constructor(media: HTMLMediaElement, setup: PlayerSetup) {
    this.#media = media;
    this.#setup = setup;
    this.#startAt = setup.resumeAt;
    this.#strategies = strategiesFor(media, setup);
    media.addEventListener('loadedmetadata', () => this.#onLoaded());
  }

  start(): void {
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
      if (this.#strategies.length > 0) this.start();
      else showProblem(failureMessage(strategy, this.#status));
    };
    detach = strategy.attach(this.#media, this.#startAt, this.#fail);
  }

  seek(seconds: number): void {
    this.#startAt = seconds;
    if (this.#media.readyState >= HTMLMediaElement.HAVE_METADATA) this.#media.currentTime = seconds;
    this.#play();
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
    if (this.#setup.autoPlay) this.#play();
  }

  /** Starts playback, muted if the browser's autoplay policy requires it. */
  #play(): void {
    this.#media.play().catch((error: DOMException) => {
      if (error.name !== 'NotAllowedError' || this.#media.muted) return; // the user can still press play
      this.#media.muted = true;
      this.#play();
    });
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
