/** API paths (§4), relative to the base URL. The trailing slashes are required by the specification. */

export const apiPrefix = '/api/external/v1';

const apiPath = (path: string) => `${apiPrefix}${path}`;
const id = encodeURIComponent;

/** Collections that have the same list, detail, update, delete and player endpoints (§4 Videos, Assets). */
export type Collection = 'assets' | 'videos';

/** Names of one item of each collection. */
export const itemNouns = { assets: 'asset', videos: 'video' } as const satisfies Record<Collection, string>;

export const paths = {
  collection: (collection: Collection) => apiPath(`/${collection}/`),
  item: (collection: Collection, uid: string) => apiPath(`/${collection}/${id(uid)}/`),
  player: (collection: Collection, uid: string) => apiPath(`/${collection}/${id(uid)}/player/`),
  upload: () => apiPath('/upload/'),
  workspaces: () => apiPath('/workspaces/'),
  folders: (workspace: string) => apiPath(`/workspaces/${id(workspace)}/folders/`),
  folder: (workspace: string, uid: string) => apiPath(`/workspaces/${id(workspace)}/folders/${id(uid)}/`),
  embedSettings: (workspace: string) => apiPath(`/workspaces/${id(workspace)}/embed-settings/`),
  embedDomains: (workspace: string) => apiPath(`/workspaces/${id(workspace)}/embed-domains/`),
  playbackInfo: () => apiPath('/playback/info/'),
};
