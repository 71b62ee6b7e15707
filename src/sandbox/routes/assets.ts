import { createRoute } from '@hono/zod-openapi';
import { type App, apiPrefix, scoped } from '../http.ts';
import type { Service } from '../service.ts';
import { ServiceError } from '../service-error.ts';
import type { AssetRow } from '../store/assets.ts';
import type { Said } from './answers.ts';
import { posterUrl, thumbnailUrl } from './media-urls.ts';
import { playerConfig } from './playback.ts';
import { assetQuery, editorial, json, player, uidParameter, videoQuery } from './schemas.ts';

/** §4 Videos and Assets: list, detail, update, soft delete, player data. */
export function assetRoutes(app: App, service: Service): void {
  const { listItem, detail, pageOf, said } = service.answers;
  for (const collection of ['assets', 'videos'] as const) {
    const videosOnly = collection === 'videos';
    const path = `${apiPrefix}/${collection}` as const;
    const middleware = scoped('Read Assets');
    const page = pageOf(listItem);

    app.openapi(
      createRoute({
        method: 'get',
        path: `${path}/`,
        middleware,
        request: { query: videosOnly ? (videoQuery as typeof assetQuery) : assetQuery },
        responses: { 200: json(page, 'a page') },
      }),
      (c) => {
        const query = c.req.valid('query');
        const type = videosOnly ? 'video' : query.type;
        const search = query.search?.trim() || undefined;
        const within = query.parent === undefined ? undefined : withinOf(service, query.parent);
        const { items, count } = service.assets.page({ ...query, type, search, within });
        const list = items.map((asset) => toListItem(service, asset));
        return c.json(said(page, { items: list, count }), 200);
      },
    );

    app.openapi(
      createRoute({
        method: 'get',
        path: `${path}/{uid}/`,
        middleware,
        request: { params: uidParameter },
        responses: { 200: json(detail, 'the asset') },
      }),
      (c) => {
        const asset = find(service, c.req.valid('param').uid, videosOnly);
        return c.json(said(detail, toDetail(service, asset)), 200);
      },
    );

    app.openapi(
      createRoute({
        method: 'patch',
        path: `${path}/{uid}/`,
        middleware: scoped('Write Assets'),
        request: {
          params: uidParameter,
          body: { ...json(editorial, 'what to change'), required: true },
        },
        responses: { 200: json(detail, 'the asset') },
      }),
      (c) => {
        const { uid } = find(service, c.req.valid('param').uid, videosOnly);
        service.assets.edit(uid, c.req.valid('json'), service.timestamp());
        return c.json(said(detail, toDetail(service, find(service, uid, videosOnly))), 200);
      },
    );

    app.openapi(
      createRoute({
        method: 'delete',
        path: `${path}/{uid}/`,
        middleware: scoped('Delete Assets'),
        request: { params: uidParameter },
        responses: { 204: { description: 'moved to the trash' } },
      }),
      (c) => {
        const { uid } = find(service, c.req.valid('param').uid, videosOnly);
        service.assets.trash(uid, service.timestamp());
        return c.body(null, 204);
      },
    );

    app.openapi(
      createRoute({
        method: 'get',
        path: `${path}/{uid}/player/`,
        middleware,
        request: { params: uidParameter },
        responses: { 200: json(player, 'player data') },
      }),
      (c) => {
        const asset = find(service, c.req.valid('param').uid, videosOnly);
        const { uid } = asset;
        service.credits.drawDelivery();
        return c.json(
          {
            uid,
            playback_token: service.signer.mintToken(
              uid,
              service.now() + service.playbackLifetimeMs,
            ),
            player_config: playerConfig(service),
            items: [{ asset: { uid, thumbnail_url: posterUrl(service, asset) } }],
          },
          200,
        );
      },
    );
  }
}

/** "a parent folder uid in the primary workspace, or the literal root for top level" (§4). */
function withinOf({ workspaces, folders }: Service, parent: string) {
  const { uid: workspace } = workspaces.primary();
  if (parent === 'root') return { workspace, parent: null };
  const folder = folders.find(workspace, parent.toLowerCase());
  if (!folder)
    throw new ServiceError(422, 'invalid parameters or body', {
      details: [{ loc: ['query', 'parent'], msg: 'no folder of the primary workspace' }],
    });
  return { workspace, parent: folder.uid };
}

function find({ assets }: Service, uid: string, videosOnly: boolean): AssetRow {
  const asset = assets.find(uid.toLowerCase());
  if (!asset || (videosOnly && asset.type !== 'video'))
    throw new ServiceError(404, `no ${videosOnly ? 'video' : 'asset'} ${uid}`);
  return asset;
}

const toListItem = (service: Service, asset: AssetRow): Said<'listItem'> => ({
  uid: asset.uid,
  name: asset.name,
  description: asset.description,
  type: asset.type,
  status: asset.status,
  created_at: asset.created_at,
  updated_at: asset.updated_at,
  duration: asset.duration,
  thumbnail_url: thumbnailUrl(service, asset),
  tags: JSON.parse(asset.tags),
  size: asset.size,
  parent: asset.parent_uid,
});

const toDetail = (service: Service, asset: AssetRow): Said<'detail'> => ({
  ...toListItem(service, asset),
  workspace: asset.workspace_uid,
  filename: asset.filename,
  content_type: asset.content_type,
  width: asset.width,
  height: asset.height,
  failure_reason: asset.failure_reason,
});
