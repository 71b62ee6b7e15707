import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { describeWrongTag } from '../../../contract/slug.ts';
import { asArray, asNumber, asObject, asText, isJsonObject } from '../../../shared/json-values.ts';
import { type PageFile, readScript } from '../../shared/page-files.ts';
import {
  type HtmlPage,
  listWatchFiles,
  readWatchScripts,
  renderNoticePage,
  renderWatchPage,
  type WatchScripts,
} from '../../watch/server/page.ts';
import { sourceUrlOf } from '../../watch/server/views.ts';
import { findUnknownField, maxLinks, maxMoved, type PageSelection, uidPattern } from '../protocol.ts';
import { type AssetEdit, type BrowseBackend, PageProblem, type Problem, type SeenFields } from './backend.ts';
import { CardReader } from './card-reader.ts';
import type { EventBroadcaster } from './event-broadcaster.ts';
import { renderGalleryPage } from './gallery-page.ts';
import { MediaProxy, type ProxiedImage } from './media-proxy.ts';
import { receiveFile, resumeUploads } from './receive-file.ts';
import { createGalleryStyle } from './style.ts';

export type BrowseScripts = WatchScripts & { browse: PageFile };

export async function readBrowseScripts(folder: string): Promise<BrowseScripts> {
  const [watch, browse] = await Promise.all([readWatchScripts(folder), readScript(folder, 'browse.js')]);
  return { ...watch, browse };
}

export const listPageFiles = (scripts: BrowseScripts): PageFile[] => [
  ...listWatchFiles(scripts),
  scripts.browse,
  createGalleryStyle(),
];

export type RouteDeps = {
  library: BrowseBackend;
  broadcaster: EventBroadcaster;
  scripts: BrowseScripts;
  basePath: string;
  /** First words of each command that acts on the account of the page. */
  program: string;
  /** Profile that the page shows; null for none. */
  profile: string | null;
  /** Returns the name of the workspace in use; null if none of several is chosen. */
  fetchWorkspace(): Promise<string | null>;
};

const maxBodyBytes = 4 * 1024 * 1024;

/** Creates the routes of the page. Callers must authenticate requests first. */
export async function createRoutes(deps: RouteDeps): Promise<Hono> {
  const { bodyLimit, Hono, streamSSE } = await import('./hono.lazy.ts');
  const { library, broadcaster, scripts, basePath, program, profile } = deps;
  const app = new Hono();
  const media = new MediaProxy(library);
  const cards = new CardReader(library, media);
  const service = library.baseUrl.host;
  const setup = { base: basePath, service, program, profile, pick: library.pick !== undefined };
  // Asks the service for nothing, so that the page can say what it waits for.
  app.get('/', async (c) => {
    // The page is of use without the records of uploads, and an upload reports why they cannot be read.
    const interrupted = await library.interrupted().catch(() => []);
    const present = { ...setup, interruptedCount: interrupted.length };
    return sendPage(c, renderGalleryPage({ script: scripts.browse, setup: present }));
  });
  app.get('/workspace', async (c) => c.json({ name: await deps.fetchWorkspace() }));
  app.get('/folders', async (c) => c.json(await library.fetchFolders()));
  app.get('/events', (c) => streamSSE(c, (stream) => broadcaster.sendTo(stream)));
  app.post('/uploads', async (c) => {
    const uploadFile: BrowseBackend['uploadFile'] = (...sent) =>
      library.uploadFile(...sent).finally(() => cards.invalidate());
    await receiveFile({ ...library, uploadFile }, broadcaster, queryOf(c), c.req.raw.body);
    return c.json({});
  });
  app.post('/uploads/resume', async (c) => {
    await resumeUploads(library, broadcaster, () => cards.invalidate());
    return c.json({});
  });
  app.delete('/uploads', (c) => {
    broadcaster.clearEnded();
    return c.json({});
  });
  addSelectionRoutes(app, library, cards, bodyLimit({ maxSize: maxBodyBytes, onError: refuseChange }));
  app.get('/assets', async (c) => c.json(await cards.list(queryOf(c), c.req.raw.signal)));
  app.route(`/assets/:uid{${uidPattern}}`, await createAssetRoutes(deps, media, cards));
  return app;
}

/** Adds the routes for several assets: their uids and links, a move, and what a command waits for. */
function addSelectionRoutes(app: Hono, library: BrowseBackend, cards: CardReader, limited: MiddlewareHandler): void {
  const readSelection = async (c: Context) => parseSelection(await c.req.json().catch(refuseChange));
  const readUids = async (c: Context) =>
    (await library.resolveSelection(await readSelection(c))).assets.map(({ uid }) => uid);
  app.post('/selection', limited, async (c) => c.json(await readUids(c)));
  app.post('/links', limited, async (c) => {
    const uids = await readUids(c);
    if (uids.length > maxLinks) throw new PageProblem(`links of at most ${maxLinks} assets can be copied`);
    return c.json(await library.fetchLinks(uids));
  });
  app.post('/move', limited, async (c) => {
    const { folder, uids } = parseMove(await c.req.json().catch(refuseChange));
    const moved = await library.move(uids, folder).finally(() => cards.invalidate(...uids));
    return c.json(moved);
  });
  app.post('/move/undo', limited, async (c) => {
    const { change } = asObject(await c.req.json().catch(refuseChange));
    return c.json(await library.undoMove(String(change)).finally(() => cards.invalidate()));
  });
  app.post('/pick', limited, async (c) => {
    if (!library.pick) throw new PageProblem('no command waits for a selection', 404);
    const body: unknown = await c.req.json().catch(refuseChange);
    const picked = body === null ? null : await library.resolveSelection(parseSelection(body));
    // The command then ends, and with it this server: not before the page knows, if it still listens.
    const { outgoing } = c.env as HttpBindings;
    const end = () => library.pick?.(picked);
    if (outgoing.destroyed) end();
    else outgoing.once('close', end);
    return c.json({});
  });
}

async function createAssetRoutes({ library, scripts }: RouteDeps, media: MediaProxy, cards: CardReader): Promise<Hono> {
  const { bodyLimit, Hono } = await import('./hono.lazy.ts');
  const app = new Hono();
  const uidOf = (c: Context) => c.req.param('uid') as string;
  app.get('/', async (c) => c.json(cards.toFullCard(await cards.fetchRecord(uidOf(c)))));
  app.patch('/', bodyLimit({ maxSize: maxBodyBytes, onError: refuseChange }), async (c) => {
    const change = parseEdit(await c.req.json().catch(refuseChange));
    // Also after a refusal, since others may have changed the asset.
    const asset = await library.update(uidOf(c), change).finally(() => cards.invalidate(uidOf(c)));
    return c.json(cards.toFullCard(asset));
  });
  app.delete('/', async (c) => {
    await library.trash(uidOf(c), await readSeen(c)).finally(() => cards.invalidate(uidOf(c)));
    return c.json({});
  });
  app.get('/thumbnail', async (c) => sendImage(c, await media.fetchThumbnail(uidOf(c))));
  app.get('/frames', async (c) => c.json(await media.fetchFrames(uidOf(c))));
  app.get('/frames/:sheet{[0-9]{1,4}}', async (c) =>
    sendImage(c, await media.fetchSheet(uidOf(c), Number(c.req.param('sheet')))),
  );
  app.get('/source', async (c) => {
    const { info } = await media.fetchPlayback(uidOf(c));
    const url = sourceUrlOf(info, library.baseUrl);
    if (!url) throw new PageProblem('the service provides no file to download', 404);
    return c.redirect(url);
  });
  /** Serves the watch page. Uses a playback token, so that the result is the same as on an embedding page. */
  app.get('/watch', async (c) => {
    let title = uidOf(c);
    const playback = media.fetchPlayback(title);
    playback.catch(() => {}); // awaited below
    try {
      const asset = await cards.fetchRecord(title);
      title = asText(asset.name) || title;
      const { info, player } = await playback;
      const page = renderWatchPage({
        title,
        info,
        isFramed: true,
        status: asset.status,
        reason: asset.failure_reason,
        // The theme follows the browser, as in the rest of the gallery.
        config: { auto_play: asObject(player.player_config).auto_play },
        // Audio shows its clickable waveform instead.
        poster: info.type === 'audio' ? undefined : asset.thumbnail_url,
        contentType: asText(asset.content_type),
        duration: asset.duration,
        baseUrl: library.baseUrl,
        scripts,
      });
      return sendPage(c, page, { frameAncestors: "'self'" });
    } catch (error) {
      const { problem, reason } = library.toProblem(error);
      const notice = renderNoticePage(title, [problem, reason].filter(Boolean).join(': '));
      return sendPage(c, notice, { frameAncestors: "'self'" });
    }
  });
  return app;
}

const queryOf = (c: Context) => new URL(c.req.url).searchParams;

/** Sends a page with its policy as a header, because `frame-ancestors` has no effect in markup. */
export const sendPage = (
  c: Context,
  { html, contentSecurityPolicy }: HtmlPage,
  { status = 200, frameAncestors = "'none'" }: { status?: ContentfulStatusCode; frameAncestors?: string } = {},
) => c.html(html, status, { 'content-security-policy': `${contentSecurityPolicy}; frame-ancestors ${frameAncestors}` });

export const sendProblem = (c: Context, problem: Problem) =>
  c.json({ error: problem }, problem.status as ContentfulStatusCode);

function sendImage(c: Context, image: ProxiedImage | undefined) {
  if (!image) throw new PageProblem('picture not found', 404);
  return c.body(new Uint8Array(image.bytes), 200, {
    'content-type': image.contentType,
    'cache-control': 'private, max-age=3600',
  });
}

const refuseChange = (): never => {
  throw new PageProblem('the change is invalid or too large');
};

const uidFormat = new RegExp(`^${uidPattern}$`);

const uidsIn = (list: unknown): string[] => {
  const uids = asArray(list).map(String);
  return uids.every((uid) => uidFormat.test(uid)) ? uids : refuseChange();
};

function parseMove(body: unknown): { uids: string[]; folder: string | null } {
  const { uids: listed, folder } = asObject(body);
  const uids = uidsIn(listed);
  const isFolder = folder === null || (typeof folder === 'string' && uidFormat.test(folder));
  return isFolder && uids.length > 0 && uids.length <= maxMoved ? { uids, folder } : refuseChange();
}

/** @throws PageProblem for a uid or a field that cannot be one */
function parseSelection(body: unknown): PageSelection {
  if (!isJsonObject(body)) return refuseChange();
  if (!isJsonObject(body.query)) return { uids: uidsIn(body.uids) };
  const query = Object.fromEntries(Object.entries(body.query).map(([field, value]) => [field, String(value)]));
  const problem = findUnknownField(new URLSearchParams(query), []);
  if (problem) throw new PageProblem(problem);
  const { total, newest, count } = asObject(body.seen);
  const seen = { total: asNumber(total) ?? null, newest: asText(newest) ?? null, count: asNumber(count) ?? null };
  return { query, except: uidsIn(body.except), seen };
}

function parseEdit(body: unknown): AssetEdit {
  if (!isJsonObject(body)) return {};
  const { tags: _, ...fields } = parseSeen(body);
  const tags = asObject(body.tags);
  const [add, remove] = [asArray(tags.add).map(String), asArray(tags.remove).map(String)];
  const wrongTag = describeWrongTag(add);
  if (wrongTag !== undefined) throw new PageProblem(wrongTag);
  return { ...fields, ...(isJsonObject(body.tags) && { tags: { add, remove } }), from: parseSeen(body.from) };
}

/** Reads the optional body of a deletion. */
async function readSeen(c: Context): Promise<SeenFields> {
  const length = Number(c.req.header('content-length') ?? 0);
  if (length > maxBodyBytes || c.req.header('transfer-encoding') !== undefined) return refuseChange();
  return length > 0 ? parseSeen(asObject(await c.req.json().catch(refuseChange)).from) : {};
}

function parseSeen(from: unknown): SeenFields {
  const { name, description, tags, folder } = asObject(from);
  return {
    ...(typeof name === 'string' && { name }),
    ...(typeof description === 'string' && { description }),
    ...(Array.isArray(tags) && { tags: tags.map(String) }),
    ...((typeof folder === 'string' || folder === null) && { folder }),
  };
}
