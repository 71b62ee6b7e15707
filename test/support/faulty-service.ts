import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { blake3 } from '@napi-rs/blake-hash';
import { respond, startServer } from './http-server.ts';
import type { Random } from './random.ts';

type Session = {
  assetUid: string;
  size: number;
  stored: Buffer;
  /** False once the service has forgotten the session: requests get 404. */
  exists: boolean;
  /** The stored bytes differ from the bytes that were sent. */
  isCorrupted: boolean;
};
export type StoredAsset = { name: string; session: Session; createdAt: string };

type Exchange = { request: IncomingMessage; response: ServerResponse; session: Session };
/** Fault of one request: responds or drops the connection, perhaps after the service has acted. */
type Fault = (exchange: Exchange, service: FaultyService) => void | Promise<void>;

const html = '<html><body><h1>Bad gateway</h1></body></html>';
const asHtml = { 'content-type': 'text/html' };
const dropConnection: Fault = ({ request }) => void request.socket.destroy();
const respondStatus =
  (code: number, body: unknown = { error: { code: 'soak', message: 'of the soak' } }): Fault =>
  ({ response }) =>
    respond(response, code, body, code === 429 ? { 'retry-after': '2' } : {});
const badGateway: Fault = ({ response }) => respond(response, 502, html, asHtml);
const offsetOf = ({ stored }: Session) => ({ 'upload-offset': String(stored.length) });

/** Faults by operation and name. Each occurs with some real service, gateway or network. */
const faults: Record<string, Record<string, Fault>> = {
  create: {
    'storage is away': respondStatus(503, 'storage is not configured'),
    'cut before': dropConnection,
    'cut after': (exchange, service) => {
      service.create(exchange.request);
      return dropConnection(exchange, service);
    },
    'gateway before': badGateway,
    'gateway after': (exchange, service) => {
      service.create(exchange.request);
      return badGateway(exchange, service);
    },
    'a defect before': respondStatus(500),
    'a defect after': ({ request, response }, service) => {
      service.create(request);
      respond(response, 500, { detail: 'a defect' });
    },
    'rate limit': respondStatus(429),
    'key refused': respondStatus(401),
    'header alone': ({ request, response }, service) => {
      const { uid, session } = service.create(request);
      respond(response, 201, { asset_uid: session.assetUid }, { location: service.locationOf(uid) });
    },
    'no location': ({ request, response }, service) => {
      respond(response, 201, { asset_uid: service.create(request).session.assetUid });
    },
    'forgotten at once': ({ request, response }, service) => {
      const { uid, session } = service.create(request);
      session.exists = false;
      respond(response, 201, { asset_uid: session.assetUid }, { location: service.locationOf(uid) });
    },
  },
  look: {
    cut: dropConnection,
    gateway: badGateway,
    'a defect': respondStatus(500),
    'rate limit': respondStatus(429),
    'no offset': ({ response }) => respond(response, 200),
    'offset that is none': ({ response }) => respond(response, 200, '', { 'upload-offset': '0x10' }),
    'offset twice': ({ response, session }) => {
      const { length } = session.stored;
      respond(response, 200, '', { 'upload-offset': `${length}, ${length}` });
    },
    'not known for a moment': respondStatus(404),
    'bytes are lost': ({ response, session }) => {
      session.stored = session.stored.subarray(0, Math.floor(session.stored.length / 2));
      respond(response, 200, undefined, offsetOf(session));
    },
  },
  send: {
    'cut before': dropConnection,
    'cut amid': async (exchange, service) => {
      await service.receive(exchange, 0.5);
      return dropConnection(exchange, service);
    },
    'cut after': async (exchange, service) => {
      await service.receive(exchange);
      return dropConnection(exchange, service);
    },
    'gateway after': async (exchange, service) => {
      await service.receive(exchange);
      return badGateway(exchange, service);
    },
    'a defect before': respondStatus(500),
    'a defect after': async ({ response, ...exchange }, service) => {
      await service.receive({ response, ...exchange });
      respond(response, 503, { error: 'busy' });
    },
    'locked by a dead line': respondStatus(423),
    'too early': respondStatus(425),
    'checksum of the part': respondStatus(460),
    'rate limit': respondStatus(429),
    'key refused': respondStatus(401),
    'quota ends': respondStatus(402),
    'another offset': ({ response, session }) => respond(response, 409, '', offsetOf(session)),
    'forgotten before': ({ response, session }) => {
      session.exists = false;
      respond(response, 404, { error: {} });
    },
    'forgotten after': async (exchange, service) => {
      await service.receive(exchange);
      exchange.session.exists = false;
      return dropConnection(exchange, service);
    },
    'no offset': async (exchange, service) => {
      await service.receive(exchange);
      respond(exchange.response, 204);
    },
    'an offset of bytes that were never sent': async (exchange, service) => {
      await service.receive(exchange);
      const { response, session } = exchange;
      respond(response, 204, undefined, { 'upload-offset': String(session.size + 1) });
    },
    'no checksum': async (exchange, service) => {
      await service.receive(exchange);
      respond(exchange.response, 204, undefined, offsetOf(exchange.session));
    },
    'a checksum that is none': async (exchange, service) => {
      await service.receive(exchange);
      const { response, session } = exchange;
      respond(response, 204, undefined, { ...offsetOf(session), 'x-checksum-blake3': 'pending' });
    },
    'a byte changed on the way': async (exchange, service) => {
      await service.receive(exchange, 1, true);
      service.acknowledge(exchange);
    },
  },
  list: {
    cut: dropConnection,
    gateway: badGateway,
    'a defect': respondStatus(500),
    captive: (e) => respond(e.response, 200, html, asHtml),
  },
  get: {
    cut: dropConnection,
    gateway: badGateway,
    'a defect': respondStatus(500),
    'rate limit': respondStatus(429),
    'not known for a moment': respondStatus(404),
  },
};

/**
 * Fake in-memory service of the specification that injects a limited number of random faults. It stores what
 * was sent, unless a fault corrupts it.
 */
export class FaultyService {
  readonly assets = new Map<string, StoredAsset>();
  /** Injected faults, in order, for debugging a seed that fails. */
  readonly log: string[] = [];
  readonly random: Random;
  readonly #sessions = new Map<string, Session>();
  readonly #onRequest: () => void;
  #faultsLeft: number;
  #probability: number;
  url = '';

  private constructor(random: Random, onRequest: () => void) {
    this.random = random;
    this.#onRequest = onRequest;
    this.#faultsLeft = random.below(10);
    this.#probability = 0.1 + 0.5 * random.next();
  }

  static async start(random: Random, onRequest: () => void = () => {}): Promise<FaultyService> {
    const service = new FaultyService(random, onRequest);
    service.url = await startServer((request, response) => service.#serve(request, response));
    return service;
  }

  /** Stops injecting faults. */
  recover(): void {
    this.#faultsLeft = 0;
  }

  bytesOf(assetUid: string): Buffer | undefined {
    return this.assets.get(assetUid)?.session.stored;
  }

  isCorrupted(assetUid: string | null): boolean {
    return this.assets.get(assetUid ?? '')?.session.isCorrupted === true;
  }

  locationOf(uid: string): string {
    return `/api/external/v1/upload/${uid}/`;
  }

  create({ headers }: IncomingMessage): { uid: string; session: Session } {
    const metadata = new Map(
      String(headers['upload-metadata'])
        .split(',')
        .map((pair) => pair.split(' ') as [string, string]),
    );
    const name = Buffer.from(metadata.get('filename') ?? '', 'base64').toString();
    const size = Number(headers['upload-length']);
    const uid = randomUUID();
    const session = {
      assetUid: randomUUID(),
      size,
      stored: Buffer.alloc(0),
      exists: true,
      isCorrupted: false,
    };
    this.#sessions.set(uid, session);
    this.assets.set(session.assetUid, { name, session, createdAt: new Date().toISOString() });
    return { uid, session };
  }

  /** Receives a PATCH body and stores the given share of it; `isCorrupted` flips a bit first. */
  async receive({ request, session }: Exchange, share = 1, isCorrupted = false): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const sent = Buffer.concat(chunks);
    if (Number(request.headers['upload-offset']) !== session.stored.length) return;
    if (isCorrupted && sent[0] !== undefined) {
      sent[0] ^= 1;
      session.isCorrupted = true;
    }
    session.stored = Buffer.concat([session.stored, sent.subarray(0, Math.ceil(sent.length * share))]);
  }

  acknowledge({ request, response, session }: Exchange): void {
    const isStale = Number(request.headers['upload-offset']) > session.stored.length;
    const isWhole = session.stored.length === session.size;
    respond(response, isStale ? 409 : 204, undefined, {
      ...offsetOf(session),
      ...(isWhole && { 'x-checksum-blake3': blake3(session.stored).toString('hex') }),
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#onRequest();
    const { method = '', url = '' } = request;
    const [, kind, uid] = /\/api\/external\/v1\/(\w+)\/(?:([\w-]+)\/)?/.exec(url) ?? [];
    const session = this.#sessions.get(uid ?? '');
    const operation =
      kind === 'upload'
        ? { POST: 'create', HEAD: 'look', PATCH: 'send' }[method]
        : { assets: uid ? 'get' : 'list' }[kind ?? ''];
    if (!operation || (kind === 'upload' && method !== 'POST' && !session?.exists))
      return respond(response, 404, { error: { message: 'no such thing' } });
    const exchange = { request, response, session: session as Session };
    const fault = this.#pickFault(operation);
    if (fault) return fault(exchange, this);
    if (operation === 'create') {
      const created = this.create(request);
      const location = this.locationOf(created.uid);
      const { assetUid, size } = created.session;
      return respond(
        response,
        201,
        { uid: created.uid, location, asset_uid: assetUid, total_size: size },
        { location },
      );
    }
    if (operation === 'look')
      return respond(response, 200, undefined, {
        ...offsetOf(exchange.session),
        'upload-length': String(exchange.session.size),
      });
    if (operation === 'send') {
      await this.receive(exchange);
      return this.acknowledge(exchange);
    }
    const records = [...this.assets.keys()].reverse().map((each) => this.#record(each));
    if (operation === 'list') {
      const { searchParams } = new URL(url, this.url);
      const offset = Number(searchParams.get('offset') ?? 0);
      const limit = Number(searchParams.get('limit') ?? 20);
      return respond(response, 200, {
        items: records.slice(offset, offset + limit),
        count: records.length,
      });
    }
    const record = records.find((each) => each.uid === uid);
    return record ? respond(response, 200, record) : respond(response, 404, { error: {} });
  }

  #record(uid: string) {
    const { name, session, createdAt } = this.assets.get(uid) as StoredAsset;
    const isWhole = session.stored.length === session.size;
    return {
      uid,
      name,
      type: 'document',
      status: isWhole ? 'ready' : 'uploading',
      size: session.size,
      created_at: createdAt,
    };
  }

  #pickFault(what: string): Fault | undefined {
    if (this.#faultsLeft === 0 || !this.random.chance(this.#probability)) return undefined;
    const [name, fault] = this.random.pick(Object.entries(faults[what] ?? {}));
    this.#faultsLeft--;
    this.log.push(`${what}: ${name}`);
    return fault;
  }
}
