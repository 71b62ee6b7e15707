import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Readable } from 'node:stream';
import type { Context } from 'hono';
import { cors } from 'hono/cors';
import type { App } from '../http.ts';
import { placeholderFor } from '../pictures/placeholder.ts';
import type { Service } from '../service.ts';
import { ServiceError } from '../service-error.ts';
import type { AssetRow } from '../store/assets.ts';
import { isNotModified, isRangeCurrent, setValidators, validatorsOf } from './validators.ts';

/**
 * Registers the routes for signed media: source files, playlists, segments and derived files. A modified or expired
 * URL returns 403.
 */
export function mediaRoutes(app: App, service: Service): void {
  // The signature alone authorizes a player, so any origin is allowed.
  app.use(
    '/media/*',
    cors({
      origin: '*',
      allowMethods: ['GET', 'HEAD'],
      allowHeaders: ['Range', 'If-Range', 'If-None-Match', 'If-Modified-Since'],
      exposeHeaders: [...['Accept-Ranges', 'Content-Length', 'Content-Range', 'ETag', 'Last-Modified']],
    }),
  );
  app.use('/media/*', async (c, next) => {
    await next();
    const type = c.res.headers.get('content-type');
    if (type && !scriptlessTypePattern.test(type)) c.header('Content-Security-Policy', scriptBlockingPolicy);
  });
  app.get('/media/:uid/source', (c) => {
    const asset = findReadyAsset(c, service);
    return sendFile(c, service.files.source(asset.uid), asset.content_type ?? 'application/octet-stream');
  });
  // Only file names that the media worker writes match, so nothing else reaches the file system.
  app.get('/media/:uid/hls/:file{[a-z]+(?:-[0-9]+){0,2}\\.(?:m3u8|m4s)}', async (c) => {
    const asset = findReadyAsset(c, service);
    const path = join(service.files.hls(asset.uid), c.req.param('file'));
    if (path.endsWith('.m4s')) return sendFile(c, path, 'video/mp4');
    const playlist = await readUnlessCached(c, path);
    if (playlist === undefined) return c.body(null, 304);
    const sign = signerOf(c, service);
    c.header('Content-Type', 'application/vnd.apple.mpegurl');
    return c.body(
      playlist
        .replace(/URI="([^"]+)"/g, (_, name) => `URI="${sign(name)}"`)
        .replace(/^(?!#)\S.*$/gm, (name) => sign(name)),
    );
  });
  // Available in every state, for assets without a picture of their own.
  app.get('/media/:uid/placeholder.png', (c) => {
    const { type } = findSignedAsset(c, service);
    c.header('Content-Type', 'image/png');
    return c.body(new Uint8Array(placeholderFor(type)));
  });
  // Files derived from the source.
  app.get('/media/:uid/extras/sprites.vtt', async (c) => {
    const asset = findReadyAsset(c, service);
    const cues = await readUnlessCached(c, join(service.files.derivedFolder(asset.uid), 'sprites.vtt'));
    if (cues === undefined) return c.body(null, 304);
    const sign = signerOf(c, service);
    c.header('Content-Type', 'text/vtt; charset=utf-8');
    return c.body(cues.replace(/^sprites-\d+\.jpg/gm, (name) => sign(name)));
  });
  app.get('/media/:uid/extras/:file{[a-z]+(?:-[0-9]+)?\\.(?:jpg|png|json|vtt|m4a)}', (c) => {
    const asset = findReadyAsset(c, service);
    const name = c.req.param('file');
    const type = contentTypes[extname(name) as keyof typeof contentTypes];
    return sendFile(c, join(service.files.derivedFolder(asset.uid), name), type);
  });
}

/** Matches media types from which browsers run no scripts on this origin: video, audio, raster images and PDF. */
const scriptlessTypePattern = /^(?!.*(?:svg|xml))(?:video\/|audio\/|image\/|application\/pdf\b)/i;

/** Content-Security-Policy for other files, such as SVG or XHTML, which could run scripts if opened directly. */
const scriptBlockingPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox";

function findReadyAsset(c: Context, service: Service): AssetRow {
  const asset = findSignedAsset(c, service);
  if (asset.status !== 'ready') throw new ServiceError(404, 'no such media');
  c.header('Cache-Control', 'private, max-age=3600');
  return asset;
}

function findSignedAsset(c: Context, { signer, assets, now }: Service): AssetRow {
  c.header('X-Content-Type-Options', 'nosniff');
  const { expires = '', signature = '' } = c.req.query();
  if (!signer.isValidPath(c.req.path, expires, signature, now()))
    throw new ServiceError(403, 'this URL is changed or expired');
  const asset = assets.find(c.req.param('uid') ?? '');
  if (!asset) throw new ServiceError(404, 'no such media');
  return asset;
}

/** Returns a function that signs file names in the folder of the requested URL, with that URL's expiry. */
function signerOf(c: Context, { signer }: Service): (name: string) => string {
  const folder = c.req.path.replace(/[^/]*$/, '');
  const expiresAt = Number(c.req.query('expires')) * 1000;
  return (name) => name + signer.signPath(folder + name, expiresAt).replace(/^[^?]*/, '');
}

const contentTypes = {
  '.jpg': 'image/jpeg',
  '.png': 'image/png',
  '.json': 'application/json',
  '.vtt': 'text/vtt; charset=utf-8',
  '.m4a': 'audio/mp4',
} as const;

const missing = () => {
  throw new ServiceError(404, 'no such media');
};

/**
 * Reads a text file; undefined if the client has it cached. A cached response stays valid, since its URL always
 * returns the same text.
 */
async function readUnlessCached(c: Context, path: string): Promise<string | undefined> {
  const validators = validatorsOf(await stat(path, { bigint: true }).catch(missing));
  setValidators(c, validators);
  return isNotModified(c, validators) ? undefined : readFile(path, 'utf8').catch(missing);
}

/** Sends a file, or the part that a Range header requests (RFC 9110 §14). */
async function sendFile(c: Context, path: string, contentType: string): Promise<Response> {
  const stats = await stat(path, { bigint: true }).catch(missing);
  const size = Number(stats.size);
  const validators = validatorsOf(stats);
  setValidators(c, validators);
  if (isNotModified(c, validators)) return c.body(null, 304);
  c.header('Content-Type', contentType);
  c.header('Accept-Ranges', 'bytes');
  const isRangeUsable = isRangeCurrent(c, validators, Date.now());
  const range = isRangeUsable ? parseRange(c.req.header('range'), size) : undefined;
  if (range === 'unsatisfiable') {
    c.header('Content-Range', `bytes */${size}`);
    return c.body(null, 416);
  }
  const { start, end } = range ?? { start: 0, end: size - 1 };
  c.header('Content-Length', String(end - start + 1));
  if (range) c.header('Content-Range', `bytes ${start}-${end}/${size}`);
  const status = range ? 206 : 200;
  if (c.req.method === 'HEAD' || size === 0) return c.body(null, status);
  const stream = createReadStream(path, { start, end, highWaterMark: 256 * 1024 });
  return c.body(Readable.toWeb(stream) as ReadableStream, status);
}

type ByteRange = { start: number; end: number };

function parseRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  const [, first = '', last = ''] = match;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return start > end || start >= size ? 'unsatisfiable' : { start, end };
}
