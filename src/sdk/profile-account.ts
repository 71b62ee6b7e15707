import { join } from 'node:path';
import { profileInUse, resolveAccount } from '../cli/account/account.ts';
import { Keychain } from '../cli/account/keychain.ts';
import { ProfileFile } from '../cli/settings/profile-file.ts';
import type { Environment } from '../cli/settings/setting-resolver.ts';
import { resolveSettings } from '../cli/settings/settings.ts';
import { findUserFolders } from '../cli/settings/user-folders.ts';
import { readProxySettings } from '../client/http/proxy.ts';

/**
 * Returns the account of a profile as the command line finds it, with its keychain and its directories. Without a name,
 * variables such as MEDIACTL_API_KEY count, too.
 *
 * @throws CodedError `not_logged_in`, `keychain_unavailable` …
 */
export async function readProfileAccount(name: string | undefined, signal: AbortSignal) {
  const environment: Environment = { ...process.env };
  const { MEDIACTL_CONFIG_DIR, MEDIACTL_STATE_DIR } = environment;
  const folders = findUserFolders();
  const profiles = new ProfileFile(MEDIACTL_CONFIG_DIR || folders.config);
  const config = await profiles.read();
  const settings = resolveSettings(
    name === undefined ? {} : { profile: name },
    { ...(name === undefined && environment), MEDIACTL_PROJECT_FILE: 'none' },
    { cwd: '', uid: undefined, warn: () => {} },
    config,
  );
  const inUse = profileInUse(settings, config);
  const keychainProgram = join(__dirname, 'keychain.cjs');
  const keychain = new Keychain({ processes: process, keychainProgram, environment, signal }, profiles.directory);
  const { baseUrl, apiKey, workspace, names, profile } = await resolveAccount(settings, inUse, keychain);
  return {
    options: {
      ...{ baseUrl, apiKey, workspace, fieldNames: names, history: true },
      primaryWorkspace: settings.primaryWorkspace,
      stateDir: MEDIACTL_STATE_DIR || folders.state,
      proxy: readProxySettings(environment),
    },
    profile,
    /** True if the workspace was the primary one when it was selected. */
    wasPrimary: inUse.profile?.workspace === workspace && inUse.profile?.workspaceIsPrimary === true,
  };
}
