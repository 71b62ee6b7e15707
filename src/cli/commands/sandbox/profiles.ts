import { resolve } from 'node:path';
import { CodedError, usageError } from '../../../client/errors.ts';
import { isLoopback, noSuchProfile, parseBaseUrl } from '../../account/account.ts';
import type { Context } from '../../context.ts';
import { assertProfileName, type Profile } from '../../settings/profile-file.ts';
import { precedence } from '../../settings/setting-resolver.ts';
import { type RunningSandbox, readKeys } from './server.ts';

export type SandboxLocation = {
  dataDir: string;
  profile: string;
  /** True if another profile is for this directory, and this one does not exist. */
  isOfOther: boolean;
};

const defaultProfile = 'sandbox';

export const dataOption = ['--data-dir <dir>', 'data directory (that of the current profile)'] as const;

/**
 * Returns the sandbox that a command acts on: the one in the `--data-dir` folder, otherwise that of the current
 * profile, otherwise the default sandbox.
 *
 * @throws CodedError `usage` (exit 2) if --profile names a profile that is not for a sandbox
 */
export async function findSandbox(context: Context, data: string | undefined): Promise<SandboxLocation> {
  const { profiles } = await context.profiles.read();
  const location = await locateSandbox(context, data);
  const { value: requested, rank } = context.settings.resolver.resolve('profile');
  const isNamed = requested !== undefined && rank === precedence.flag && data === undefined;
  if (!isNamed || requested === defaultProfile || profiles[requested]?.sandbox) return location;
  if (!profiles[requested]) throw noSuchProfile(requested, profiles);
  throw usageError(
    `profile ${requested} is not for a sandbox on this machine`,
    'mediactl auth ls, to see which are; or --data-dir DIR',
    `it is for ${profiles[requested].baseUrl}`,
  );
}

/** Returns the location of a sandbox that might not exist yet. --profile can name a new profile. */
export async function locateSandbox(context: Context, data: string | undefined): Promise<SandboxLocation> {
  const { profiles } = await context.profiles.read();
  const { host, sandboxDir } = context;
  const { resolver, profileInUse: inUse } = context.settings;
  const { value: requested, rank } = resolver.resolve('profile');
  const named = rank === precedence.flag ? requested : undefined;
  const own = data === undefined && inUse !== undefined ? profiles[inUse]?.sandbox : undefined;
  const dataDir = own ?? (data === undefined ? sandboxDir : resolve(host.cwd, data));
  const known = Object.keys(profiles).filter((name) => profiles[name]?.sandbox === dataDir);
  const [profile = defaultProfile] = own && inUse ? [inUse] : named ? [named] : known;
  return { dataDir, profile, isOfOther: !profiles[profile] && known.length > 0 };
}

/** Checks the profile before a start. @throws CodedError if it is for a remote service */
export async function assertNotRemote({ profiles }: Context, name: string): Promise<void> {
  assertProfileName(name);
  const existing = (await profiles.read()).profiles[name];
  if (existing && !isLoopback(parseBaseUrl(existing.baseUrl)))
    throw new CodedError(`profile ${name} already exists, for ${existing.baseUrl}`, {
      code: 'usage',
      reason: 'the sandbox would overwrite its key',
      hint: 'mediactl sandbox start --profile OTHER',
    });
}

/** Creates or updates the profile. Returns true if it is current, which it becomes if none is. */
export async function saveProfile(
  context: Context,
  { dataDir, profile: name }: SandboxLocation,
  running: RunningSandbox,
): Promise<boolean> {
  const { all: key } = await readKeys(dataDir);
  context.terminal.redactor.add(key);
  let replacedUrl: string | undefined;
  const config = await context.profiles.update((current) => {
    const existing = current.profiles[name];
    if (existing && isForOtherSandbox(existing, dataDir, key)) replacedUrl = existing.baseUrl;
    // The same key means the same sandbox, so the workspace that the user chose is kept.
    const keepsWorkspace = existing?.key === key && existing.workspace !== undefined;
    const { workspace, workspace_name: workspaceName } = running;
    current.profiles[name] = {
      ...existing,
      baseUrl: running.url,
      key,
      keyStore: 'file',
      sandbox: dataDir,
      ...(!keepsWorkspace && { workspace, workspaceIsPrimary: true, workspaceName }),
    };
    // The port might have changed, so the URL of the sandbox's other profiles is updated.
    for (const other of Object.values(current.profiles)) if (other.sandbox === dataDir) other.baseUrl = running.url;
    current.current ??= name;
  });
  if (replacedUrl !== undefined) context.terminal.warn(`profile ${name} now uses this sandbox, not ${replacedUrl}`);
  return config.current === name;
}

/** Returns true if a profile is for another sandbox. Old profiles are compared by their key. */
const isForOtherSandbox = (known: Profile, dataDir: string, key: string) =>
  known.sandbox === undefined ? known.key !== key : known.sandbox !== dataDir;

export async function findProfiles(context: Context, dataDir: string): Promise<string[]> {
  const storedKeys = await readKeys(dataDir).catch(() => undefined); // missing or unreadable
  const keys: unknown[] = Object.values(storedKeys ?? {});
  const isOurs = ({ sandbox, key }: Profile) => sandbox === dataDir || (sandbox === undefined && keys.includes(key));
  const { profiles } = await context.profiles.read();
  return Object.keys(profiles).filter((name) => isOurs(profiles[name] as Profile));
}

/** Returns the port at which the profiles of a data folder expect its sandbox; undefined if there are none. */
export async function findPort(context: Context, dataDir: string): Promise<number | undefined> {
  const { profiles } = await context.profiles.read();
  const known = Object.values(profiles).find(({ sandbox }) => sandbox === dataDir);
  return known && (Number(parseBaseUrl(known.baseUrl).port) || undefined);
}

export async function forgetProfiles({ profiles }: Context, names: readonly string[]): Promise<void> {
  if (names.length > 0)
    await profiles.update((current) => {
      for (const name of names) delete current.profiles[name];
      if (current.current !== undefined && names.includes(current.current)) delete current.current;
    });
}
