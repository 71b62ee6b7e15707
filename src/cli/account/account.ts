import { exitCodes, MediactlError } from '../../client/errors.ts';
import type { NameOverrides } from '../../contract/assumptions.ts';
import type { Settings } from '../settings/settings.ts';
import { noBaseUrl, noProfile, noSuchProfile } from './account-errors.ts';
import { parseBaseUrl } from './base-url.ts';
import { readApiKey } from './keychain.ts';
import type { Profile, ProfileConfig } from './profile-file.ts';

/** Credentials and service of API calls, resolved from flags, variables and the profile. */
export type Account = {
  /** Name of the profile; `environment` if the key comes from MEDIACTL_API_KEY. */
  profile: string;
  baseUrl: URL;
  apiKey: string;
  workspace: string | undefined;
  names: NameOverrides;
};

/** The profile that the command uses, if any. */
export type ProfileInUse = {
  name: string | undefined;
  profile: Profile | undefined;
  /** Names of all profiles, for errors. */
  names: readonly string[];
};

/** Returns the requested or current profile. @throws MediactlError `no_such_profile` if the requested one does not exist */
export function profileInUse(
  { profile: requested, profileInUse: name }: Settings,
  { profiles }: ProfileConfig,
): ProfileInUse {
  const profile = name === undefined ? undefined : profiles[name];
  if (requested !== undefined && !profile) throw noSuchProfile(requested, profiles);
  return { name, profile, names: Object.keys(profiles) };
}

/** Returns the base URL of the service; needs no key. @throws MediactlError `no_base_url`, `no_profile` (4) */
export function baseUrlOf(settings: Settings, { profile, names }: ProfileInUse): URL {
  if (!profile && !settings.baseUrl) throw settings.apiKey ? noBaseUrl() : noProfile(names);
  return parseBaseUrl(settings.baseUrl ?? (profile as Profile).baseUrl);
}

/** Resolves the account with its key. @throws MediactlError `no_profile`, `no_key`, `foreign_base_url` … with exit code 4 */
export async function resolveAccount(
  settings: Settings,
  inUse: ProfileInUse,
  configDir: string,
): Promise<Account> {
  const baseUrl = baseUrlOf(settings, inUse);
  const { name = 'environment', profile } = inUse;
  return {
    profile: settings.apiKey ? 'environment' : name,
    baseUrl,
    apiKey: settings.apiKey ?? (await readProfileKey(inUse, baseUrl, configDir)),
    workspace: settings.workspace,
    names: profile?.names ?? {},
  };
}

/** Returns the key of a profile. Refuses if the base URL has another origin, so that keys never leak to other hosts. */
async function readProfileKey(
  { name, profile, names }: ProfileInUse,
  baseUrl: URL,
  configDir: string,
) {
  if (name === undefined || !profile) throw noProfile(names);
  const profileUrl = parseBaseUrl(profile.baseUrl);
  if (profileUrl.origin !== baseUrl.origin)
    throw new MediactlError(`the key of profile ${name} is not sent to ${baseUrl.origin}`, {
      code: 'foreign_base_url',
      exitCode: exitCodes.unauthenticated,
      reason: `it belongs to ${profileUrl.origin}`,
      hint: `set MEDIACTL_API_KEY, or mediactl auth login --profile NAME --base-url ${baseUrl.origin}`,
    });
  return readApiKey(profile, { configDir, profile: name });
}
