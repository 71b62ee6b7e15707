import { formatClockTime } from '../../contract/figures.ts';
import { asArray, asNumber, asObject, asText } from '../../contract/json-values.ts';
import type { PlaybackInfo } from '../../contract/types.ts';
import { type Html, html } from '../shared/html.ts';

/** A chapter; `start` is in seconds. */
export type PlayerChapter = { title: string; start: number };

/** Parses the chapters of the playback info; skips chapters without a start time. */
export const parseChapters = ({ chapters }: PlaybackInfo): PlayerChapter[] =>
  asArray(chapters).flatMap((each) => {
    const { title, start_time } = asObject(each);
    const start = asNumber(start_time);
    return start === undefined ? [] : [{ title: asText(title) ?? '', start }];
  });

export function renderChapters(chapters: readonly PlayerChapter[]): Html | undefined {
  if (chapters.length === 0) return undefined;
  const entries = chapters.map(
    ({ title, start }) =>
      html`<li><button type="button" data-seconds="${start}"><time>${formatClockTime(start)}</time> <span>${title}</span></button></li>`,
  );
  return html`<nav aria-labelledby="chapters"><h2 id="chapters">Chapters</h2>
<ol>
${entries}
</ol></nav>`;
}
