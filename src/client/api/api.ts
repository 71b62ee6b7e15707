import type { NameOverrides } from '../../contract/assumptions.ts';
import type { Transport } from '../http/transport.ts';
import { AssetsApi, type FindParentWorkspace } from './assets.ts';
import { EmbedsApi } from './embeds.ts';
import { FoldersApi } from './folders.ts';
import { PlaybackApi } from './playback.ts';
import { UploadSessionsApi } from './upload-sessions.ts';
import { WorkspacesApi } from './workspaces.ts';

/** API client of one profile, with a property per resource. Resources have no state, so each use makes one. */
export class Api {
  readonly transport: Transport;
  readonly #names: NameOverrides;
  readonly #findParentWorkspace: FindParentWorkspace | undefined;

  constructor(transport: Transport, names: NameOverrides, findParentWorkspace?: FindParentWorkspace) {
    this.transport = transport;
    this.#names = names;
    this.#findParentWorkspace = findParentWorkspace;
  }

  get assets() {
    return new AssetsApi(this.transport, this.#names, 'assets', this.#findParentWorkspace);
  }

  get videos() {
    return new AssetsApi(this.transport, this.#names, 'videos', this.#findParentWorkspace);
  }

  get workspaces() {
    return new WorkspacesApi(this.transport, this.#names);
  }

  get folders() {
    return new FoldersApi(this.transport, this.#names);
  }

  get embeds() {
    return new EmbedsApi(this.transport, this.#names);
  }

  get playback() {
    return new PlaybackApi(this.transport);
  }

  get uploadSessions() {
    return new UploadSessionsApi(this.transport);
  }

  /** Returns a client that shares the connection but reports its waits and requests to another observer. */
  withObserver(observer: Parameters<Transport['withObserver']>[0]): Api {
    return new Api(this.transport.withObserver(observer), this.#names, this.#findParentWorkspace);
  }
}
