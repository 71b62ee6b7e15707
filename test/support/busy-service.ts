import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Blake3Hasher } from '@napi-rs/blake-hash';
import { onTestFinished } from 'vitest';
import { respond } from './http-server.ts';

export type BusyAsset = {
  uid: string;
  name: string;
  size: number;
  storedBytes: number;
  blake3: string;
  folder: string | undefined;
  createdAt: string;
  /** Time of the last byte, in milliseconds since the epoch; undefined while incomplete. */
  completedAt: number | undefined;
  isTrashed: boolean;
  description?: string | undefined;
  tags?: string[];
};

export type BusyRequest = { method: string; path: string; nth: number };

/** A fault of one request: an error response, or a dropped connection before or after the service acted. */
export type BusyFault = { status: number } | 'cut before' | 'cut after';

type BusyOptions = {
  limit?: { requests: number; windowMs: number };
  /** Processing time: from the last byte to status `ready`. */
  readyAfterMs?: number;
  latencyMs?: number;
  /** Status of complete assets; `processing` and then `ready` by default. */
  status?: string;
  /** Asset records include their size, or their size and checksum. */
  shows?: 'size' | 'size and checksum';
  /** The `parent` filter includes the folders below. */
  listsFoldersBelow?: boolean;
  /** Asset records include their parent folder. */
  returnsParent?: boolean;
  /** Trims folder names. */
  trimsNames?: boolean;
  /** The body field that sets a folder's parent, and the record field that returns it, if any. */
  parentFields?: { taken: string; shown?: string };
  /** Name of folders that are created at the top level, whatever parent is requested. */
  misplacedFolder?: string;
};

const v1 = '/api/external/v1';

/**
 * Fake service for thousands of small files, written from the specification: it counts requests,
 * enforces a rate limit, can stop and restart, and has the BLAKE3 digest of every asset.
 */
export class BusyService {
  readonly assets = new Map<string, BusyAsset>();
  readonly folders: { uid: string; name: string; parent: string | undefined }[] = [];
  readonly counts: Record<string, number> = {};
  /** Number of 429 responses by the start of their window, in milliseconds since the epoch. */
  readonly refusedByWindow = new Map<number, number>();
  readonly grantedByWindow = new Map<number, number>();
  requests = 0;
  connections = 0;
  fault: (seen: BusyRequest) => BusyFault | undefined = () => undefined;
  readonly #options: BusyOptions;
  readonly #sockets = new Set<IncomingMessage['socket']>();
  /** Digest of the bytes of each asset that got some and is incomplete. */
  readonly #hashers = new Map<string, Blake3Hasher>();
  #server: Server | undefined;
  #port = 0;
  #windowStart = 0;
  #requestsInWindow = 0;

  constructor(options: BusyOptions = {}) {
    this.#options = options;
  }

  static async start(options: BusyOptions = {}): Promise<BusyService> {
    const service = new BusyService(options);
    await service.listen();
    onTestFinished(() => service.stop());
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get environment() {
    return {
      MEDIACTL_API_KEY: 'a-key-of-many',
      MEDIACTL_BASE_URL: this.url,
      MEDIACTL_WORKSPACE: '00000000-0000-4000-8000-00000000000a',
    };
  }

  /** Assets that are complete and not in the trash. */
  get completeAssets(): BusyAsset[] {
    return [...this.assets.values()].filter(({ completedAt, isTrashed }) => completedAt && !isTrashed);
  }

  /** Sorted paths of complete assets, such as `/Rushes/day 1/a.bin`. */
  get paths(): string[] {
    const pathOf = (uid: string | undefined): string => {
      const found = this.folders.find((each) => each.uid === uid);
      return found ? `${pathOf(found.parent)}/${found.name}` : '';
    };
    return this.completeAssets.map(({ name, folder }) => `${pathOf(folder)}/${name}`).sort();
  }

  /** Tags of each asset that has tags. */
  get tags(): string[][] {
    return [...this.assets.values()].flatMap(({ tags }) => (tags ? [tags] : []));
  }

  /** Starts listening; on the same port as before after a stop. */
  async listen(): Promise<void> {
    const server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      this.connections++;
      socket.on('close', () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Stops listening and drops all connections, as in an outage. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const path = url.replace(v1, '');
    this.requests++;
    const endpoint = `${method} ${path.replace(/[0-9a-f-]{36}/g, ':uid').replace(/\?.*/, '')}`;
    const nth = (this.counts[endpoint] ?? 0) + 1;
    this.counts[endpoint] = nth;
    if (this.#options.latencyMs) await new Promise((resolve) => setTimeout(resolve, this.#options.latencyMs));
    const isRateLimited = this.#rateLimit(response);
    const fault = this.fault({ method, path, nth: this.requests });
    if (isRateLimited) return this.#rejectAfterBody(request, response, 429, { error: { code: 'rate_limited' } });
    if (fault === 'cut before') return void request.socket.destroy();
    if (typeof fault === 'object')
      return this.#rejectAfterBody(request, response, fault.status, {
        error: { code: 'of_the_test' },
      });
    const { status, body, headers } = await this.#process(method, path, request);
    if (fault === 'cut after') return void request.socket.destroy();
    respond(response, status, body, headers);
  }

  async #rejectAfterBody(request: IncomingMessage, response: ServerResponse, status: number, body: unknown) {
    for await (const _part of request); // a client reads the response only after it has sent its body
    respond(response, status, body);
  }

  /** Counts the request and sets the rate-limit headers. @returns true if the request exceeds the limit */
  #rateLimit(response: ServerResponse): boolean {
    const { limit } = this.#options;
    if (!limit) return false;
    const now = Date.now();
    if (now >= this.#windowStart + limit.windowMs) {
      // Windows end on whole seconds: the reset header has one-second resolution.
      this.#windowStart = Math.ceil(now / 1000) * 1000;
      this.#requestsInWindow = 0;
    }
    const resetAt = this.#windowStart + limit.windowMs;
    const isTooMany = this.#requestsInWindow >= limit.requests;
    if (isTooMany) this.refusedByWindow.set(this.#windowStart, (this.refusedByWindow.get(this.#windowStart) ?? 0) + 1);
    else {
      this.#requestsInWindow++;
      this.grantedByWindow.set(this.#windowStart, this.#requestsInWindow);
    }
    response.setHeader('x-ratelimit-limit', String(limit.requests));
    response.setHeader('x-ratelimit-remaining', String(limit.requests - this.#requestsInWindow));
    response.setHeader('x-ratelimit-reset', String(resetAt / 1000));
    if (isTooMany) response.setHeader('retry-after', String(Math.ceil((resetAt - now) / 1000)));
    return isTooMany;
  }

  async #process(method: string, path: string, request: IncomingMessage): Promise<BusyResponse> {
    const uid = /\/([0-9a-f-]{36})\/(?:$|\?)/.exec(path)?.[1] ?? '';
    if (method === 'POST' && path === '/upload/') return this.#create(request);
    if (path.startsWith('/upload/')) return this.#transfer(method, uid, request);
    if (path.includes('/folders/')) return this.#folders(method, request);
    if (path.startsWith('/workspaces/'))
      return { status: 200, body: { items: [{ uid: this.environment.MEDIACTL_WORKSPACE, name: 'Main' }], count: 1 } };
    if (uid === '') return this.#list(path);
    const asset = this.assets.get(uid);
    if (!asset || asset.isTrashed) return { status: 404, body: { error: {} } };
    if (method === 'DELETE') {
      asset.isTrashed = true;
      return { status: 204 };
    }
    if (method === 'PATCH') {
      asset.tags = (await jsonOf(request)).tags as string[];
      return { status: 200, body: { ...this.#record(asset), tags: asset.tags } };
    }
    return { status: 200, body: this.#record(asset) };
  }

  #create({ headers }: IncomingMessage): BusyResponse {
    const metadata = Object.fromEntries(
      String(headers['upload-metadata'])
        .split(',')
        .map((pair) => pair.split(' '))
        .map(([key = '', value = '']) => [key, Buffer.from(value, 'base64').toString()]),
    );
    const uid = randomUUID();
    const size = Number(headers['upload-length']);
    const asset: BusyAsset = {
      uid,
      name: metadata.asset_name ?? metadata.filename ?? '',
      size,
      storedBytes: 0,
      blake3: '',
      description: metadata.description,
      folder: metadata.parent_folder_uid,
      createdAt: new Date().toISOString(),
      completedAt: size === 0 ? Date.now() : undefined,
      isTrashed: false,
    };
    this.assets.set(uid, asset);
    const location = `${v1}/upload/${uid}/`;
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const body = { uid, asset_uid: uid, location, total_size: size, expires_at };
    return { status: 201, body, headers: { location } };
  }

  async #transfer(method: string, uid: string, request: IncomingMessage): Promise<BusyResponse> {
    const asset = this.assets.get(uid);
    if (!asset) return { status: 404, body: { error: {} } };
    const offset = () => ({ 'upload-offset': String(asset.storedBytes) });
    if (method === 'HEAD') return { status: 200, headers: offset() };
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const received = parts.reduce((sum, { length }) => sum + length, 0);
    if (Number(request.headers['upload-offset']) !== asset.storedBytes) return { status: 409, headers: offset() };
    asset.storedBytes += received;
    const hasher = this.#hashers.get(uid) ?? new Blake3Hasher();
    for (const part of parts) hasher.update(part);
    this.#hashers.set(uid, hasher);
    if (asset.storedBytes < asset.size) return { status: 204, headers: offset() };
    asset.blake3 = hasher.digest('hex');
    asset.completedAt = Date.now();
    this.#hashers.delete(uid);
    // Only for files of one chunk, so that clients also see a service that sends none.
    const checksumHeader: Record<string, string> = received === asset.size ? { 'x-checksum-blake3': asset.blake3 } : {};
    return { status: 204, headers: { ...offset(), ...checksumHeader } };
  }

  async #folders(method: string, request: IncomingMessage): Promise<BusyResponse> {
    const { taken, shown } = this.#options.parentFields ?? { taken: 'parent_uid' };
    const recordOf = ({ uid, name, parent }: (typeof this.folders)[number]) => ({
      uid,
      name,
      ...(shown && { [shown]: parent ?? null }),
    });
    if (method === 'POST') {
      const body = (await jsonOf(request)) as { [field: string]: string };
      const name = this.#options.trimsNames ? body.name?.trim() : body.name;
      const parent = name === this.#options.misplacedFolder ? undefined : body[taken];
      const folder = { uid: randomUUID(), name: name ?? '', parent };
      this.folders.push(folder);
      return { status: 201, body: recordOf(folder) };
    }
    type Node = { uid: string; name: string; children: Node[] };
    const childrenOf = (uid: string | undefined): Node[] =>
      this.folders
        .filter(({ parent }) => (parent ?? undefined) === uid)
        .map((each) => ({ ...recordOf(each), children: childrenOf(each.uid) }));
    return { status: 200, body: childrenOf(undefined) };
  }

  #list(path: string): BusyResponse {
    const { searchParams } = new URL(path, 'http://service');
    const offset = Number(searchParams.get('offset') ?? 0);
    const limit = Number(searchParams.get('limit') ?? 20);
    const parent = searchParams.get('parent');
    const search = searchParams.get('search');
    const createdAfter = searchParams.get('created_after') ?? '';
    const all = [...this.assets.values()]
      .filter(({ isTrashed }) => !isTrashed)
      .filter(({ folder }) => parent === null || this.#isIn(folder, parent))
      .filter(({ name, description = '' }) => search === null || `${name} ${description}`.includes(search))
      .filter(({ createdAt }) => createdAt.slice(0, 10) >= createdAfter)
      .reverse();
    const items = all.slice(offset, offset + limit).map((asset) => this.#record(asset));
    return { status: 200, body: { items, count: all.length } };
  }

  #isIn(folder: string | undefined, parent: string): boolean {
    if ((folder ?? 'root') === parent) return true;
    if (!this.#options.listsFoldersBelow || folder === undefined) return false;
    return this.#isIn(this.folders.find(({ uid }) => uid === folder)?.parent, parent);
  }

  #record({ uid, name, size, blake3, description, folder, completedAt, createdAt }: BusyAsset) {
    const { readyAfterMs = 0, returnsParent = false, shows, status: given } = this.#options;
    const isReady = completedAt !== undefined && Date.now() >= completedAt + readyAfterMs;
    const status = completedAt === undefined ? 'uploading' : (given ?? (isReady ? 'ready' : 'processing'));
    const parent = returnsParent ? { parent: folder ?? null } : {};
    const content = { ...(shows && { size }), ...(shows === 'size and checksum' && { checksum_blake3: blake3 }) };
    return { uid, name, description, status, created_at: createdAt, ...parent, ...content };
  }
}

async function jsonOf(request: IncomingMessage): Promise<{ [field: string]: unknown }> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
}

type BusyResponse = { status: number; body?: unknown; headers?: Record<string, string> };
