import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { type App, type Env, requireScope, uploadPath } from '../http.ts';
import type { Service } from '../service.ts';
import { ServiceError } from '../service-error.ts';
import type { NewAsset } from '../store/assets.ts';
import type { SessionRow } from '../store/sessions.ts';
import { findParentFolder } from './folders.ts';
import { maxDescriptionLength } from './schemas.ts';

const uuid = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';

/** Adds the header that TUS 1.0.0 requires in every response, including those to requests without a key. */
export const addTusVersion: MiddlewareHandler = async (c, next) => {
  await next();
  c.res.headers.set('Tus-Resumable', '1.0.0');
};

/** Registers the upload routes (§4, TUS). Creation and "the upload PATCH/HEAD calls" need "Write Assets" (§5.7). */
export function uploadRoutes(app: App, service: Service): void {
  const write = requireScope('Write Assets');
  const { faults } = service;

  app.post(uploadPath, write, (c) => create(c, service));

  // Hono routes HEAD to the GET handler. GET itself is not in the specification.
  app.get(`${uploadPath}:uid{${uuid}}/`, write, async (c) => {
    if (c.req.method !== 'HEAD') throw new ServiceError(404, `no endpoint at ${c.req.method} ${c.req.path}`);
    requireVersion(c);
    const session = findSession(c, service);
    c.header('Cache-Control', 'no-store');
    c.header('Upload-Offset', String(await service.receiver.getOffset(session)));
    // TUS 1.0.0: "the Server MUST include the Upload-Length header". §4 does not mention it.
    if (!service.isStrict) c.header('Upload-Length', String(session.total_size));
    return c.body(null, 200);
  });

  app.patch(`${uploadPath}:uid{${uuid}}/`, write, async (c) => {
    requireVersion(c);
    const session = findSession(c, service);
    if (c.req.header('content-type') !== 'application/offset+octet-stream')
      throw new ServiceError(400, 'Content-Type must be application/offset+octet-stream');
    const offset = parseWholeNumber(c.req.header('upload-offset'));
    if (offset === undefined) throw new ServiceError(400, 'Upload-Offset must be an integer');
    const length = parseWholeNumber(c.req.header('content-length'));
    const { incoming } = c.env;
    const body = faults.readBody(incoming, faultTargetOf(c));
    const received = await service.receiver.receive(session, { offset, lengthBytes: length, incoming, body });
    c.header('Upload-Offset', String(received.offset));
    // "The last chunk's response also carries the header X-Checksum-Blake3." (§4)
    if (received.checksum && !faults.findAndFire('no-checksum', faultTargetOf(c))) {
      const isBad = faults.findAndFire('bad-checksum', faultTargetOf(c)) !== undefined;
      c.header('X-Checksum-Blake3', isBad ? corruptChecksum(received.checksum) : received.checksum);
    }
    return c.body(null, 204);
  });
}

async function create(c: Context<Env>, service: Service): Promise<Response> {
  requireVersion(c);
  const asset = parseNewAsset(c, service);
  const { uid: asset_uid, size } = asset;
  await service.receiver.clearExpired();
  const disk = await service.files.freeBytes();
  // No await from here on, because concurrent requests must not claim the same free space.
  const free = service.storageBytes - service.assets.storedBytes();
  if (size > Math.min(free, disk)) throw new ServiceError(507, 'insufficient storage space');
  const expires_at = service.now() + service.sessionLifetimeMs;
  const session = { uid: randomUUID(), asset_uid, total_size: size, expires_at };
  service.store.transaction(() => {
    service.assets.insert(asset, service.timestamp());
    service.sessions.insert(session);
    service.credits.drawStorage(size); // a 402 rolls back the transaction
  });
  if (size === 0) service.assets.setStatus(asset_uid, 'failed', service.timestamp(), 'the file is empty');
  const { uid, total_size } = session;
  const location = `${uploadPath}${uid}/`;
  c.header('Location', location);
  return c.json({ uid, location, asset_uid, total_size, expires_at: new Date(expires_at).toISOString() }, 201);
}

/** Asset types that a content type can name. Processing detects the type by content later. */
const declarableTypes = ['video', 'audio', 'image'] as const;

/** Parses the headers of an upload creation. @throws ServiceError 400, 404 or 413 */
function parseNewAsset(c: Context, service: Service): NewAsset {
  const size = parseWholeNumber(c.req.header('upload-length'));
  if (size === undefined) throw new ServiceError(400, 'Upload-Length must be an integer');
  const metadata = decodeMetadata(c.req.header('upload-metadata'));
  if (service.isStrict) rejectExtensions(c, metadata);
  const filename = metadata.get('filename');
  const workspace_uid = metadata.get('workspace_uid')?.toLowerCase();
  if (!filename) throw new ServiceError(400, 'Upload-Metadata lacks filename');
  if (!workspace_uid) throw new ServiceError(400, 'Upload-Metadata lacks workspace_uid');
  const name = (metadata.get('asset_name') || filename).trim();
  if (name === '' || name.length > 500) throw new ServiceError(400, 'an asset name must have 1 to 500 characters');
  if (!service.workspaces.find(workspace_uid)) throw new ServiceError(404, `workspace ${workspace_uid} does not exist`);
  const parent = metadata.get('parent_folder_uid');
  const parent_uid = parent ? findParentFolder(service, workspace_uid, parent).uid : null;
  if (size > service.maxUploadBytes)
    throw new ServiceError(413, `an upload must be at most ${service.maxUploadBytes} bytes`);
  const content_type = metadata.get('content_type') || null;
  const type = declarableTypes.find((each) => content_type?.startsWith(`${each}/`)) ?? 'generic';
  const description = metadata.get('description') ?? '';
  if (description.length > maxDescriptionLength)
    throw new ServiceError(400, `a description must have at most ${maxDescriptionLength} characters`);
  return { uid: randomUUID(), workspace_uid, name, description, type, filename, content_type, size, parent_uid };
}

/** The metadata keys of §4. */
const metadataKeys = ['filename', 'workspace_uid', 'asset_name', 'description', 'parent_folder_uid', 'content_type'];

/**
 * Rejects what the specification does not name: other metadata keys, and tus extensions, since "only create mode is
 * supported" (§4).
 * @throws ServiceError 400
 */
function rejectExtensions(c: Context, metadata: Map<string, string>): void {
  const unknown = [...metadata.keys()].find((key) => !metadataKeys.includes(key));
  if (unknown !== undefined) throw new ServiceError(400, `Upload-Metadata has the unknown key '${unknown}'`);
  const hasBody = (c.req.header('content-length') ?? '0') !== '0' || c.req.header('transfer-encoding') !== undefined;
  const extension = ['Upload-Concat', 'Upload-Defer-Length', 'X-HTTP-Method-Override'].find((name) =>
    c.req.header(name),
  );
  if (hasBody || extension !== undefined)
    throw new ServiceError(400, `only create mode is supported: no ${extension ?? 'bytes in the creation'}`);
}

/** @throws ServiceError 412: "Tus-Resumable missing or not 1.0.0" (§4) */
function requireVersion(c: Context): void {
  if (c.req.header('tus-resumable') !== '1.0.0')
    throw new ServiceError(412, 'Tus-Resumable must equal 1.0.0', { headers: { 'Tus-Version': '1.0.0' } });
}

/** Finds a complete or unexpired session ("sessions expire after 24 hours", §2). @throws ServiceError 404 */
function findSession(c: Context, { sessions, now, faults }: Service): SessionRow {
  const uid = (c.req.param('uid') as string).toLowerCase();
  const session = sessions.find(uid);
  const gone = new ServiceError(404, `upload session ${uid} does not exist`);
  if (!session || (!session.completed_at && session.expires_at <= now())) throw gone;
  if (!session.completed_at && faults.findAndFire('expire-sessions', faultTargetOf(c))) {
    sessions.expire(uid, now());
    throw gone;
  }
  return session;
}

const faultTargetOf = (c: Context) => ({ method: c.req.method, path: c.req.path });

const corruptChecksum = (checksum: string) =>
  checksum.replace(/./g, (digit) => (15 - Number.parseInt(digit, 16)).toString(16));

const parseWholeNumber = (header: string | undefined) =>
  header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : undefined;

/** Decodes the `Upload-Metadata` header: "comma-separated list of `key <base64(value)>` pairs" (§4). */
function decodeMetadata(header: string | undefined): Map<string, string> {
  if (!header) throw new ServiceError(400, 'Upload-Metadata is missing');
  const metadata = new Map<string, string>();
  for (const pair of header.split(',')) {
    const [key = '', value = '', ...rest] = pair.trim().split(' ');
    const bytes = Buffer.from(value, 'base64');
    const isRead = key !== '' && rest.length === 0 && bytes.toString('base64') === value;
    if (!isRead || metadata.has(key) || bytes.includes(0) || !isUtf8(bytes))
      throw new ServiceError(400, `Upload-Metadata is invalid at '${pair.trim()}'`);
    metadata.set(key, bytes.toString('utf8'));
  }
  return metadata;
}
