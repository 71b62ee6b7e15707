/** API paths (§4), relative to the base URL. The trailing slashes are required by the specification. */

export const apiPrefix = '/api/external/v1';

const at = (path: string) => `${apiPrefix}${path}`;
const id = encodeURIComponent;

/** The two collections with the same list, detail, update, delete and player endpoints (§4 Videos, Assets). */
export type Collection = 'assets' | 'videos';

export const paths = {
  collection: (collection: Collection) => at(`/${collection}/`),
  item: (collection: Collection, uid: string) => at(`/${collection}/${id(uid)}/`),
  player: (collection: Collection, uid: string) => at(`/${collection}/${id(uid)}/player/`),
  upload: () => at('/upload/'),
  workspaces: () => at('/workspaces/'),
  folders: (workspace: string) => at(`/workspaces/${id(workspace)}/folders/`),
  folder: (workspace: string, uid: string) =>
    at(`/workspaces/${id(workspace)}/folders/${id(uid)}/`),
  embedSettings: (workspace: string) => at(`/workspaces/${id(workspace)}/embed-settings/`),
  embedDomains: (workspace: string) => at(`/workspaces/${id(workspace)}/embed-domains/`),
  /** OpenAPI document. It is not in the specification, but comparable services publish theirs at this path. */
  description: () => at('/openapi.json'),
  playbackInfo: () => at('/playback/info/'),
};
