import { z } from '@hono/zod-openapi';
import { type App, apiPrefix } from './http.ts';
import { jsonContent } from './routes/schemas.ts';
import { describeUploads } from './routes/upload-description.ts';
import type { Service } from './service.ts';
import { type ErrorStatus, errorStatuses, errors } from './service-error.ts';

export const descriptionPath = `${apiPrefix}/openapi.json`;

type ServedDescription = ReturnType<App['getOpenAPI31Document']>;
type Operation = NonNullable<NonNullable<ServedDescription['paths']>[string]['get']>;
type OperationResponse = NonNullable<Operation['responses']>[string];

/** Name of the security scheme. §5: "The security scheme is named ExternalAPIKeyAuth." */
const security = 'ExternalAPIKeyAuth';

/** Maps operations to their error statuses in addition to those that §4 lists for all operations. */
const extraStatuses: Record<string, readonly ErrorStatus[]> = {
  '/playback/info/ post': [401, 403, 404], // "not shown" (assumption A19)
  '/assets/{uid}/player/ get': [402],
  '/videos/{uid}/player/ get': [402],
};
const keylessOperations = ['/playback/info/ post', '/openapi.json get'];

export function registerDescription(app: App, service: Service): void {
  const { openAPIRegistry: registry } = app;
  registry.registerComponent('securitySchemes', security, { type: 'http', scheme: 'bearer' });
  describeUploads(app, service);
  registry.registerPath({
    operationId: 'getDescription',
    summary: 'Get this description',
    method: 'get',
    path: descriptionPath,
    responses: { 200: jsonContent(z.record(z.string(), z.unknown()), 'this OpenAPI description') },
  });
  let text: string | undefined;
  app.get(descriptionPath, (c) => {
    text ??= JSON.stringify(buildDocument(app));
    return c.body(text, 200, { 'Content-Type': 'application/json' });
  });
}

/** Builds the document, "version 1.0.0" (§9). Its paths are relative to the API prefix, like those in §4. */
function buildDocument(app: App): ServedDescription {
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'Media Asset Service: External REST API', version: '1.0.0' },
    servers: [{ url: apiPrefix }],
  });
  const paths = Object.entries(document.paths ?? {}).map(([path, item]) => {
    const short = path.slice(apiPrefix.length);
    for (const [method, operation] of Object.entries(item))
      addErrorResponses(operation as Operation, `${short} ${method}`);
    return [short, item] as const;
  });
  document.paths = Object.fromEntries(paths);
  forbidExtraProperties(document.components?.schemas);
  return document;
}

/** Adds the error responses that §4 lists for authenticated endpoints, path parameters, parameters and bodies. */
function addErrorResponses(operation: Operation, name: string): void {
  const isKeyless = keylessOperations.includes(name);
  const isCounted = name !== '/openapi.json get'; // it is not part of the specification
  const { parameters = [], requestBody } = operation;
  const applies: Partial<Record<ErrorStatus, boolean>> = {
    400: requestBody !== undefined,
    401: !isKeyless,
    403: !isKeyless,
    404: name.includes('{'),
    413: requestBody !== undefined,
    422: parameters.length > 0 || requestBody !== undefined,
    429: isCounted,
    500: true,
    503: true,
    507: / (post|patch|delete)$/.test(name),
  };
  operation.security = isKeyless ? [] : [{ [security]: [] }];
  operation.responses ??= {};
  for (const status of errorStatuses.filter((each) => applies[each] || extraStatuses[name]?.includes(each)))
    operation.responses[status] ??= {
      description: errors[status].meaning,
      // Responses to HEAD have no body.
      ...(!name.endsWith(' head') && {
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      }),
    };
  forbidExtraProperties(operation.responses);
  // TUS 1.0.0: the header "MUST be included in every request and response except for OPTIONS requests".
  if (name.startsWith('/upload/'))
    for (const answer of Object.values(operation.responses)) answer.headers = { ...answer.headers, ...tusHeader };
  if (!isCounted) return;
  for (const [status, answer] of Object.entries(operation.responses)) addRateLimitHeaders(status, answer);
}

const tusHeader = { 'Tus-Resumable': { schema: { type: 'string', enum: ['1.0.0'] }, required: true } } as const;
const wholeNumber = { schema: { type: 'integer' }, required: true } as const;

/** Adds the rate-limit headers: "Rate-limit headers on every response"; "429 with Retry-After" (§8). */
function addRateLimitHeaders(status: string, answer: OperationResponse): void {
  answer.headers = {
    ...answer.headers,
    'X-RateLimit-Limit': wholeNumber,
    'X-RateLimit-Remaining': wholeNumber,
    'X-RateLimit-Reset': wholeNumber,
    ...(status === '429' && { 'Retry-After': wholeNumber }),
  };
}

/** Sets `additionalProperties: false` on all objects in responses, so that a test detects undocumented fields. */
function forbidExtraProperties(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  for (const inner of Object.values(schema)) forbidExtraProperties(inner);
  const { type, properties } = schema as { type?: unknown; properties?: unknown };
  if ([type].flat().includes('object') && properties) Object.assign(schema, { additionalProperties: false, ...schema });
}
