import { type Html, html } from './html.ts';

type HeadOptions = {
  title: string;
  contentSecurityPolicy: string;
  style: Html;
  /** Referrer policy; `strict-origin` suits providers that need the page's origin to allow embedding. */
  referrer: 'no-referrer' | 'strict-origin';
};

/** Renders the `<head>` element of a page. */
export const renderHead = ({ title, contentSecurityPolicy, style, referrer }: HeadOptions): Html => html`<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="${referrer}">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${style}</style>
</head>`;
