import type { NameOverrides } from '../../contract/assumptions.ts';
import type { Collection } from '../../contract/paths.ts';
import type { Transport } from '../http/transport.ts';
import { AssetsApi, type FindParentWorkspace } from './assets.ts';
import { EmbedsApi } from './embeds.ts';
import { FoldersApi } from './folders.ts';
import { PlaybackApi } from './playback.ts';
import { UploadSessionsApi } from './upload-sessions.ts';
import { WorkspacesApi } from './workspaces.ts';

type ResourceType<T> = new (
  transport: Transport,
  names: NameOverrides,
  collection?: Collection,
  findParentWorkspace?: FindParentWorkspace,
) => T;

/** API client of one profile, with a property per resource. Resources have no state, so each use makes one. */
export class Api {
  readonly transport: Transport;
  /** Names of fields that differ from the assumed ones. */
  readonly names: NameOverrides;
  readonly #findParentWorkspace: FindParentWorkspace | undefined;

  constructor(transport: Transport, names: NameOverrides, findParentWorkspace?: FindParentWorkspace) {
    this.transport = transport;
    this.names = names;
    this.#findParentWorkspace = findParentWorkspace;
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
    return new Type(this.transport, this.names, collection, this.#findParentWorkspace);
  }

  /** Returns a client that shares the connection but reports its waits and requests to another observer. */
  withObserver(observer: Parameters<Transport['withObserver']>[0]): Api {
    return new Api(this.transport.withObserver(observer), this.names, this.#findParentWorkspace);
  }
}
