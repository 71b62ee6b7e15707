import type { PlayableUrl } from '../../../client/library/playables.ts';
import { type AssetType, entryForType } from '../../../contract/asset-values.ts';
import type { PlaybackInfo } from '../../../contract/types.ts';
import { formatBytes, formatDuration } from '../../../shared/figures.ts';
import { asArray, asNumber, asObject, isJsonObject } from '../../../shared/json-values.ts';
import { displayText, escapeControls, relativeTime, shortenUrl } from '../../../shared/sanitize.ts';
import type { DetailRow, RenderContext } from '../../output/result.ts';
import type { ProbeReport, ProbeStep } from './probe.ts';

/** Width of the longest label, such as `image 1600x900`, with a margin. */
const labelWidth = 18;

/** Formats a URL so that it fits beside its label on a terminal; `--url` prints it whole. */
function urlText(url: string, { isTerminal, columns }: RenderContext): string {
  const text = escapeControls(url);
  if (!isTerminal) return text;
  const short = shortenUrl(text);
  return short.length <= columns - labelWidth ? short : short.replace(/^(https?:\/\/[^/]+)\/.*\//, '$1/…/');
}

function urlRow({ kind, size, url, expiresAt }: PlayableUrl, render: RenderContext): DetailRow {
  const { isTerminal, now } = render;
  const dimensions = size ? ` ${size.width}${size.height ? `x${size.height}` : ' wide'}` : '';
  const expiry =
    displayText(expiresAt) && (isTerminal ? `(expires ${relativeTime(expiresAt, now)})` : displayText(expiresAt));
  return [kind + dimensions, [urlText(url.href, render), expiry].filter(Boolean).join(isTerminal ? ' ' : '\t')];
}

/** Formats a start time. Returns a value that is not a number unchanged. */
const startText = (time: unknown) => {
  const seconds = asNumber(time);
  return seconds === undefined ? displayText(time) : formatDuration(seconds);
};

function chapters(info: PlaybackInfo): DetailRow[] {
  const resume = asNumber(info.resume_position_seconds);
  return [
    ...asArray(info.chapters).map((entry, at): DetailRow => {
      const { start_time, title } = asObject(entry);
      const text = isJsonObject(entry) ? `${startText(start_time)} ${displayText(title)}` : displayText(entry);
      return [at === 0 ? 'chapters' : ' ', text.trim()];
    }),
    ['resume at', resume ? formatDuration(resume) : ''],
  ];
}

/** Formats a subtitle track or document page, a string or an object with a URL (assumption A16). */
function entry(value: unknown, render: RenderContext): string {
  const { label, language, page, url, src } = asObject(value);
  const address = urlText(displayText(url ?? src), render);
  const parts = [...[label, language, page].map(displayText), address].filter(Boolean).join(' ');
  return parts || urlText(displayText(value), render);
}

const entries = (label: string, list: unknown, render: RenderContext): DetailRow[] =>
  asArray(list).map((each, at) => [at === 0 ? label : ' ', entry(each, render)]);

/** Formats a URL, which is a string or an object with a signed URL (assumption A14). */
const urlOf = (value: unknown, render: RenderContext) =>
  urlText(displayText(isJsonObject(value) ? value.url : value), render);

/** Maps each playback type to its rows (§2, "Playback info": "branch on `type`"). */
const views: Record<AssetType, (info: PlaybackInfo, render: RenderContext) => DetailRow[]> = {
  video: (info, render) => [['sprites', urlOf(info.preview_sprites_url, render)], ...chapters(info)],
  audio: (info, render) => [
    ['waveform', urlOf(info.waveform_url, render)],
    ...entries('subtitles', info.subtitle_tracks, render),
    ...chapters(info),
  ],
  image: () => [],
  document: (info, render) => entries('pages', info.thumbnails, render),
  third_party: () => [['note', 'a page of the provider, not a stream']],
  generic: () => [],
};

export function playbackRows(info: PlaybackInfo, found: readonly PlayableUrl[], render: RenderContext): DetailRow[] {
  const rows = found.map((each) => urlRow(each, render));
  const details = entryForType(views, info.type)?.(info, render) ?? [];
  const next: DetailRow = ['next', '--url prints the full URL; --web plays it in the browser'];
  return [['type', displayText(info.type)], ...rows, ...details, ...(render.isTerminal ? [next] : [])];
}

export const probeRows = ({ playable, kind, steps }: ProbeReport, render: RenderContext): DetailRow[] => [
  ...steps.map((step): DetailRow => [step.step.replaceAll('_', ' '), stepText(step, render)]),
  ['playable', playable ? render.colors.green(`yes, ${kind}`) : render.colors.red('no')],
];

function stepText({ ok, content_type, size_bytes, error, url }: ProbeStep, { colors }: RenderContext): string {
  if (!ok) return `${colors.red('broken:')} ${escapeControls(error ?? '')} at ${escapeControls(url)}`;
  return `${colors.green('ok')}  ${escapeControls(content_type ?? '')}, ${formatBytes(size_bytes ?? 0)}`;
}
