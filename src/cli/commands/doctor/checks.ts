import { rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ErrorCode } from '../../../client/error-table.ts';
import { CodedError } from '../../../client/errors.ts';
import { loadPackage, openSqlite } from '../../../client/load-package.ts';
import { databasePath } from '../../../client/state/database-file.ts';
import { makeStateFolder } from '../../../client/state-files.ts';
import { assumptions } from '../../../contract/assumptions.ts';
import { formatBytes, pluralize } from '../../../shared/figures.ts';
import { asText } from '../../../shared/json-values.ts';
import { isWindows } from '../../../shared/platform.ts';
import { escapeControls, relativeTime } from '../../../shared/sanitize.ts';
import { readApiKey } from '../../account/account.ts';
import type { Context } from '../../context.ts';
import { resolveWorkspace } from '../../library/workspaces.ts';
import { unknownVariables } from '../../settings/variables.ts';
import { sendReadTrial } from './service/probe.ts';

const minFreeBytes = 64 * 1024 * 1024;

const installationChecks: Record<string, Check> = {
  version: async ({ host }) => `mediactl ${host.version}`,

  config_file: async ({ profiles }) => {
    const found = await stat(profiles.path).catch(() => undefined);
    if (!found) return `none yet; it will be ${profiles.path}`;
    const { profiles: all } = await profiles.read();
    if (!isWindows && (found.mode & 0o077) !== 0)
      throw failure(
        'other users can read the config file',
        'insecure_config',
        `chmod 600 '${profiles.path}'`,
        `its mode is ${(found.mode & 0o777).toString(8)}, and it may contain API keys`,
      );
    return `${profiles.path}, ${pluralize(Object.keys(all).length, 'profile')}`;
  },

  environment: async ({ host }) => {
    const unknown = unknownVariables(host.environment).map(({ name }) => name);
    return unknown.length > 0 ? `not known: ${unknown.join(', ')}` : 'each MEDIACTL_ variable is known';
  },

  native_parts: async () => {
    (await openSqlite(':memory:')).close();
    await loadPackage('jq-web', () => import('../../output/jq.lazy.ts'));
    const effects = {
      'native BLAKE3 (checksums are slower)': () => import('@napi-rs/blake-hash'),
      'keychain (keys are stored in a file)': () => import('@napi-rs/keyring'),
    };
    const missing: string[] = [];
    for (const [name, load] of Object.entries(effects)) await load().catch(() => missing.push(name));
    return missing.length === 0 ? 'complete' : `without ${missing.join(' and ')}`;
  },

  keychain: async (context) => {
    const { name = '', profile } = await context.profileInUse();
    if (profile?.keyStore === 'keychain' && !context.settings.apiKey) {
      await readApiKey(name, profile, context.keychain);
      return `holds the key of profile ${escapeControls(name)}`;
    }
    if (context.host.environment.MEDIACTL_KEY_STORE === 'file') return 'not used: MEDIACTL_KEY_STORE is file';
    const problem = await context.keychain.probe();
    return problem ? `none: ${problem.reason}; keys are stored in the config file` : 'available';
  },

  state_folder: async (context) => {
    const { stateDir, host } = context;
    await makeStateFolder(stateDir);
    const path = join(stateDir, `doctor-${host.processes.pid}`);
    // 4 KiB is the size of a database page.
    const written = writeFile(path, Buffer.alloc(4096), { mode: 0o600 }).finally(() => rm(path, { force: true }));
    await written.catch(({ message }: Error) => {
      throw failure('cannot write to the state folder', 'state_unusable', 'set MEDIACTL_STATE_DIR', message);
    });
    return stateDir;
  },

  disk: async ({ stateDir }) => {
    const { bavail, bsize } = await statfs(stateDir);
    const free = `${formatBytes(bavail * bsize)} free in ${stateDir}`;
    if (bavail * bsize < minFreeBytes)
      throw failure('the disk of the state folder is nearly full', 'state_unusable', 'free some disk space', free);
    return free;
  },
};

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
    const response = await sendReadTrial(transport);
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

  assumptions: async (context) => {
    const { settled } = (await context.profileInUse()).profile ?? {};
    if (!settled) return 'not checked: mediactl doctor --service --learn';
    const tried = Object.entries(settled.holds);
    const failing = tried.flatMap(([id, isHeld]) => (isHeld ? [] : [id]));
    const when = relativeTime(settled.at, context.clock.now());
    const others = failing.length > 0 ? `, not ${failing.join(', ')}` : '';
    return `${tried.length - failing.length} of ${assumptions.length} hold${others}; checked ${when}`;
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
  assumptions: 'account',
  rate_limit: 'service',
  workspace: 'service',
};

/** Facts that a check leaves for later ones: how far this machine's clock is ahead of the service's, in milliseconds. */
type Facts = { serviceSkewMs?: number };

/** Runs one check and returns its finding. Throws an error if the check finds a problem. */
type Check = (context: Context, facts: Facts) => Promise<string>;

const failure = (problem: string, code: ErrorCode, hint: string, reason?: string) =>
  new CodedError(problem, { code, hint, reason });
