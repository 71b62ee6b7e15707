import { createHash, timingSafeEqual } from 'node:crypto';
import type { ErrorCode } from '../../../client/error-table.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import type { ClientRateLimiter } from '../../../client/http/rate-limiter.ts';
import { type FileOutcome, outcomeOf } from '../../../client/upload/session/file-outcome.ts';
import type { QueueClient } from '../../../queue/queue-client.ts';
import { queueStatus } from '../../../queue/queue-status.ts';
import type { WorkerRun } from '../../../queue/worker-run.ts';
import { isLoopbackHost } from '../../../shared/bounded-server.ts';
import { withTimeout } from '../../../shared/retry.ts';
import type { Context } from '../../context.ts';
import { hintOf } from '../../error-hints.ts';
import { parseCount } from '../../settings/units.ts';
import { serveHttp } from '../http-server.ts';

/** Maximum wait for the queue's store, less than Prometheus waits for a scrape (10 s). */
const storeTimeoutMs = 3_000;

/** Address and port of the metrics server, and the token that requests from other machines need. */
export type MetricsAddress = { host: string; port: number; token: string | undefined };

const minTokenLength = 16;

/**
 * Parses the address of --metrics.
 *
 * @param token token for requests from other machines, from MEDIACTL_METRICS_TOKEN
 * @throws CodedError `usage` (exit 2) if other machines can reach the address, and there is no token
 */
export function parseMetricsAddress(address: string, token: string | undefined): MetricsAddress {
  const [, typedHost = 'localhost', port = ''] = /^(?:(.*):)?([^:]*)$/.exec(address) ?? [];
  const host = typedHost === 'localhost' ? '127.0.0.1' : typedHost;
  if (host !== '127.0.0.1' && (token?.length ?? 0) < minTokenLength)
    throw usageError(
      `--metrics ${host} needs a token, because other machines can reach it`,
      `export MEDIACTL_METRICS_TOKEN with at least ${minTokenLength} characters; or --metrics 127.0.0.1:9464`,
    );
  return { host, port: parseCount('--metrics', port), token: token || undefined };
}

export type MetricsSources = {
  /** Undefined until the store responds for the first time. */
  client: Pick<QueueClient, 'queues' | 'address' | 'isPaused' | 'outage'> | undefined;
  run: Pick<WorkerRun, 'pausedBy' | 'filesInProgress'> | undefined;
  rateLimiter: Pick<ClientRateLimiter, 'budget' | 'state'>;
};

export type WorkerMetrics = Awaited<ReturnType<typeof createMetrics>>;

/** Creates the counters of a worker, and the handler of `/metrics` and `/healthz`, for Prometheus. No label holds a path or a key. */
export async function createMetrics({ host, clock, terminal }: Context) {
  const { Counter, Gauge, Registry } = await import('prom-client');
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers });
  const files = counter('mediactl_files_total', 'Files that this worker has finished', 'outcome');
  const bytes = counter('mediactl_bytes_sent_total', 'Bytes that this worker has sent of the files it has uploaded');
  const failures = counter('mediactl_failed_attempts_total', 'Failed attempts of this worker, by error code', 'code');
  for (const outcome of ['uploaded', 'failed']) files.inc({ outcome }, 0);
  const info = gauge('mediactl_worker_info', 'Version of this worker', 'version');
  const inProgress = gauge('mediactl_files_in_progress', 'Files that this worker is uploading');
  const paused = gauge('mediactl_worker_paused', '1 while this worker is paused, by error code', 'code');
  const serviceUp = gauge('mediactl_service_up', '0 while the service cannot be reached');
  const unserved = gauge('mediactl_queue_unserved_files', 'Files below a root that no connected worker has', 'root');
  const storeUp = gauge('mediactl_queue_up', '1 while the store of the queue responds');
  const queued = gauge('mediactl_queue_files', 'Unfinished and failed files in the queue', 'state');
  const queuePaused = gauge('mediactl_queue_paused', '1 while the queue is paused for all workers');
  const oldest = gauge('mediactl_queue_oldest_age_seconds', 'Age of the oldest waiting file; 0 if none waits');
  const remaining = gauge('mediactl_rate_limit_remaining', 'Requests left in the rate limit window of the API key');
  const limit = gauge('mediactl_rate_limit', 'Requests per rate limit window of the API key');

  const render = async ({ client, run, rateLimiter }: MetricsSources) => {
    const status = await statusIfUp(client, clock);
    for (const each of [paused, queued, unserved]) each.reset();
    info.set({ version: host.version }, 1);
    inProgress.set(run?.filesInProgress ?? 0);
    if (run?.pausedBy) paused.set({ code: run.pausedBy.explanation.code }, 1);
    const window = rateLimiter.budget;
    serviceUp.set(rateLimiter.state === 'unreachable' ? 0 : 1);
    storeUp.set(status ? 1 : 0);
    for (const [state, count = 0] of Object.entries(status?.counts ?? {})) queued.set({ state }, count);
    for (const [root, count] of status?.unserved ?? []) unserved.set({ root }, count);
    const waitedMs = status?.oldestAt === undefined ? 0 : clock.now() - status.oldestAt;
    queuePaused.set(status ? Number(status.isPaused) : Number.NaN);
    oldest.set(status ? Math.max(0, waitedMs / 1_000) : Number.NaN);
    remaining.set(window?.left ?? Number.NaN);
    limit.set(window?.limit ?? Number.NaN);
    return registry.metrics();
  };
  return {
    onOutcome: (outcome: FileOutcome) => {
      files.inc({ outcome: outcomeOf(outcome) });
      bytes.inc(outcome.uploaded?.bytesSent ?? 0);
    },
    onFailure: (code: ErrorCode) => failures.inc({ code }),
    /** Serves `/metrics` and `/healthz`. @throws CodedError `usage` if the port is not available */
    serve: async ({ host: serverHost, port, token }: MetricsAddress, sources: MetricsSources) => {
      const hint = 'use another port, such as --metrics 127.0.0.1:9465';
      const listener = listenerOf(sources, () => render(sources), token);
      const server = await serveHttp(listener, port, hint, serverHost);
      terminal.info(`metrics: ${server.origin}/metrics`);
      return server;
    },
  };
}

type HttpListener = Parameters<typeof serveHttp>[0];
type HttpRequest = Parameters<HttpListener>[0];

const listenerOf =
  (sources: MetricsSources, render: () => Promise<string>, token: string | undefined): HttpListener =>
  (request, response) => {
    const send = (status: number, type: string, body: string) => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
    };
    if (!isFromThisMachine(request) && !hasToken(request, token))
      return send(
        token ? 401 : 403,
        'text/plain',
        token ? 'a bearer token is needed\n' : 'this Host header is not allowed\n',
      );
    const fail = (error: Error) => send(500, 'text/plain', `${error.message}\n`);
    if (request.method !== 'GET' && request.method !== 'HEAD') send(405, 'text/plain', 'only GET\n');
    else if (request.url === '/healthz')
      healthOf(sources).then((health) => {
        send(health.status === 'ok' ? 200 : 503, 'application/json', `${JSON.stringify(health)}\n`);
      }, fail);
    else if (request.url !== '/metrics') send(404, 'text/plain', '/metrics or /healthz\n');
    else render().then((text) => send(200, 'text/plain; version=0.0.4; charset=utf-8', text), fail);
  };

/** A page of another site can reach loopback by DNS rebinding, so the Host header must name it too. */
const isFromThisMachine = ({ headers, socket }: HttpRequest) =>
  ['127.0.0.1', '::1', '::ffff:127.0.0.1'].includes(socket.remoteAddress ?? '') &&
  isLoopbackHost(headers.host, socket.localPort ?? 0);

/** Compares hashes, so that the duration tells nothing of the token. */
function hasToken({ headers }: HttpRequest, token: string | undefined): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return token !== undefined && timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`));
}

/** Returns what `/healthz` shows: `ok` while the worker takes files, otherwise why it does not. */
async function healthOf({ client, run, rateLimiter }: MetricsSources) {
  if (!client)
    return { status: 'starting', reason: 'it connects to the store of the queue; the log says how that goes' };
  if (client.outage) return { status: 'disconnected', ...describe(client.outage) };
  if (run?.pausedBy) return { status: 'paused', ...describe(run.pausedBy) };
  if (rateLimiter.state === 'unreachable') return { status: 'service_unreachable', ...describe(serviceUnreachable) };
  const isQueuePaused = await withTimeout(storeTimeoutMs, () => client.isPaused()).catch(() => false);
  return isQueuePaused ? { status: 'queue_paused', ...describe(queuePaused) } : { status: 'ok' };
}

const serviceUnreachable = new CodedError('the service cannot be reached', { code: 'unreachable' });
const queuePaused = new CodedError('the queue is paused for all workers', {
  code: 'queue_paused',
  reason: 'credits or storage ran out, or another program paused it',
});

const describe = (error: CodedError) => ({
  code: error.explanation.code,
  reason: [error.message, error.explanation.reason].filter(Boolean).join('; '),
  hint: hintOf(error),
});

const statusIfUp = (client: MetricsSources['client'], clock: Context['clock']) =>
  !client || client.outage
    ? undefined
    : withTimeout(storeTimeoutMs, () => queueStatus(client), { clock }).catch(() => undefined);
