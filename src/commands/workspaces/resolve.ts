import type { Api } from '../../api/api.ts';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import type { Workspace } from '../../wire/types.ts';
import { isUid, onlyOne } from '../names.ts';

/** A workspace by uid or exact name. Costs a request: there is no detail endpoint (§4). */
export async function resolveWorkspace(api: Api, uidOrName: string): Promise<Workspace> {
  const found: Workspace[] = [];
  for await (const page of api.workspaces.list())
    found.push(...page.filter(({ uid, name }) => uid === uidOrName || name === uidOrName));
  const [exact] = found.filter(({ uid }) => uid === uidOrName);
  if (exact) return exact;
  if (found.length === 0)
    throw new MediactlError(`no workspace is called ${uidOrName}`, {
      code: 'not_found',
      exitCode: exitCodes.notFound,
      hint: 'mediactl workspaces ls',
    });
  return onlyOne('workspace', uidOrName, found);
}

/** The uid of the workspace to work in; a uid that was given is taken as it is, without a request. */
export async function workspaceUid(context: Context): Promise<string> {
  const { workspace } = await context.account();
  if (!workspace)
    throw usageError(
      'no workspace',
      'mediactl workspaces use NAME, or give --workspace',
      'neither a flag, a variable nor the profile names one',
    );
  if (isUid(workspace)) return workspace;
  return (await resolveWorkspace(await context.api(), workspace)).uid;
}
