import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { boundConnections } from './connections.ts';
import { uploadPath } from './http.ts';

/** What a connection may cost. Each ends with the connection closed. */
export type Bounds = {
  /** Until a request's headers are whole, from when the connection opened or the last one ended. */
  headersMs: number;
  /** Until a body is whole that is no chunk of an upload. */
  bodyMs: number;
  /** Nothing sent, nothing taken: a client that does not read its answer. */
  idleMs: number;
  connections: number;
  headerBytes: number;
};

const bounds: Bounds = {
  headersMs: 30_000,
  bodyMs: 30_000,
  idleMs: 300_000,
  connections: 512,
  // Upload-Metadata holds a description, in base64.
  headerBytes: 32 * 1024,
};

/**
 * A server that slow, silent and many clients cannot exhaust. A chunk of 50 MiB may take long:
 * there silence alone is bounded, where the bytes are received.
 */
export function boundedServer(listener: RequestListener, overrides: Partial<Bounds> = {}): Server {
  const { headersMs, bodyMs, idleMs, connections, headerBytes } = { ...bounds, ...overrides };
  const server = createServer(
    {
      maxHeaderSize: headerBytes,
      highWaterMark: 1024 * 1024,
      headersTimeout: headersMs,
      requestTimeout: 0, // it would count a chunk's bytes too
      connectionsCheckingInterval: Math.min(headersMs, 5_000),
    },
    (incoming, outgoing) => {
      if (!isLong(incoming)) boundBody(incoming, bodyMs);
      listener(incoming, outgoing);
    },
  );
  server.timeout = idleMs;
  boundConnections(server, connections);
  return server;
}

/** A chunk of an upload, or a file that comes from the page. */
const isLong = ({ method, url = '' }: IncomingMessage) =>
  method === 'PATCH' ? url.startsWith(uploadPath) : method === 'POST' && isPageUpload.test(url);

const isPageUpload = /^\/b\/[\w-]+\/uploads\?/;

/** Also where nobody reads it: a refused request must not dribble on. */
function boundBody(incoming: IncomingMessage, bodyMs: number): void {
  const { socket } = incoming;
  const timer = setTimeout(() => incoming.complete || socket.destroy(), bodyMs);
  const over = () => clearTimeout(timer);
  incoming.once('end', over);
  incoming.once('close', over);
  timer.unref();
}
