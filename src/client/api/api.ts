import type { NameOverrides } from '../../contract/assumptions.ts';
import type { Transport } from '../http/transport.ts';
import { AssetsApi } from './assets.ts';
import { EmbedsApi } from './embeds.ts';
import { FoldersApi } from './folders.ts';
import { PlaybackApi } from './playback.ts';
import { UploadSessionsApi } from './upload-sessions.ts';
import { WorkspacesApi } from './workspaces.ts';

/** API client of one profile, with a property per resource. */
export class Api {
  readonly transport: Transport;
  readonly assets: AssetsApi;
  readonly videos: AssetsApi;
  readonly workspaces: WorkspacesApi;
  readonly folders: FoldersApi;
  readonly embeds: EmbedsApi;
  readonly playback: PlaybackApi;
  readonly uploadSessions: UploadSessionsApi;
  readonly #names: NameOverrides;

  constructor(transport: Transport, names: NameOverrides) {
    this.transport = transport;
    this.#names = names;
    this.assets = new AssetsApi(transport, 'assets', names);
    this.videos = new AssetsApi(transport, 'videos', names);
    this.workspaces = new WorkspacesApi(transport, names);
    this.folders = new FoldersApi(transport, names);
    this.embeds = new EmbedsApi(transport, names);
    this.playback = new PlaybackApi(transport);
    this.uploadSessions = new UploadSessionsApi(transport);
  }

  /** Returns a client that shares the connection but reports its waits and requests to another observer. */
  withObserver(observer: Parameters<Transport['withObserver']>[0]): Api {
    return new Api(this.transport.withObserver(observer), this.#names);
  }
}
