import { showsWorkspace } from '../../contract/asset-workspace.ts';
import type { AssetRecord, WorkspaceRecord } from '../../contract/types.ts';
import type { Library } from './library.ts';

export type SelectionPurpose = 'change' | 'share' | 'read';

/** Assets that were found, of which the workspace is not known. */
export type WorkspaceDoubt = {
  purpose: SelectionPurpose;
  /** True if they were listed by filters. */
  isByFilters: boolean;
  count: number;
  /** Workspaces that they may be in; undefined if the API key may not list them. */
  workspaces: readonly WorkspaceRecord[] | undefined;
  /** True if the doubt ends once a workspace is chosen, since records show theirs. */
  endsByChoice: boolean;
};

/** Describes assets of which the workspace is not known. A read by filters sends no request for that. */
export async function doubtAbout(
  { workspaceInUse, api }: Library,
  unknown: readonly AssetRecord[],
  how: Pick<WorkspaceDoubt, 'purpose' | 'isByFilters'>,
): Promise<WorkspaceDoubt> {
  const count = unknown.length;
  if (how.purpose === 'read' && how.isByFilters) return { ...how, count, workspaces: undefined, endsByChoice: false };
  const isChosen = (await workspaceInUse.uidIfKnown('read')) !== undefined;
  const shows = (asset: AssetRecord) => showsWorkspace(asset, api.names);
  const [first] = unknown as [AssetRecord];
  return {
    ...how,
    count,
    workspaces: await workspaceInUse.visibleIfAllowed(),
    endsByChoice: !isChosen && (unknown.some(shows) || shows(await api.assets.get(first.uid))),
  };
}
