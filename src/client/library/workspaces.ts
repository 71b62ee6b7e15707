import type { WorkspaceRecord } from '../../contract/types.ts';
import type { Api } from '../api/api.ts';

export async function listWorkspaces(api: Api): Promise<WorkspaceRecord[]> {
  const all: WorkspaceRecord[] = [];
  for await (const page of api.workspaces.list()) all.push(...page);
  return all;
}

/** Names of the field that is `true` in the record of the primary workspace (assumption A10). */
const primaryFields = ['is_primary', 'primary', 'is_default', 'default'];

export const isPrimary = (workspace: WorkspaceRecord): boolean =>
  primaryFields.some((field) => workspace[field] === true);

/** Returns the primary workspace (assumption A10), otherwise the only one; undefined if there are several. */
export const findPrimary = (workspaces: readonly WorkspaceRecord[]): WorkspaceRecord | undefined =>
  workspaces.find(isPrimary) ?? (workspaces.length === 1 ? workspaces[0] : undefined);
