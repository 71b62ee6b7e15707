import type { ApiRequest } from '../../client/http/messages.ts';
import { counted } from '../../contract/figures.ts';
import { cell, printable } from '../../contract/sanitize.ts';
import type { Context } from '../context.ts';
import { listBy, type Result } from '../output/result.ts';

/** Prints the requests that --dry-run skips. */
export async function dryRunPlan(
  context: Context,
  requests: readonly ApiRequest[],
): Promise<Result> {
  const { baseUrl } = await context.account();
  context.terminal.say(`dry run: would send ${counted(requests.length, 'request')}`);
  return listBy(
    ({ url }) => url,
    requests.map(({ method, url, json, body }) => ({
      method,
      url: new URL(url, baseUrl).href,
      body: json ?? (body ? `(${body.lengthBytes} bytes)` : null),
    })),
    [
      { header: 'METHOD', value: ({ method }) => method, whole: true },
      { header: 'URL', value: ({ url }) => printable(url), whole: true },
      { header: 'BODY', value: ({ body }) => cell(body) },
    ],
    '',
  );
}
