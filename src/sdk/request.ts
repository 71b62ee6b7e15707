import { resolveApiPath } from '../client/api/api-path.ts';
import { parseJsonOrUndefined } from '../shared/json-values.ts';
import { assertArgument, method as methodSchema, requestOptions, text as textSchema } from './arguments.ts';
import type { ClientParts } from './client-parts.ts';
import type { Client } from './public-types.ts';

/** Creates the function that sends any request of the API. Neither the history nor the receipts know of it. */
export const createRequest =
  ({ run }: ClientParts): Client['request'] =>
  (method, path, options) =>
    run(
      options,
      async ({ api: { transport } }) => {
        assertArgument('method', methodSchema, method);
        assertArgument('path', textSchema, path);
        const { json, query } = options ?? {};
        const { status, text } = await transport.send({
          method: method.toUpperCase(),
          url: resolveApiPath(path, transport.baseUrl),
          purpose: { action: `${method} ${path}` },
          ...(json !== undefined && { json }),
          ...(query && { query }),
        });
        return { status, json: parseJsonOrUndefined(text) };
      },
      requestOptions,
    );
