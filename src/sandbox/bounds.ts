import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { boundConnections } from './connections.ts';
import { uploadPath } from './http.ts';

/** Limits against slow clients; the server closes connections that exceed one. */
export type Bounds = {
  /** Timeout for request headers, from the connection's start or the previous request's end. */
  headersMs: number;
  /** Timeout for a request body, except for upload chunks. */
  bodyMs: number;
  /** Idle timeout in both directions, also for clients that do not read the response. */
  idleMs: number;
  connections: number;
  headerBytes: number;
};

const bounds: Bounds = {
  headersMs: 30_000,
  bodyMs: 30_000,
  idleMs: 300_000,
  connections: 512,
  // Upload-Metadata may hold a long description, in base64.
  headerBytes: 32 * 1024,
};

/**
 * Creates an HTTP server that slow, idle or too many clients cannot exhaust. Upload chunks may take
 * long: the Receiver only limits their idle time.
 */
export function boundedServer(listener: RequestListener, overrides: Partial<Bounds> = {}): Server {
  const { headersMs, bodyMs, idleMs, connections, headerBytes } = { ...bounds, ...overrides };
  const server = createServer(
    {
      maxHeaderSize: headerBytes,
      highWaterMark: 1024 * 1024,
      headersTimeout: headersMs,
      requestTimeout: 0, // would also limit upload chunks
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

/** Returns true for requests with large bodies: upload chunks, and files uploaded from the page. */
const isLong = ({ method, url = '' }: IncomingMessage) =>
  method === 'PATCH' ? url.startsWith(uploadPath) : method === 'POST' && isPageUpload.test(url);

const isPageUpload = /^\/b\/[\w-]+\/uploads\?/;

/**
 * Closes the connection if the body is incomplete at the timeout, even if the handler ignores the
 * body.
 */
function boundBody(incoming: IncomingMessage, bodyMs: number): void {
  const { socket } = incoming;
  const timer = setTimeout(() => incoming.complete || socket.destroy(), bodyMs);
  const over = () => clearTimeout(timer);
  incoming.once('end', over);
  incoming.once('close', over);
  timer.unref();
}
