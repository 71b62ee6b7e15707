import { MediactlError } from '../../client/errors.ts';
import type { NameOverrides } from '../../contract/assumptions.ts';
import type { Settings } from '../settings/settings.ts';
import { noBaseUrl, noProfile, noSuchProfile } from './account-errors.ts';
import { parseBaseUrl } from './base-url.ts';
import { readApiKey } from './keychain.ts';
import type { Profile, ProfileConfig } from './profile-file.ts';

/** Credentials and service for API calls, resolved from flags, variables and the profile. */
export type Account = {
  /** Name of the profile; `environment` if the key comes from MEDIACTL_API_KEY. */
  profile: string;
  baseUrl: URL;
  apiKey: string;
  workspace: string | undefined;
  names: NameOverrides;
};

/** The profile that the command uses; name and profile are undefined if it uses none. */
export type ProfileInUse = {
  name: string | undefined;
  profile: Profile | undefined;
  /** Names of all profiles, for error messages. */
  names: readonly string[];
};

/**
 * Returns the requested profile, otherwise the current one.
 *
 * @throws MediactlError `no_such_profile` (exit 2) if the requested profile does not exist
 */
export function profileInUse(
  { profile: requested, profileInUse: name }: Settings,
  { profiles }: ProfileConfig,
): ProfileInUse {
  const profile = name === undefined ? undefined : profiles[name];
  if (requested !== undefined && !profile) throw noSuchProfile(requested, profiles);
  return { name, profile, names: Object.keys(profiles) };
}

/**
 * Returns the service's base URL without reading the key.
 *
 * @throws MediactlError `no_base_url` or `no_profile` (exit 4) if it is not configured
 */
export function baseUrlOf(settings: Settings, { profile, names }: ProfileInUse): URL {
  if (!profile && !settings.baseUrl) throw settings.apiKey ? noBaseUrl() : noProfile(names);
  return parseBaseUrl(settings.baseUrl ?? (profile as Profile).baseUrl);
}

/**
 * Resolves the account and reads its key.
 *
 * @throws MediactlError `no_profile`, `no_key`, `foreign_base_url` … (exit 4)
 */
export async function resolveAccount(settings: Settings, inUse: ProfileInUse, configDir: string): Promise<Account> {
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

/** Returns a profile's key, but only for the profile's own service, so that keys never leak to other hosts. */
async function readProfileKey({ name, profile, names }: ProfileInUse, baseUrl: URL, configDir: string) {
  if (name === undefined || !profile) throw noProfile(names);
  const profileUrl = parseBaseUrl(profile.baseUrl);
  if (profileUrl.origin !== baseUrl.origin)
    throw new MediactlError(`the key of profile ${name} is not sent to ${baseUrl.origin}`, {
      code: 'foreign_base_url',
      reason: `it belongs to ${profileUrl.origin}`,
      hint: `set MEDIACTL_API_KEY, or mediactl auth login --profile NAME --base-url ${baseUrl.origin}`,
    });
  return readApiKey(profile, { configDir, profile: name });
}
