import { rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ErrorCode } from '../../../client/error-table.ts';
import { CodedError } from '../../../client/errors.ts';
import { loadPackage, openSqlite } from '../../../client/lock.ts';
import { makeStateFolder } from '../../../client/state-files.ts';
import { formatBytes, pluralize } from '../../../contract/figures.ts';
import { isWindows } from '../../../contract/platform.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { readApiKey } from '../../account/account.ts';
import type { Context } from '../../context.ts';

/** Facts that a check leaves for later ones: how far this machine's clock is ahead of the service's, in milliseconds. */
type Facts = { serviceSkewMs?: number };

/** Runs one check and returns its finding. Throws an error if the check finds a problem. */
export type Check = (context: Context, facts: Facts) => Promise<string>;

export const failure = (problem: string, code: ErrorCode, hint: string, reason?: string) =>
  new CodedError(problem, { code, hint, reason });

const minFreeBytes = 64 * 1024 * 1024;

/** Checks of what is installed and stored on this machine. */
export const installationChecks: Record<string, Check> = {
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
