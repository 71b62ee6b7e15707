import type { ApiRequest } from '../../client/http/api-request.ts';
import { pluralize } from '../../shared/figures.ts';
import type { Context } from '../context.ts';
import { type Column, listBy, type Result } from '../output/result.ts';

type RequestRecord = { method: string; url: string; body: unknown };

export const toDryRunRecord = ({ method, url, json, body }: ApiRequest, baseUrl: URL): RequestRecord => ({
  method,
  url: new URL(url, baseUrl).href,
  body: json ?? (body ? `(${body.lengthBytes} bytes)` : null),
});

export const dryRunColumns: Column<RequestRecord>[] = [
  { field: 'method', noTruncate: true },
  { field: 'url', noTruncate: true },
  { field: 'body' },
];

/** Dry run of a command that has found nothing to change, and said so. */
export const noRequests: Result = listBy(({ url }: RequestRecord) => url, [], dryRunColumns, '');

/** Returns a list of the requests that the command would send without --dry-run. */
export async function dryRunPlan(context: Context, requests: readonly ApiRequest[]): Promise<Result> {
  const { baseUrl } = await context.account();
  context.terminal.info(`dry run: would send ${pluralize(requests.length, 'request')}`);
  const records = requests.map((request) => toDryRunRecord(request, baseUrl));
  return listBy(({ url }) => url, records, dryRunColumns, '');
}
