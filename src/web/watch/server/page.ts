import { asObject, asText } from '../../../contract/json-values.ts';
import type { PlaybackInfo, PlayerData } from '../../../contract/types.ts';
import { buildPolicy } from '../../shared/content-security-policy.ts';
import { renderHead } from '../../shared/head.ts';
import { type Html, html, inlineCode, inlineJson } from '../../shared/html.ts';
import { parseMediaUrl } from '../../shared/media-url.ts';
import { style } from '../../shared/style.ts';
import { type PlayerSetup, type PositionReport, playerSetupId } from '../setup.ts';
import { renderDescription } from './asset-description.ts';
import { type PlayerView, renderView } from './views.ts';

export type WatchPageInput = {
  title: string;
  /** Response of POST /playback/info/ (§2). */
  info: PlaybackInfo;
  /** Player configuration (§2); only `auto_play` and `theme` are used. */
  config?: PlayerData['player_config'];
  /** Thumbnail to show as the poster: a URL, or an object with a `url`. */
  poster?: unknown;
  /** Description from the asset record. */
  description?: unknown;
  /** Tags from the asset record: slugs, or objects with a `name` or `slug` (assumption A09). */
  tags?: unknown;
  /** Processing status from the asset record (assumption A11). Explains why there is nothing to play. */
  status?: unknown;
  /** Failure reason from the asset record: a string, or an object with a `message`. */
  reason?: unknown;
  /**
   * True if the document is in a frame of a page that itself shows the title, description, tags and download link.
   */
  isFramed?: boolean;
  /** Base URL for resolving relative media URLs. */
  baseUrl?: URL | undefined;
  /** Media type of the asset, if known. It decides whether a document can be embedded. */
  contentType?: string | null | undefined;
  /** Contents of the built dist/player.js. */
  script: string;
  /** Endpoint that stores the playback position, if the service has one. */
  position?: PositionReport | undefined;
};

/** An HTML document, and the Content-Security-Policy to send as a header. Most pages also have it in a `<meta>`. */
export type HtmlPage = { html: string; contentSecurityPolicy: string };

/** Renders a self-contained document that plays an asset. It loads only media and images from other URLs. */
export function renderWatchPage(input: WatchPageInput): HtmlPage {
  const { title, info, position, baseUrl } = input;
  const config = asObject(input.config);
  const view = renderView({
    title,
    info,
    baseUrl,
    poster: parseMediaUrl(input.poster, baseUrl),
    contentType: input.contentType ?? undefined,
    status: input.status,
    reason: input.reason,
  });
  const setup: PlayerSetup = {
    autoPlay: config.auto_play === true,
    resumeAt: 0,
    position,
    ...view.setup,
  };
  const { isFramed = false } = input;
  return renderDocument(title, asText(config.theme), view, {
    ...{ setup, script: inlineCode(input.script), isFramed },
    description: isFramed ? undefined : renderDescription({ ...input, source: view.source }),
  });
}

/** Renders a page that contains only a message, such as the reason why there is nothing to watch. */
export const renderNoticePage = (title: string, text: string, theme?: string): HtmlPage =>
  renderDocument(title, theme, { body: html`<p class="message">${text}</p>` });

/** Supported themes. With any other value, the page follows the theme that the browser prefers. */
const themes = ['light', 'dark'];

type PlayerParts = {
  setup: PlayerSetup;
  script: Html;
  isFramed: boolean;
  description: Html | undefined;
};

function renderDocument(title: string, theme: string | undefined, view: PlayerView, player?: PlayerParts): HtmlPage {
  const contentSecurityPolicy = buildPolicy({
    ...view.loads,
    style,
    script: player?.script,
    reportsPosition: player?.setup.position !== undefined,
  });
  const { markup } = html`<!doctype html>
<html lang="en"${themes.includes(theme ?? '') ? html` data-theme="${theme}"` : undefined}>
${renderHead({ title, contentSecurityPolicy, style, referrer: 'strict-origin' })}
<body>
<main>
${player?.isFramed ? undefined : html`<h1>${title}</h1>`}
<p id="problem" role="alert" hidden></p>
${view.body}
<p id="note" role="status"></p>
${player?.description}
</main>
${
  player &&
  html`<script type="application/json" id="${playerSetupId}">${inlineJson(player.setup)}</script>
<script>${player.script}</script>`
}
</body>
</html>
`;
  return { html: markup, contentSecurityPolicy };
}
