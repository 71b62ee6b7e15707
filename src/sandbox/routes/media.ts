import { extname, join } from 'node:path';
import type { Context, MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import type { AssetType } from '../../contract/asset-values.ts';
import type { App } from '../http.ts';
import type { Service } from '../service.ts';
import { ServiceError } from '../service-error.ts';
import type { AssetRow } from '../store/assets.ts';
import { sendFile, sendText } from './send-file.ts';

/** Registers the routes for signed media: source files, playlists, segments and derived files. */
export function mediaRoutes(app: App, service: Service): void {
  const { files } = service;
  app.use('/media/*', allowAnyOrigin, blockScripts);
  app.get('/media/:uid/source', (c) => {
    const asset = findReadyAsset(c, service);
    return sendFile(c, files.source(asset.uid), asset.content_type ?? 'application/octet-stream');
  });
  // Only file names that the media worker writes match, so nothing else reaches the file system.
  app.get('/media/:uid/hls/:file{[a-z]+(?:-[0-9]+){0,2}\\.m4s}', (c) => {
    const asset = findReadyAsset(c, service);
    return sendFile(c, join(files.hls(asset.uid), c.req.param('file')), 'video/mp4');
  });
  app.get('/media/:uid/hls/:file{[a-z]+(?:-[0-9]+){0,2}\\.m3u8}', (c) => {
    const asset = findReadyAsset(c, service);
    const path = join(files.hls(asset.uid), c.req.param('file'));
    const signNames = signerOf(c, service, /(?<=URI=")[^"]+|^(?!#)\S.*$/gm);
    return sendText(c, path, 'application/vnd.apple.mpegurl', signNames);
  });
  // Available in every state, for assets without a picture of their own.
  app.get('/media/:uid/placeholder.png', (c) => {
    const { type } = findSignedAsset(c, service);
    c.header('Content-Type', 'image/png');
    return c.body(new Uint8Array(placeholderFor(type)));
  });
  app.get('/media/:uid/extras/sprites.vtt', (c) => {
    const asset = findReadyAsset(c, service);
    const path = join(files.derivedFolder(asset.uid), 'sprites.vtt');
    return sendText(c, path, contentTypes['.vtt'], signerOf(c, service, /^sprites-\d+\.jpg/gm));
  });
  app.get('/media/:uid/extras/:file{[a-z]+(?:-[0-9]+)?\\.(?:jpg|png|json|vtt|m4a)}', (c) => {
    const asset = findReadyAsset(c, service);
    const name = c.req.param('file');
    const type = contentTypes[extname(name) as keyof typeof contentTypes];
    return sendFile(c, join(files.derivedFolder(asset.uid), name), type);
  });
}

const contentTypes = {
  '.jpg': 'image/jpeg',
  '.png': 'image/png',
  '.json': 'application/json',
  '.vtt': 'text/vtt; charset=utf-8',
  '.m4a': 'audio/mp4',
} as const;

/** Allows players on any site, since the signature alone authorizes them. */
const allowAnyOrigin = cors({
  origin: '*',
  allowMethods: ['GET', 'HEAD'],
  allowHeaders: ['Range', 'If-Range', 'If-None-Match', 'If-Modified-Since'],
  exposeHeaders: ['Accept-Ranges', 'Content-Length', 'Content-Range', 'ETag', 'Last-Modified'],
});

/** Matches media types from which browsers run no scripts on this origin: video, audio, raster images and PDF. */
const scriptlessTypePattern = /^(?!.*(?:svg|xml))(?:video\/|audio\/|image\/|application\/pdf\b)/i;

/** Content-Security-Policy for other files, such as SVG or XHTML, which could run scripts if opened directly. */
const scriptBlockingPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox";

const blockScripts: MiddlewareHandler = async (c, next) => {
  await next();
  const type = c.res.headers.get('content-type');
  if (type && !scriptlessTypePattern.test(type)) c.header('Content-Security-Policy', scriptBlockingPolicy);
};

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
    throw new ServiceError(403, 'this URL is invalid or has expired');
  const asset = assets.find(c.req.param('uid') ?? '');
  if (!asset) throw new ServiceError(404, 'no such media');
  return asset;
}

/** Signs the file names in a text that `names` matches, with the folder and the expiry of the requested URL. */
function signerOf(c: Context, { signer }: Service, names: RegExp): (text: string) => string {
  const folder = c.req.path.replace(/[^/]*$/, '');
  const expiresAt = Number(c.req.query('expires')) * 1000;
  return (text) => text.replace(names, (name) => signer.signPath(folder + name, expiresAt).slice(folder.length));
}

/** PNG images in base64 (640 × 360 pixels, two colors) for assets without a picture of their own. */
const placeholders = {
  video:
    'iVBORw0KGgoAAAANSUhEUgAAAoAAAAFoAQMAAAD9/NgSAAAABlBMVEUcHiJcX2b4zGdbAAAAoUlEQVR42u3aMQqAMBBFQSEH8/63yQGECBIVi9hkXZuZShBf+dHgsgAAAAAAAAAA5Frbq01QUFAwLNgfKq0O7wkKCgrOB8+rcuzV866goKBgXPCer66G7aGgoKDgcL66uD0UFBQUHM3XdQIUtYeCgoKCFltQUPDHdxtfo4KCggnnNk7aBQUFvwr6i0BQUDAp6A9JQUHBhCAAAAAAAAAAwJwdFsKtjJ5PCk0AAAAASUVORK5CYII=',
  audio:
    'iVBORw0KGgoAAAANSUhEUgAAAoAAAAFoAQMAAAD9/NgSAAAABlBMVEUcHiJcX2b4zGdbAAAAiklEQVR42u3YsQmAQAxA0QMHcCRXdyQHEHKgtYVwyQm+V6b4ZSBpDQAAAAAAAABgpi0EBQUFk4NxCgoKCtYG19gFBQUFE4JLHIKCgoKzgvdQUFBQsCZ4DQUFBQXTgza2oKBgdtA1KigoODz4w8e4oKDgJ4KDCAoKCj4TFBQUrAkCAAAAAAAAALzVATZZX3rXLiqsAAAAAElFTkSuQmCC',
  image:
    'iVBORw0KGgoAAAANSUhEUgAAAoAAAAFoAQMAAAD9/NgSAAAABlBMVEUcHiJcX2b4zGdbAAAAmUlEQVR42u3awQmAMAxAUcEBOpKrdyQHECIIih7sxbQHee8a+AMkmSYAAAAAAAAAgLGWaNoEBQUFs4KtqaCgoGBqsESEoKCgoKCgoOBfgk8lqqCgoGD34HwsgAQFBQX7BK/uc98sKCgomBosZ+J+8loFBQUFc4Pz2z29CgoKCmYGGwQFBQXzgj4kBQUFRwQBAAAAAAAAAL7ZAS+0ipuHlk3ZAAAAAElFTkSuQmCC',
  document:
    'iVBORw0KGgoAAAANSUhEUgAAAoAAAAFoAQMAAAD9/NgSAAAABlBMVEUcHiJcX2b4zGdbAAAAiElEQVR42u3XuwnAQAxEQYELcEnuv5srwCCn/mQHe05mCnjhIlUBAAAAAAAAAPzi6CdBQUHBVPCVPwUFBQWXBLuHoKCgYDpYVZugoKBgLLjfXjNBQUHBXNBiCwoKum0EBQXdNoKCgoKT8zUEBQUFs0GLLSgouCD4ISgoKBgIAgAAAAAAAABMugCegitMF3/CmQAAAABJRU5ErkJggg==',
  third_party:
    'iVBORw0KGgoAAAANSUhEUgAAAoAAAAFoAQMAAAD9/NgSAAAABlBMVEUcHiJcX2b4zGdbAAAAmElEQVR42u3XQQqAIBRFUaEFtCS37pJaQFCEBRYIgVqTc4YO7vDxDQEAAAAAAAAA4GfTVloFBQUFBwUzQUFBwW+C14oJCgoK9gvezqMe8yUoKChYCS6Pl5hLUVBQUHBkcC5WTFBQUHBU8DidUuu3TlBQUPDVsXSuWBIUFBQUFBQUFBQUFBSsBSsEBQUFuwYBAAAAAAAAABrsZGflBASKRP4AAAAASUVORK5CYII=',
  generic:
    'iVBORw0KGgoAAAANSUhEUgAAAoAAAAFoAQMAAAD9/NgSAAAABlBMVEUcHiJcX2b4zGdbAAAAiklEQVR42u3YsQmAMBCG0YADOFJWdyQHEBSCTRKskiMI73XXfOVfXEoAAAAAAAAAAEvku3EJCgoKxgTrW1BQUFBQUFBQUFBQUFBQUFBwfXDrXj/vW+gQFBQUnBs8m8EqY7YLCgoKhgQrgoKCglHBjqCgoKCgoKDgT4MfBAUFBacGAQAAAAAAAAAGPGjchA77FNwuAAAAAElFTkSuQmCC',
} satisfies Record<AssetType, string>;

const placeholderFor = (type: AssetType): Buffer => Buffer.from(placeholders[type], 'base64');
