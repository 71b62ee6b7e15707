import { CodedError, usageError } from '../../client/errors.ts';
import { isApiKey } from '../../client/http/transport.ts';
import type { NameOverrides } from '../../contract/assumptions.ts';
import { apiPrefix } from '../../contract/paths.ts';
import type { Profile, ProfileConfig } from '../settings/profile-file.ts';
import type { Settings } from '../settings/settings.ts';
import type { Keychain } from './keychain.ts';

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
export type ProfileInUse = { name: string | undefined; profile: Profile | undefined; names: readonly string[] };

/** Notice for a user who has just created the first profile. */
export const firstRunNotice = 'for Tab completion: mediactl completion install';

export const isWithoutProfiles = ({ profiles }: ProfileConfig) => Object.keys(profiles).length === 0;

/** @throws CodedError `not_logged_in` (exit 4) if the requested profile does not exist */
export function profileInUse(settings: Settings, { profiles }: ProfileConfig): ProfileInUse {
  const { profile: requested, profileInUse: name } = settings;
  const profile = name === undefined ? undefined : profiles[name];
  if (requested !== undefined && !profile) throw noSuchProfile(requested, profiles);
  return { name, profile, names: Object.keys(profiles) };
}

/** Returns the service's base URL without reading the key. @throws CodedError `not_logged_in` (exit 4) */
export function baseUrlOf(settings: Settings, { profile, names }: ProfileInUse): URL {
  if (!profile && !settings.baseUrl) throw settings.apiKey ? noBaseUrl() : noProfile(names);
  return parseBaseUrl(settings.baseUrl ?? (profile as Profile).baseUrl);
}

/** Resolves the account and reads its key. @throws CodedError `not_logged_in`, `key_origin_mismatch` … (exit 4) */
export async function resolveAccount(settings: Settings, inUse: ProfileInUse, keychain: Keychain): Promise<Account> {
  const baseUrl = baseUrlOf(settings, inUse);
  const { name = 'environment', profile } = inUse;
  const { apiKey, apiKeyBaseUrl } = settings;
  const hint = `set MEDIACTL_BASE_URL to ${baseUrl.origin}`;
  if (apiKey) assertOwnService('the key in MEDIACTL_API_KEY', apiKeyBaseUrl, baseUrl, hint);
  return {
    profile: apiKey ? 'environment' : name,
    baseUrl,
    apiKey: apiKey ?? (await readProfileKey(inUse, baseUrl, keychain)),
    workspace: settings.workspace,
    names: { ...profile?.names, ...settings.fieldNames },
  };
}

/**
 * Asserts that a key is used with its own service only. An option could name another one by mistake, or a file could:
 * `upload *.mov` passes the name of a file `--base-url=host.mov` as an option.
 */
function assertOwnService(key: string, ownUrl: string | undefined, { origin }: URL, hint: string): void {
  const own = ownUrl === undefined ? origin : parseBaseUrl(ownUrl).origin;
  if (own === origin) return;
  const reason = `it belongs to ${own}`;
  throw new CodedError(`${key} cannot be used with ${origin}`, { code: 'key_origin_mismatch', reason, hint });
}

/** Returns a profile's key, but only for the profile's own service. */
async function readProfileKey({ name, profile, names }: ProfileInUse, baseUrl: URL, keychain: Keychain) {
  if (name === undefined || !profile) throw noProfile(names);
  const hint = `mediactl auth login --profile NAME --base-url ${baseUrl.origin}, or set MEDIACTL_API_KEY and MEDIACTL_BASE_URL`;
  assertOwnService(`the key of profile ${name}`, profile.baseUrl, baseUrl, hint);
  return readApiKey(name, profile, keychain);
}

/** @throws CodedError `usage` (exit 2) if the key is empty or contains anything but visible ASCII characters */
export function assertKey(key: string): void {
  if (isApiKey(key)) return;
  throw new CodedError(key === '' ? 'no API key given' : 'invalid API key', {
    code: 'usage',
    hint: 'create one in your organization’s settings, under API keys',
    reason: key === '' ? 'the input is empty' : 'an API key contains only printable ASCII characters, without spaces',
  });
}

/** @throws CodedError `not_logged_in` or `keychain_unavailable` (exit 4) if the profile's key cannot be read */
export async function readApiKey(name: string, { keyStore, key }: Profile, keychain: Keychain): Promise<string> {
  if (keyStore === 'keychain') return keychain.read(name);
  if (key) return key;
  const hint = `mediactl auth login --profile ${name}`;
  throw new CodedError(`profile ${name} has no API key`, { code: 'not_logged_in', hint });
}

/** @param names existing profiles, none of which is current */
const noProfile = (names: readonly string[]) =>
  new CodedError(names.length > 0 ? 'no profile selected' : 'no profile and no API key', {
    code: 'not_logged_in',
    reason: names.length > 0 ? `existing profiles: ${names.join(', ')}` : 'no service is configured',
    hint:
      names.length > 0
        ? 'mediactl auth switch NAME, or --profile NAME'
        : 'mediactl auth login, or mediactl sandbox start, to try a local service, or set MEDIACTL_API_KEY and MEDIACTL_BASE_URL',
  });

const noBaseUrl = () =>
  new CodedError('no base URL', {
    code: 'not_logged_in',
    reason: 'MEDIACTL_API_KEY is set, but no base URL',
    hint: 'set MEDIACTL_BASE_URL, for example to https://media.example.com',
  });

export const noSuchProfile = (name: string, profiles: Record<string, Profile>) =>
  new CodedError(`profile ${name} does not exist`, {
    code: 'not_logged_in',
    reason: `existing profiles: ${Object.keys(profiles).join(', ') || 'none'}`,
    hint: `mediactl auth ls, or mediactl auth login --profile ${name}`,
  });

/** Parses the service's base URL from user input. Removes the API's path prefix, since users paste whole URLs. */
export function parseBaseUrl(text: string): URL {
  const hint = 'use the base URL of the service, such as https://media.example.com';
  if (!canBeHost(text))
    throw usageError('this is no base URL', hint, 'it is neither a URL nor the name of a host; it was sent nowhere');
  let url: URL;
  try {
    url = new URL(/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`);
  } catch {
    throw usageError(`invalid base URL: ${text}`, hint);
  }
  if (!['http:', 'https:'].includes(url.protocol))
    throw usageError(`invalid base URL: ${text}`, hint, 'only http and https are supported');
  if (url.username || url.password) throw usageError('a base URL cannot contain a user name or password', hint);
  const path = url.pathname.replace(/\/+$/, '');
  if (path !== '' && path !== apiPrefix)
    throw usageError(`invalid base URL: ${text}`, hint, `it contains a path: ${path}`);
  if (url.search || url.hash) throw usageError(`invalid base URL: ${text}`, hint, 'it contains a query or a fragment');
  return new URL(url.origin);
}

/**
 * Returns false for a text without a scheme that is no host either, such as an API key, which must not be looked up. It
 * is not repeated in an error.
 */
const canBeHost = (text: string) =>
  /^[a-z]+:\/\//i.test(text) ||
  /^(?:localhost|\[[\da-f:]+\]|[\w-]+(?=:\d+)|(?:\d{1,3}\.){3}\d{1,3}|(?:[a-z\d-]+\.)+[a-z]{2,})(?::\d+)?(?:[/?#]|$)/i.test(
    text,
  );

export const isLoopback = ({ hostname }: URL) => ['localhost', '127.0.0.1', '[::1]'].includes(hostname);

/** Returns true for plain HTTP to another machine, where the key could be intercepted. Loopback is safe. */
export const isRemotePlaintext = (url: URL) => url.protocol === 'http:' && !isLoopback(url);
