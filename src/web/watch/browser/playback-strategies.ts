import Hls from 'hls.js/light';
import { withTimeout } from '../../../contract/retry.ts';
import type { MediaUrl } from '../../shared/media-url.ts';
import type { PlayerSetup } from '../setup.ts';

/** Cause of a failure; `status` is the HTTP status, if known. */
export type PlaybackFailure = { status?: number | undefined };

/** Way to load an asset into a media element, either natively or with hls.js. */
export type PlaybackStrategy = {
  source: MediaUrl;
  /**
   * @param startAt start position in seconds
   * @returns a function that detaches the asset
   */
  attach(media: HTMLMediaElement, startAt: number, fail: (failure: PlaybackFailure) => void): () => void;
};

const hlsType = 'application/vnd.apple.mpegurl';

/**
 * Returns the strategies that might work, best first. Chromium claims since version 141 that it might play HLS, but
 * fails on streams that hls.js plays, so only in Safari native HLS comes before hls.js.
 */
export function strategiesFor(media: HTMLMediaElement, { hls, file }: PlayerSetup): PlaybackStrategy[] {
  const byScript = hls && Hls.isSupported() ? [hlsJs(hls)] : [];
  const byBrowser = hls && media.canPlayType(hlsType) ? [native(hls)] : [];
  const isSafari = 'ManagedMediaSource' in window;
  const streams = isSafari ? [...byBrowser, ...byScript] : [...byScript, ...byBrowser];
  return file ? [...streams, native(file)] : streams;
}

const native = (source: MediaUrl): PlaybackStrategy => ({
  source,
  attach: (media, _startAt, fail) => {
    const failed = () => fail({}); // the browser does not report why
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
      // Recovery works only after the media has loaded, and does not help with unsupported codecs.
      const hasBegun = media.readyState >= HTMLMediaElement.HAVE_METADATA;
      const isMedia = type === Hls.ErrorTypes.MEDIA_ERROR;
      if (isMedia && hasBegun && recoveries++ === 0) hls.recoverMediaError();
      else fail({ status: response?.code || undefined });
    });
    hls.attachMedia(media);
    let isAttached = true;
    void afterLayout().then(() => isAttached && hls.loadSource(source.url));
    return () => {
      isAttached = false;
      hls.destroy();
    };
  },
});

/** Maximum wait for the next layout, because requestAnimationFrame does not fire in hidden tabs. */
const layoutTimeoutMs = 100;

/** Resolves after the next layout, because hls.js chooses the first quality level by the player's size. */
function afterLayout(): Promise<void> {
  const layout = new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return withTimeout(layoutTimeoutMs, () => layout).catch(() => {});
}

/**
 * Returns the hls.js quality options. Starts with the bandwidth that the browser reports. If it reports none, hls.js
 * measures it with a segment of the lowest quality.
 */
function qualityOptions() {
  const { connection } = navigator as Navigator & { connection?: { downlink?: number } };
  const bitsPerSecond = (connection?.downlink ?? 0) * 1e6;
  const known = { abrEwmaDefaultEstimate: bitsPerSecond, testBandwidth: false };
  return { startLevel: -1, capLevelToPlayerSize: true, ...(bitsPerSecond > 0 && known) };
}
