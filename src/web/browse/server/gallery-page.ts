import { policyHash } from '../../shared/content-security-policy.ts';
import { html, inlineJson, renderHead } from '../../shared/html.ts';
import { type PageFile, renderPageFile } from '../../shared/page-files.ts';
import type { HtmlPage } from '../../watch/server/page.ts';
import { type GallerySetup, gallerySetupId } from '../protocol.ts';
import { createGalleryStyle } from './style.ts';

/** Renders the empty document that the gallery script fills. */
export function renderGalleryPage({ script, setup }: { script: PageFile; setup: GallerySetup }): HtmlPage {
  const contentSecurityPolicy = [
    "default-src 'none'",
    `script-src ${policyHash(script)}`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  const { markup } = html`<!doctype html>
<html lang="en">
${renderHead({
  title: setup.service,
  contentSecurityPolicy,
  style: renderPageFile(createGalleryStyle(), false),
  referrer: 'no-referrer',
})}
<body>
<div id="gallery"><noscript><p class="message">This page needs JavaScript.</p></noscript></div>
<script type="application/json" id="${gallerySetupId}">${inlineJson(setup)}</script>
${renderPageFile(script, false)}
</body>
</html>
`;
  return { html: markup, contentSecurityPolicy };
}

/** Renders a meta refresh, because after an HTTP redirect from another site no SameSite=Strict cookie would be sent. */
export function renderEntryPage(path: string): HtmlPage {
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0; url=${path}">
<title>mediactl</title>
</head>
<body><p><a href="${path}">Open the library</a></p></body>
</html>
`;
  const contentSecurityPolicy = "default-src 'none'; img-src data:; base-uri 'none'";
  return { html: markup, contentSecurityPolicy };
}
