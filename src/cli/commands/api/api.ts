import type { Command } from '@commander-js/extra-typings';
import { resolveApiPath } from '../../../client/api/api-path.ts';
import { fetchPages } from '../../../client/api/pagination.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import type { ApiRequest } from '../../../client/http/api-request.ts';
import { apiPrefix } from '../../../contract/paths.ts';
import type { PageEnvelope } from '../../../contract/types.ts';
import { asText, type JsonObject } from '../../../shared/json-values.ts';
import { quoteForShell } from '../../../shared/sanitize.ts';
import { addExamples, type CommandDefinition, collect, type FlagsOf, parseJsonPair, parsePair } from '../../command.ts';
import type { Context } from '../../context.ts';
import type { Result } from '../../output/result.ts';
import { parseCount } from '../../settings/units.ts';
import { readInput } from '../../terminal/input.ts';
import { dryRunPlan } from '../dry-run.ts';

export const api: CommandDefinition = (command, run) => {
  addExamples(
    command,
    "mediactl api '/assets/?limit=1'",
    'mediactl api /workspaces/ --paginate',
    'mediactl api /playback/info/ -f asset_id=UID -f playback_token=TOKEN',
  );
  addApiOptions(command).action(
    run(async (context, path, flags) => runApi(context, await parseApiCall(context, path, flags))),
  );
};

const addApiOptions = (command: Command) =>
  command
    .description(
      'Calls any API path with the account in use and prints the response: unchanged in a pipe, JSON indented on a terminal. The method is GET by default, or POST if you pass fields or --input.',
    )
    .argument('<path>', `path below ${apiPrefix}, such as /assets/`)
    .option('-X, --method <method>', 'HTTP method')
    .option('-f, --raw-field <key=value>', 'add a string to the JSON body', collect, [] as string[])
    .option('-F, --field <key=json>', 'add a JSON value to the JSON body', collect, [] as string[])
    .option('-H, --header <name:value>', 'add a header', collect, [] as string[])
    .option('--input <file>', 'send a file as the request body; - for stdin')
    .option('--paginate', 'get all pages and print their items as one JSON array')
    .option('-i, --include', 'also print the response status and headers');

type ApiCall = { path: string; request: ApiRequest; paginate?: true | undefined; include?: true | undefined };

async function parseApiCall(
  context: Context,
  path: string,
  { rawField, field, header, input, paginate, include, ...flags }: FlagsOf<typeof addApiOptions>,
): Promise<ApiCall> {
  const pairs = [
    ...rawField.map((each) => parsePair('-f', each)),
    ...field.map((each) => parseJsonPair('-F', '-f', each)),
  ];
  const hasFields = pairs.length > 0;
  if (hasFields && input !== undefined) throw usageError('--input and fields cannot be used together');
  const method = flags.method?.toUpperCase() ?? (hasFields || input !== undefined ? 'POST' : 'GET');
  const request: ApiRequest = {
    method,
    url: resolveApiPath(path, (await context.account()).baseUrl),
    headers: parseHeaders(header),
    purpose: { action: `${method} ${path}` },
    ...(hasFields && { json: Object.fromEntries(pairs) }),
    ...(input !== undefined && { body: await inputBody(context, input) }),
  };
  if (include && (paginate || context.settings.outputOptions.jq !== undefined))
    throw usageError(
      `--include and ${paginate ? '--paginate' : '--jq'} cannot be used together`,
      undefined,
      'headers are not JSON',
    );
  return { path, request, paginate, include };
}

async function runApi(context: Context, { path, request, paginate, include }: ApiCall): Promise<Result> {
  if (context.settings.dryRun && !['GET', 'HEAD'].includes(request.method)) return dryRunPlan(context, [request]);
  if (paginate) return fetchAllPages(context, request);
  const { transport } = await context.api();
  const { status, headers, text } = await transport.send(request).catch((error) => {
    throw withSlashHint(error, path);
  });
  const lines = [`HTTP ${status}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
  return { kind: 'raw', text: include ? `${lines.join('\n')}\n\n${text}` : text };
}

/** Returns the error, with a hint if it is a 404 for a path that lacks the trailing slash. */
function withSlashHint(error: unknown, path: string): unknown {
  const missing = error instanceof CodedError && error.explanation.status === 404;
  return missing && !/[/?]/.test(path.slice(-1)) && !path.includes('?')
    ? error.with({ hint: `mediactl api ${quoteForShell(`${path}/`)} (API paths end with a slash)` })
    : error;
}

const parseHeaders = (headers: readonly string[]) =>
  Object.fromEntries(
    headers.map((header) => {
      const [name, value] = parsePair('-H', header, ':');
      if (name.trim().toLowerCase() === 'authorization')
        throw usageError('-H does not accept an API key', 'mediactl auth login, or set MEDIACTL_API_KEY');
      return [name.trim().toLowerCase(), value.trim()];
    }),
  );

async function inputBody(context: Context, input: string): Promise<ApiRequest['body']> {
  const bytes = await readInput(context.terminal, input);
  return { lengthBytes: bytes.length, open: () => bytes };
}

/** Returns the items of all pages. `offset` and `limit` in the path's query string select the items. */
async function fetchAllPages(context: Context, call: ApiRequest): Promise<Result> {
  if (call.method !== 'GET') throw usageError('--paginate works only with GET');
  const { transport, names } = await context.api();
  const url = new URL(call.url, transport.baseUrl);
  const number = (name: string) => {
    const text = url.searchParams.get(name);
    return text === null ? undefined : parseCount(name, text);
  };
  const fetchPage = async (limit: number, offset: number) =>
    (await transport.json({ ...call, url, query: { limit, offset } })) as PageEnvelope<JsonObject>;
  const items = fetchPages(fetchPage, { limit: number('limit'), offset: number('offset') }, names);
  const id = ({ uid }: JsonObject) => asText(uid) ?? '';
  return { kind: 'list', pages: items, columns: [], id, empty: '', defaultFormat: 'json' };
}
