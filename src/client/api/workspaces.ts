import { paths } from '../../contract/paths.ts';
import type { Workspace } from '../../contract/types.ts';
import { fetchPages, parsePage } from './pagination.ts';
import { Resource, readPurpose } from './resource.ts';

/** Client of the workspace list endpoint (§4). */
export class WorkspacesApi extends Resource {
  list(): AsyncGenerator<Workspace[]> {
    const fetchPage = async (limit: number, offset: number) =>
      parsePage<Workspace>(await this.read(paths.workspaces(), readPurpose('workspaces'), { limit, offset }));
    return fetchPages(fetchPage, { mayBeUnpaged: true }, this.names);
  }
}
