import { slugsOf } from '../../contract/asset.ts';
import { applySlugEdit } from '../../contract/slug.ts';
import type { Asset, PlaybackInfo, PlayerData } from '../../contract/types.ts';
import type { FolderView } from '../../web/browse/protocol.ts';
import { type BrowseApp, createBrowseApp } from '../../web/browse/server/app.ts';
import type { BrowseBackend } from '../../web/browse/server/backend.ts';
import type { Service } from '../service.ts';
import { createUploader, type ListedFolder } from './page-upload.ts';
import { RequestRefusedError, ServiceClient } from './service-client.ts';

/** Creates the library page, which calls the API over HTTP with a temporary key, like any other client. */
export function createSandboxPage(
  service: Service,
  scripts: { browse: string; player: string },
  onTokenRedeemed: (() => void) | undefined,
): Promise<BrowseApp> {
  return createBrowseApp({
    library: createLibrary(service),
    origin: () => service.origin,
    scripts,
    accessHint: 'For a new URL, run mediactl browse or mediactl sandbox status in a terminal.',
    onTokenRedeemed,
  });
}

function createLibrary({ keys, origin, workspaces }: Service): BrowseBackend {
  const client = new ServiceClient(origin, keys.ephemeral('the page'));
  const { uid: workspace } = workspaces.primary();
  return {
    baseUrl: new URL(origin),
    listAssets: async (query, limit, offset) => {
      const search = new URLSearchParams({ ...query, limit: `${limit}`, offset: `${offset}` });
      const { items, count } = await client.json<{ items: Asset[]; count?: number }>(`/assets/?${search}`);
      return { items, total: count };
    },
    get: (uid) => client.json<Asset>(`/assets/${uid}/`),
    update: async (uid, { folder, tags, ...fields }) => {
      const before = tags && slugsOf(await client.json<Asset>(`/assets/${uid}/`));
      if (tags && !before) throw new RequestRefusedError(502, 'the service does not show the tags of this asset');
      const json = {
        ...fields,
        ...(tags && before && { tags: applySlugEdit(before, tags) }),
        ...(folder !== undefined && { parent: folder }),
      };
      return client.json<Asset>(`/assets/${uid}/`, { method: 'PATCH', json });
    },
    trash: async (uid) => {
      await client.request(`/assets/${uid}/`, { method: 'DELETE' });
    },
    fetchFolders: async () =>
      (await client.json<ListedFolder[]>(`/workspaces/${workspace}/folders/`)).map((folder) => viewOf(folder)),
    fetchPlayback: async (uid) => {
      const player = await client.json<PlayerData>(`/assets/${uid}/player/`);
      const json = { asset_id: uid, playback_token: player.playback_token };
      const info = await client.json<PlaybackInfo>('/playback/info/', { method: 'POST', json });
      return { info, player };
    },
    fetchMedia: async (url, maxBytes) => {
      // All media URLs of the sandbox are on its own origin.
      if (url.origin !== origin) throw new RequestRefusedError(502, 'this URL is not on this service');
      const response = await fetch(url, { redirect: 'error' });
      const bytes = new Uint8Array(await response.arrayBuffer());
      if (response.ok && bytes.length <= maxBytes) return bytes;
      throw new RequestRefusedError(502, 'the picture cannot be loaded');
    },
    uploadFile: createUploader(client, workspace),
    budget: () => client.budget,
    toProblem: (error) =>
      error instanceof RequestRefusedError
        ? { status: error.status, problem: error.message }
        : { status: 502, problem: (error as Error).message },
  };
}

const viewOf = ({ uid, name, children }: ListedFolder, parentPath = ''): FolderView => {
  const path = `${parentPath}/${name}`;
  return { uid, name, path, children: children.map((child) => viewOf(child, path)) };
};
