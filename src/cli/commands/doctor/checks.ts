import { type JobState, parseFailure, queueStatus } from '../../../client/queue/jobs.ts';
import type { QueueClient } from '../../../client/queue/queue-client.ts';
import { databasePath } from '../../../client/upload/store/database-file.ts';
import { pluralize } from '../../../contract/figures.ts';
import { asObject, asText } from '../../../contract/json-values.ts';
import { paths } from '../../../contract/paths.ts';
import { relativeTime } from '../../../contract/sanitize.ts';
import { resolveWorkspace } from '../../library/workspaces.ts';
import { maxStoreSkewMs } from '../queue/queue.ts';
import { type Check, failure, installationChecks } from './installation-checks.ts';

const maxSkewMs = 5 * 60_000;
/** Number of jobs whose errors are read to say why a queue stands still. */
const sampleSize = 50;

/** Reads the first jobs in some states of each root. */
async function sampleJobs(client: QueueClient, ...states: JobState[]) {
  const pages = (await client.queues()).map((queue) =>
    client.withRetry(() => queue.getJobs([...states], 0, sampleSize - 1, true)),
  );
  return (await Promise.all(pages)).flat();
}

/** Returns an error message of a job that waits, usually that credits or storage are used up. */
async function pauseReason(client: QueueClient): Promise<string> {
  const errors = (await sampleJobs(client, 'waiting')).map(({ progress }) => asObject(progress).error);
  const first = errors.find(Boolean);
  return first ? parseFailure(JSON.stringify(first)).message : 'another program may have paused it';
}

/** Formats the most common errors of jobs that failed or are to be retried; empty if there are none. */
async function commonErrors(client: QueueClient): Promise<string> {
  const counts = new Map<string, number>();
  for (const { progress, failedReason } of await sampleJobs(client, 'delayed', 'failed')) {
    const { error } = asObject(progress);
    const { code } = parseFailure(error ? JSON.stringify(error) : (failedReason ?? '')).explanation;
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  const common = [...counts].sort(([, a], [, b]) => b - a).slice(0, 3);
  return common.length === 0 ? '' : `; errors: ${common.map(([code, count]) => `${code} (${count})`).join(', ')}`;
}

/** Maps check names to checks. A check comes after the check that it depends on. */
export const checks: Record<string, Check> = {
  ...installationChecks,

  receipts: async (context) => {
    const receipts = await context.state.receiptsIfAny('check');
    if (!receipts) return 'none yet: nothing was uploaded from this machine';
    return `${pluralize(await receipts.count(), 'receipt')} in ${databasePath(context.stateDir)}`;
  },

  account: async (context) => {
    const { profile, baseUrl } = await context.account();
    return `profile ${profile} at ${baseUrl.origin}`;
  },

  service: async (context, facts) => {
    const { transport } = await context.api();
    const startedAt = context.clock.now();
    const response = await transport.send({
      method: 'GET',
      url: paths.collection('assets'),
      query: { limit: 1 },
      purpose: { action: 'read assets', scope: 'Read Assets' },
    });
    const serviceNow = Date.parse(response.headers.date ?? '');
    if (!Number.isNaN(serviceNow)) facts.serviceSkewMs = response.receivedAt - serviceNow;
    return `accepts the key, responds in ${context.clock.now() - startedAt} ms`;
  },

  rate_limit: async (context) => {
    const { rateLimit } = (await context.api()).transport.connection;
    if (!rateLimit) return 'the service does not report one';
    const resets = relativeTime(new Date(rateLimit.resetAt).toISOString(), context.clock.now());
    return `${rateLimit.remaining} of ${rateLimit.limit} requests remaining, resets ${resets}`;
  },

  workspace: async (context) => {
    const { workspace } = await context.account();
    if (!workspace) return 'none selected: mediactl workspaces use NAME';
    const { name, uid } = await resolveWorkspace(context, await context.api(), workspace);
    return `${asText(name) ?? ''} ${uid}`.trim();
  },

  field_names: async (context) => {
    const { names } = await context.account();
    const set = Object.entries(names).map(([key, name]) => `${key}=${name}`);
    return set.length > 0 ? set.join(', ') : 'defaults (mediactl help assumptions)';
  },

  queue: async (context, facts) => {
    const { queue } = context.settings;
    if (!queue) return 'none configured; uploads run on this machine only';
    const client = await context.openQueue(queue, 'read');
    const { serverInfo } = client;
    await client.checkWriteAccess();
    facts.storeSkewMs = await client.store.skewOf(context.clock);
    const { isPaused, unfinished, failed, workers, unserved } = await client.withRetry(() => queueStatus(client));
    if (isPaused)
      throw failure(
        `the queue ${queue.label} is paused`,
        'queue_paused',
        'mediactl uploads retry --all --queue',
        await pauseReason(client),
      );
    const connected = workers === undefined ? '' : `, ${pluralize(workers.length, 'worker')} connected`;
    const errors = await commonErrors(client);
    const warnings = [
      serverInfo.durabilityWarning,
      unfinished > 0 &&
        workers?.length === 0 &&
        'no worker takes files: none is running, or each is paused (see its log)',
      ...[...(workers?.length === 0 ? [] : unserved)].map(
        ([root, count]) => `no connected worker has the root ${root} of ${pluralize(count, 'waiting file')}`,
      ),
    ].filter(Boolean);
    const warning = warnings.length > 0 ? `; warning: ${warnings.join('; ')}` : '';
    return `${queue.label} (${serverInfo.server}): ${pluralize(unfinished, 'upload')} remaining, ${failed} failed${connected}${errors}${warning}`;
  },

  clock: async (_context, { serviceSkewMs, storeSkewMs }) => {
    const others = { service: serviceSkewMs, queue: storeSkewMs };
    const compared = Object.entries(others).flatMap(([name, skewMs]) =>
      skewMs === undefined ? [] : [{ name, skewMs }],
    );
    if (compared.length === 0) return 'not compared: neither the service nor a queue told its time';
    if (serviceSkewMs !== undefined && Math.abs(serviceSkewMs) > maxSkewMs)
      throw failure(
        `the clocks of this machine and the service differ by ${Math.round(Math.abs(serviceSkewMs) / 60_000)} minutes`,
        'clock_skew',
        'set the clock of this machine; until then, expiry times are wrong',
      );
    if (storeSkewMs !== undefined && Math.abs(storeSkewMs) > maxStoreSkewMs)
      throw failure(
        `the clocks of this machine and the queue’s store differ by ${(Math.abs(storeSkewMs) / 1_000).toFixed(1)} s`,
        'clock_skew',
        'synchronize both clocks with NTP; until then, files are retried too early or too late',
      );
    return compared.map(({ name, skewMs }) => `${(Math.abs(skewMs) / 1_000).toFixed(0)} s from the ${name}`).join(', ');
  },

  uploads: async (context) => {
    const entries = (await (await context.state.uploadsIfAny())?.list()) ?? [];
    return entries.length === 0 ? 'none unfinished' : `${entries.length} unfinished: mediactl uploads ls`;
  },
};

/** Maps a check to its prerequisite. If that failed, the check is skipped, because it would repeat the problem. */
export const dependsOn: Record<string, string> = {
  disk: 'state_folder',
  receipts: 'state_folder',
  uploads: 'receipts',
  service: 'account',
  field_names: 'account',
  rate_limit: 'service',
  workspace: 'service',
};
