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
  /** Response of POST /playback/info/ (§2). */
  info: PlaybackInfo;
  /** Player configuration (§2); only `auto_play` and `theme` are used. */
  config?: PlayerData['player_config'];
  /** URL of a thumbnail. */
  poster?: unknown;
  /** Description in the asset's record. */
  description?: unknown;
  /** Tags in the record: slugs, or records with a `name` or `slug` (A09). */
  tags?: unknown;
  /** Status in the record (A11): explains why there is nothing to play. */
  status?: unknown;
  /** Failure reason: a string, or a record with a `message`. */
  reason?: unknown;
  /** True inside a frame of a page that shows title, description, tags and download link itself. */
  isFramed?: boolean;
  /** Base for relative URLs. */
  baseUrl?: URL | undefined;
  /** Media type of the asset, if known: decides whether a document can be embedded. */
  contentType?: string | null | undefined;
  /** Contents of the built dist/player.js. */
  script: string;
  /** Endpoint for the playback position, if the service has one. */
  position?: PositionReport | undefined;
};

/** An HTML document, and its Content-Security-Policy, which is in the markup and may also be sent as a header. */
export type Page = { html: string; contentSecurityPolicy: string };

/** Renders a self-contained document that plays an asset; it loads only the media URLs of `info`. */
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

/** Renders a page with a message only, such as why there is nothing to watch. */
export const noticePage = (title: string, text: string, theme?: string): Page =>
  documentOf(title, theme, { body: html`<p class="message">${text}</p>` });

/** Supported themes; any other value follows the browser's preference. */
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
