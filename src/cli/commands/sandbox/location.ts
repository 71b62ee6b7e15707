import { resolve } from 'node:path';
import { usageError } from '../../../client/errors.ts';
import { noSuchProfile } from '../../account/account-errors.ts';
import type { Context } from '../../context.ts';
import { ranks } from '../../settings/origins.ts';
import { readKeys } from './server.ts';

/** A sandbox of this user: where it keeps everything, and the profile that it has. */
export type SandboxLocation = { dataDir: string; profile: string };

/** The profile of the sandbox that is asked for without a name. */
const usualProfile = 'sandbox';

export const dataOption = ['--data <dir>', 'its folder (that of the profile in use)'] as const;

/**
 * The sandbox that a person means: the one in the folder that --data names, else the one that the
 * profile in use was made for, else this user's own.
 *
 * @throws MediactlError exit 2 where --profile names one that is for no sandbox
 */
export async function findSandbox(
  context: Context,
  data: string | undefined,
): Promise<SandboxLocation> {
  const { profiles } = await context.profiles.read();
  const place = await sandboxToStart(context, data);
  const { value: asked, rank } = context.settings.origins.of('profile');
  const isNamed = asked !== undefined && rank === ranks.flag && data === undefined;
  if (!isNamed || asked === usualProfile || profiles[asked]?.sandbox) return place;
  if (!profiles[asked]) throw noSuchProfile(asked, profiles);
  throw usageError(
    `profile ${asked} is not for a sandbox of this machine`,
    'mediactl sandbox status, or --data DIR',
    `it is for ${profiles[asked].baseUrl}`,
  );
}

/** The location of a sandbox that need not be there yet: --profile may name the profile it is to get. */
export async function sandboxToStart(
  context: Context,
  data: string | undefined,
): Promise<SandboxLocation> {
  const { profiles } = await context.profiles.read();
  const { settings, host, sandboxDir } = context;
  const { value: asked, rank } = settings.origins.of('profile');
  const named = rank === ranks.flag ? asked : undefined;
  const { profileInUse: inUse } = settings;
  const own = data === undefined && inUse !== undefined ? profiles[inUse]?.sandbox : undefined;
  const dataDir = own ?? (data === undefined ? sandboxDir : resolve(host.cwd, data));
  const known = Object.keys(profiles).filter((name) => profiles[name]?.sandbox === dataDir);
  const [found = usualProfile] = own && inUse ? [inUse] : named ? [named] : known;
  const keys = await readKeys(dataDir).catch(() => undefined); // none, or none that can be read
  const key = known.includes(found) ? profiles[found]?.key : undefined;
  if (key === undefined || key === keys?.all) return { dataDir, profile: found };
  // A profile made by --scoped-profiles never gets the full key: its main profile does.
  const main = found.replace(/-(read|write)$/, '');
  if (main !== found || (key !== keys?.read && key !== keys?.write))
    return { dataDir, profile: main };
  const owner = known.find((name) => profiles[name]?.key === keys.all);
  return { dataDir, profile: owner ?? usualProfile };
}
