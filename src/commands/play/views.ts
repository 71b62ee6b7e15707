import { bytes, cell, duration, printable, when } from '../../terminal/printable.ts';
import type { Dress, Row } from '../../terminal/result.ts';
import type { PlaybackInfo } from '../../wire/types.ts';
import type { CheckReport, Link } from './check.ts';
import type { Playable } from './playables.ts';

function expiry({ expiresAt }: Playable, { isTerminal, now }: Dress): string {
  if (!expiresAt) return '';
  return isTerminal ? `(expires ${when(expiresAt, now)})` : printable(expiresAt);
}

const urlRow =
  (dress: Dress) =>
  (each: Playable): Row => {
    const label = each.size ? `${each.kind} ${each.size.width}x${each.size.height}` : each.kind;
    const told = [printable(each.url.href), expiry(each, dress)].filter(Boolean);
    return [label, told.join(dress.isTerminal ? ' ' : '\t')];
  };

const chapters = ({ chapters: list, resume_position_seconds: resume }: PlaybackInfo): Row[] => [
  ...(list ?? []).map(
    ({ title, start_time }, at): Row => [
      at === 0 ? 'chapters' : ' ',
      `${duration(start_time)} ${printable(title)}`,
    ],
  ),
  ['resume at', resume ? duration(resume) : ''],
];

/** A16: an entry is a string, or a record with a URL and what tells it from others. */
function entry(value: unknown): string {
  if (typeof value !== 'object' || value === null) return cell(value);
  const { label, language, page, url, src } = value as Record<string, unknown>;
  return [label, language, page, url ?? src].map(cell).filter(Boolean).join(' ') || cell(value);
}

const entries = (label: string, list: readonly unknown[] | undefined): Row[] =>
  (list ?? []).map((each, at) => [at === 0 ? label : ' ', entry(each)]);

const urlOf = (value: PlaybackInfo['waveform_url']) =>
  cell(typeof value === 'string' ? value : value?.url);

/** §2 Playback info: "branch on `type`", each with a view of its own. */
const views: Record<string, (info: PlaybackInfo) => Row[]> = {
  video: (info) => [['sprites', cell(info.preview_sprites_url?.url)], ...chapters(info)],
  audio: (info) => [
    ['waveform', urlOf(info.waveform_url)],
    ...entries('subtitles', info.subtitle_tracks),
    ...chapters(info),
  ],
  document: (info) => entries('pages', info.thumbnails),
  third_party: () => [['note', 'a page of its provider, no stream']],
};

export const playbackRows = (
  info: PlaybackInfo,
  found: readonly Playable[],
  dress: Dress,
): Row[] => [
  ['type', cell(info.type)],
  ...found.map(urlRow(dress)),
  ...(Object.hasOwn(views, info.type) ? (views[info.type]?.(info) ?? []) : []),
];

export const checkRows = ({ plays, kind, links }: CheckReport, dress: Dress): Row[] => [
  ...links.map((link): Row => [link.link, linkText(link, dress)]),
  ['plays', plays ? dress.colors.green(`yes, ${kind}`) : dress.colors.red('no')],
];

function linkText(
  { ok, content_type, bytes: count, problem, url }: Link,
  { colors }: Dress,
): string {
  if (!ok) return `${colors.red('broken:')} ${printable(problem ?? '')} at ${printable(url)}`;
  return `${colors.green('ok')}  ${printable(content_type ?? '')}, ${bytes(count ?? 0)}`;
}
