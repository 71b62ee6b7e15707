import type { PlayerData } from '../../../contract/types.ts';
import { asArray, asObject, asText } from '../../../shared/json-values.ts';
import { buildPolicy } from '../../shared/content-security-policy.ts';
import { type Html, html, inlineJson, renderHead } from '../../shared/html.ts';
import { type PageFile, readScript, renderPageFile } from '../../shared/page-files.ts';
import { createWatchStyle } from '../../shared/style.ts';
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
  scripts: WatchScripts;
  /** True if the document contains its scripts and style, and so needs no server. */
  isSelfContained?: boolean;
  position?: PositionReport | undefined;
};

/** The player, and hls.js, which only a video with HLS needs. */
export type WatchScripts = { player: PageFile; hls: PageFile };

export async function readWatchScripts(folder: string): Promise<WatchScripts> {
  const [player, hls] = await Promise.all([readScript(folder, 'player.js'), readScript(folder, 'hls.js')]);
  return { player, hls };
}

export const listWatchFiles = ({ player, hls }: WatchScripts): PageFile[] => [player, hls, createWatchStyle()];

/** An HTML document, and the Content-Security-Policy to send as a header. Most pages also have it in a `<meta>`. */
export type HtmlPage = { html: string; contentSecurityPolicy: string };

/** Renders a document that plays an asset. It loads media and images, and unless it is self-contained, its own files. */
export function renderWatchPage(input: WatchPageInput): HtmlPage {
  const { title, position, scripts, isFramed = false, isSelfContained = false } = input;
  const { auto_play, theme } = asObject(input.config);
  const view = renderView(input);
  const hls = view.setup?.hls ? [scripts.hls] : [];
  const [hlsScript] = isSelfContained ? [] : hls.map(({ path, hash }) => ({ url: path, integrity: hash }));
  return renderDocument(title, asText(theme), view, {
    setup: { autoPlay: auto_play === true, resumeAt: 0, position, hlsScript, ...view.setup },
    isSelfContained,
    scripts: [...hls, scripts.player],
    rendered: isSelfContained ? [...hls, scripts.player] : [scripts.player],
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

type PlayerParts = {
  setup: PlayerSetup;
  isSelfContained: boolean;
  /** Scripts that may run, and those that run at once. */
  scripts: PageFile[];
  rendered: PageFile[];
  isFramed: boolean;
  description: Html | undefined;
};

function renderDocument(title: string, theme: string | undefined, view: PlayerView, player?: PlayerParts): HtmlPage {
  const { images, frames } = view;
  const isInline = player?.isSelfContained ?? true;
  const style = createWatchStyle();
  const resources = { style, isInline, scripts: player?.scripts, images, frames, player: player?.setup };
  const contentSecurityPolicy = buildPolicy(resources);
  const { markup } = html`<!doctype html>
<html lang="en"${['light', 'dark'].includes(theme ?? '') ? html` data-theme="${theme}"` : undefined}>
${renderHead({ title, contentSecurityPolicy, style: renderPageFile(style, isInline), referrer: 'strict-origin' })}
<body${player?.isFramed ? html` class="framed"` : undefined}>
<main>
<h1>${title}</h1>
<p id="problem" role="alert" hidden></p>
${view.body}
<p id="note" role="status"></p>
${player?.description}
</main>
${
  player &&
  html`<script type="application/json" id="${playerSetupId}">${inlineJson(player.setup)}</script>
${player.rendered.map((script) => renderPageFile(script, isInline))}`
}
</body>
</html>
`;
  return { html: markup, contentSecurityPolicy };
}
