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
  poster: MediaUrl | undefined;
  /** Of a document, where it is known: only some can be shown in the page. */
  contentType: string | undefined;
};

/** "The response is polymorphic; branch on `type`" (§2 Playback info). */
export function viewOf(shown: Shown): View {
  const { type, blocked } = shown.info;
  if (blocked)
    return message('This is not to be played. It may not be ready yet, or not be allowed here.');
  const view = Object.hasOwn(views, type) ? views[type as keyof typeof views] : undefined;
  return view?.(shown) ?? message(`The service names nothing to play for this asset (${type}).`);
}

const message = (text: string): View => ({ body: html`<p class="message">${text}</p>` });

/** Undefined where the service names no URL that the page could load. */
const views: Record<string, (shown: Shown) => View | undefined> = { video, audio, image, document };
views.third_party = thirdParty;

function video({ info, title, poster }: Shown): View | undefined {
  const [hls, file] = [mediaUrl(info.hls_url), mediaUrl(info.source_url)];
  if (!hls && !file) return undefined;
  const subtitles = subtitlesOf(info);
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
    setup: { hls, file, subtitles, resumeAt: info.resume_position_seconds ?? 0 },
  };
}

function audio({ info, title, poster }: Shown): View | undefined {
  const file = mediaUrl(info.source);
  if (!file) return undefined;
  const waveform = mediaUrl(info.waveform_url);
  const subtitles = subtitlesOf(info);
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
    setup: { file, subtitles, resumeAt: info.resume_position_seconds ?? 0 },
  };
}

/** A16: an entry is a URL, or a record with one and what tells it from others. */
function subtitlesOf({ subtitle_tracks }: PlaybackInfo): NonNullable<Setup['subtitles']> {
  return (subtitle_tracks ?? []).flatMap((entry, at) => {
    const { label, language, url, src } = (
      typeof entry === 'object' && entry !== null ? entry : { url: entry }
    ) as Record<string, unknown>;
    const found = mediaUrl((url ?? src) as string | undefined);
    if (!found) return [];
    const text = (value: unknown) =>
      typeof value === 'string' && value !== '' ? value : undefined;
    const name = text(label) ?? text(language) ?? `Subtitles ${at + 1}`;
    return [{ ...found, label: name, language: text(language) ?? 'und' }];
  });
}

function chapterList({ chapters = [] }: PlaybackInfo): Html | undefined {
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
function image({ info, title }: Shown): View | undefined {
  const variants = (info.variants ?? []).flatMap(({ url, width, height }) => {
    const at = mediaUrl(url);
    return at ? [{ ...at, width: width ?? 0, height: height ?? 0 }] : [];
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

function document({ info, title, contentType }: Shown): View | undefined {
  const at = mediaUrl(info.url);
  if (!at) return undefined;
  const thumbnails = (info.thumbnails ?? []).flatMap((each) => {
    const { url } = each as { url?: string };
    return present(mediaUrl(typeof each === 'string' ? each : url)); // A16
  });
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
function thirdParty({ info, title }: Shown): View | undefined {
  const at = mediaUrl(info.embed_url);
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
