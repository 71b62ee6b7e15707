import { type AssetType, entryForType } from '../../../contract/asset-values.ts';
import { classifyStatus, isAwaitingUpload } from '../../../contract/assumptions.ts';
import type { PlaybackInfo } from '../../../contract/types.ts';
import { formatClockTime } from '../../../shared/figures.ts';
import { asArray, asNumber, asObject, asText, isJsonObject } from '../../../shared/json-values.ts';
import { type Html, html } from '../../shared/html.ts';
import { type MediaUrl, parseMediaUrl } from '../../shared/media-url.ts';
import type { PlayerChapter, PlayerSetup } from '../setup.ts';

export type WatchedAsset = {
  title: string;
  /** Response of POST /playback/info/ (§2). */
  info: PlaybackInfo;
  /** Thumbnail to show as the poster: a URL, or an object with a `url`. */
  poster?: unknown;
  /** Media type of the asset, if known. It decides whether a document can be embedded. */
  contentType?: string | null | undefined;
  /** Duration in seconds from the asset record. */
  duration?: unknown;
  /** Processing status from the asset record (assumption A11). Explains why there is nothing to play. */
  status?: unknown;
  /** Failure reason from the asset record: a string, or an object with a `message`. */
  reason?: unknown;
  baseUrl?: URL | undefined;
};

/** Part of the page that depends on the asset type: markup, script configuration, and what the markup loads. */
export type PlayerView = {
  body: Html;
  setup?: Partial<PlayerSetup>;
  images?: readonly (MediaUrl | undefined)[];
  frames?: readonly MediaUrl[];
  source?: MediaUrl | undefined;
};

/** Renders an asset by its type, or the reason why it cannot be played. */
export function renderView(asset: WatchedAsset): PlayerView {
  const { blocked, type } = asset.info;
  const isBlocked = blocked && blocked !== 'false'; // some services send a string
  const view = isBlocked ? undefined : entryForType(renderers, type)?.(asset);
  if (view) return view;
  const defaultReason = isBlocked
    ? 'This asset cannot be played. It may not be ready yet, or playback may not be allowed here.'
    : `The service provides nothing to play for this asset (${asText(type) ?? ''}).`;
  return { body: html`<p class="message">${unplayableReason(asset) ?? defaultReason}</p>` };
}

/** Returns the URL of the downloadable source file; undefined if the service offers none. */
export const sourceUrlOf = (info: PlaybackInfo, baseUrl: URL): string | undefined =>
  renderView({ title: '', info, baseUrl }).source?.url;

function unplayableReason({ status, reason }: WatchedAsset): string | undefined {
  const statusText = asText(status);
  if (!statusText) return undefined;
  if (isAwaitingUpload(statusText)) return 'The upload has not finished yet.';
  const statusGroup = classifyStatus(statusText);
  if (statusGroup === 'in progress') return 'This asset is being processed. Reload the page in a moment.';
  if (statusGroup === 'ready') return 'The service does not allow playback here.';
  const why = asText(reason) || asText(asObject(reason).message);
  return why ? `Processing failed: ${why}` : 'Processing failed.';
}

/** Renderers by asset type ("The response is polymorphic", §2). Each returns undefined if there is no URL to load. */
const renderers: Record<AssetType, (asset: WatchedAsset) => PlayerView | undefined> = {
  video,
  audio,
  image,
  document,
  third_party: thirdParty,
  generic: () => undefined,
};

function video({ info, title, poster: posterUrl, duration, baseUrl }: WatchedAsset): PlayerView | undefined {
  const [hls, file] = [parseMediaUrl(info.hls_url, baseUrl), parseMediaUrl(info.source_url, baseUrl)];
  if (!hls && !file) return undefined;
  const poster = parseMediaUrl(posterUrl, baseUrl);
  const sprites = parseMediaUrl(info.preview_sprites_url, baseUrl);
  const common = parseCommon(info, baseUrl);
  return {
    source: file,
    body: html`<div class="stage">
<div class="screen">
<video playsinline preload="none" aria-label="${title}"${poster && html` poster="${poster.url}"`}></video>
${renderTimeline()}
${renderControls(true)}
</div>
${renderChapters(common.chapters)}
</div>
<noscript><p class="message">The player needs JavaScript.${file && html` <a href="${file.url}">Open the file</a>`}</p></noscript>`,
    images: [poster],
    setup: { ...common, duration: asDuration(duration), hls, file, sprites },
  };
}

function audio({ info, title, poster: posterUrl, duration, baseUrl }: WatchedAsset): PlayerView | undefined {
  const file = parseMediaUrl(info.source, baseUrl);
  if (!file) return undefined;
  const poster = parseMediaUrl(posterUrl, baseUrl);
  const waveform = parseMediaUrl(info.waveform_url, baseUrl);
  const common = parseCommon(info, baseUrl);
  return {
    source: file,
    body: html`<div class="stage">
<div>
${poster && html`<img class="picture" src="${poster.url}" alt="">`}
${renderTimeline(waveform)}
<audio preload="none" aria-label="${title}"></audio>
${renderControls(false)}
${common.subtitles.length > 0 ? html`<p id="captions"></p>` : undefined}
</div>
${renderChapters(common.chapters)}
</div>`,
    images: [poster],
    setup: { ...common, duration: asDuration(duration), file, waveform },
  };
}

/** Returns a duration in seconds; undefined if it is none, or 0. */
const asDuration = (value: unknown) => Math.max(0, asNumber(value) ?? 0) || undefined;

const parseCommon = (info: PlaybackInfo, baseUrl: URL | undefined) => ({
  subtitles: parseSubtitles(info, baseUrl),
  chapters: parseChapters(info),
  resumeAt: asNumber(info.resume_position_seconds) ?? 0,
});

/** Parses the subtitle tracks. Each is a URL, or an object with a URL, label and language (assumption A16). */
const parseSubtitles = (info: PlaybackInfo, baseUrl: URL | undefined) =>
  asArray(info.subtitle_tracks).flatMap((entry, at) => {
    const { label, language, url, src } = isJsonObject(entry) ? entry : asObject({ url: entry });
    const found = parseMediaUrl(url ?? src, baseUrl);
    if (!found) return [];
    const name = asText(label) || asText(language) || `Subtitles ${at + 1}`;
    return [{ ...found, label: name, language: asText(language) || 'und' }];
  });

const parseChapters = (info: PlaybackInfo): PlayerChapter[] =>
  asArray(info.chapters).flatMap((each) => {
    const { title, start_time } = asObject(each);
    const start = asNumber(start_time);
    return start === undefined ? [] : [{ title: asText(title) ?? '', start }];
  });

const renderChapters = (chapters: readonly PlayerChapter[]) =>
  chapters.length === 0
    ? undefined
    : html`<nav aria-labelledby="chapters"><h2 id="chapters">Chapters</h2>
<ol>
${chapters.map(renderChapter)}
</ol></nav>`;

const renderChapter = ({ title, start }: PlayerChapter) =>
  html`<li><button type="button" data-seconds="${start}"><time>${formatClockTime(start)}</time> <span>${title}</span></button></li>`;

/** Renders the seek bar. With a waveform, it has its final height from the start, which avoids a layout shift. */
const renderTimeline = (waveform?: MediaUrl): Html =>
  html`<div id="timeline"${waveform && html` class="tall"`} role="slider" tabindex="0" aria-label="Seek" aria-valuemin="0" aria-valuemax="0" aria-valuenow="0" hidden>
<canvas></canvas><div class="bar"></div><div class="played"></div><div class="ticks"></div>
<div class="bubble" hidden><div class="sprite" hidden></div><time></time> <span></span></div>
</div>`;

/** Icons of the player's buttons in a square of 24: of the state that a press leads to, if it has two. */
const controlIcons = {
  play: 'M8 5l11 7l-11 7z',
  pause: 'M8 5v14 M16 5v14',
  mute: 'M4 9v6h4l5 4V5L8 9z M16 9a4 4 0 0 1 0 6',
  unmute: 'M4 9v6h4l5 4V5L8 9z M16 10l5 5 M21 10l-5 5',
  captions: 'M3 5h18v14H3z M7 14h4 M13 14h4',
  full: 'M4 9V4h5 M15 4h5v5 M20 15v5h-5 M9 20H4v-5',
};

const renderControl = (action: string, label: string, icons: (keyof typeof controlIcons)[]): Html =>
  html`<button type="button" data-action="${action}" aria-label="${label}" title="${label}"><svg viewBox="0 0 24 24" aria-hidden="true">${icons.map((icon) => html`<path d="${controlIcons[icon]}"/>`)}</svg></button>`;

/** Renders the buttons below the seek bar. Their keys are those of the page (`player-keys.ts`). */
const renderControls = (isVideo: boolean): Html =>
  html`<div class="controls">
${renderControl('k', 'Play', ['play', 'pause'])}
<span class="time"></span>
${renderControl('m', 'Mute', ['mute', 'unmute'])}
<input type="range" min="0" max="1" step="0.05" value="1" aria-label="Volume">
${isVideo ? [renderControl('c', 'Subtitles', ['captions']), renderControl('f', 'Full screen', ['full'])] : undefined}
</div>`;

/** Renders an image. If the widths of its variants are known (A15), the browser chooses a variant by size (§2). */
function image({ info, title, baseUrl }: WatchedAsset): PlayerView | undefined {
  const variants = asArray(info.variants).flatMap((each) => {
    const { url = each, width, height } = asObject(each);
    const at = parseMediaUrl(url, baseUrl);
    return at ? [{ ...at, width: asNumber(width) ?? 0, height: asNumber(height) ?? 0 }] : [];
  });
  const [best] = variants.toSorted((a, b) => b.width - a.width);
  if (!best) return undefined;
  const measured = variants.filter(({ width }) => width > 0);
  const srcset = measured.map(({ url, width }) => `${url} ${width}w`).join(', ');
  const size = best.width && best.height;
  return {
    source: best,
    body: html`<img class="picture" src="${best.url}" alt="${title}"${
      measured.length > 1 ? html` srcset="${srcset}" sizes="min(100vw, max(72rem, 140vh))"` : undefined
    }${size ? html` width="${best.width}" height="${best.height}"` : undefined}>`,
    images: variants,
  };
}

function document({ info, title, contentType, baseUrl }: WatchedAsset): PlayerView | undefined {
  const at = parseMediaUrl(info.url, baseUrl);
  if (!at) return undefined;
  // Each thumbnail is a URL, or an object with a URL (assumption A16).
  const thumbnails = asArray(info.thumbnails).flatMap((each) => parseMediaUrl(each, baseUrl) ?? []);
  const pages = thumbnails.map(({ url }, at) => html`<li><img src="${url}" alt="Page ${at + 1}" loading="lazy"></li>`);
  return {
    source: at,
    body: html`<p><a href="${at.url}" target="_blank" rel="noreferrer">Open the document</a></p>
${pages.length > 0 ? html`<ul class="thumbnails">${pages}</ul>` : undefined}
<div id="document"></div>`,
    images: thumbnails,
    frames: [at],
    setup: { document: contentType ? { ...at, contentType, title } : undefined },
  };
}

/** Renders a third party's embedded player: "provider iframe, not an HLS stream" (§2). */
function thirdParty({ info, title, baseUrl }: WatchedAsset): PlayerView | undefined {
  const at = parseMediaUrl(info.embed_url, baseUrl);
  if (!at) return undefined;
  return {
    // Providers need allow-same-origin. It would defeat the sandbox only if the frame had our own origin, but a
    // provider has another one.
    body: html`<iframe class="frame" src="${at.url}" title="${title}" sandbox="allow-scripts allow-same-origin allow-presentation allow-popups" allow="autoplay; encrypted-media; fullscreen; picture-in-picture"></iframe>
<p><a href="${at.url}" target="_blank" rel="noreferrer">Open on ${new URL(at.url).host}</a></p>`,
    frames: [at],
  };
}
