import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

const prefix = '/api/external/v1';

type Content = Record<string, { schema: object }>;
type Answer = { content?: Content; headers?: Record<string, { required?: boolean }> };
type Description = {
  components: { schemas: Record<string, object> };
  paths: Record<string, Record<string, { responses: Record<string, Answer> }>>;
};

/** Cache of OpenAPI documents by the sandbox's origin; a sandbox never changes its document. */
const descriptions = new Map<string, Promise<Description>>();

/** Throws unless a response conforms to the sandbox's own OpenAPI document. */
export async function assertDescribed(method: string, url: URL, response: Response): Promise<void> {
  // CORS preflights are not operations of the API.
  if (!url.pathname.startsWith(`${prefix}/`) || method === 'OPTIONS') return;
  const description = await descriptionOf(url.origin);
  const path = url.pathname.slice(prefix.length);
  const what = `${method} ${path} ${response.status}`;
  const operation = operationOf(description, method, path);
  if (!operation) {
    // A path that is not in the document must respond with 404, or 401 without a key.
    if (![401, 404].includes(response.status)) throw new Error(`${what} is not described`);
    return;
  }
  const answer = operation.responses[response.status];
  if (!answer) throw new Error(`${what}: this status is not described`);
  for (const [name, { required }] of Object.entries(answer.headers ?? {}))
    if (required && !response.headers.has(name)) throw new Error(`${what} lacks ${name}`);
  const text = await response.clone().text();
  const type = response.headers.get('content-type')?.split(';')[0] ?? '';
  if (!answer.content) {
    if (text !== '') throw new Error(`${what}: no body is described`);
    return;
  }
  const content = answer.content[type];
  if (!content) throw new Error(`${what}: ${type} is not described`);
  if (type !== 'application/json') return;
  const valid = validator(description, content.schema);
  if (!valid(JSON.parse(text)))
    throw new Error(`${what} is not as described: ${JSON.stringify(valid.errors)}\n${text}`);
}

function descriptionOf(origin: string): Promise<Description> {
  let known = descriptions.get(origin);
  if (!known) {
    known = fetch(`${origin}${prefix}/openapi.json`).then(
      (response) => response.json() as Promise<Description>,
    );
    descriptions.set(origin, known);
  }
  return known;
}

function operationOf({ paths }: Description, method: string, path: string) {
  const found = Object.keys(paths).find((template) =>
    new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return found === undefined ? undefined : paths[found]?.[method.toLowerCase()];
}

const validators = new Map<string, ValidateFunction>();

function validator({ components }: Description, schema: object): ValidateFunction {
  const whole = { ...schema, components };
  const id = JSON.stringify(whole);
  let known = validators.get(id);
  if (!known) {
    const ajv = new Ajv2020({ strict: false });
    formats.default(ajv);
    known = ajv.compile(whole);
    validators.set(id, known);
  }
  return known;
}
