import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ErrorCode } from '../../../client/error-table.ts';
import { MediactlError } from '../../../client/errors.ts';
import { countJobs, listJobs, parseFailure } from '../../../client/queue/jobs.ts';
import type { QueueClient, QueueJob } from '../../../client/queue/queue-client.ts';
import { makeStateFolder } from '../../../client/state-files.ts';
import { databasePath } from '../../../client/upload/store/schema.ts';
import { isCorrupt } from '../../../client/upload/store/upload-entry.ts';
import { pluralize } from '../../../contract/figures.ts';
import { asObject, asText } from '../../../contract/json-values.ts';
import { paths } from '../../../contract/paths.ts';
import { relativeTime } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { resolveWorkspace } from '../../library/workspaces.ts';

/** Runs one check and returns its finding. Throws an error if the check finds a problem. */
type Check = (context: Context) => Promise<string>;

const maxSkewMs = 5 * 60_000;

const failure = (problem: string, code: ErrorCode, hint: string, reason?: string) =>
  new MediactlError(problem, { code, hint, reason });

/** Returns the first waiting job's error message, usually that credits or storage are used up. */
async function pauseReason(client: QueueClient): Promise<string> {
  const { value: jobs } = await listJobs(client, 'waiting').next();
  const errors = (jobs ?? []).map(({ progress }: QueueJob) => asObject(progress).error);
  const first = errors.find(Boolean);
  return first ? parseFailure(JSON.stringify(first)).message : 'another program may have paused it';
}

/** Maps check names to checks. A check comes after the check that it depends on. */
export const checks: Record<string, Check> = {
  version: async ({ host }) => `mediactl ${host.version}`,

  'config file': async ({ profiles }) => {
    const found = await stat(profiles.path).catch(() => undefined);
    if (!found) return `none yet; it will be ${profiles.path}`;
    const { profiles: all } = await profiles.read();
    if ((found.mode & 0o077) !== 0)
      throw failure(
        'other users can read the config file',
        'config_mode',
        `chmod 600 '${profiles.path}'`,
        `its mode is ${(found.mode & 0o777).toString(8)}, and it may contain API keys`,
      );
    return `${profiles.path}, ${pluralize(Object.keys(all).length, 'profile')}`;
  },

  'state folder': async (context) => {
    const { stateDir, host } = context;
    await makeStateFolder(stateDir);
    const path = join(stateDir, `doctor-${host.processes.pid}`);
    // 4 KiB is the size of a database page.
    const written = writeFile(path, Buffer.alloc(4096), { mode: 0o600 }).finally(() => rm(path, { force: true }));
    await written.catch(({ message }: Error) => {
      throw failure('cannot write to the state folder', 'state_folder', 'set MEDIACTL_STATE_DIR', message);
    });
    return stateDir;
  },

  receipts: async (context) => {
    const receipts = await context.receiptsIfAny('check');
    if (!receipts) return 'none yet: nothing was uploaded from this machine';
    return `${pluralize(await receipts.count(), 'receipt')} in ${databasePath(context.stateDir)}`;
  },

  account: async (context) => {
    const { profile, baseUrl } = await context.account();
    return `profile ${profile} at ${baseUrl.origin}`;
  },

  service: async (context) => {
    const { transport } = await context.api();
    const startedAt = context.clock.now();
    const response = await transport.send({
      method: 'GET',
      url: paths.collection('assets'),
      query: { limit: 1 },
      purpose: { action: 'read assets', scope: 'Read Assets' },
    });
    const skewMs = Date.parse(response.headers.date ?? '') - response.receivedAt;
    if (Math.abs(skewMs) > maxSkewMs)
      throw failure(
        `the clocks of this machine and the service differ by ${Math.round(Math.abs(skewMs) / 60_000)} minutes`,
        'clock_skew',
        'set the clock of this machine; until then, expiry times are wrong',
      );
    return `accepts the key, responds in ${context.clock.now() - startedAt} ms`;
  },

  'rate limit': async (context) => {
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

  names: async (context) => {
    const { names } = await context.account();
    const set = Object.entries(names).map(([key, name]) => `${key}=${name}`);
    return set.length > 0 ? set.join(', ') : 'defaults; mediactl doctor --learn looks them up';
  },

  queue: async (context) => {
    const { queue } = context.settings;
    if (!queue) return 'none configured; uploads run on this machine only';
    const fleet = await context.openQueue(queue, 'read');
    const { storeInfo } = fleet;
    await fleet.checkWriteAccess();
    if (await fleet.queue.isPaused())
      throw failure(
        `the queue ${queue.label} is paused`,
        'queue_paused',
        'mediactl uploads retry --all --queue',
        await pauseReason(fleet),
      );
    const { unfinished, failed, workers } = await countJobs(fleet);
    const connected = workers === undefined ? '' : `, ${pluralize(workers, 'worker')} connected`;
    const found = `${queue.label} (${storeInfo.server}): ${pluralize(unfinished, 'upload')} remaining, ${failed} failed${connected}`;
    return storeInfo.durabilityWarning ? `${found}; warning: ${storeInfo.durabilityWarning}` : found;
  },

  uploads: async (context) => {
    const entries = (await (await context.uploadStoreIfAny())?.list()) ?? [];
    const corrupt = entries.filter(isCorrupt).length;
    if (corrupt > 0)
      throw failure(`${pluralize(corrupt, 'stored upload')} cannot be read`, 'journal_corrupt', 'mediactl uploads ls');
    return entries.length === 0 ? 'none unfinished' : `${entries.length} unfinished: mediactl uploads ls`;
  },
};

/** Maps a check to its prerequisite. If that failed, the check is skipped, because it would repeat the problem. */
export const dependsOn: Record<string, string> = {
  receipts: 'state folder',
  uploads: 'receipts',
  service: 'account',
  names: 'account',
  'rate limit': 'service',
  workspace: 'service',
};
