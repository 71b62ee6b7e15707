import { bytes, cell, duration, printable, when } from '../../terminal/printable.ts';
import type { Dress, Row } from '../../terminal/result.ts';
import type { PlaybackInfo } from '../../wire/types.ts';
import type { CheckReport, Link } from './check.ts';
import type { Playable } from './playables.ts';

const expiry = ({ expiresAt }: Playable, { isTerminal, now }: Dress) => {
  if (!expiresAt) return '';
  return isTerminal ? ` (expires ${when(expiresAt, now)})` : `\t${printable(expiresAt)}`;
};

export const playbackRows = (
  info: PlaybackInfo,
  found: readonly Playable[],
  dress: Dress,
): Row[] => [
  ['type', cell(info.type)],
  ...found.map((each): Row => [each.kind, printable(each.url.href) + expiry(each, dress)]),
  ['sprites', cell(info.preview_sprites_url?.url)],
  [
    'chapters',
    (info.chapters ?? [])
      .map(({ title, start_time }) => `${duration(start_time)} ${printable(title)}`)
      .join(', '),
  ],
  ['resume at', info.resume_position_seconds ? duration(info.resume_position_seconds) : ''],
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
