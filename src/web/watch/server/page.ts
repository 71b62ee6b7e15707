import { asArray, asObject, asText } from '../../../contract/json-values.ts';
import type { PlayerData } from '../../../contract/types.ts';
import { buildPolicy } from '../../shared/content-security-policy.ts';
import { type Html, html, inlineCode, inlineJson, renderHead } from '../../shared/html.ts';
import { style } from '../../shared/style.ts';
import { type PlayerSetup, type PositionReport, playerSetupId } from '../setup.ts';
import { type PlayerView, renderView, type WatchedAsset } from './views.ts';

export type WatchPageInput = WatchedAsset & {
  /** Player configuration (§2); only `auto_play` and `theme` are used. Unless it is light or dark, the browser chooses. */
  config?: PlayerData['player_config'];
  description?: unknown;
  /** Tags from the asset record: slugs, or objects with a `name` or `slug` (assumption A09). */
  tags?: unknown;
  /** True if the document is in a frame of a page that itself shows the title, description, tags and download link. */
  isFramed?: boolean;
  /** Contents of the built dist/player.js. */
  script: string;
  position?: PositionReport | undefined;
};

/** An HTML document, and the Content-Security-Policy to send as a header. Most pages also have it in a `<meta>`. */
export type HtmlPage = { html: string; contentSecurityPolicy: string };

/** Renders a self-contained document that plays an asset. It loads only media and images from other URLs. */
export function renderWatchPage(input: WatchPageInput): HtmlPage {
  const { title, position, isFramed = false } = input;
  const { auto_play, theme } = asObject(input.config);
  const view = renderView(input);
  return renderDocument(title, asText(theme), view, {
    setup: { autoPlay: auto_play === true, resumeAt: 0, position, ...view.setup },
    script: inlineCode(input.script),
    isFramed,
    description: isFramed ? undefined : renderDescription(input, view),
  });
}

export const renderNoticePage = (title: string, text: string, theme?: string): HtmlPage =>
  renderDocument(title, theme, { body: html`<p class="message">${text}</p>` });

function renderDescription({ title, description, tags }: WatchPageInput, { source }: PlayerView): Html {
  const text = asText(description)?.trim();
  const names = asArray(tags).flatMap((tag) => {
    const { name, slug } = asObject(tag);
    return asText(tag) || asText(name) || asText(slug) || [];
  });
  // Browsers ignore `download` for other origins, so a new tab keeps the browser from leaving this page.
  return html`${text && html`<p class="description">${text}</p>`}
${names.length > 0 ? html`<ul class="tags" aria-label="Tags">${names.map((name) => html`<li>${name}</li>`)}</ul>` : undefined}
${source && html`<p><a href="${source.url}" download="${title}" target="_blank" rel="noreferrer">Download the source</a></p>`}`;
}

type PlayerParts = { setup: PlayerSetup; script: Html; isFramed: boolean; description: Html | undefined };

function renderDocument(title: string, theme: string | undefined, view: PlayerView, player?: PlayerParts): HtmlPage {
  const { images, frames } = view;
  const contentSecurityPolicy = buildPolicy({ style, script: player?.script, images, frames, player: player?.setup });
  const { markup } = html`<!doctype html>
<html lang="en"${['light', 'dark'].includes(theme ?? '') ? html` data-theme="${theme}"` : undefined}>
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
