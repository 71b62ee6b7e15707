import { type AssetType, entryForType } from '../../../contract/asset-values.ts';
import { asArray, asNumber, asObject, asText, isJsonObject } from '../../../contract/json-values.ts';
import type { PlaybackInfo } from '../../../contract/types.ts';
import type { PageResources } from '../../shared/content-security-policy.ts';
import { type Html, html } from '../../shared/html.ts';
import { type MediaUrl, parseMediaUrl } from '../../shared/media-url.ts';
import { parseChapters, renderChapters } from '../chapters.ts';
import type { PlayerSetup } from '../setup.ts';
import { renderTimeline } from '../timeline.ts';
import { type ProcessingStatus, unplayableReason } from './unplayable-reason.ts';

/** Part of the page that depends on the asset type: markup, resources and script configuration. */
export type PlayerView = {
  body: Html;
  loads?: Partial<PageResources>;
  setup?: Partial<PlayerSetup>;
  /** URL of the downloadable source file. */
  source?: MediaUrl | undefined;
};

export type PlayerViewInput = ProcessingStatus & {
  title: string;
  info: PlaybackInfo;
  baseUrl: URL | undefined;
  poster: MediaUrl | undefined;
  /** Media type of a document, if known. Only some types can be embedded. */
  contentType: string | undefined;
};

/**
 * Renders an asset according to its type: "The response is polymorphic; branch on `type`" (§2). If the asset cannot
 * be played, renders the reason instead.
 */
export function renderView(shown: PlayerViewInput): PlayerView {
  const type = asText(shown.info.type) ?? '';
  const view = entryForType(renderers, type);
  // Some services send `blocked` as a string.
  if (!shown.info.blocked || shown.info.blocked === 'false')
    return (
      view?.(shown) ??
      renderMessage(unplayableReason(shown) ?? `The service names nothing to play for this asset (${type}).`)
    );
  return renderMessage(
    unplayableReason(shown) ?? 'This is not to be played. It may not be ready yet, or not be allowed here.',
  );
}

/** Returns the URL of the downloadable source file; undefined if the service offers none. */
export const sourceUrlOf = (info: PlaybackInfo, baseUrl: URL): string | undefined =>
  renderView({ title: '', info, baseUrl, poster: undefined, contentType: undefined }).source?.url;

const renderMessage = (text: string): PlayerView => ({
  body: html`<p class="message">${text}</p>`,
});

/** Maps an asset type to its renderer, which returns undefined if the playback info has no URL to load. */
const renderers: Record<AssetType, (shown: PlayerViewInput) => PlayerView | undefined> = {
  video,
  audio,
  image,
  document,
  third_party: thirdParty,
  generic: () => undefined,
};

function video({ info, title, poster, baseUrl }: PlayerViewInput): PlayerView | undefined {
  const [hls, file] = [parseMediaUrl(info.hls_url, baseUrl), parseMediaUrl(info.source_url, baseUrl)];
  if (!hls && !file) return undefined;
  const sprites = parseMediaUrl(info.preview_sprites_url, baseUrl);
  const subtitles = parseSubtitles(info, baseUrl);
  const chapters = parseChapters(info);
  return {
    source: file,
    body: html`<div class="stage">
<div>
<video controls playsinline preload="metadata" aria-label="${title}"${poster && html` poster="${poster.url}"`}></video>
${renderTimeline()}
</div>
${renderChapters(chapters)}
</div>
<noscript><p class="message">The player needs JavaScript.${file && html` <a href="${file.url}">Open the file itself</a>`}</p></noscript>`,
    loads: {
      images: defined(poster),
      streams: defined(hls),
      media: defined(file),
      subtitles: subtitles,
      sprites: defined(sprites),
    },
    setup: { ...{ hls, file, subtitles, chapters, sprites }, resumeAt: resumeAt(info) },
  };
}

function audio({ info, title, poster, baseUrl }: PlayerViewInput): PlayerView | undefined {
  const file = parseMediaUrl(info.source, baseUrl);
  if (!file) return undefined;
  const waveform = parseMediaUrl(info.waveform_url, baseUrl);
  const subtitles = parseSubtitles(info, baseUrl);
  const chapters = parseChapters(info);
  return {
    source: file,
    body: html`<div class="stage">
<div>
${poster && html`<img class="picture" src="${poster.url}" alt="">`}
${renderTimeline(waveform)}
<audio controls preload="metadata" aria-label="${title}"></audio>
${subtitles.length > 0 ? html`<p id="captions"></p>` : undefined}
</div>
${renderChapters(chapters)}
</div>`,
    loads: {
      images: defined(poster),
      media: [file],
      subtitles: subtitles,
      waveforms: defined(waveform),
    },
    setup: { ...{ file, subtitles, chapters, waveform }, resumeAt: resumeAt(info) },
  };
}

const resumeAt = (info: PlaybackInfo) => asNumber(info.resume_position_seconds) ?? 0;

/**
 * Parses the subtitle tracks. Each track is a URL, or an object with a URL, label and language (assumption A16).
 */
function parseSubtitles(info: PlaybackInfo, baseUrl: URL | undefined): NonNullable<PlayerSetup['subtitles']> {
  return asArray(info.subtitle_tracks).flatMap((entry, at) => {
    const { label, language, url, src } = isJsonObject(entry) ? entry : asObject({ url: entry });
    const found = parseMediaUrl(url ?? src, baseUrl);
    if (!found) return [];
    const name = asText(label) || asText(language) || `Subtitles ${at + 1}`;
    return [{ ...found, label: name, language: asText(language) || 'und' }];
  });
}

/**
 * Renders an image. If the widths of its variants are known (assumption A15), the browser chooses a variant by size
 * (§2).
 */
function image({ info, title, baseUrl }: PlayerViewInput): PlayerView | undefined {
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
      measured.length > 1 ? html` srcset="${srcset}" sizes="min(100vw, 72rem)"` : undefined
    }${size ? html` width="${best.width}" height="${best.height}"` : undefined}>`,
    loads: { images: variants },
  };
}

function document({ info, title, contentType, baseUrl }: PlayerViewInput): PlayerView | undefined {
  const at = parseMediaUrl(info.url, baseUrl);
  if (!at) return undefined;
  // Each thumbnail is a URL, or an object with a URL (assumption A16).
  const thumbnails = asArray(info.thumbnails).flatMap((each) => defined(parseMediaUrl(each, baseUrl)));
  const pages = thumbnails.map(
    ({ url }, page) => html`<li><img src="${url}" alt="Page ${page + 1}" loading="lazy"></li>`,
  );
  return {
    source: at,
    body: html`<p><a href="${at.url}" target="_blank" rel="noreferrer">Open the document</a></p>
${pages.length > 0 ? html`<ul class="thumbnails">${pages}</ul>` : undefined}
<div id="document"></div>`,
    loads: { images: thumbnails, frames: [at] },
    setup: { document: contentType === undefined ? undefined : { ...at, contentType, title } },
  };
}

/** Renders a third party's embedded player: "provider iframe, not an HLS stream" (§2). */
function thirdParty({ info, title, baseUrl }: PlayerViewInput): PlayerView | undefined {
  const at = parseMediaUrl(info.embed_url, baseUrl);
  if (!at) return undefined;
  return {
    // Providers need allow-same-origin. It would defeat the sandbox only if the frame had our own origin, but a
    // provider has another one.
    body: html`<iframe class="frame" src="${at.url}" title="${title}" sandbox="allow-scripts allow-same-origin allow-presentation allow-popups" allow="autoplay; encrypted-media; fullscreen; picture-in-picture"></iframe>
<p><a href="${at.url}" target="_blank" rel="noreferrer">Open at ${new URL(at.url).host}</a></p>`,
    loads: { frames: [at] },
  };
}

const defined = (...urls: (MediaUrl | undefined)[]) => urls.flatMap((url) => url ?? []);
