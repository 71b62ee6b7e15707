import type { NameOverrides } from '../../contract/assumptions.ts';
import { type Collection, paths } from '../../contract/paths.ts';
import type { WorkspaceRecord } from '../../contract/types.ts';
import type { Transport } from '../http/transport.ts';
import { AssetsApi, type ListPorts } from './assets.ts';
import { EmbedsApi } from './embeds.ts';
import { FoldersApi } from './folders.ts';
import { fetchPages, parsePage } from './pagination.ts';
import { PlaybackApi } from './playback.ts';
import { Resource, readPurpose } from './resource.ts';
import { UploadSessionsApi } from './upload-sessions.ts';

type ResourceType<T> = new (
  transport: Transport,
  names: NameOverrides,
  collection?: Collection,
  ports?: ListPorts,
) => T;

/** API client of one profile, with a property per resource. Resources have no state, so each use makes one. */
export class Api {
  readonly transport: Transport;
  /** Names of fields that differ from the assumed ones. */
  readonly names: NameOverrides;
  readonly #ports: ListPorts;

  constructor(transport: Transport, names: NameOverrides, ports: ListPorts = {}) {
    this.transport = transport;
    this.names = names;
    this.#ports = ports;
  }

  get assets() {
    return this.resource(AssetsApi);
  }

  get videos() {
    return this.resource(AssetsApi, 'videos');
  }

  get workspaces() {
    return this.resource(WorkspacesApi);
  }

  get folders() {
    return this.resource(FoldersApi);
  }

  get embeds() {
    return this.resource(EmbedsApi);
  }

  get playback() {
    return new PlaybackApi(this.transport);
  }

  get uploadSessions() {
    return new UploadSessionsApi(this.transport);
  }

  /** Creates a resource of this client. */
  resource<T>(Type: ResourceType<T>, collection?: Collection): T {
    return new Type(this.transport, this.names, collection, this.#ports);
  }

  /** Returns a client that shares the connection but reports its waits, requests and gaps to another observer. */
  withObserver({ onGap, ...observer }: Parameters<Transport['withObserver']>[0] & Pick<ListPorts, 'onGap'>): Api {
    const ports = onGap ? { ...this.#ports, onGap } : this.#ports;
    return new Api(this.transport.withObserver(observer), this.names, ports);
  }
}

/** Client of the workspace list endpoint (§4). */
class WorkspacesApi extends Resource {
  list(): AsyncGenerator<WorkspaceRecord[]> {
    const fetchPage = async (limit: number, offset: number) =>
      parsePage<WorkspaceRecord>(await this.read(paths.workspaces(), readPurpose('workspaces'), { limit, offset }));
    return fetchPages(fetchPage, { mayBeUnpaged: true }, this.names);
  }
}
