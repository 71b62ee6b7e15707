import type { Api } from '../../client/api/api.ts';
import { MediactlError, usageError } from '../../client/errors.ts';
import { findPrimary, listWorkspaces } from '../../client/library/workspaces.ts';
import { workspaceOf } from '../../contract/asset.ts';
import { asText } from '../../contract/json-values.ts';
import { displayText, escapeControls, quoteForShell } from '../../contract/sanitize.ts';
import type { Asset, Workspace } from '../../contract/types.ts';
import { isSameUid, isUid } from '../../contract/uid.ts';
import type { Context } from '../context.ts';
import { choose } from '../terminal/prompt.ts';
import { expandUidPrefix, selectOne } from './ambiguity.ts';

/** Resolves a workspace by uid, uid prefix or exact name. Fetches all, since there is no endpoint for one (§4). */
export async function resolveWorkspace(context: Context, api: Api, uidOrName: string): Promise<Workspace> {
  return selectWorkspace(context, api, await listWorkspaces(api), uidOrName);
}

async function selectWorkspace(context: Context, api: Api, all: readonly Workspace[], uidOrName: string) {
  const exact = all.find(({ uid }) => isUid(uidOrName) && isSameUid(uid, uidOrName));
  if (exact) return exact;
  const named = all.filter(({ name }) => asText(name) === uidOrName);
  const expandedUid = expandUidPrefix(context, api.transport.baseUrl, 'workspace', uidOrName);
  const matches = named.length === 0 ? all.filter(({ uid }) => uid === expandedUid) : named;
  if (matches.length === 0)
    throw new MediactlError(`no workspace is named ${uidOrName}`, {
      code: 'not_found',
      hint: 'mediactl workspaces ls',
    });
  const rows = async (some: readonly Workspace[]) => workspaceRows(some);
  return selectOne(context, { noun: 'workspace', description: `are named ${uidOrName}`, matches, rows });
}

const workspaceRows = (workspaces: readonly Workspace[]) =>
  workspaces.map((each) => [displayText(each.name), escapeControls(each.uid), each.is_primary ? 'primary' : '']);

/** Prompts for a workspace. @throws `why` if it cannot prompt or there are no workspaces */
export async function promptForWorkspace(context: Context, why: MediactlError): Promise<Workspace> {
  if (!context.terminal.isInteractive) throw why;
  const all = await listWorkspaces(await context.api());
  if (all.length === 0) throw why;
  return choose(context.terminal, 'Which workspace?', all, workspaceRows(all));
}

export const toProfileFields = ({ uid, name, is_primary }: Workspace) => ({
  workspace: uid,
  workspaceName: asText(name) ?? uid,
  workspaceIsPrimary: is_primary === true,
});

/**
 * Returns the workspace in use, for requests that reach the primary workspace only (assumption A26). Needs a request
 * unless the profile knows it.
 *
 * @returns undefined if no workspace is configured, so that the primary one is used
 * @throws MediactlError `usage` (exit 2) if the workspace in use is not known to be the primary one
 */
export async function findPrimaryInUse(context: Context): Promise<string | undefined> {
  const { workspace } = await context.account();
  if (!workspace) return undefined;
  if (await isKnownPrimary(context, workspace)) return workspace;
  const api = await context.api();
  const all = await listWorkspaces(api);
  const { uid, name } = isUid(workspace)
    ? (all.find((each) => isSameUid(each.uid, workspace)) ?? { uid: workspace, name: workspace })
    : await selectWorkspace(context, api, all, workspace);
  const primary = findPrimary(all);
  if (primary && isSameUid(primary.uid, uid)) return uid;
  throw usageError(
    `workspace ${displayText(name) || uid} is not the primary one, so its assets cannot be found by path or folder`,
    primary
      ? `use uids there: mediactl ls --search WORDS shows them; for paths: --workspace ${quoteForShell(displayText(primary.name))}`
      : 'use uids: mediactl ls --search WORDS shows them',
    'the API filters by folder in the primary workspace only',
  );
}

/**
 * Leaves out assets whose record shows another workspace than the one in use. Without a configured workspace, or in
 * records that do not show one, all count.
 */
export async function keepWorkspaceInUse(context: Context, assets: readonly Asset[]): Promise<Asset[]> {
  const { workspace } = await context.account();
  if (!workspace || assets.every((asset) => workspaceOf(asset) === undefined)) return [...assets];
  const uid = await resolveWorkspaceUid(context, false);
  return assets.filter((asset) => isSameUid(workspaceOf(asset) ?? uid, uid));
}

/**
 * Returns true if an asset may be in the workspace in use. If the record of a list does not show its workspace, fetches
 * the asset, unless the workspace in use is known to be the primary one.
 */
export async function isInWorkspaceInUse(context: Context, asset: Asset): Promise<boolean> {
  const { workspace } = await context.account();
  if (!workspace) return true;
  const needsFetch = workspaceOf(asset) === undefined && !(await isKnownPrimary(context, workspace));
  const record = needsFetch ? await (await context.api()).assets.get(asset.uid) : asset;
  return (await keepWorkspaceInUse(context, [record])).length > 0;
}

async function isKnownPrimary(context: Context, workspace: string): Promise<boolean> {
  const { profile } = await context.profileInUse();
  return profile?.workspace === workspace && profile.workspaceIsPrimary === true;
}

/**
 * Returns the uid of the workspace in use. A configured uid needs no request. If no workspace is configured,
 * returns the primary workspace or prompts for one.
 *
 * @param mayPrompt false to throw instead of prompting, for lookups that are only for display
 */
export async function resolveWorkspaceUid(context: Context, mayPrompt = true): Promise<string> {
  const { workspace } = await context.account();
  if (workspace && isUid(workspace)) return workspace;
  const api = await context.api();
  if (workspace) return (await resolveWorkspace(context, api, workspace)).uid;
  const primary = findPrimary(await listWorkspaces(api));
  if (primary) return primary.uid;
  const none = usageError(
    'no workspace',
    'mediactl workspaces use NAME, or --workspace NAME',
    'no flag, variable or profile sets one, and no workspace is primary',
  );
  if (!mayPrompt) throw none;
  return (await promptForWorkspace(context, none)).uid;
}
