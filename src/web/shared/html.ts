/** Safe HTML. It is a class, because data from the service can never be an instance of it. */
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

/** Values that a template accepts. At run time, any other value from the service is rendered as escaped text. */
type TemplateValue = string | number | Html | readonly Html[] | undefined;

/** Template tag that escapes every value except HTML. Renders undefined as an empty string. */
export const html = (parts: TemplateStringsArray, ...values: TemplateValue[]): Html =>
  new Markup(parts.map((part, at) => part + (at < values.length ? toMarkup(values[at]) : '')).join(''));

function toMarkup(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (value instanceof Markup) return value.markup;
  if (Array.isArray(value)) return value.map(toMarkup).join('\n');
  return escapeHtml(String(value));
}

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

const escapeHtml = (text: string) =>
  text.replace(/[&<>"']/g, (character) => entities[character as keyof typeof entities]);

/** Serializes a value for a `<script type="application/json">`. Escapes `<`, so that it cannot close the element. */
export const inlineJson = (value: unknown): Html => new Markup(JSON.stringify(value).replace(/</g, '\\u003c'));

/** Escapes code for a script or style element. Compute Content-Security-Policy hashes from the result. */
export const inlineCode = (code: string): Html =>
  new Markup(code.replace(/<(?=\/(?:script|style))/gi, '<\\').replace(/<!--/g, '<\\!--'));

type HeadOptions = {
  title: string;
  contentSecurityPolicy: string;
  /** Style element, or link to a style sheet. */
  style: Html;
  /** Referrer policy; `strict-origin` suits providers that need the page's origin to allow embedding. */
  referrer: 'no-referrer' | 'strict-origin';
};

export const renderHead = ({ title, contentSecurityPolicy, style, referrer }: HeadOptions): Html => html`<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="${referrer}">
<link rel="icon" href="data:,">
<title>${title}</title>
${style}
</head>`;
