import { exitCodes, MediactlError } from '../../../client/errors.ts';
import { isLoopback, parseBaseUrl } from '../../account/base-url.ts';
import { assertProfileName, type Profile } from '../../account/profile-file.ts';
import type { Context } from '../../context.ts';
import type { SandboxLocation } from './location.ts';
import { type Running, readKeys } from './server.ts';

/** The profiles of a sandbox: its own, and where asked for, those whose keys may do less. */
export const profileNames = ({ profile }: SandboxLocation, withScoped: boolean) =>
  withScoped ? [profile, `${profile}-read`, `${profile}-write`] : [profile];

/** @throws MediactlError before anything starts, where one of the profiles is another service's */
export async function assertProfilesAreOurs(
  { profiles }: Context,
  names: readonly string[],
): Promise<void> {
  const { profiles: kept } = await profiles.read();
  for (const name of names) {
    assertProfileName(name);
    const taken = kept[name];
    if (taken && !isLoopback(parseBaseUrl(taken.baseUrl))) throw profileTaken(name, taken.baseUrl);
  }
}

/** Makes or mends them; the first is made current where there is no other. True where it is. */
export async function keepProfiles(
  context: Context,
  { dataDir }: SandboxLocation,
  running: Running,
  names: readonly string[],
): Promise<boolean> {
  const { all, read, write } = await readKeys(dataDir);
  const replaced: string[] = [];
  const config = await context.profiles.update((current) => {
    for (const [at, name] of names.entries()) {
      const key = [all, read, write][at] as string;
      context.terminal.redactor.add(key);
      const known = current.profiles[name];
      if (known && isOther(known, dataDir, key))
        replaced.push(
          `profile ${name} is for this sandbox now; it was for the one at ${known.baseUrl}`,
        );
      // A profile with this key was made for this sandbox: its workspace holds.
      const isKept = known?.key === key && known.workspace !== undefined;
      const workspace = isKept ? known.workspace : running.workspace;
      const workspaceName = isKept ? known.workspaceName : running.workspace_name;
      current.profiles[name] = {
        ...known,
        ...{ baseUrl: running.url, key, keyStore: 'file', sandbox: dataDir },
        ...(workspace !== undefined && { workspace }),
        ...(workspaceName !== undefined && { workspaceName }),
      };
    }
    // The service may have another port now: its other profiles keep their keys and follow it.
    for (const other of Object.values(current.profiles))
      if (other.sandbox === dataDir) other.baseUrl = running.url;
    current.current ??= names[0] as string;
  });
  for (const warning of replaced) context.terminal.warn(warning);
  return config.current === names[0];
}

/** Older versions did not keep the folder. */
const isOther = (known: Profile, dataDir: string, key: string) =>
  known.sandbox === undefined ? known.key !== key : known.sandbox !== dataDir;

/** The profiles of the sandbox in a folder. */
export async function profilesAt(context: Context, dataDir: string): Promise<string[]> {
  const kept = await readKeys(dataDir).catch(() => undefined); // none, or none that can be read
  const keys: unknown[] = Object.values(kept ?? {});
  const isOurs = ({ sandbox, key }: Profile) =>
    sandbox === dataDir || (sandbox === undefined && keys.includes(key));
  const { profiles } = await context.profiles.read();
  return Object.keys(profiles).filter((name) => isOurs(profiles[name] as Profile));
}

export async function forgetProfiles(
  { profiles }: Context,
  names: readonly string[],
): Promise<void> {
  if (names.length > 0)
    await profiles.update((current) => {
      for (const name of names) delete current.profiles[name];
      if (current.current !== undefined && names.includes(current.current)) delete current.current;
    });
}

const profileTaken = (name: string, baseUrl: string) =>
  new MediactlError(`there is a profile ${name} already, for ${baseUrl}`, {
    code: 'profile_taken',
    exitCode: exitCodes.usage,
    reason: 'the sandbox would overwrite its key',
    hint: `mediactl auth rename ${name} NAME, then mediactl sandbox start`,
  });
