import type { NameOverrides } from '../../contract/assumptions.ts';
import { paths } from '../../contract/paths.ts';
import type { Page, Workspace } from '../../contract/types.ts';
import type { Transport } from '../http/transport.ts';
import { identifiedPage, pages } from './pages.ts';

/** Client of the workspace list (§4). */
export class WorkspacesApi {
  readonly #transport: Transport;
  readonly #names: NameOverrides;

  constructor(transport: Transport, names: NameOverrides) {
    this.#transport = transport;
    this.#names = names;
  }

  list(): AsyncGenerator<Workspace[]> {
    return pages<Workspace>(
      (limit, offset) => this.#page(limit, offset),
      { mayBeWhole: true },
      this.#names,
    );
  }

  async #page(limit: number, offset: number): Promise<Page<Workspace>> {
    const page = await this.#transport.json({
      method: 'GET',
      url: paths.workspaces(),
      query: { limit, offset },
      purpose: { action: 'read workspaces', scope: 'Read Assets' },
    });
    return identifiedPage(page);
  }
}
