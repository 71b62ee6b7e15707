import { asArray, asObject, asText } from '../../../contract/json-values.ts';
import { type Html, html } from '../../shared/html.ts';
import type { MediaUrl } from '../../shared/media-url.ts';

/** Metadata of an asset shown below the player. */
export type AssetDescription = {
  title: string;
  description?: unknown;
  /** Slugs, or objects with a `name` or `slug` (assumption A09). */
  tags?: unknown;
  source?: MediaUrl | undefined;
};

/** Renders the description, tags and download link below the player. */
export function renderDescription({ title, description, tags, source }: AssetDescription): Html {
  const text = asText(description)?.trim();
  const entries = parseTags(tags).map((tag) => html`<li>${tag}</li>`);
  // Browsers ignore `download` for other origins, so a new tab keeps the browser from leaving this page.
  return html`${text && html`<p class="description">${text}</p>`}
${entries.length > 0 ? html`<ul class="tags" aria-label="Tags">${entries}</ul>` : undefined}
${source && html`<p><a href="${source.url}" download="${title}" target="_blank" rel="noreferrer">Download the source</a></p>`}`;
}

const parseTags = (tags: unknown): string[] =>
  asArray(tags).flatMap((tag) => {
    const { name, slug } = asObject(tag);
    return asText(tag) || asText(name) || asText(slug) || [];
  });
