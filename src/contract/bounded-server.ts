import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';

/** Limits against slow clients. The server closes connections that exceed a limit. */
export type ConnectionLimits = {
  /** Timeout for request headers, from the start of the connection or of a later request. */
  headersMs: number;
  /** Timeout for a request body; does not apply to files, which can take hours. */
  bodyMs: number;
  /** Timeout for a connection without traffic, even if the client just does not read the response. */
  idleMs: number;
  maxConnections: number;
  maxHeaderBytes: number;
};

const defaultLimits: ConnectionLimits = {
  headersMs: 30_000,
  bodyMs: 30_000,
  idleMs: 300_000,
  maxConnections: 512,
  // Upload-Metadata can contain a long description, in base64.
  maxHeaderBytes: 32 * 1024,
};

/**
 * Creates an HTTP server that slow, idle or too many clients cannot exhaust.
 *
 * @param hasLargeBody returns true if the body of a request can be a file
 */
export function createBoundedServer(
  listener: RequestListener,
  overrides: Partial<ConnectionLimits> = {},
  hasLargeBody: (request: IncomingMessage) => boolean = () => false,
): Server {
  const { headersMs, bodyMs, idleMs, maxConnections, maxHeaderBytes } = { ...defaultLimits, ...overrides };
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      highWaterMark: 1024 * 1024,
      headersTimeout: headersMs,
      requestTimeout: 0, // would also limit upload chunks
      connectionsCheckingInterval: Math.min(headersMs, 5_000),
    },
    (incoming, outgoing) => {
      if (!hasLargeBody(incoming)) limitBodyTime(incoming, bodyMs);
      listener(incoming, outgoing);
    },
  );
  server.timeout = idleMs;
  limitConnections(server, maxConnections);
  return server;
}

/** Returns true if a Host header names a server on loopback. A page of another site reaches it by DNS rebinding. */
export const isLoopbackHost = (host: string | undefined, port: number | string) =>
  ['localhost', '127.0.0.1'].some((name) => host?.toLowerCase() === `${name}:${port}`);

/** Closes the connection if the body is incomplete at the timeout, even if the handler ignores the body. */
function limitBodyTime(incoming: IncomingMessage, bodyMs: number): void {
  const { socket } = incoming;
  const timer = setTimeout(() => incoming.complete || socket.destroy(), bodyMs);
  const clear = () => clearTimeout(timer);
  incoming.once('end', clear);
  incoming.once('close', clear);
  timer.unref();
}

/** Limits open connections. At the limit, a new one replaces the longest idle one; if none is idle, it is closed. */
function limitConnections(server: Server, maxConnections: number): void {
  /** Number of requests in progress per connection. */
  const open = new Map<Socket, number>();
  /** Connections without a request in progress, ordered from longest to shortest idle time. */
  const idle = new Set<Socket>();
  const forget = (socket: Socket) => {
    open.delete(socket);
    idle.delete(socket);
  };
  const countRequests = (socket: Socket, by: number) => {
    const before = open.get(socket);
    if (before === undefined) return; // already closed
    open.set(socket, before + by);
    if (before + by > 0) idle.delete(socket);
    else idle.add(socket);
  };
  server.on('connection', (socket: Socket) => {
    if (open.size >= maxConnections) {
      const [longest] = idle;
      if (!longest) return void socket.destroy();
      forget(longest);
      longest.destroy();
    }
    open.set(socket, 0);
    idle.add(socket);
    socket.once('close', () => forget(socket));
  });
  server.on('request', ({ socket }, response) => {
    countRequests(socket, 1);
    response.once('close', () => countRequests(socket, -1));
  });
}
