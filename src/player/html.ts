/** HTML that may stand in a page as it is. */
export type Html = { readonly markup: string };

type Value = string | number | Html | readonly Html[] | undefined;

/** A template whose values are text unless they are HTML already; undefined is nothing. */
export const html = (parts: TemplateStringsArray, ...values: Value[]): Html => ({
  markup: parts.map((part, at) => part + (at < values.length ? markupOf(values[at]) : '')).join(''),
});

function markupOf(value: Value): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return escaped(value);
  if (typeof value === 'number') return String(value);
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('\n');
}

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

const escaped = (text: string) =>
  text.replace(/[&<>"']/g, (character) => entities[character as keyof typeof entities]);

/** JSON for a `<script type="application/json">`: nothing in it can end the element. */
export const json = (value: unknown): Html => ({
  markup: JSON.stringify(value).replace(/</g, '\\u003c'),
});

/** The text of a script or style element as it must stand there; what is hashed is this. */
export const inline = (code: string): Html => ({
  markup: code.replace(/<(?=\/(?:script|style))/gi, '<\\').replace(/<!--/g, '<\\!--'),
});
