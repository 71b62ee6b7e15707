import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { respond, startServer } from '../support/http-server.ts';
import { assertConformsToOpenApi } from '../support/openapi-check.ts';
import { rawHttp } from '../support/raw-http.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

type Operation = {
  operationId?: string;
  summary?: string;
  parameters: { name: string; schema: unknown }[];
};

describe.each([
  ['in full', false],
  ['--strict', true],
])('GET /openapi.json, %s', (_mode, isStrictService) => {
  let sandbox: TestSandbox;
  beforeAll(async () => {
    sandbox = await startSandbox({ strict: isStrictService });
  });
  afterAll(() => sandbox.end());
  const { call } = rawHttp(() => sandbox);
  const fetchDocument = async () => (await call('GET', '/openapi.json', { key: '' })).json();

  it('/openapi.json is valid OpenAPI 3.1 and needs no API key', async () => {
    const described = await fetchDocument();
    const { valid, errors } = await new Validator().validate(described);
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    // "The interface description carries version 1.0.0." (§9)
    expect(described).toMatchObject({
      openapi: '3.1.0',
      info: { version: '1.0.0' },
      servers: [{ url: '/api/external/v1' }],
      components: { securitySchemes: { ExternalAPIKeyAuth: { type: 'http', scheme: 'bearer' } } },
    });
  });

  it('/openapi.json describes every endpoint of the specification and its possible responses', async () => {
    const { paths } = await fetchDocument();
    const operations = Object.entries(paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(operations.sort()).toEqual(
      [
        ...['assets', 'videos'].flatMap((each) => [
          `GET /${each}/`,
          `GET /${each}/{uid}/`,
          `PATCH /${each}/{uid}/`,
          `DELETE /${each}/{uid}/`,
          `GET /${each}/{uid}/player/`,
        ]),
        ...['POST /upload/', 'PATCH /upload/{uid}/', 'HEAD /upload/{uid}/'],
        ...['GET', 'PATCH'].map((method) => `${method} /workspaces/{uid}/embed-settings/`),
        ...['POST', 'DELETE'].map((method) => `${method} /workspaces/{uid}/embed-domains/`),
        ...['GET', 'POST'].map((method) => `${method} /workspaces/{uid}/folders/`),
        ...['PATCH', 'DELETE'].map((method) => `${method} /workspaces/{uid}/folders/{folder_uid}/`),
        ...['GET /workspaces/', 'POST /playback/info/', 'GET /openapi.json'],
      ].sort(),
    );
    const statuses = (path: string, method: string) => Object.keys(paths[path][method].responses).map(Number);
    // §4: 401, 403, 429 of every authenticated endpoint, 404 with path parameters, 422 with any
    expect(statuses('/workspaces/{uid}/folders/', 'post')).toEqual([
      201, 400, 401, 403, 404, 413, 422, 429, 500, 503, 507,
    ]);
    expect(statuses('/upload/', 'post')).toEqual([201, 400, 401, 402, 403, 404, 412, 413, 422, 429, 500, 503, 507]);
    expect(paths['/upload/'].post.responses[413].content).toHaveProperty(['text/plain']);
    expect(paths['/assets/'].get.security).toEqual([{ ExternalAPIKeyAuth: [] }]);
    expect(paths['/playback/info/'].post.security).toEqual([]);
    // §8 "Rate-limit headers on every response"
    for (const status of [200, 401, 429])
      expect(paths['/playback/info/'].post.responses[status].headers).toHaveProperty(['X-RateLimit-Remaining']);
    for (const status of [201, 401, 413])
      expect(paths['/upload/'].post.responses[status].headers).toHaveProperty(['Tus-Resumable']);
  });

  it('/openapi.json has the operation IDs, types and unions that client generators need', async () => {
    const { paths, components } = await fetchDocument();
    const operations = Object.values(paths as Record<string, Record<string, Operation>>).flatMap((methods) =>
      Object.values(methods),
    );
    const ids = operations.map(({ operationId }) => operationId);
    expect(ids.every((id) => /^[a-z][A-Za-z]+$/.test(id ?? ''))).toBe(true);
    expect(new Set(ids).size).toBe(24);
    const summaries = operations.map(({ summary }) => summary);
    expect(summaries.every((summary) => /^[A-Z][\w ,-]+$/.test(summary ?? ''))).toBe(true);
    expect(new Set(summaries).size).toBe(24);
    const query = Object.fromEntries(
      (paths['/assets/'].get as Operation).parameters.map(({ name, schema }) => [name, schema]),
    );
    expect(query).toMatchObject({
      limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
      offset: { type: 'integer', minimum: 0, default: 0 },
      status: { $ref: '#/components/schemas/AssetStatusFilter' },
      type: { $ref: '#/components/schemas/AssetTypeFilter' },
      ordering: { default: '-created_at' },
    });
    expect(components.schemas.AssetTypeFilter.enum).toEqual([
      ...['video', 'audio', 'image', 'document', 'third_party', 'generic'],
    ]);
    const { oneOf, discriminator } = components.schemas.PlaybackInfo;
    expect(discriminator.propertyName).toBe('type');
    expect(Object.keys(discriminator.mapping)).toEqual([...['video', 'audio', 'image', 'document', 'third_party']]);
    expect(oneOf.map(({ $ref }: { $ref: string }) => $ref)).toEqual(Object.values(discriminator.mapping));
    if (isStrictService) return;
    // §2: "a union of list-item shapes (video, audio, image, generic)"
    for (const [what, kinds] of [
      ['AssetListItem', ['VideoListItem', 'AudioListItem', 'ImageListItem', 'GenericListItem']],
      ['AssetDetail', ['VideoDetail', 'AudioDetail', 'ImageDetail', 'GenericDetail']],
    ] as const)
      expect(components.schemas[what].oneOf).toEqual(kinds.map((kind) => ({ $ref: `#/components/schemas/${kind}` })));
  });

  it('the response check of the tests detects anything that /openapi.json does not describe', async () => {
    const rateLimitHeaders = { 'X-RateLimit-Limit': '1', 'X-RateLimit-Remaining': '1', 'X-RateLimit-Reset': '1' };
    const createResponse = (status: number, body: unknown, headers: Record<string, string> = rateLimitHeaders) =>
      new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });
    const checkResponse = (method: string, path: string, response: Response) =>
      assertConformsToOpenApi(sandbox, method, new URL(`${sandbox.url}/api/external/v1${path}`), response);
    const page = isStrictService ? { items: [] } : { items: [], count: 0 }; // --strict omits `count`
    await checkResponse('GET', '/assets/', createResponse(200, page));
    await expect(checkResponse('GET', '/assets/', createResponse(200, { ...page, next: 1 }))).rejects.toThrow('next');
    await expect(checkResponse('GET', '/assets/', createResponse(200, page, {}))).rejects.toThrow('X-RateLimit');
    await expect(checkResponse('GET', '/assets/', createResponse(200, {}))).rejects.toThrow('items');
    await expect(checkResponse('GET', '/assets/', createResponse(206, page))).rejects.toThrow('status');
    await expect(checkResponse('PUT', '/assets/', createResponse(200, page))).rejects.toThrow('not described');
    await expect(checkResponse('GET', '/thing/', createResponse(200, page))).rejects.toThrow('not described');
    await expect(checkResponse('DELETE', '/assets/a/', createResponse(200, page))).rejects.toThrow('200');
  });
});

it('the response check of the tests reads the document of its sandbox, not of an earlier one on the same port', async () => {
  const documents = [{ paths: { '/assets/': { get: { responses: { 200: {} } } } } }, { paths: {} }];
  const url = await startServer((_, response) => respond(response, 200, documents.shift()));
  const check = (sandbox: { url: string }) =>
    assertConformsToOpenApi(sandbox, 'GET', new URL(`${url}/api/external/v1/assets/`), new Response(''));
  const first = { url };
  await check(first);
  await check(first);
  await expect(check({ url })).rejects.toThrow('not described');
});
