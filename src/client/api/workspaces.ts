import { paths } from '../../contract/paths.ts';
import type { WorkspaceRecord } from '../../contract/types.ts';
import { fetchPages, parsePage } from './pagination.ts';
import { Resource, readPurpose } from './resource.ts';

/** Client of the workspace list endpoint (§4). */
export class WorkspacesApi extends Resource {
  list(): AsyncGenerator<WorkspaceRecord[]> {
    const fetchPage = async (limit: number, offset: number) =>
      parsePage<WorkspaceRecord>(await this.read(paths.workspaces(), readPurpose('workspaces'), { limit, offset }));
    return fetchPages(fetchPage, { mayBeUnpaged: true }, this.names);
  }
}
