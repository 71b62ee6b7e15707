import { fieldsIn, isFields, listIn, numberIn, textIn } from '../../../contract/reading.ts';
import type { PlaybackInfo } from '../../../contract/types.ts';
import { type Html, html } from '../../shared/html.ts';
import { type MediaUrl, mediaUrl } from '../../shared/media-url.ts';
import type { Loads } from '../../shared/policy.ts';
import { chapterList, chaptersOf } from '../chapters.ts';
import type { Setup } from '../setup.ts';
import { timeline } from '../timeline.ts';
import { type Progress, whyNotPlayed } from './refusal.ts';

/** Part of the page that depends on the asset type: markup, resources and script configuration. */
export type View = {
  body: Html;
  loads?: Partial<Loads>;
  setup?: Partial<Setup>;
  /** Downloadable source file. */
  source?: MediaUrl | undefined;
};

export type Shown = Progress & {
  title: string;
  info: PlaybackInfo;
  baseUrl: URL | undefined;
  poster: MediaUrl | undefined;
  /** Media type of a document, if known: only some can be embedded. */
  contentType: string | undefined;
};

/** Renders an asset by its type, or the reason why it cannot play: "The response is polymorphic; branch on `type`" (§2). */
export function viewOf(shown: Shown): View {
  const type = textIn(shown.info.type) ?? '';
  const view = Object.hasOwn(views, type) ? views[type as keyof typeof views] : undefined;
  // Some services send `blocked` as a string.
  if (!shown.info.blocked || shown.info.blocked === 'false')
    return (
      view?.(shown) ??
      message(whyNotPlayed(shown) ?? `The service names nothing to play for this asset (${type}).`)
    );
  return message(
    whyNotPlayed(shown) ??
      'This is not to be played. It may not be ready yet, or not be allowed here.',
  );
}

/** Returns the URL of the downloadable source file, if the service offers one. */
export const sourceOf = (info: PlaybackInfo, baseUrl: URL): string | undefined =>
  viewOf({ title: '', info, baseUrl, poster: undefined, contentType: undefined }).source?.url;

const message = (text: string): View => ({ body: html`<p class="message">${text}</p>` });

/** Renderers by asset type; each returns undefined if there is no loadable URL. */
const views: Record<string, (shown: Shown) => View | undefined> = { video, audio, image, document };
views.third_party = thirdParty;

function video({ info, title, poster, baseUrl }: Shown): View | undefined {
  const [hls, file] = [mediaUrl(info.hls_url, baseUrl), mediaUrl(info.source_url, baseUrl)];
  if (!hls && !file) return undefined;
  const sprites = mediaUrl(info.preview_sprites_url, baseUrl);
  const subtitles = subtitlesOf(info, baseUrl);
  const chapters = chaptersOf(info);
  return {
    source: file,
    body: html`<div class="stage">
<div>
<video controls playsinline preload="metadata" aria-label="${title}"${poster && html` poster="${poster.url}"`}></video>
${timeline()}
</div>
${chapterList(chapters)}
</div>
<noscript><p class="message">The player needs JavaScript.${file && html` <a href="${file.url}">Open the file itself</a>`}</p></noscript>`,
    loads: {
      images: present(poster),
      streams: present(hls),
      media: present(file),
      texts: subtitles,
      sprites: present(sprites),
    },
    setup: { ...{ hls, file, subtitles, chapters, sprites }, resumeAt: resumeAt(info) },
  };
}

function audio({ info, title, poster, baseUrl }: Shown): View | undefined {
  const file = mediaUrl(info.source, baseUrl);
  if (!file) return undefined;
  const waveform = mediaUrl(info.waveform_url, baseUrl);
  const subtitles = subtitlesOf(info, baseUrl);
  const chapters = chaptersOf(info);
  return {
    source: file,
    body: html`<div class="stage">
<div>
${poster && html`<img class="picture" src="${poster.url}" alt="">`}
${timeline(waveform)}
<audio controls preload="metadata" aria-label="${title}"></audio>
${subtitles.length > 0 ? html`<p id="captions"></p>` : undefined}
</div>
${chapterList(chapters)}
</div>`,
    loads: {
      images: present(poster),
      media: [file],
      texts: subtitles,
      waveforms: present(waveform),
    },
    setup: { ...{ file, subtitles, chapters, waveform }, resumeAt: resumeAt(info) },
  };
}

const resumeAt = (info: PlaybackInfo) => numberIn(info.resume_position_seconds) ?? 0;

/** Parses the subtitle tracks: an entry is a URL, or a record with a URL, label and language (A16). */
function subtitlesOf(
  info: PlaybackInfo,
  baseUrl: URL | undefined,
): NonNullable<Setup['subtitles']> {
  return listIn(info.subtitle_tracks).flatMap((entry, at) => {
    const { label, language, url, src } = isFields(entry) ? entry : fieldsIn({ url: entry });
    const found = mediaUrl(url ?? src, baseUrl);
    if (!found) return [];
    const name = textIn(label) || textIn(language) || `Subtitles ${at + 1}`;
    return [{ ...found, label: name, language: textIn(language) || 'und' }];
  });
}

/** Renders an image. The browser chooses a variant by size (§2) if their widths are known (A15). */
function image({ info, title, baseUrl }: Shown): View | undefined {
  const variants = listIn(info.variants).flatMap((each) => {
    const { url = each, width, height } = fieldsIn(each);
    const at = mediaUrl(url, baseUrl);
    return at ? [{ ...at, width: numberIn(width) ?? 0, height: numberIn(height) ?? 0 }] : [];
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

function document({ info, title, contentType, baseUrl }: Shown): View | undefined {
  const at = mediaUrl(info.url, baseUrl);
  if (!at) return undefined;
  // Strings, or records (A16).
  const thumbnails = listIn(info.thumbnails).flatMap((each) => present(mediaUrl(each, baseUrl)));
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

/** Renders an embed: "provider iframe, not an HLS stream" (§2). */
function thirdParty({ info, title, baseUrl }: Shown): View | undefined {
  const at = mediaUrl(info.embed_url, baseUrl);
  if (!at) return undefined;
  return {
    // Providers need allow-same-origin. It would break the sandbox for a frame of our own origin only, and this
    // one is from another.
    body: html`<iframe class="frame" src="${at.url}" title="${title}" sandbox="allow-scripts allow-same-origin allow-presentation allow-popups" allow="autoplay; encrypted-media; fullscreen; picture-in-picture"></iframe>
<p><a href="${at.url}" target="_blank" rel="noreferrer">Open at ${new URL(at.url).host}</a></p>`,
    loads: { frames: [at] },
  };
}

const present = (...urls: (MediaUrl | undefined)[]) => urls.flatMap((url) => url ?? []);
