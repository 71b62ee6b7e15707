/**
 * HTML that may stand in a page as it is. A class, since what a service sends may look like anything
 * but cannot be made by it.
 */
class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get markup(): string {
    return this.#text;
  }
}

export type Html = Markup;

/** What a template takes; whatever else a service put in its place is shown as text. */
type Value = string | number | Html | readonly Html[] | undefined;

/** A template whose values are text unless they are HTML already; undefined is nothing. */
export const html = (parts: TemplateStringsArray, ...values: Value[]): Html =>
  new Markup(
    parts.map((part, at) => part + (at < values.length ? markupOf(values[at]) : '')).join(''),
  );

function markupOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (value instanceof Markup) return value.markup;
  if (Array.isArray(value)) return value.map(markupOf).join('\n');
  return escaped(String(value));
}

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

const escaped = (text: string) =>
  text.replace(/[&<>"']/g, (character) => entities[character as keyof typeof entities]);

/** JSON for a `<script type="application/json">`: nothing in it can end the element. */
export const json = (value: unknown): Html =>
  new Markup(JSON.stringify(value).replace(/</g, '\\u003c'));

/** The text of a script or style element as it must stand there; what is hashed is this. */
export const inline = (code: string): Html =>
  new Markup(code.replace(/<(?=\/(?:script|style))/gi, '<\\').replace(/<!--/g, '<\\!--'));
