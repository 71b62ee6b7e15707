import { fieldsIn, isFields, listIn, numberIn, textIn } from '../wire/reading.ts';
import type { PlaybackInfo } from '../wire/types.ts';
import { type Html, html } from './html.ts';
import { type MediaUrl, mediaUrl } from './media-url.ts';
import type { Loads } from './policy.ts';
import type { Setup } from './setup.ts';

/** What a type of asset makes of the page: its markup, what that loads, what the script is told. */
export type View = { body: Html; loads?: Partial<Loads>; setup?: Partial<Setup> };

export type Shown = {
  title: string;
  info: PlaybackInfo;
  baseUrl: URL | undefined;
  poster: MediaUrl | undefined;
  /** Of a document, where it is known: only some can be shown in the page. */
  contentType: string | undefined;
};

/** "The response is polymorphic; branch on `type`" (§2 Playback info). */
export function viewOf(shown: Shown): View {
  const type = textIn(shown.info.type) ?? '';
  if (shown.info.blocked)
    return message('This is not to be played. It may not be ready yet, or not be allowed here.');
  const view = Object.hasOwn(views, type) ? views[type as keyof typeof views] : undefined;
  return view?.(shown) ?? message(`The service names nothing to play for this asset (${type}).`);
}

const message = (text: string): View => ({ body: html`<p class="message">${text}</p>` });

/** Undefined where the service names no URL that the page could load. */
const views: Record<string, (shown: Shown) => View | undefined> = { video, audio, image, document };
views.third_party = thirdParty;

function video({ info, title, poster, baseUrl }: Shown): View | undefined {
  const [hls, file] = [mediaUrl(info.hls_url, baseUrl), mediaUrl(info.source_url, baseUrl)];
  if (!hls && !file) return undefined;
  const subtitles = subtitlesOf(info, baseUrl);
  return {
    body: html`<div class="stage">
<video controls playsinline preload="metadata" aria-label="${title}"${poster && html` poster="${poster.url}"`}></video>
${chapterList(info)}
</div>
<noscript><p class="message">The player needs JavaScript.${file && html` <a href="${file.url}">Open the file itself</a>`}</p></noscript>`,
    loads: {
      images: present(poster),
      streams: present(hls),
      media: present(file),
      texts: subtitles,
    },
    setup: { hls, file, subtitles, resumeAt: numberIn(info.resume_position_seconds) ?? 0 },
  };
}

function audio({ info, title, poster, baseUrl }: Shown): View | undefined {
  const file = mediaUrl(info.source, baseUrl);
  if (!file) return undefined;
  const waveform = mediaUrl(info.waveform_url, baseUrl);
  const subtitles = subtitlesOf(info, baseUrl);
  return {
    body: html`<div class="stage">
<div>
${poster && html`<img class="picture" src="${poster.url}" alt="">`}
${waveform && html`<img class="waveform" src="${waveform.url}" alt="">`}
<audio controls preload="metadata" aria-label="${title}"></audio>
${subtitles.length > 0 ? html`<p id="captions"></p>` : undefined}
</div>
${chapterList(info)}
</div>`,
    loads: { images: present(poster, waveform), media: [file], texts: subtitles },
    setup: { file, subtitles, resumeAt: numberIn(info.resume_position_seconds) ?? 0 },
  };
}

/** A16: an entry is a URL, or a record with one and what tells it from others. */
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

/** Chapters that can be gone to: those that tell where they start. */
function chapterList(info: PlaybackInfo): Html | undefined {
  const chapters = listIn(info.chapters).flatMap((each) => {
    const { title, start_time } = fieldsIn(each);
    const start = numberIn(start_time);
    return start === undefined ? [] : [{ title: textIn(title) ?? '', start_time: start }];
  });
  if (chapters.length === 0) return undefined;
  const entries = chapters.map(
    ({ title, start_time }) =>
      html`<li><button type="button" data-seconds="${start_time}"><time>${clockTime(start_time)}</time> <span>${title}</span></button></li>`,
  );
  return html`<nav aria-labelledby="chapters"><h2 id="chapters">Chapters</h2>
<ol>
${entries}
</ol></nav>`;
}

/** Seconds as a player shows them: 1:02:03, 2:03. */
function clockTime(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const two = (count: number) => String(count).padStart(2, '0');
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}`;
}

/** "variants … chosen by size" (§2): the browser chooses, where their widths are told (A15). */
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
    body: html`<img class="picture" src="${best.url}" alt="${title}"${
      measured.length > 1 ? html` srcset="${srcset}" sizes="min(100vw, 72rem)"` : undefined
    }${size ? html` width="${best.width}" height="${best.height}"` : undefined}>`,
    loads: { images: variants },
  };
}

function document({ info, title, contentType, baseUrl }: Shown): View | undefined {
  const at = mediaUrl(info.url, baseUrl);
  if (!at) return undefined;
  // A16: texts, or records.
  const thumbnails = listIn(info.thumbnails).flatMap((each) => present(mediaUrl(each, baseUrl)));
  const pages = thumbnails.map(
    ({ url }, page) => html`<li><img src="${url}" alt="Page ${page + 1}" loading="lazy"></li>`,
  );
  return {
    body: html`<p><a href="${at.url}" target="_blank" rel="noreferrer">Open the document</a></p>
${pages.length > 0 ? html`<ul class="thumbnails">${pages}</ul>` : undefined}
<div id="document"></div>`,
    loads: { images: thumbnails, frames: [at] },
    setup: { document: contentType === undefined ? undefined : { ...at, contentType, title } },
  };
}

/** "provider iframe, not an HLS stream" (§2). */
function thirdParty({ info, title, baseUrl }: Shown): View | undefined {
  const at = mediaUrl(info.embed_url, baseUrl);
  if (!at) return undefined;
  return {
    // With a page's own origin, allow-same-origin would let the frame out of its sandbox: it is
    // another's here, and providers do not play without theirs.
    body: html`<iframe class="frame" src="${at.url}" title="${title}" sandbox="allow-scripts allow-same-origin allow-presentation allow-popups" allow="autoplay; encrypted-media; fullscreen; picture-in-picture"></iframe>
<p><a href="${at.url}" target="_blank" rel="noreferrer">Open at ${new URL(at.url).host}</a></p>`,
    loads: { frames: [at] },
  };
}

const present = (...urls: (MediaUrl | undefined)[]) => urls.flatMap((url) => url ?? []);
