import { fieldsIn, textIn } from '../../../contract/reading.ts';
import type { PlaybackInfo, PlayerData } from '../../../contract/types.ts';
import { head } from '../../shared/head.ts';
import { type Html, html, inline, json } from '../../shared/html.ts';
import { mediaUrl } from '../../shared/media-url.ts';
import { policyOf } from '../../shared/policy.ts';
import { style } from '../../shared/style.ts';
import { type PositionReport, type Setup, setupId } from '../setup.ts';
import { aboutAsset } from './about.ts';
import { type View, viewOf } from './views.ts';

export type WatchPageInput = {
  title: string;
  /** The answer of POST /playback/info/ (§2). */
  info: PlaybackInfo;
  /** Of the player data (§2): `auto_play` and `theme` are honoured. */
  config?: PlayerData['player_config'];
  /** URL of a thumbnail. */
  poster?: unknown;
  /** Of the asset's record, where it is known: a text, a list of texts or of `{slug}` or `{name}`. */
  description?: unknown;
  tags?: unknown;
  /** Of the record, too: what the page says where there is nothing to play (A11). */
  status?: unknown;
  /** Why processing failed: a text, or a record with a `message`. */
  reason?: unknown;
  /** Somebody else's page frames this one, and shows title, description, tags and the source itself. */
  isFramed?: boolean;
  /** What relative URLs are resolved against. */
  baseUrl?: URL | undefined;
  /** Of the asset, where it is known: which documents a browser can show. */
  contentType?: string | null | undefined;
  /** The built dist/player.js. */
  script: string;
  /** Where to report the position; nowhere where the service has no such place. */
  position?: PositionReport | undefined;
};

/** A document, and its Content-Security-Policy, which stands in it and may go as a header too. */
export type Page = { html: string; contentSecurityPolicy: string };

/** One document that plays an asset; beside it, only the media URLs of `info` are loaded. */
export function watchPage(input: WatchPageInput): Page {
  const { title, info, position, baseUrl } = input;
  const config = fieldsIn(input.config);
  const view = viewOf({
    title,
    info,
    baseUrl,
    poster: mediaUrl(input.poster, baseUrl),
    contentType: input.contentType ?? undefined,
    status: input.status,
    reason: input.reason,
  });
  const setup: Setup = {
    autoPlay: config.auto_play === true,
    resumeAt: 0,
    position,
    ...view.setup,
  };
  const { isFramed = false } = input;
  return documentOf(title, textIn(config.theme), view, {
    ...{ setup, script: inline(input.script), isFramed },
    about: isFramed ? undefined : aboutAsset({ ...input, source: view.source }),
  });
}

/** A page of words alone: why there is nothing to watch. */
export const noticePage = (title: string, text: string, theme?: string): Page =>
  documentOf(title, theme, { body: html`<p class="message">${text}</p>` });

/** Any other theme leaves it to the reader's own settings. */
const themes = ['light', 'dark'];

type Live = { setup: Setup; script: Html; isFramed: boolean; about: Html | undefined };

function documentOf(title: string, theme: string | undefined, view: View, live?: Live): Page {
  const contentSecurityPolicy = policyOf({
    ...view.loads,
    style,
    script: live?.script,
    tellsItself: live?.setup.position !== undefined,
  });
  const { markup } = html`<!doctype html>
<html lang="en"${themes.includes(theme ?? '') ? html` data-theme="${theme}"` : undefined}>
${head({ title, contentSecurityPolicy, style, referrer: 'strict-origin' })}
<body>
<main>
${live?.isFramed ? undefined : html`<h1>${title}</h1>`}
<p id="problem" role="alert" hidden></p>
${view.body}
<p id="note" role="status"></p>
${live?.about}
</main>
${
  live &&
  html`<script type="application/json" id="${setupId}">${json(live.setup)}</script>
<script>${live.script}</script>`
}
</body>
</html>
`;
  return { html: markup, contentSecurityPolicy };
}
