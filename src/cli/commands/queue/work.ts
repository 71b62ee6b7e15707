import { hostname } from 'node:os';
import type { Command } from '@commander-js/extra-typings';
import type { Api } from '../../../client/api/api.ts';
import { type CodedError, usageError } from '../../../client/errors.ts';
import { createThrottle } from '../../../client/upload/session/throttle.ts';
import { RangeSource } from '../../../client/upload/sources/range-source.ts';
import type { QueueClient } from '../../../queue/queue-client.ts';
import { queueStatus } from '../../../queue/queue-status.ts';
import { Roots } from '../../../queue/roots.ts';
import { WorkerRun } from '../../../queue/worker-run.ts';
import { pluralize } from '../../../shared/figures.ts';
import { addExamples, collect, type Define, type FlagsOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { hintOf, withHint } from '../../error-hints.ts';
import { noResult } from '../../output/result.ts';
import { createProgress, type ProgressDisplay } from '../../progress/progress.ts';
import { parseCount, parseDuration } from '../../settings/units.ts';
import { logFormatOption, startLog } from '../../uploading/run-log.ts';
import { presentRun } from '../../uploading/run-view.ts';
import {
  limitRateOption,
  parseLimitRate,
  parseOptionalCount,
  parseUploadOptions,
  reserveOption,
} from '../../uploading/upload-options.ts';
import { openQueue, queueCommand, queueOption, resolveQueue } from '../queue-access.ts';
import { warnOfStore } from './store-warnings.ts';
import { createMetrics, type MetricsSources, parseMetricsAddress, type WorkerMetrics } from './worker-metrics.ts';

const minLeaseMs = 1_000;
const defaultLease = '30s';

export const work: Define = (command, run) => {
  addExamples(
    command,
    'mediactl queue work --queue redis://queue.lan --root /mnt/media',
    'mediactl queue work --root media=/Volumes/media --transfers 4',
    'mediactl queue work --jsonl >> done.jsonl',
  );
  addWorkOptions(command).action(run((context, flags) => runWorker(context, parseWorkerRequest(context, flags))));
};

const addWorkOptions = (command: Command) =>
  command
    .description(
      'Uploads files that were queued with upload --queue, until you stop it. Start any number of workers, on any machines. If one stops or crashes, another resumes its uploads.',
    )
    .option(...queueOption)
    .option('--root <[name=]path>', 'directory or URL to allow files from (.); repeatable', collect, [] as string[])
    .option('--transfers <number>', 'number of files to upload at once', '2')
    .option('--lease <duration>', 'time without a heartbeat until others take over', defaultLease)
    .option('--max-crashes <number>', 'give up on a file that crashed this many workers', '10')
    .option(...reserveOption)
    .option(...limitRateOption)
    .option('--name <name>', 'name of this worker (host name and process id)')
    .addOption(logFormatOption())
    .option('--metrics <address>', 'serve /metrics and /healthz, such as 127.0.0.1:9464');

export type WorkerRequest = ReturnType<typeof parseWorkerRequest>;

/** @throws CodedError `usage` (exit 2) */
export const parseWorkerRequest = (context: Context, flags: FlagsOf<typeof addWorkOptions>) => ({
  address: resolveQueue(context, flags.queue),
  options: {
    settings: {
      ...parseUploadOptions(context, {}),
      transfers: parseCount('--transfers', flags.transfers, 1),
      rateLimit: parseLimitRate(flags.limitRate),
      reserveRequests: parseOptionalCount('--reserve-requests', flags.reserveRequests, 0),
    },
    leaseMs: parseLease(flags.lease),
    maxCrashes: parseCount('--max-crashes', flags.maxCrashes, 0),
    name: flags.name ?? `${hostname()}:${context.host.processes.pid}`,
  },
  roots: flags.root.length > 0 ? flags.root : ['.'],
  logFormat: flags.logFormat,
  /** Address of the server for metrics and health checks; undefined to start none. */
  metrics:
    flags.metrics === undefined
      ? undefined
      : parseMetricsAddress(flags.metrics, context.host.environment.MEDIACTL_METRICS_TOKEN),
});

export async function runWorker(context: Context, request: WorkerRequest) {
  const { terminal, signal } = context;
  const { address, options } = request;
  const log = request.logFormat && startLog(context, options.name, request.logFormat);
  const roots = await Roots.open(request.roots, context.host.cwd, options.name);
  const { baseUrl } = await context.account();
  if (context.isDryRun(`upload the files queued in ${address.label} to ${baseUrl.origin}`)) return noResult;
  const api = await context.api();
  await assertKeyAccepted(api);
  const { rateLimiter } = api.transport.connection;
  rateLimiter.reserve = options.settings.reserveRequests;
  const metrics = request.metrics && (await createMetrics(context));
  const sources: MetricsSources = { client: undefined, run: undefined, rateLimiter };
  const server = await (request.metrics && metrics?.serve(request.metrics, sources));
  const client = await openQueue(context, address, 'work').catch(async (error) => {
    await server?.close();
    if (!signal.aborted) throw error;
    return undefined; // stopped before its store was up
  });
  if (!client) return noResult;
  const view = await createProgress(context, 'auto', { budget: () => rateLimiter.budget, isEndless: true, log });
  const run = await createWorkerRun(context, { client, roots, request, view, metrics });
  Object.assign(sources, { client, run });
  await warnAtStart(context, client, options.name);
  terminal.info(
    `${log ? '' : `${options.name} `}uploads from ${address.label} (${client.serverInfo.server}) to ${baseUrl.origin}; it reads files below ${roots.label}`,
  );
  const { result } = presentRun(context, run.outcomes(), {
    progress: view,
    log,
    isEndless: true,
    onOutcome: (outcome) => metrics?.onOutcome(outcome),
    close: async () => {
      await server?.close();
      const requeued = run.requeuedFiles;
      if (requeued > 0) terminal.info(`${pluralize(requeued, 'file')} returned to the queue`);
    },
  });
  return { result, failure: () => run.failure };
}

/** Warns if the queue is paused, another connected worker has the same name, or its store has a problem. */
async function warnAtStart(context: Context, client: QueueClient, name: string): Promise<void> {
  const { terminal } = context;
  const { isPaused, workers } = await client.withRetry(() => queueStatus(client));
  if (isPaused)
    terminal.warn(`the queue is paused; to resume it: ${queueCommand(context, client.address, 'retry --all')}`);
  if (workers?.includes(name)) terminal.warn(`another worker is named ${name}; give each its own --name`);
  await warnOfStore(context, client);
}

type WorkerRunParts = {
  client: QueueClient;
  roots: Roots;
  request: WorkerRequest;
  view: ProgressDisplay;
  metrics: WorkerMetrics | undefined;
};

async function createWorkerRun(context: Context, { client, roots, request, view, metrics }: WorkerRunParts) {
  const { terminal, clock, signal } = context;
  const { options } = request;
  const { rateLimit } = options.settings;
  const api = await context.api();
  const { profile } = await context.account();
  const receipts = await context.state.receipts().catch((error: Error) => {
    terminal.warn(`${error.message}: after a failover of the queue, files may be uploaded twice`);
    return undefined;
  });
  const media = (await context.mediaApi()).transport;
  return new WorkerRun(client, options, {
    api,
    profile,
    roots,
    ownFiles: context.ownFiles,
    receipts,
    signal,
    throttle: rateLimit === undefined ? undefined : createThrottle(clock, rateLimit),
    onEvent: (event) => view.show(withHint(event, terminal.redactor.profile)),
    onPlanned: (planned) => view.show(planned),
    onFailure: (code) => metrics?.onFailure(code),
    warn: (text) => terminal.warn(text),
    describe: (error) => [error.message, error.explanation.reason, hintOf(error)].filter(Boolean).join('; '),
    redact: (record) => terminal.redactor.redactRecord(record),
    openAddress: (url, mayFollow) => RangeSource.open(url, media, { signal, mayFollow }),
  });
}

/** Checks the API key before the first job. @throws CodedError (exit 4) if it is rejected */
async function assertKeyAccepted(api: Api): Promise<void> {
  await api
    .withObserver({ lane: 'bulk' })
    .assets.page({}, 1, 0)
    .catch((error: CodedError) => {
      // Start even if the key has no read permission, or the service is down.
      if (error.kind === 'unauthenticated') throw error;
    });
}

function parseLease(typed: string): number {
  const leaseMs = parseDuration('--lease', typed);
  if (leaseMs >= minLeaseMs) return leaseMs;
  throw usageError(`--lease does not accept '${typed}'`, `at least ${minLeaseMs / 1000}s, such as ${defaultLease}`);
}
