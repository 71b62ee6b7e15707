import type { NameOverrides } from '../../contract/assumptions.ts';
import { paths } from '../../contract/paths.ts';
import type { PageEnvelope, Workspace } from '../../contract/types.ts';
import type { Transport } from '../http/transport.ts';
import { fetchPages, parsePage } from './pagination.ts';

/** Client of the workspace list endpoint (§4). */
export class WorkspacesApi {
  readonly #transport: Transport;
  readonly #names: NameOverrides;

  constructor(transport: Transport, names: NameOverrides) {
    this.#transport = transport;
    this.#names = names;
  }

  list(): AsyncGenerator<Workspace[]> {
    return fetchPages<Workspace>((limit, offset) => this.#page(limit, offset), { mayBeUnpaged: true }, this.#names);
  }

  async #page(limit: number, offset: number): Promise<PageEnvelope<Workspace>> {
    const page = await this.#transport.json({
      method: 'GET',
      url: paths.workspaces(),
      query: { limit, offset },
      purpose: { action: 'read workspaces', scope: 'Read Assets' },
    });
    return parsePage(page);
  }
}
