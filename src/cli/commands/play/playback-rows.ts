import { bytes, duration } from '../../../contract/figures.ts';
import {
  type Fields,
  fieldsIn,
  isFields,
  listIn,
  numberIn,
  textIn,
} from '../../../contract/reading.ts';
import { cell, printable, shortUrl, when } from '../../../contract/sanitize.ts';
import type { PlaybackInfo } from '../../../contract/types.ts';
import { isPixelSize, type Playable } from '../../library/playables.ts';
import type { RenderContext, Row } from '../../output/result.ts';
import type { CheckReport, PlaybackLink } from './check.ts';

function expiry({ expiresAt }: Playable, { isTerminal, now }: RenderContext): string {
  if (!cell(expiresAt)) return '';
  return isTerminal ? `(expires ${when(expiresAt, now)})` : cell(expiresAt);
}

const urlText = (url: string, { isTerminal }: RenderContext) =>
  isTerminal ? shortUrl(printable(url)) : printable(url);

const urlRow =
  (render: RenderContext) =>
  (each: Playable): Row => {
    const parts = [urlText(each.url.href, render), expiry(each, render)].filter(Boolean);
    return [labelOf(each), parts.join(render.isTerminal ? ' ' : '\t')];
  };

function labelOf({ kind, extent }: Playable): string {
  if (!isPixelSize(extent)) return kind;
  return `${kind} ${extent.width}${extent.height ? `x${extent.height}` : ' wide'}`;
}

/** Formats a chapter's start; a value that is not a number stays unchanged. */
const startOf = (chapter: Fields) => {
  const seconds = numberIn(chapter.start_time);
  return seconds === undefined ? cell(chapter.start_time) : duration(seconds);
};

function chapters(info: PlaybackInfo): Row[] {
  const resume = numberIn(info.resume_position_seconds);
  return [
    ...listIn(info.chapters).map((entry, at): Row => {
      const chapter = fieldsIn(entry);
      const text = isFields(entry) ? `${startOf(chapter)} ${cell(chapter.title)}` : cell(entry);
      return [at === 0 ? 'chapters' : ' ', text.trim()];
    }),
    ['resume at', resume ? duration(resume) : ''],
  ];
}

/** Formats a subtitle track or page (A16): a string, or a record with a URL and a label. */
function entry(value: unknown, render: RenderContext): string {
  const { label, language, page, url, src } = fieldsIn(value);
  const address = urlText(cell(url ?? src), render);
  const parts = [...[label, language, page].map(cell), address].filter(Boolean).join(' ');
  return parts || urlText(cell(value), render);
}

const entries = (label: string, list: unknown, render: RenderContext): Row[] =>
  listIn(list).map((each, at) => [at === 0 ? label : ' ', entry(each, render)]);

/** Formats a URL (A14): a string, or a record of a signed URL. */
const urlOf = (value: unknown, render: RenderContext) =>
  urlText(cell(isFields(value) ? value.url : value), render);

/** Rows for each playback type (§2 Playback info: "branch on `type`"). */
const views: Record<string, (info: PlaybackInfo, render: RenderContext) => Row[]> = {
  video: (info, render) => [
    ['sprites', urlOf(info.preview_sprites_url, render)],
    ...chapters(info),
  ],
  audio: (info, render) => [
    ['waveform', urlOf(info.waveform_url, render)],
    ...entries('subtitles', info.subtitle_tracks, render),
    ...chapters(info),
  ],
  document: (info, render) => entries('pages', info.thumbnails, render),
  third_party: () => [['note', 'a page of its provider, no stream']],
};

export function playbackRows(
  info: PlaybackInfo,
  found: readonly Playable[],
  render: RenderContext,
): Row[] {
  const type = textIn(info.type) ?? '';
  const view = Object.hasOwn(views, type) ? views[type] : undefined;
  const rows = found.map(urlRow(render));
  const next = '--url prints the whole address; --open, --web and --player play it';
  const end: Row[] = render.isTerminal ? [['next', next]] : [];
  return [['type', cell(info.type)], ...rows, ...(view?.(info, render) ?? []), ...end];
}

export const checkRows = ({ plays, kind, links }: CheckReport, render: RenderContext): Row[] => [
  ...links.map((link): Row => [link.link, linkText(link, render)]),
  ['plays', plays ? render.colors.green(`yes, ${kind}`) : render.colors.red('no')],
];

function linkText(
  { ok, content_type, bytes: count, problem, url }: PlaybackLink,
  { colors }: RenderContext,
): string {
  if (!ok) return `${colors.red('broken:')} ${printable(problem ?? '')} at ${printable(url)}`;
  return `${colors.green('ok')}  ${printable(content_type ?? '')}, ${bytes(count ?? 0)}`;
}
