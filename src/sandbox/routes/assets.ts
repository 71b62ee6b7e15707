import { createRoute } from '@hono/zod-openapi';
import { type App, apiPrefix, requireJson, requireScope } from '../http.ts';
import type { Service } from '../service.ts';
import { ServiceError } from '../service-error.ts';
import type { AssetRow } from '../store/assets.ts';
import { findParentFolder } from './folders.ts';
import { posterUrl } from './media-urls.ts';
import { playerConfig } from './playback.ts';
import { toDetail, toListItem } from './records.ts';
import type { ResponseSchemas } from './response-schemas.ts';
import { assetQuery, editorialFields, jsonContent, player, uidParameter, videoQuery } from './schemas.ts';

/** Registers the routes for videos and assets (§4): list, detail, update, soft delete, player data. */
export function assetRoutes(app: App, service: Service): void {
  const { pageOf, serialize } = service.responseSchemas;
  for (const collection of ['assets', 'videos'] as const) {
    const videosOnly = collection === 'videos';
    const [one, many] = videosOnly ? ['Video', 'Videos'] : ['Asset', 'Assets'];
    const path = `${apiPrefix}/${collection}` as const;
    const middleware = requireScope('Read Assets');
    const { listItem, detail } = schemasOf(service.responseSchemas, videosOnly);
    const page = pageOf(listItem);

    app.openapi(
      createRoute({
        operationId: `list${many}`,
        method: 'get',
        path: `${path}/`,
        middleware,
        request: { query: videosOnly ? (videoQuery as typeof assetQuery) : assetQuery },
        responses: { 200: jsonContent(page, 'a page') },
      }),
      (c) => {
        const query = c.req.valid('query');
        const type = videosOnly ? 'video' : query.type;
        const search = query.search?.trim() || undefined;
        const inFolder = query.parent === undefined ? undefined : parseParentFilter(service, query.parent);
        const { items, count } = service.assets.page({ ...query, type, search, inFolder });
        const list = items.map((asset) => toListItem(service, asset));
        return c.json(serialize(page, { items: list, count }), 200);
      },
    );

    app.openapi(
      createRoute({
        operationId: `get${one}`,
        method: 'get',
        path: `${path}/{uid}/`,
        middleware,
        request: { params: uidParameter },
        responses: { 200: jsonContent(detail, 'the asset') },
      }),
      (c) => {
        const asset = findAsset(service, c.req.valid('param').uid, videosOnly);
        return c.json(serialize(detail, toDetail(service, asset)), 200);
      },
    );

    app.openapi(
      createRoute({
        operationId: `update${one}`,
        method: 'patch',
        path: `${path}/{uid}/`,
        middleware: [requireScope('Write Assets'), requireJson],
        request: {
          params: uidParameter,
          body: { ...jsonContent(editorialFields, 'what to change'), required: true },
        },
        responses: { 200: jsonContent(detail, 'the asset') },
      }),
      (c) => {
        const { uid, workspace_uid } = findAsset(service, c.req.valid('param').uid, videosOnly);
        const { parent, ...fields } = c.req.valid('json');
        const place = parent && findParentFolder(service, workspace_uid, parent).uid;
        const changes = { ...fields, ...(parent !== undefined && { parent_uid: place ?? null }) };
        service.assets.edit(uid, changes, service.timestamp());
        return c.json(serialize(detail, toDetail(service, findAsset(service, uid, videosOnly))), 200);
      },
    );

    app.openapi(
      createRoute({
        operationId: `delete${one}`,
        method: 'delete',
        path: `${path}/{uid}/`,
        middleware: requireScope('Delete Assets'),
        request: { params: uidParameter },
        responses: { 204: { description: 'moved to the trash' } },
      }),
      (c) => {
        const { uid } = findAsset(service, c.req.valid('param').uid, videosOnly);
        service.assets.trash(uid, service.timestamp());
        return c.body(null, 204);
      },
    );

    app.openapi(
      createRoute({
        operationId: `get${one}Player`,
        method: 'get',
        path: `${path}/{uid}/player/`,
        middleware,
        request: { params: uidParameter },
        responses: { 200: jsonContent(player, 'player data') },
      }),
      (c) => {
        const asset = findAsset(service, c.req.valid('param').uid, videosOnly);
        const { uid } = asset;
        service.credits.drawDelivery();
        return c.json(
          {
            uid,
            playback_token: service.signer.createToken(uid, service.now() + service.playbackLifetimeMs),
            player_config: playerConfig(service),
            items: [{ asset: { uid, thumbnail_url: posterUrl(service, asset) } }],
          },
          200,
        );
      },
    );
  }
}

/** Returns the response schemas of a collection. The casts let both collections share the same routes. */
const schemasOf = (answers: ResponseSchemas, videosOnly: boolean): Pick<ResponseSchemas, 'listItem' | 'detail'> =>
  videosOnly
    ? {
        listItem: answers.videoListItem as unknown as ResponseSchemas['listItem'],
        detail: answers.videoDetail as unknown as ResponseSchemas['detail'],
      }
    : answers;

/**
 * Resolves the filter "a parent folder uid in the primary workspace, or the literal root for top level" (§4) to a
 * workspace and a parent uid. The parent uid is null for the top level.
 */
function parseParentFilter({ workspaces, folders }: Service, parent: string) {
  const { uid: workspace } = workspaces.primary();
  if (parent === 'root') return { workspace, parent: null };
  const folder = folders.find(workspace, parent.toLowerCase());
  if (!folder)
    throw new ServiceError(422, 'invalid parameters or body', {
      details: [{ loc: ['query', 'parent'], msg: 'no folder of the primary workspace' }],
    });
  return { workspace, parent: folder.uid };
}

function findAsset({ assets }: Service, uid: string, videosOnly: boolean): AssetRow {
  const asset = assets.find(uid.toLowerCase());
  if (!asset || (videosOnly && asset.type !== 'video'))
    throw new ServiceError(404, `no ${videosOnly ? 'video' : 'asset'} ${uid}`);
  return asset;
}
