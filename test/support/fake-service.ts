import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { assetUid, type FakeAsset, FakeLibrary, type LibraryOptions, testKey, workspaceUid } from './fake-library.ts';
import { respond, startServer } from './http-server.ts';
import { readRequest, type StubResponse } from './recording-server.ts';

export type ServiceRequest = {
  service: FakeService;
  method: string;
  /** Path and query below the API prefix. */
  path: string;
  nth: number;
  /** The asset of the upload session that the request is about; undefined for other requests. */
  asset: FakeAsset;
  /** Receives the request's body, perhaps changes it, and applies the request. Returns the service's response. */
  act: (change?: (bytes: Buffer) => Buffer) => Promise<StubResponse>;
};

/** Fault of one request. Returns the response, or undefined to drop the connection. */
export type ServiceFault = (request: ServiceRequest) => StubResponse | undefined | Promise<StubResponse | undefined>;

/** A fault that drops the connection. */
export const dropConnection = (): undefined => undefined;
/** Creates a fault after the service has acted: changes its response, or drops the connection. */
export const handleThen =
  (change: (reply: StubResponse, request: ServiceRequest) => StubResponse | undefined): ServiceFault =>
  async (request) =>
    change(await request.act(), request);
/** Creates a fault that responds with an error instead of the service. */
export const respondWithError =
  (status: number, headers = {}) =>
  (): StubResponse => ({ status, headers, body: { error: { code: 'of_the_test' } } });

/** Responds to a request for media. */
export type MediaResponder = (response: ServerResponse, name: string) => void;

type ServiceOptions = LibraryOptions & {
  limit?: { requests: number; windowMs: number };
  latencyMs?: number;
  media?: MediaResponder;
};

const v1 = '/api/external/v1';

/** A library on a server that counts requests, enforces a rate limit, can stop and restart, and fails on request. */
export class FakeService extends FakeLibrary {
  readonly counts: Record<string, number> = {};
  /** Number of 429 responses by the start of their window, in milliseconds since the epoch. */
  readonly refusedByWindow = new Map<number, number>();
  readonly grantedByWindow = new Map<number, number>();
  readonly connections = new Set<IncomingMessage['socket']>();
  readonly #options: ServiceOptions;
  requestCount = 0;
  url = 'http://127.0.0.1:0';
  /** Selects the fault of a request, if any. */
  fault: (seen: ServiceRequest) => ServiceFault | undefined = () => undefined;
  /** Stops listening and drops all connections, as in an outage. */
  stop = () => {};
  #windowStart = 0;

  private constructor(options: ServiceOptions) {
    super(options);
    this.#options = options;
  }

  static async start(options: ServiceOptions = {}): Promise<FakeService> {
    const service = new FakeService(options);
    await service.listen();
    onTestFinished(() => service.stop());
    return service;
  }

  get environment() {
    return { MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: this.url, MEDIACTL_WORKSPACE: workspaceUid };
  }

  /** Starts listening; on the same port as before after a stop. */
  async listen(): Promise<void> {
    const onEnd = (close: () => void) => {
      this.stop = close;
    };
    const port = Number(new URL(this.url).port);
    this.url = await startServer((request, response) => this.#serve(request, response), onEnd, port);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', socket } = request;
    const { latencyMs, media } = this.#options;
    const path = url.replace(v1, '');
    const endpoint = `${method} ${path.replace(/[0-9a-f-]{36}/g, ':uid').replace(/\?.*/, '')}`;
    const nth = ++this.requestCount;
    this.counts[endpoint] = (this.counts[endpoint] ?? 0) + 1;
    this.connections.add(socket);
    if (media && path.startsWith('/media/')) return media(response, path.slice('/media/'.length));
    if (latencyMs) await sleep(latencyMs);
    const isRateLimited = this.#countInWindow(response);
    const act: ServiceRequest['act'] = async (change = (bytes) => bytes) => {
      const received = await readRequest(request);
      return this.respond({ ...received, bytes: change(received.bytes) });
    };
    const asset = this.sessions.get(path.split('/')[2] ?? '') as FakeAsset;
    const seen = { service: this, method, path, nth, asset, act };
    const fault = this.fault(seen);
    if (isRateLimited) {
      await readRequest(request); // a client reads the response only after it has sent its body
      return respond(response, 429, { error: { code: 'rate_limited' } });
    }
    const reply = fault ? await fault(seen) : await act();
    if (!reply) return void socket.destroy();
    respond(response, reply.status ?? 200, reply.body, reply.headers);
  }

  /** Counts the request and sets the rate-limit headers. @returns true if the request exceeds the limit */
  #countInWindow(response: ServerResponse): boolean {
    const { limit } = this.#options;
    if (!limit) return false;
    const now = Date.now();
    // Windows end on whole seconds: the reset header has one-second resolution.
    if (now >= this.#windowStart + limit.windowMs) this.#windowStart = Math.ceil(now / 1000) * 1000;
    const resetAt = this.#windowStart + limit.windowMs;
    const granted = this.grantedByWindow.get(this.#windowStart) ?? 0;
    const isTooMany = granted >= limit.requests;
    const counts = isTooMany ? this.refusedByWindow : this.grantedByWindow;
    counts.set(this.#windowStart, (counts.get(this.#windowStart) ?? 0) + 1);
    response.setHeader('x-ratelimit-limit', String(limit.requests));
    response.setHeader('x-ratelimit-remaining', String(Math.max(0, limit.requests - granted - 1)));
    response.setHeader('x-ratelimit-reset', String(resetAt / 1000));
    if (isTooMany) response.setHeader('retry-after', String(Math.ceil((resetAt - now) / 1000)));
    return isTooMany;
  }
}

/** Starts a service with one asset, whose playback info is in its record; `media` sends its file. */
export async function serveAsset(fields: object, media: MediaResponder = () => {}): Promise<string> {
  const asset = { uid: assetUid, ...fields };
  return (await FakeService.start({ assets: [asset], playback: asset, media })).url;
}

export const sendBytes = (bytes: Buffer, type: string) => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': type, 'content-length': bytes.length }).end(bytes);
};
