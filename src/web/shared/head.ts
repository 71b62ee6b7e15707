import { type Html, html } from './html.ts';

type HeadOptions = {
  title: string;
  contentSecurityPolicy: string;
  style: Html;
  /** Referrer policy: services that restrict embedding need the page's origin. */
  referrer: 'no-referrer' | 'strict-origin';
};

/** Renders the head of every page. */
export const renderHead = ({
  title,
  contentSecurityPolicy,
  style,
  referrer,
}: HeadOptions): Html => html`<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="${referrer}">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${style}</style>
</head>`;
