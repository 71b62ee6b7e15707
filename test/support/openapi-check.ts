import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

const prefix = '/api/external/v1';

type Content = Record<string, { schema: object }>;
type OpenApiResponse = { content?: Content; headers?: Record<string, { required?: boolean }> };
type OpenApiDocument = {
  components: { schemas: Record<string, object> };
  paths: Record<string, Record<string, { responses: Record<string, OpenApiResponse> }>>;
};

/** A sandbox never changes its document. A later sandbox of this process may get the port of one that has ended. */
const documents = new WeakMap<object, Promise<OpenApiDocument>>();

/** Throws unless a response of `sandbox` conforms to its own OpenAPI document. */
export async function assertConformsToOpenApi(
  sandbox: { url: string },
  method: string,
  url: URL,
  response: Response,
): Promise<void> {
  // CORS preflights are not operations of the API.
  if (!url.pathname.startsWith(`${prefix}/`) || method === 'OPTIONS') return;
  // fetch of Node.js 22 and 24 crashes if the server closes a connection before the body is read (nodejs/undici#5360).
  const text = await response.clone().text();
  const description = await fetchDocument(sandbox);
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
  const type = response.headers.get('content-type')?.split(';')[0] ?? '';
  if (!answer.content) {
    if (text !== '') throw new Error(`${what}: no body is described`);
    return;
  }
  const content = answer.content[type];
  if (!content) throw new Error(`${what}: ${type} is not described`);
  if (type !== 'application/json') return;
  const valid = validatorFor(description, content.schema);
  if (!valid(JSON.parse(text)))
    throw new Error(`${what} is not as described: ${JSON.stringify(valid.errors)}\n${text}`);
}

function fetchDocument(sandbox: { url: string }): Promise<OpenApiDocument> {
  let cached = documents.get(sandbox);
  if (!cached) {
    cached = fetch(`${sandbox.url}${prefix}/openapi.json`).then(async (response) =>
      parseDocument(await response.text()),
    );
    documents.set(sandbox, cached);
  }
  return cached;
}

/** Documents by their text, so that the schemas of equal ones are compiled once. */
const parsed = new Map<string, OpenApiDocument>();

function parseDocument(text: string): OpenApiDocument {
  const document = parsed.get(text) ?? JSON.parse(text);
  parsed.set(text, document);
  return document;
}

function operationOf({ paths }: OpenApiDocument, method: string, path: string) {
  const found = Object.keys(paths).find((template) =>
    new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return found === undefined ? undefined : paths[found]?.[method.toLowerCase()];
}

const compilers = new WeakMap<OpenApiDocument, Ajv2020>();
const validators = new WeakMap<object, ValidateFunction>();

/** @param schema one in the document */
function validatorFor(description: OpenApiDocument, schema: object): ValidateFunction {
  let compiler = compilers.get(description);
  if (!compiler) {
    compiler = new Ajv2020({ strict: false });
    formats.default(compiler);
    compilers.set(description, compiler);
  }
  let cached = validators.get(schema);
  if (!cached) {
    cached = compiler.compile({ ...schema, components: description.components });
    validators.set(schema, cached);
  }
  return cached;
}
