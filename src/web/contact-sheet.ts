import { buildPolicy } from './shared/content-security-policy.ts';
import { type Html, html, renderHead } from './shared/html.ts';
import { createPageFile, renderPageFile } from './shared/page-files.ts';
import { colors } from './shared/style.ts';

/** Header of a contact sheet. `hasMore` if there are more assets than it shows; `date` is YYYY-MM-DD. */
export type ContactSheet = { title: string; count: number; hasMore: boolean; date: string };

export type ContactSheetCard = {
  uid: string;
  name: string;
  type: string;
  /** Facts shown after the type, such as duration and size. */
  details: readonly string[];
  /** Processing status; undefined if the asset is ready. */
  status?: string | undefined;
  tags: readonly string[];
};

export type Thumbnail = { mediaType: string; bytes: Buffer };

/** Renders a self-contained page without scripts, in parts for streaming: its head, each card, and its foot. */
export const renderContactSheet = ({ title, count, hasMore, date }: ContactSheet) => ({
  head: html`<!doctype html>
<html lang="en">
${renderSheetHead(title)}
<body>
<main>
<h1>${title}</h1>
<p class="summary">${hasMore ? 'the first ' : ''}${count} ${count === 1 ? 'asset' : 'assets'}${hasMore ? ' (more not shown)' : ''}, <time datetime="${date}">${date}</time></p>
<ul class="sheet" role="list">
`.markup,
  card: (card: ContactSheetCard, thumbnail: Thumbnail | undefined) => renderCard(card, thumbnail).markup,
  foot: html`</ul>
</main>
</body>
</html>
`.markup,
});

function renderSheetHead(title: string): Html {
  const style = createStyle();
  const contentSecurityPolicy = buildPolicy({ style });
  return renderHead({ title, contentSecurityPolicy, style: renderPageFile(style), referrer: 'no-referrer' });
}

const renderCard = ({ uid, name, type, details, status, tags }: ContactSheetCard, picture?: Thumbnail): Html =>
  html`<li class="card">
${picture ? html`<img class="picture" src="${dataUrl(picture)}" alt="Thumbnail of ${name}">` : html`<div class="picture" aria-hidden="true">${type}</div>`}
<h2 title="${name}"><bdi>${name}</bdi></h2>
<p>${[type, ...details].filter(Boolean).join(', ')}</p>
${status && html`<p class="status">${status}</p>`}
${tags.length > 0 ? html`<ul class="tags" role="list" aria-label="Tags">${tags.map((tag) => html`<li><bdi>${tag}</bdi></li>`)}</ul>` : undefined}
<p class="uid">${uid}</p>
</li>
`;

const dataUrl = ({ mediaType, bytes }: Thumbnail) => `data:${mediaType};base64,${bytes.toString('base64')}`;

const css = `${colors}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.4 system-ui, sans-serif; }
main { max-width: 90rem; margin: 0 auto; padding: clamp(0.75rem, 3vw, 2rem); }
h1 { margin: 0; font-size: 1.25rem; overflow-wrap: anywhere; }
.summary { margin: 0.25rem 0 1rem; color: var(--quiet); }
ul { margin: 0; padding: 0; list-style: none; }
.sheet { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(13rem, 42vw), 1fr)); }
.card {
  padding: 0.5rem;
  border: 1px solid var(--line);
  border-radius: 0.5rem;
  background: var(--panel);
  overflow-wrap: anywhere;
  content-visibility: auto;
  contain-intrinsic-size: auto 16rem;
}
.picture {
  display: grid;
  place-items: center;
  width: 100%;
  aspect-ratio: 16 / 9;
  object-fit: contain;
  border-radius: 0.35rem;
  background: var(--ground);
  color: var(--quiet);
}
h2 { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden; margin: 0.5rem 0 0.25rem; font-size: 0.95rem; font-weight: 600; }
p { margin: 0; font-size: 0.85rem; }
.status { color: var(--alarm); }
.tags { display: flex; flex-wrap: wrap; gap: 0.25rem; margin: 0.35rem 0; }
.tags li { padding: 0 0.4rem; border-radius: 0.35rem; background: var(--chosen); font-size: 0.75rem; }
.uid { margin-top: 0.25rem; color: var(--quiet); font: 0.65rem/1.4 ui-monospace, monospace; }
@media print {
  :root { color-scheme: light; }
  main { max-width: none; padding: 0; }
  .sheet { grid-template-columns: repeat(4, 1fr); gap: 0.5rem; }
  .card { break-inside: avoid; content-visibility: visible; }
}
`;

const createStyle = () => createPageFile('sheet.css', css);
