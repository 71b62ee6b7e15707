import { resolve } from 'node:path';
import { usageError } from '../../../client/errors.ts';
import { noSuchProfile } from '../../account/account-errors.ts';
import type { Context } from '../../context.ts';
import { precedence } from '../../settings/setting-resolver.ts';
import { readKeys } from './server.ts';

/** Data folder and profile of one of the user's sandboxes. */
export type SandboxLocation = { dataDir: string; profile: string };

/** Default profile for a sandbox. */
const defaultProfile = 'sandbox';

export const dataOption = ['--data <dir>', 'its folder (that of the profile in use)'] as const;

/**
 * Returns the sandbox that a command acts on: the one in the `--data` folder, otherwise that of the current
 * profile, otherwise the default sandbox.
 *
 * @throws MediactlError `usage` (exit 2) if --profile names a profile that is not for a sandbox
 */
export async function findSandbox(context: Context, data: string | undefined): Promise<SandboxLocation> {
  const { profiles } = await context.profiles.read();
  const location = await locateSandbox(context, data);
  const { value: requested, rank } = context.settings.resolver.resolve('profile');
  const isNamed = requested !== undefined && rank === precedence.flag && data === undefined;
  if (!isNamed || requested === defaultProfile || profiles[requested]?.sandbox) return location;
  if (!profiles[requested]) throw noSuchProfile(requested, profiles);
  throw usageError(
    `profile ${requested} is not for a sandbox of this machine`,
    'mediactl sandbox status, or --data DIR',
    `it is for ${profiles[requested].baseUrl}`,
  );
}

/** Returns the location of a sandbox that might not exist yet. --profile can name a new profile. */
export async function locateSandbox(context: Context, data: string | undefined): Promise<SandboxLocation> {
  const { profiles } = await context.profiles.read();
  const { settings, host, sandboxDir } = context;
  const { value: requested, rank } = settings.resolver.resolve('profile');
  const named = rank === precedence.flag ? requested : undefined;
  const { profileInUse: inUse } = settings;
  const own = data === undefined && inUse !== undefined ? profiles[inUse]?.sandbox : undefined;
  const dataDir = own ?? (data === undefined ? sandboxDir : resolve(host.cwd, data));
  const known = Object.keys(profiles).filter((name) => profiles[name]?.sandbox === dataDir);
  const [found = defaultProfile] = own && inUse ? [inUse] : named ? [named] : known;
  const keys = await readKeys(dataDir).catch(() => undefined); // missing or unreadable
  const key = known.includes(found) ? profiles[found]?.key : undefined;
  if (key === undefined || key === keys?.all) return { dataDir, profile: found };
  // A scoped profile (NAME-read, NAME-write) must never get the full key, so use its main profile.
  const main = found.replace(/-(read|write)$/, '');
  if (main !== found || (key !== keys?.read && key !== keys?.write)) return { dataDir, profile: main };
  const owner = known.find((name) => profiles[name]?.key === keys.all);
  return { dataDir, profile: owner ?? defaultProfile };
}
