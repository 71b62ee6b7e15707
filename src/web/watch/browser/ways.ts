import Hls from 'hls.js/light';
import type { MediaUrl } from '../../shared/media-url.ts';
import type { Setup } from '../setup.ts';

/** What is known of a way that does not work. */
export type Failure = { status?: number | undefined };

/** One way to get an asset into a media element. */
export type Way = {
  from: MediaUrl;
  /** Attaches it. @returns what takes it away again */
  attach(media: HTMLMediaElement, startAt: number, fail: (failure: Failure) => void): () => void;
};

const hlsType = 'application/vnd.apple.mpegurl';

/**
 * What may work here, best first. Safari's own HLS is the best there is for it. Chromium says "maybe"
 * since 141 and fails at streams that hls.js plays, so its own comes after.
 */
export function waysOf(media: HTMLMediaElement, { hls, file }: Setup): Way[] {
  const ways: Way[] = [];
  if (hls) {
    if (Hls.isSupported()) ways.push(throughHlsJs(hls));
    if (media.canPlayType(hlsType)) {
      const isSafari = 'ManagedMediaSource' in window;
      if (isSafari) ways.unshift(byItself(hls));
      else ways.push(byItself(hls));
    }
  }
  if (file) ways.push(byItself(file));
  return ways;
}

/** The browser alone. It tells that it failed, and hardly why. */
const byItself = (from: MediaUrl): Way => ({
  from,
  attach: (media, _startAt, fail) => {
    const failed = () => fail({});
    media.addEventListener('error', failed);
    media.src = from.url;
    return () => {
      media.removeEventListener('error', failed);
      media.removeAttribute('src');
      media.load();
    };
  },
});

const throughHlsJs = (from: MediaUrl): Way => ({
  from,
  attach: (media, startAt, fail) => {
    const hls = new Hls({ enableWorker: false, startPosition: startAt, ...quality() });
    let recoveries = 0;
    hls.on(Hls.Events.MANIFEST_PARSED, (_, { audioTracks }) => {
      // The light build plays no sound that has a playlist of its own.
      if (audioTracks.some(({ url }) => url)) fail({});
    });
    hls.on(Hls.Events.ERROR, (_, { fatal, type, response }) => {
      if (!fatal) return;
      // What never began, as with codecs that the browser does not know, has nothing to go back to.
      const hasBegun = media.readyState >= HTMLMediaElement.HAVE_METADATA;
      const isMedia = type === Hls.ErrorTypes.MEDIA_ERROR;
      if (isMedia && hasBegun && recoveries++ === 0) hls.recoverMediaError();
      else fail({ status: response?.code || undefined });
    });
    hls.attachMedia(media);
    const cancel = onceLaidOut(() => hls.loadSource(from.url));
    return () => {
      cancel();
      hls.destroy();
    };
  },
});

/** So long does somebody wait whose tab lays nothing out, since nobody sees it. */
const hiddenMs = 100;

/**
 * hls.js chooses the first quality by the player's size only if it was told that before the manifest came,
 * and it is told by an observer, with the next frame. @returns how to call it off
 */
function onceLaidOut(then: () => void): () => void {
  let isDone = false;
  const once = () => {
    if (!isDone) then();
    isDone = true;
  };
  requestAnimationFrame(() => setTimeout(once));
  const timer = setTimeout(once, hiddenMs);
  return () => {
    isDone = true;
    clearTimeout(timer);
  };
}

/**
 * Begins as well as the line allows: by what the browser knows of it, in Mbit/s, else by a first segment
 * of the lowest quality. More than the player has pixels for is not loaded.
 */
function quality() {
  const { connection } = navigator as Navigator & { connection?: { downlink?: number } };
  const bitsPerSecond = (connection?.downlink ?? 0) * 1e6;
  const known = { abrEwmaDefaultEstimate: bitsPerSecond, testBandwidth: false };
  return { startLevel: -1, capLevelToPlayerSize: true, ...(bitsPerSecond > 0 && known) };
}
