import type { Api } from '../api/api.ts';
import type { Context } from '../context.ts';
import { exitCodes, MediactlError, usageError } from '../errors.ts';
import { textIn } from '../wire/reading.ts';
import type { Workspace } from '../wire/types.ts';
import { isSameUid, isUid } from '../wire/uid.ts';
import { onlyOne } from './names.ts';

/** A workspace by uid or exact name. Costs a request: there is no detail endpoint (§4). */
export async function resolveWorkspace(api: Api, uidOrName: string): Promise<Workspace> {
  const isIt = (uid: string) => isUid(uidOrName) && isSameUid(uid, uidOrName);
  const found = (await allOf(api)).filter(
    ({ uid, name }) => isIt(uid) || textIn(name) === uidOrName,
  );
  const [exact] = found.filter(({ uid }) => isIt(uid));
  if (exact) return exact;
  if (found.length === 0)
    throw new MediactlError(`no workspace is called ${uidOrName}`, {
      code: 'not_found',
      exitCode: exitCodes.notFound,
      hint: 'mediactl workspaces ls',
    });
  return onlyOne('workspace', uidOrName, found);
}

async function allOf(api: Api): Promise<Workspace[]> {
  const all: Workspace[] = [];
  for await (const page of api.workspaces.list()) all.push(...page);
  return all;
}

/** The workspace that the service calls primary (A10), or the only one. */
export const primaryOf = (workspaces: readonly Workspace[]): Workspace | undefined =>
  workspaces.find(({ is_primary }) => is_primary === true) ??
  (workspaces.length === 1 ? workspaces[0] : undefined);

/**
 * The uid of the workspace to work in: a uid that was given is taken as it is, without a request; where
 * nothing is given, the primary one.
 */
export async function workspaceUid(context: Context): Promise<string> {
  const { workspace } = await context.account();
  if (workspace && isUid(workspace)) return workspace;
  const api = await context.api();
  if (workspace) return (await resolveWorkspace(api, workspace)).uid;
  const primary = primaryOf(await allOf(api));
  if (primary) return primary.uid;
  throw usageError(
    'no workspace',
    'mediactl workspaces use NAME, or give --workspace',
    'neither a flag, a variable nor the profile names one, and the service calls none primary',
  );
}
