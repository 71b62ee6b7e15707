import { fieldsIn, isFields, jsonIn, listIn, textIn } from '../../../contract/reading.ts';
import type { Asset } from '../../../contract/types.ts';
import { noticePage, watchPage } from '../../watch/server/page.ts';
import { sourceOf } from '../../watch/server/views.ts';
import { type CardPage, type Query, queryFields, uidPattern } from '../protocol.ts';
import { answer, document, json, refusal } from './answer.ts';
import { cardOf } from './card.ts';
import { galleryPage } from './gallery-page.ts';
import type { Hub } from './hub.ts';
import { Kept, Shared } from './kept.ts';
import type { Change, Library } from './library.ts';
import { PageProblem } from './page-problem.ts';
import { Pictures } from './pictures.ts';
import { take } from './take.ts';

/** Contents of the built dist/browse.js and dist/player.js. */
export type Scripts = { browse: string; player: string };

type Call = { request: Request; query: URLSearchParams; words: readonly string[] };

/** Handler of a method and a path below the path prefix. */
export type Route = [
  method: string,
  path: RegExp,
  answer: (call: Call) => Promise<Response> | Response,
];

type Served = {
  library: Library;
  hub: Hub;
  scripts: Scripts;
  /** Path prefix of every route. */
  base: string;
  now(): number;
};

const uid = `(${uidPattern})`;
const mostBodyBytes = 4 * 1024 * 1024;
const mostRecords = 100;
const momentMs = 2_000;
/** Caches lists: going Back to filters that were left a moment ago costs no request. */
const listMs = 10_000;
/** Maximum characters of a description: lists cut it, the detail view needs all of it for editing. */
const [mostInList, mostText] = [300, 1_000_000];

/** Creates the routes of the page. Callers authenticate requests first. */
export function routesFor({ library, hub, scripts, base, now }: Served): Route[] {
  const pictures = new Pictures(library, now);
  const briefly = (asset: Asset) => cardOf(asset, library.baseUrl, mostInList);
  const told = (value: unknown) => json(value, library.budget());
  /** Caches records briefly: opening an asset reads its record twice. */
  const records = new Shared<Asset>(mostRecords, now, (_, askedAt) => askedAt + momentMs);
  let lists = new Kept<string, { page: CardPage; until: number }>(mostRecords);
  const forgetLists = () => {
    lists = new Kept(mostRecords);
  };
  const record = (id: string) => records.get(id, () => library.get(id));

  const shown = (asset: Asset) => {
    pictures.note([asset]);
    return told(cardOf(asset, library.baseUrl, mostText));
  };

  const gallery = () =>
    document(
      galleryPage({
        script: scripts.browse,
        setup: { base, service: library.baseUrl.host },
      }),
      "'none'",
    );

  const image = async (found: ReturnType<Pictures['thumbnail']>) => {
    const picture = await found;
    if (!picture) return refusal({ status: 404, problem: 'there is no such picture' });
    return answer(picture.bytes, picture.contentType, {
      headers: { 'cache-control': 'private, max-age=3600' },
    });
  };

  /** Serves the watch page. Uses a playback token, so the result is what an embedding page gets. */
  const watch = async (id: string) => {
    let title = id;
    const playback = pictures.playback(id);
    playback.catch(() => {}); // awaited below
    try {
      const asset = await record(id);
      title = textIn(asset.name) || id;
      const { info, player } = await playback;
      const page = watchPage({
        title,
        info,
        // The theme follows the browser, as in the rest of the gallery.
        config: { auto_play: fieldsIn(player.player_config).auto_play },
        // Audio shows its clickable waveform instead.
        poster: info.type === 'audio' ? undefined : asset.thumbnail_url,
        contentType: textIn(asset.content_type),
        baseUrl: library.baseUrl,
        script: scripts.player,
        isFramed: true,
        status: asset.status,
        reason: asset.failure_reason,
      });
      return document(page, "'self'");
    } catch (error) {
      const { problem, reason } = library.explain(error);
      const words = `${problem}${reason ? `: ${reason}` : ''}`;
      return document(noticePage(title, words), "'self'");
    }
  };

  /** Redirects to the source file's signed URL. */
  const source = async (id: string) => {
    const { info } = await pictures.playback(id);
    const url = sourceOf(info, library.baseUrl);
    if (!url) return refusal({ status: 404, problem: 'the service names no file to download' });
    return answer(null, '', { status: 302, headers: { location: url } });
  };

  return [
    ['GET', /^$/, () => gallery()],
    [
      'GET',
      /^assets$/,
      async ({ request, query }) => {
        const [limit, offset] = [count(query, 'limit', 100), count(query, 'offset', 0)];
        const filters = filtersIn(query);
        const key = JSON.stringify([filters, limit, offset]);
        const kept = lists;
        const known = query.get('fresh') === '1' ? undefined : kept.get(key);
        if (known && now() < known.until) return told(known.page);
        const how = { isLooking: query.get('looking') === '1', signal: request.signal };
        const found = await library.page(filters, limit, offset, how);
        const items = found.items.slice(0, limit);
        pictures.note(items);
        const page = { items: items.map(briefly), total: found.total ?? null };
        kept.set(key, { page, until: now() + listMs });
        return told(page);
      },
    ],
    get('', async (id) => shown(await record(id))),
    [
      'PATCH',
      at(`assets/${uid}`),
      async ({ request, words: [id] }) => {
        const asset = await library.update(id as string, changeIn(await bodyOf(request)));
        records.delete(asset.uid);
        forgetLists();
        return shown(asset);
      },
    ],
    [
      'DELETE',
      at(`assets/${uid}`),
      async ({ words: [id] }) => {
        await library.trash(id as string);
        forgetLists();
        return told({});
      },
    ],
    get('/thumbnail', (id) => image(pictures.thumbnail(id))),
    get('/frames', async (id) => told(await pictures.frames(id))),
    get('/frames/([0-9]{1,4})', (id, number) => image(pictures.sheet(id, Number(number)))),
    get('/watch', watch),
    get('/source', source),
    [
      'DELETE',
      /^uploads$/,
      () => {
        hub.forgetEnded();
        return told({});
      },
    ],
    ['GET', /^folders$/, async () => told(await library.folders())],
    ['GET', /^events$/, () => answer(hub.stream(), 'text/event-stream')],
    [
      'POST',
      /^uploads$/,
      async ({ request, query }) => {
        const send: Library['send'] = (...sent) => library.send(...sent).finally(forgetLists);
        await take({ ...library, send }, hub, query, request.body);
        return told({});
      },
    ],
  ];
}

const at = (path: string) => new RegExp(`^${path}$`);

/** Creates a GET route below the path of an asset. */
const get = (path: string, reply: (id: string, rest: string) => Promise<Response>): Route => [
  'GET',
  at(`assets/${uid}${path}`),
  ({ words: [id = '', rest = ''] }) => reply(id, rest),
];

const filtersIn = (query: URLSearchParams): Query =>
  Object.fromEntries(
    queryFields.flatMap((field) => {
      const value = query.get(field)?.trim();
      return value ? [[field, value]] : [];
    }),
  );

function count(query: URLSearchParams, name: string, usual: number): number {
  const typed = query.get(name) ?? '';
  return /^\d{1,9}$/.test(typed) ? Number(typed) : usual;
}

/** Parses the request body. @throws BadRequestError if it is too large or not JSON */
async function bodyOf(request: Request): Promise<unknown> {
  const text = await request.text();
  const body = text.length > mostBodyBytes ? undefined : jsonIn(text);
  if (body === undefined) throw new PageProblem('that is no change that could be made');
  return body;
}

function changeIn(body: unknown): Change {
  if (!isFields(body)) return {};
  const { name, description, folder } = body;
  const { add, remove } = fieldsIn(body.tags);
  return {
    ...(typeof name === 'string' && { name }),
    ...(typeof description === 'string' && { description }),
    ...(isFields(body.tags) && {
      tags: { add: listIn(add).map(String), remove: listIn(remove).map(String) },
    }),
    ...((typeof folder === 'string' || folder === null) && { folder }),
  };
}
