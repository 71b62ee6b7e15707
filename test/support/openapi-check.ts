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
    cached = fetch(`${sandbox.url}${prefix}/openapi.json`).then(
      (response) => response.json() as Promise<OpenApiDocument>,
    );
    documents.set(sandbox, cached);
  }
  return cached;
}

function operationOf({ paths }: OpenApiDocument, method: string, path: string) {
  const found = Object.keys(paths).find((template) =>
    new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return found === undefined ? undefined : paths[found]?.[method.toLowerCase()];
}

const validators = new Map<string, ValidateFunction>();

function validatorFor({ components }: OpenApiDocument, schema: object): ValidateFunction {
  const fullSchema = { ...schema, components };
  const id = JSON.stringify(fullSchema);
  let cached = validators.get(id);
  if (!cached) {
    const ajv = new Ajv2020({ strict: false });
    formats.default(ajv);
    cached = ajv.compile(fullSchema);
    validators.set(id, cached);
  }
  return cached;
}
