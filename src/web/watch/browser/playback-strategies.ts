import Hls from 'hls.js/light';
import type { MediaUrl } from '../../shared/media-url.ts';
import type { PlayerSetup } from '../setup.ts';

/** Cause of a failed playback strategy. */
export type PlaybackFailure = { status?: number | undefined };

/** A way to load an asset into a media element: native or by hls.js. */
export type PlaybackStrategy = {
  source: MediaUrl;
  /** Attaches the asset. @returns a function that detaches it */
  attach(
    media: HTMLMediaElement,
    startAt: number,
    fail: (failure: PlaybackFailure) => void,
  ): () => void;
};

const hlsType = 'application/vnd.apple.mpegurl';

/**
 * Returns the playback strategies that may work in this browser, best first. Safari's native HLS is best.
 * Chromium claims "maybe" since 141 but fails on streams that hls.js plays, so native HLS comes last there.
 */
export function strategiesFor(
  media: HTMLMediaElement,
  { hls, file }: PlayerSetup,
): PlaybackStrategy[] {
  const strategies: PlaybackStrategy[] = [];
  if (hls) {
    if (Hls.isSupported()) strategies.push(hlsJs(hls));
    if (media.canPlayType(hlsType)) {
      const isSafari = 'ManagedMediaSource' in window;
      if (isSafari) strategies.unshift(native(hls));
      else strategies.push(native(hls));
    }
  }
  if (file) strategies.push(native(file));
  return strategies;
}

/** Creates the native strategy. The browser reports that it failed, but not why. */
const native = (source: MediaUrl): PlaybackStrategy => ({
  source,
  attach: (media, _startAt, fail) => {
    const failed = () => fail({});
    media.addEventListener('error', failed);
    media.src = source.url;
    return () => {
      media.removeEventListener('error', failed);
      media.removeAttribute('src');
      media.load();
    };
  },
});

const hlsJs = (source: MediaUrl): PlaybackStrategy => ({
  source,
  attach: (media, startAt, fail) => {
    const hls = new Hls({ enableWorker: false, startPosition: startAt, ...qualityOptions() });
    let recoveries = 0;
    hls.on(Hls.Events.MANIFEST_PARSED, (_, { audioTracks }) => {
      // The light build does not support separate audio playlists.
      if (audioTracks.some(({ url }) => url)) fail({});
    });
    hls.on(Hls.Events.ERROR, (_, { fatal, type, response }) => {
      if (!fatal) return;
      // Recovery needs media that has loaded; it does not help with unknown codecs.
      const hasBegun = media.readyState >= HTMLMediaElement.HAVE_METADATA;
      const isMedia = type === Hls.ErrorTypes.MEDIA_ERROR;
      if (isMedia && hasBegun && recoveries++ === 0) hls.recoverMediaError();
      else fail({ status: response?.code || undefined });
    });
    hls.attachMedia(media);
    const cancel = afterLayout(() => hls.loadSource(source.url));
    return () => {
      cancel();
      hls.destroy();
    };
  },
});

/** Fallback for hidden tabs, where requestAnimationFrame does not fire. */
const layoutTimeoutMs = 100;

/**
 * Runs a callback after the next layout: hls.js needs the player's size before the manifest to choose the first
 * quality. @returns a function that cancels
 */
function afterLayout(then: () => void): () => void {
  let isDone = false;
  const once = () => {
    if (!isDone) then();
    isDone = true;
  };
  requestAnimationFrame(() => setTimeout(once));
  const timer = setTimeout(once, layoutTimeoutMs);
  return () => {
    isDone = true;
    clearTimeout(timer);
  };
}

/**
 * Returns the hls.js quality options: starts with the bandwidth that the browser reports, or measures it with a
 * segment of the lowest quality. Caps the quality to the player's size.
 */
function qualityOptions() {
  const { connection } = navigator as Navigator & { connection?: { downlink?: number } };
  const bitsPerSecond = (connection?.downlink ?? 0) * 1e6;
  const known = { abrEwmaDefaultEstimate: bitsPerSecond, testBandwidth: false };
  return { startLevel: -1, capLevelToPlayerSize: true, ...(bitsPerSecond > 0 && known) };
}
