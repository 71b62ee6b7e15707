import type Hls from 'hls.js/light';
import { withTimeout } from '../../../shared/retry.ts';
import type { MediaUrl } from '../../shared/media-url.ts';
import type { PlayerSetup } from '../setup.ts';

/** Cause of a failure; `status` is the HTTP status, if known. */
export type PlaybackFailure = { status?: number | undefined };

/** Way to load an asset into a media element, either natively or with hls.js. Nothing loads before it is played. */
export type PlaybackStrategy = {
  source: MediaUrl;
  /** Returns a function that detaches the asset. */
  attach(media: HTMLMediaElement, playback: AttachedPlayback): () => void;
};

type AttachedPlayback = {
  /** Returns the position in seconds to start at. */
  startAt(): number;
  /** Plays on after the source of the element has changed, which pauses it. */
  play(): void;
  fail(failure: PlaybackFailure): void;
};

const hlsType = 'application/vnd.apple.mpegurl';

/**
 * Returns the strategies that might work, best first. Chromium claims since version 141 that it might play HLS, but
 * fails on streams that hls.js plays, so only in Safari native HLS comes before hls.js.
 */
export function strategiesFor(media: HTMLMediaElement, { hls, hlsScript, file }: PlayerSetup): PlaybackStrategy[] {
  const byScript = hls && 'MediaSource' in window ? [hlsJs(hls, hlsScript)] : [];
  const byBrowser = hls && media.canPlayType(hlsType) ? [native(hls)] : [];
  const isSafari = 'ManagedMediaSource' in window;
  const streams = isSafari ? [...byBrowser, ...byScript] : [...byScript, ...byBrowser];
  return file ? [...streams, native(file)] : streams;
}

const native = (source: MediaUrl): PlaybackStrategy => ({
  source,
  attach: (media, { fail }) => {
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

const hlsJs = (source: MediaUrl, script: PlayerSetup['hlsScript']): PlaybackStrategy => ({
  source,
  attach: (media, playback) => {
    let isAttached = true;
    let hls: Hls | undefined;
    const start = async () => {
      const loaded = await loadHls(script);
      if (!isAttached) return;
      if (!loaded.isSupported()) return playback.fail({});
      hls = attachHls(loaded, media, playback);
      playback.play();
      await afterLayout();
      if (isAttached) hls.loadSource(source.url);
    };
    const onPlay = () => void start().catch(() => playback.fail({}));
    // An empty source, so that the browser's controls can be used. It is replaced once the user presses play.
    const placeholder = URL.createObjectURL(new MediaSource());
    media.addEventListener('play', onPlay, { once: true });
    media.src = placeholder;
    return () => {
      isAttached = false;
      media.removeEventListener('play', onPlay);
      URL.revokeObjectURL(placeholder);
      hls?.destroy();
    };
  },
});

/** Loads hls.js, unless the document contains it. */
const loadHls = (script: PlayerSetup['hlsScript']) =>
  new Promise<typeof Hls>((resolve, reject) => {
    const finish = () => (window.Hls ? resolve(window.Hls) : reject(new Error('hls.js has not loaded')));
    if (!script || window.Hls) return finish();
    const element = document.createElement('script');
    element.integrity = script.integrity;
    element.crossOrigin = 'anonymous';
    element.addEventListener('load', finish);
    element.addEventListener('error', finish);
    element.src = script.url;
    document.head.append(element);
  });

function attachHls(HlsJs: typeof Hls, media: HTMLMediaElement, { startAt, fail }: AttachedPlayback): Hls {
  const hls = new HlsJs({ enableWorker: false, startPosition: startAt(), ...qualityOptions() });
  let recoveries = 0;
  hls.on(HlsJs.Events.MANIFEST_PARSED, (_, { audioTracks }) => {
    // The light build does not support separate audio playlists.
    if (audioTracks.some(({ url }) => url)) fail({});
  });
  hls.on(HlsJs.Events.ERROR, (_, { fatal, type, response }) => {
    if (!fatal) return;
    // Recovery works only after the media has loaded, and does not help with unsupported codecs.
    const hasBegun = media.readyState >= HTMLMediaElement.HAVE_METADATA;
    const isMedia = type === HlsJs.ErrorTypes.MEDIA_ERROR;
    if (isMedia && hasBegun && recoveries++ === 0) hls.recoverMediaError();
    else fail({ status: response?.code || undefined });
  });
  hls.attachMedia(media);
  return hls;
}

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
