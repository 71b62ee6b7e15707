import { createRoute } from '@hono/zod-openapi';
import { type App, apiPrefix, requireJson, requireScope } from '../http.ts';
import type { Service } from '../service.ts';
import { invalidError, ServiceError } from '../service-error.ts';
import type { AssetRow } from '../store/assets.ts';
import { findParentFolder } from './folders.ts';
import { playerConfig } from './playback.ts';
import { posterUrl, toDetail, toListItem } from './records.ts';
import type { ResponseSchemas } from './response-schemas.ts';
import { assetQuery, editorialFields, jsonBody, jsonContent, player, uidParameter, videoQuery } from './schemas.ts';

/** One of the two collections, assets and videos. */
type AssetCollection = {
  service: Service;
  path: `${typeof apiPrefix}/${'assets' | 'videos'}`;
  item: 'Asset' | 'Video';
  videosOnly: boolean;
} & Pick<ResponseSchemas, 'listItem' | 'detail'>;

/** Words for the summaries of operations. */
const nouns = { Asset: { one: 'an asset', plural: 'assets' }, Video: { one: 'a video', plural: 'videos' } };

/** Registers the routes for videos and assets (§4): list, detail, update, soft delete, player data. */
export function assetRoutes(app: App, service: Service): void {
  const { listItem, detail, videoListItem, videoDetail } = service.responseSchemas;
  // The casts let both collections share the same routes.
  const videoSchemas = { listItem: videoListItem, detail: videoDetail } as unknown as Pick<
    ResponseSchemas,
    'listItem' | 'detail'
  >;
  const assets = { service, path: `${apiPrefix}/assets`, item: 'Asset', videosOnly: false, listItem, detail } as const;
  const videos = { service, path: `${apiPrefix}/videos`, item: 'Video', videosOnly: true, ...videoSchemas } as const;
  for (const collection of [assets, videos])
    for (const route of [listRoute, detailRoute, updateRoute, deleteRoute, playerRoute]) route(app, collection);
}

function listRoute(app: App, { service, path, item, videosOnly, listItem }: AssetCollection): void {
  const { pageOf, serialize } = service.responseSchemas;
  const page = pageOf(listItem);
  app.openapi(
    createRoute({
      operationId: `list${item}s`,
      summary: `List ${nouns[item].plural}`,
      method: 'get',
      path: `${path}/`,
      middleware: requireScope('Read Assets'),
      request: { query: videosOnly ? videoQuery : assetQuery },
      responses: { 200: jsonContent(page, 'page of results') },
    }),
    (c) => {
      const query = c.req.valid('query');
      const type = videosOnly ? 'video' : query.type;
      const search = query.search?.trim() || undefined;
      assertParentExists(service, query.parent);
      const { items, count } = service.assets.page({ ...query, type, search });
      const list = items.map((asset) => toListItem(service, asset));
      return c.json(serialize(page, { items: list, count }), 200);
    },
  );
}

function detailRoute(app: App, collection: AssetCollection): void {
  const { service, path, item, detail } = collection;
  app.openapi(
    createRoute({
      operationId: `get${item}`,
      summary: `Get ${nouns[item].one}`,
      method: 'get',
      path: `${path}/{uid}/`,
      middleware: requireScope('Read Assets'),
      request: { params: uidParameter },
      responses: { 200: jsonContent(detail, 'the asset') },
    }),
    (c) => {
      const asset = findAsset(collection, c.req.valid('param').uid);
      return c.json(service.responseSchemas.serialize(detail, toDetail(service, asset)), 200);
    },
  );
}

function updateRoute(app: App, collection: AssetCollection): void {
  const { service, path, item, detail } = collection;
  app.openapi(
    createRoute({
      operationId: `update${item}`,
      summary: `Change editorial fields of ${nouns[item].one}`,
      method: 'patch',
      path: `${path}/{uid}/`,
      middleware: [requireScope('Write Assets'), requireJson],
      request: { params: uidParameter, body: jsonBody(editorialFields, 'fields to update') },
      responses: { 200: jsonContent(detail, 'the asset') },
    }),
    (c) => {
      const { uid, workspace_uid } = findAsset(collection, c.req.valid('param').uid);
      const { parent, ...fields } = c.req.valid('json');
      const parent_uid = parent && findParentFolder(service, workspace_uid, parent).uid;
      service.assets.edit(uid, { ...fields, parent_uid }, service.timestamp());
      const asset = findAsset(collection, uid);
      return c.json(service.responseSchemas.serialize(detail, toDetail(service, asset)), 200);
    },
  );
}

function deleteRoute(app: App, collection: AssetCollection): void {
  const { service, path, item } = collection;
  app.openapi(
    createRoute({
      operationId: `delete${item}`,
      summary: `Move ${nouns[item].one} to the trash`,
      method: 'delete',
      path: `${path}/{uid}/`,
      middleware: requireScope('Delete Assets'),
      request: { params: uidParameter },
      responses: { 204: { description: 'moved to the trash' } },
    }),
    (c) => {
      service.assets.trash(findAsset(collection, c.req.valid('param').uid).uid, service.timestamp());
      return c.body(null, 204);
    },
  );
}

function playerRoute(app: App, collection: AssetCollection): void {
  const { service, path, item } = collection;
  app.openapi(
    createRoute({
      operationId: `get${item}Player`,
      summary: `Get the player data of ${nouns[item].one}, with a playback token`,
      method: 'get',
      path: `${path}/{uid}/player/`,
      middleware: requireScope('Read Assets'),
      request: { params: uidParameter },
      responses: { 200: jsonContent(player, 'player data') },
    }),
    (c) => {
      const asset = findAsset(collection, c.req.valid('param').uid);
      const { uid } = asset;
      service.credits.drawDelivery();
      const data = {
        uid,
        playback_token: service.signer.createToken(uid, service.now() + service.playbackLifetimeMs),
        player_config: playerConfig(service),
        items: [{ asset: { uid, thumbnail_url: posterUrl(service, asset) } }],
      };
      return c.json(data, 200);
    },
  );
}

/** Validates the filter "a parent folder uid in the primary workspace, or the literal root for top level" (§4). */
function assertParentExists({ workspaces, folders }: Service, parent = 'root'): void {
  if (parent !== 'root' && !folders.find(workspaces.primary().uid, parent))
    throw invalidError(['query', 'parent'], 'this folder does not exist in the primary workspace');
}

function findAsset({ service, videosOnly }: AssetCollection, uid: string): AssetRow {
  const asset = service.assets.find(uid);
  if (!asset || (videosOnly && asset.type !== 'video'))
    throw new ServiceError(404, `${videosOnly ? 'video' : 'asset'} ${uid} does not exist`);
  return asset;
}
