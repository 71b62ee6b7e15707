import { head } from '../../shared/head.ts';
import { html, inline, json } from '../../shared/html.ts';
import { hashOf } from '../../shared/policy.ts';
import type { Page } from '../../watch/server/page.ts';
import { type Setup, setupId } from '../protocol.ts';
import { style } from './style.ts';

/** The document that the gallery's script fills. It loads nothing but from where it came. */
export function galleryPage({ script, setup }: { script: string; setup: Setup }): Page {
  const code = inline(script);
  const contentSecurityPolicy = [
    "default-src 'none'",
    `script-src ${hashOf(code)}`,
    `style-src ${hashOf(style)}`,
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
${head({ title: setup.service, contentSecurityPolicy, style, referrer: 'no-referrer' })}
<body>
<div id="gallery"><noscript><p class="message">This page needs JavaScript.</p></noscript></div>
<script type="application/json" id="${setupId}">${json(setup)}</script>
<script>${code}</script>
</body>
</html>
`;
  return { html: markup, contentSecurityPolicy };
}

/**
 * What lets a browser in leads on by itself: a redirect would be the deed of whoever gave the link, and
 * a strict cookie stays at home then.
 */
export function entryPage(path: string): Page {
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
