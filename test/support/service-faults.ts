import { type FakeAsset, offsetOf } from './fake-library.ts';
import {
  dropConnection,
  handleThen,
  respondWithError,
  type ServiceFault,
  type ServiceRequest,
} from './fake-service.ts';
import type { StubResponse } from './recording-server.ts';

type Faults = Record<string, ServiceFault>;

const showHtml = (status: number) => (): StubResponse => ({
  status,
  body: '<html><body><h1>Bad gateway</h1></body></html>',
  headers: { 'content-type': 'text/html' },
});
const badGateway = showHtml(502);
const respondAssetUid = ({ body, ...response }: StubResponse): StubResponse => ({
  ...response,
  body: { asset_uid: (body as { asset_uid: string }).asset_uid },
});
/** Creates a fault that acknowledges the received bytes with other headers. */
const acknowledge = (headersOf: (asset: FakeAsset) => Record<string, string>): ServiceFault =>
  handleThen((_, { asset }) => ({ status: 204, headers: headersOf(asset) }));
const rateLimit = respondWithError(429, { 'retry-after': '2' });
const firstHalf = (bytes: Buffer) => bytes.subarray(0, Math.ceil(bytes.length / 2));
const flipFirstBit = (bytes: Buffer) => Buffer.from(bytes.map((byte, at) => (at === 0 ? byte ^ 1 : byte)));

const unavailable: Faults = { cut: dropConnection, gateway: badGateway, 'internal error': respondWithError(500) };
const unavailableAsset: Faults = {
  ...unavailable,
  'rate limit': rateLimit,
  'not found at first': respondWithError(404),
};

/** Faults by operation and name. Each occurs with some real service, gateway or network. */
const faults: Record<'create' | 'look' | 'send' | 'list' | 'get', Faults> = {
  create: {
    'storage unavailable': () => ({ status: 503, body: 'storage is not configured' }),
    'cut before': dropConnection,
    'cut after': handleThen(dropConnection),
    'gateway before': badGateway,
    'gateway after': handleThen(badGateway),
    'internal error before': respondWithError(500),
    'internal error after': handleThen(() => ({ status: 500, body: { detail: 'a defect' } })),
    'rate limit': rateLimit,
    'key refused': respondWithError(401),
    'location header only': handleThen(respondAssetUid),
    'no location': handleThen((reply) => ({ ...respondAssetUid(reply), headers: {} })),
    'session lost after creation': handleThen((reply, { service }) => {
      service.sessions.clear();
      return reply;
    }),
  },
  look: {
    ...unavailableAsset,
    'no offset': () => ({ status: 200 }),
    'invalid offset': () => ({ headers: { 'upload-offset': '0x10' } }),
    'duplicate offset': ({ asset: { bytes } }) => ({
      headers: { 'upload-offset': `${bytes.length}, ${bytes.length}` },
    }),
    'lost bytes': ({ act, asset }) => {
      asset.bytes = asset.bytes.subarray(0, Math.floor(asset.bytes.length / 2));
      asset.completedAt = undefined;
      return act();
    },
  },
  send: {
    'cut before': dropConnection,
    'cut halfway': async ({ act }) => void (await act(firstHalf)),
    'cut after': handleThen(dropConnection),
    'gateway after': handleThen(badGateway),
    'internal error before': respondWithError(500),
    'internal error after': handleThen(() => ({ status: 503, body: { error: 'busy' } })),
    'locked by a dropped connection': respondWithError(423),
    'too early': respondWithError(425),
    'chunk checksum mismatch': respondWithError(460),
    'rate limit': rateLimit,
    'key refused': respondWithError(401),
    'quota exceeded': respondWithError(402),
    'another offset': ({ asset }) => ({ status: 409, headers: offsetOf(asset) }),
    'session lost before': ({ service }) => {
      service.sessions.clear();
      return respondWithError(404)();
    },
    'session lost after': handleThen((_, { service }) => void service.sessions.clear()),
    'no offset': acknowledge(() => ({})),
    'offset beyond the sent bytes': acknowledge(({ size }) => ({ 'upload-offset': String(size + 1) })),
    'no checksum': acknowledge(offsetOf),
    'invalid checksum': acknowledge((asset) => ({ ...offsetOf(asset), 'x-checksum-blake3': 'pending' })),
    'corrupted byte': async ({ act, asset }) => {
      const reply = await act(flipFirstBit);
      asset.isCorrupted ||= reply.status === 204;
      return reply;
    },
  },
  list: { ...unavailable, 'captive portal': showHtml(200) },
  get: unavailableAsset,
};

/** Returns the faults that a request may have, with their names. */
export function faultsOf({ method, path, asset }: ServiceRequest): [name: string, fault: ServiceFault][] {
  const [, collection, uid] = path.split('/');
  if (collection === 'assets') return Object.entries(uid?.includes('-') ? faults.get : faults.list);
  if (collection !== 'upload') return [];
  if (method === 'POST') return Object.entries(faults.create);
  return asset ? Object.entries(method === 'HEAD' ? faults.look : faults.send) : [];
}
