import type { ErrorCode } from '../../../client/error-table.ts';
import { usageError } from '../../../client/errors.ts';
import type { RateLimitBudget } from '../../../client/http/rate-limiter.ts';
import { queueStatus } from '../../../client/queue/jobs.ts';
import type { QueueClient } from '../../../client/queue/queue-client.ts';
import type { WorkerRun } from '../../../client/queue/worker-run.ts';
import { type FileOutcome, outcomeOf } from '../../../client/upload/session/upload-job.ts';
import { isLoopbackHost } from '../../../contract/bounded-server.ts';
import { withTimeout } from '../../../contract/retry.ts';
import type { Context } from '../../context.ts';
import { hintOf } from '../../error-hints.ts';
import { parseCount } from '../../settings/units.ts';
import { serveOnLoopback } from '../loopback-server.ts';

/** Maximum wait for the queue's store, less than Prometheus waits for a scrape (10 s). */
const storeTimeoutMs = 3_000;

/** Parses the address of --metrics. @returns the port @throws MediactlError `usage` (exit 2) unless it is on loopback */
export function parseMetricsPort(address: string): number {
  const [, host = '127.0.0.1', port = ''] = /^(?:(.*):)?([^:]*)$/.exec(address) ?? [];
  if (host === '127.0.0.1' || host === 'localhost') return parseCount('--metrics', port);
  const hint = '--metrics 127.0.0.1:9464; a proxy with access control can publish it';
  throw usageError(`--metrics serves this machine only, not ${host}`, hint);
}

type MetricsSources = {
  client: Pick<QueueClient, 'queue' | 'isDisconnected'>;
  run: Pick<WorkerRun, 'pausedBy' | 'filesInProgress'>;
  budget(): RateLimitBudget | undefined;
};

/** Counters of a worker, and the handler of `/metrics` and `/healthz`. */
export type WorkerMetrics = {
  onOutcome(outcome: FileOutcome): void;
  /** Counts a failed attempt. */
  onFailure(code: ErrorCode): void;
  /** Serves `/metrics` and `/healthz` on a port of this machine. @throws MediactlError `usage` if it is not available */
  serve(port: number, sources: MetricsSources): Promise<{ close(): Promise<void> }>;
};

/** Creates the metrics, for Prometheus. No label holds a path or a key. */
export async function createMetrics({ host, clock, terminal }: Context): Promise<WorkerMetrics> {
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
  const storeUp = gauge('mediactl_queue_up', '1 while the store of the queue responds');
  const queued = gauge('mediactl_queue_files', 'Unfinished and failed files in the queue', 'state');
  const queuePaused = gauge('mediactl_queue_paused', '1 while the queue is paused for all workers');
  const oldest = gauge('mediactl_queue_oldest_age_seconds', 'Age of the oldest waiting file; 0 if none waits');
  const remaining = gauge('mediactl_rate_limit_remaining', 'Requests left in the rate limit window of the API key');
  const limit = gauge('mediactl_rate_limit', 'Requests per rate limit window of the API key');

  const render = async ({ client, run, budget }: MetricsSources) => {
    const status = await statusIfUp(client, clock);
    for (const each of [paused, queued]) each.reset();
    info.set({ version: host.version }, 1);
    inProgress.set(run.filesInProgress);
    if (run.pausedBy) paused.set({ code: run.pausedBy.explanation.code }, 1);
    const window = budget();
    storeUp.set(status ? 1 : 0);
    for (const [state, count = 0] of Object.entries(status?.counts ?? {})) queued.set({ state }, count);
    const waitedMs = status?.oldestAt === undefined ? 0 : clock.now() - status.oldestAt;
    queuePaused.set(status ? Number(status.isPaused) : Number.NaN);
    oldest.set(status ? Math.max(0, waitedMs / 1_000) : Number.NaN);
    remaining.set(window?.left ?? Number.NaN);
    limit.set(window?.limit ?? Number.NaN);
    return registry.metrics();
  };
  return {
    onOutcome: (outcome) => {
      files.inc({ outcome: outcomeOf(outcome) });
      bytes.inc(outcome.uploaded?.bytesSent ?? 0);
    },
    onFailure: (code) => failures.inc({ code }),
    serve: async (port, sources) => {
      const hint = 'use another port, such as --metrics 127.0.0.1:9465';
      const server = await serveOnLoopback(
        listenerOf(sources, () => render(sources)),
        port,
        hint,
      );
      terminal.info(`metrics: ${server.origin}/metrics`);
      return server;
    },
  };
}

type HttpListener = Parameters<typeof serveOnLoopback>[0];

const listenerOf =
  (sources: MetricsSources, render: () => Promise<string>): HttpListener =>
  (request, response) => {
    const send = (status: number, type: string, body: string) => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
    };
    if (!isLoopbackHost(request.headers.host, request.socket.localPort ?? 0))
      return send(403, 'text/plain', 'this Host header is not allowed\n');
    const health = request.url === '/healthz' ? healthOf(sources) : undefined;
    if (request.method !== 'GET' && request.method !== 'HEAD') send(405, 'text/plain', 'only GET\n');
    else if (health) send(health.status === 'ok' ? 200 : 503, 'application/json', `${JSON.stringify(health)}\n`);
    else if (request.url !== '/metrics') send(404, 'text/plain', '/metrics or /healthz\n');
    else
      render().then(
        (text) => send(200, 'text/plain; version=0.0.4; charset=utf-8', text),
        (error: Error) => send(500, 'text/plain', `${error.message}\n`),
      );
  };

/** Returns what `/healthz` shows: `ok` while the worker takes files, otherwise why it does not. */
function healthOf({ client, run }: MetricsSources) {
  const { pausedBy } = run;
  if (client.isDisconnected) return { status: 'disconnected', reason: 'the store of the queue does not respond' };
  if (!pausedBy) return { status: 'ok' };
  const { code, reason } = pausedBy.explanation;
  return {
    status: 'paused',
    code,
    reason: [pausedBy.message, reason].filter(Boolean).join('; '),
    hint: hintOf(pausedBy),
  };
}

const statusIfUp = (client: MetricsSources['client'], clock: Context['clock']) =>
  client.isDisconnected
    ? undefined
    : withTimeout(storeTimeoutMs, () => queueStatus(client), { clock }).catch(() => undefined);
