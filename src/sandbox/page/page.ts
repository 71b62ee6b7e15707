import { slugsOf } from '../../contract/asset.ts';
import { applySlugEdit } from '../../contract/slug.ts';
import type { Asset, PlaybackInfo, PlayerData } from '../../contract/types.ts';
import type { FolderView } from '../../web/browse/protocol.ts';
import type { BrowseBackend } from '../../web/browse/server/backend.ts';
import { type BrowseApp, createBrowseApp } from '../../web/browse/server/browse.ts';
import type { Service } from '../service.ts';
import { Client, Refused } from './client.ts';
import { type Folder, sender } from './send.ts';

/**
 * Creates the library page. It calls the API over HTTP with a temporary key, so it can do only what
 * any client can.
 */
export function sandboxPage(
  service: Service,
  scripts: { browse: string; player: string },
  onTokenRedeemed: () => void,
): BrowseApp {
  return createBrowseApp({
    library: ownLibrary(service),
    origin: service.publicUrl,
    now: service.now,
    scripts,
    accessHint:
      'In a terminal, mediactl browse opens a new one, and mediactl sandbox status shows one.',
    onTokenRedeemed,
  });
}

function ownLibrary({ keys, publicUrl, workspaces }: Service): BrowseBackend {
  const client = new Client(publicUrl, keys.ephemeral('the page'));
  const { uid: workspace } = workspaces.primary();
  return {
    baseUrl: new URL(publicUrl()),
    listAssets: async (query, limit, offset) => {
      const search = new URLSearchParams({ ...query, limit: `${limit}`, offset: `${offset}` });
      const { items, count } = await client.json<{ items: Asset[]; count?: number }>(
        `/assets/?${search}`,
      );
      return { items, total: count };
    },
    get: (uid) => client.json<Asset>(`/assets/${uid}/`),
    update: async (uid, { folder, tags, ...fields }) => {
      const before = tags && slugsOf(await client.json<Asset>(`/assets/${uid}/`));
      if (tags && !before) throw new Refused(502, 'this asset does not show its tags');
      const json = {
        ...fields,
        ...(tags && before && { tags: applySlugEdit(before, tags) }),
        ...(folder !== undefined && { parent: folder }),
      };
      return client.json<Asset>(`/assets/${uid}/`, { method: 'PATCH', json });
    },
    trash: async (uid) => {
      await client.ask(`/assets/${uid}/`, { method: 'DELETE' });
    },
    fetchFolders: async () =>
      (await client.json<Folder[]>(`/workspaces/${workspace}/folders/`)).map((folder) =>
        viewOf(folder),
      ),
    fetchPlayback: async (uid) => {
      const player = await client.json<PlayerData>(`/assets/${uid}/player/`);
      const json = { asset_id: uid, playback_token: player.playback_token };
      const info = await client.json<PlaybackInfo>('/playback/info/', { method: 'POST', json });
      return { info, player };
    },
    fetchMedia: async (url, mostBytes) => {
      // All media URLs of the sandbox are on its own origin.
      if (url.origin !== publicUrl()) throw new Refused(502, 'no media of this service');
      const response = await fetch(url, { redirect: 'error' });
      const bytes = new Uint8Array(await response.arrayBuffer());
      if (response.ok && bytes.length <= mostBytes) return bytes;
      throw new Refused(502, 'that picture cannot be had');
    },
    uploadFile: sender(client, workspace),
    budget: () => client.budget,
    toProblem: (error) =>
      error instanceof Refused
        ? { status: error.status, problem: error.message }
        : { status: 502, problem: (error as Error).message },
  };
}

const viewOf = ({ uid, name, children }: Folder, above = ''): FolderView => {
  const path = `${above}/${name}`;
  return { uid, name, path, children: children.map((child) => viewOf(child, path)) };
};
