import { asArray, asObject, asText, isJsonObject, parseJsonOrUndefined } from '../../../contract/json-values.ts';
import type { Asset } from '../../../contract/types.ts';
import { renderNoticePage, renderWatchPage } from '../../watch/server/page.ts';
import { sourceUrlOf } from '../../watch/server/views.ts';
import { type CardPage, type Query, queryFields, uidPattern } from '../protocol.ts';
import type { AssetEdit, BrowseBackend } from './backend.ts';
import { BadRequestError } from './bad-request-error.ts';
import { BoundedCache, InFlightCache } from './caches.ts';
import { toCard } from './card.ts';
import type { EventBroadcaster } from './event-broadcaster.ts';
import { renderGalleryPage } from './gallery-page.ts';
import { MediaProxy } from './media-proxy.ts';
import { receiveFile } from './receive-file.ts';
import { createResponse, htmlResponse, jsonResponse, problemResponse } from './responses.ts';

/** Contents of the built dist/browse.js and dist/player.js. */
export type BuiltScripts = { browse: string; player: string };

type RouteRequest = { request: Request; query: URLSearchParams; params: readonly string[] };

/** A route: its HTTP method, the pattern of its path without the path prefix, and its handler. */
export type Route = [method: string, path: RegExp, answer: (call: RouteRequest) => Promise<Response> | Response];

type RouteDeps = {
  library: BrowseBackend;
  broadcaster: EventBroadcaster;
  scripts: BuiltScripts;
  /** Path prefix of every route. */
  base: string;
  now(): number;
};

const uid = `(${uidPattern})`;
const maxBodyBytes = 4 * 1024 * 1024;
const maxCachedRecords = 100;
const recordTtlMs = 2_000;
/** Time-to-live of cached lists. Going Back to recent filters therefore needs no new request. */
const listTtlMs = 10_000;
/** Maximum characters of a description. Lists truncate it, but the detail view needs its full text for editing. */
const [maxListDescriptionChars, maxDescriptionChars] = [300, 1_000_000];

/** Creates the routes of the page. Callers must authenticate requests first. */
export function createRoutes({ library, broadcaster, scripts, base, now }: RouteDeps): Route[] {
  const mediaProxy = new MediaProxy(library, now);
  const toListCard = (asset: Asset) => toCard(asset, library.baseUrl, maxListDescriptionChars);
  const respond = (value: unknown) => jsonResponse(value, library.budget());
  /** Cache of API records for a short time, because opening an asset reads its record twice. */
  const recordCache = new InFlightCache<Asset>(maxCachedRecords, now, (_, askedAt) => askedAt + recordTtlMs);
  let listCache = new BoundedCache<string, { page: CardPage; until: number }>(maxCachedRecords);
  const clearListCache = () => {
    listCache = new BoundedCache(maxCachedRecords);
  };
  const fetchRecord = (id: string) => recordCache.get(id, () => library.get(id));

  const respondWithCard = (asset: Asset) => {
    mediaProxy.cacheThumbnails([asset]);
    return respond(toCard(asset, library.baseUrl, maxDescriptionChars));
  };

  const serveGallery = () =>
    htmlResponse(
      renderGalleryPage({
        script: scripts.browse,
        setup: { base, service: library.baseUrl.host },
      }),
      "'none'",
    );

  const serveImage = async (found: ReturnType<MediaProxy['fetchThumbnail']>) => {
    const picture = await found;
    if (!picture) return problemResponse({ status: 404, problem: 'there is no such picture' });
    return createResponse(picture.bytes, picture.contentType, {
      headers: { 'cache-control': 'private, max-age=3600' },
    });
  };

  /** Serves the watch page. Uses a playback token, so that the result is the same as on an embedding page. */
  const serveWatchPage = async (id: string) => {
    let title = id;
    const playback = mediaProxy.fetchPlayback(id);
    playback.catch(() => {}); // awaited below
    try {
      const asset = await fetchRecord(id);
      title = asText(asset.name) || id;
      const { info, player } = await playback;
      const page = renderWatchPage({
        title,
        info,
        // The theme follows the browser, as in the rest of the gallery.
        config: { auto_play: asObject(player.player_config).auto_play },
        // Audio shows its clickable waveform instead.
        poster: info.type === 'audio' ? undefined : asset.thumbnail_url,
        contentType: asText(asset.content_type),
        baseUrl: library.baseUrl,
        script: scripts.player,
        isFramed: true,
        status: asset.status,
        reason: asset.failure_reason,
      });
      return htmlResponse(page, "'self'");
    } catch (error) {
      const { problem, reason } = library.toProblem(error);
      const text = `${problem}${reason ? `: ${reason}` : ''}`;
      return htmlResponse(renderNoticePage(title, text), "'self'");
    }
  };

  /** Redirects to the signed URL of the source file. */
  const redirectToSource = async (id: string) => {
    const { info } = await mediaProxy.fetchPlayback(id);
    const url = sourceUrlOf(info, library.baseUrl);
    if (!url) return problemResponse({ status: 404, problem: 'the service names no file to download' });
    return createResponse(null, '', { status: 302, headers: { location: url } });
  };

  return [
    ['GET', /^$/, () => serveGallery()],
    [
      'GET',
      /^assets$/,
      async ({ request, query }) => {
        const [limit, offset] = [parseCount(query, 'limit', 100), parseCount(query, 'offset', 0)];
        const filters = parseFilters(query);
        const key = JSON.stringify([filters, limit, offset]);
        const currentCache = listCache;
        const cached = query.get('fresh') === '1' ? undefined : currentCache.get(key);
        if (cached && now() < cached.until) return respond(cached.page);
        const how = { isBackground: query.get('looking') === '1', signal: request.signal };
        const found = await library.listAssets(filters, limit, offset, how);
        const items = found.items.slice(0, limit);
        mediaProxy.cacheThumbnails(items);
        const page = { items: items.map(toListCard), total: found.total ?? null };
        currentCache.set(key, { page, until: now() + listTtlMs });
        return respond(page);
      },
    ],
    assetRoute('', async (id) => respondWithCard(await fetchRecord(id))),
    [
      'PATCH',
      exactPath(`assets/${uid}`),
      async ({ request, params: [id] }) => {
        const asset = await library.update(id as string, parseEdit(await readBody(request)));
        recordCache.delete(asset.uid);
        clearListCache();
        return respondWithCard(asset);
      },
    ],
    [
      'DELETE',
      exactPath(`assets/${uid}`),
      async ({ params: [id] }) => {
        await library.trash(id as string);
        clearListCache();
        return respond({});
      },
    ],
    assetRoute('/thumbnail', (id) => serveImage(mediaProxy.fetchThumbnail(id))),
    assetRoute('/frames', async (id) => respond(await mediaProxy.fetchFrames(id))),
    assetRoute('/frames/([0-9]{1,4})', (id, number) => serveImage(mediaProxy.sheet(id, Number(number)))),
    assetRoute('/watch', serveWatchPage),
    assetRoute('/source', redirectToSource),
    [
      'DELETE',
      /^uploads$/,
      () => {
        broadcaster.clearEnded();
        return respond({});
      },
    ],
    ['GET', /^folders$/, async () => respond(await library.fetchFolders())],
    ['GET', /^events$/, () => createResponse(broadcaster.stream(), 'text/event-stream')],
    [
      'POST',
      /^uploads$/,
      async ({ request, query }) => {
        const uploadFile: BrowseBackend['uploadFile'] = (...sent) =>
          library.uploadFile(...sent).finally(clearListCache);
        await receiveFile({ ...library, uploadFile }, broadcaster, query, request.body);
        return respond({});
      },
    ],
  ];
}

const exactPath = (path: string) => new RegExp(`^${path}$`);

/** Creates a GET route for a path below the path of an asset. */
const assetRoute = (path: string, reply: (id: string, rest: string) => Promise<Response>): Route => [
  'GET',
  exactPath(`assets/${uid}${path}`),
  ({ params: [id = '', rest = ''] }) => reply(id, rest),
];

const parseFilters = (query: URLSearchParams): Query =>
  Object.fromEntries(
    queryFields.flatMap((field) => {
      const value = query.get(field)?.trim();
      return value ? [[field, value]] : [];
    }),
  );

function parseCount(query: URLSearchParams, name: string, defaultValue: number): number {
  const typed = query.get(name) ?? '';
  return /^\d{1,9}$/.test(typed) ? Number(typed) : defaultValue;
}

/**
 * Parses the request body as JSON.
 * @throws BadRequestError if the body is too large or not JSON
 */
async function readBody(request: Request): Promise<unknown> {
  const text = await request.text();
  const body = text.length > maxBodyBytes ? undefined : parseJsonOrUndefined(text);
  if (body === undefined) throw new BadRequestError('that is no change that could be made');
  return body;
}

function parseEdit(body: unknown): AssetEdit {
  if (!isJsonObject(body)) return {};
  const { name, description, folder } = body;
  const { add, remove } = asObject(body.tags);
  return {
    ...(typeof name === 'string' && { name }),
    ...(typeof description === 'string' && { description }),
    ...(isJsonObject(body.tags) && {
      tags: { add: asArray(add).map(String), remove: asArray(remove).map(String) },
    }),
    ...((typeof folder === 'string' || folder === null) && { folder }),
  };
}
