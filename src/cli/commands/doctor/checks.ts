import { databasePath } from '../../../client/upload/store/database-file.ts';
import { pluralize } from '../../../contract/figures.ts';
import { asText } from '../../../contract/json-values.ts';
import { paths } from '../../../contract/paths.ts';
import { relativeTime } from '../../../contract/sanitize.ts';
import { resolveWorkspace } from '../../library/workspaces.ts';
import { type Check, failure, installationChecks } from './installation-checks.ts';

const maxSkewMs = 5 * 60_000;
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

  clock: async (_context, { serviceSkewMs }) => {
    if (serviceSkewMs === undefined) return 'not compared: the service did not tell its time';
    if (Math.abs(serviceSkewMs) > maxSkewMs)
      throw failure(
        `the clocks of this machine and the service differ by ${Math.round(Math.abs(serviceSkewMs) / 60_000)} minutes`,
        'clock_skew',
        'set the clock of this machine; until then, expiry times are wrong',
      );
    return `${(Math.abs(serviceSkewMs) / 1_000).toFixed(0)} s from the service`;
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
