import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';

/** Limits against slow and too many clients. The server closes connections that exceed a limit. */
const defaultLimits = {
  /** Timeout for request headers, from the start of the connection or of a later request. */
  headersMs: 30_000,
  /** Timeout for a connection without traffic, even if the client just does not read the response. */
  idleMs: 300_000,
  maxConnections: 512,
  // Upload-Metadata can contain a long description, in base64.
  maxHeaderBytes: 32 * 1024,
};

export type ConnectionLimits = typeof defaultLimits;

/** Creates an HTTP server with Node's limits for connections. The body of a request can take hours: it can be a file. */
export function createBoundedServer(listener: RequestListener, overrides: Partial<ConnectionLimits> = {}): Server {
  const { headersMs, idleMs, maxConnections, maxHeaderBytes } = { ...defaultLimits, ...overrides };
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      highWaterMark: 1024 * 1024,
      headersTimeout: headersMs,
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(headersMs, 5_000),
    },
    listener,
  );
  server.timeout = idleMs;
  server.keepAliveTimeout = 30_000; // Node's 5 s race with a busy client that reuses the connection
  server.maxConnections = maxConnections;
  server.on('connection', closeInStages);
  return server;
}

/** Closes a server and its connections. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

/** Time that a closing connection is still read, in milliseconds. */
const lingerMs = 5_000;

/**
 * Makes a connection close in stages (RFC 9112, section 9.6): Node.js destroys it after the last response, which resets it
 * while the client still sends, and the client then loses the response.
 */
function closeInStages(socket: Socket): void {
  socket.destroySoon = () => {
    if (socket.destroyed || socket.writableEnded) return;
    socket.end();
    socket.resume();
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', () => clearTimeout(timer));
  };
}

/** Returns true if a Host header names a server on loopback. A page of another site reaches it by DNS rebinding. */
export const isLoopbackHost = (host: string | undefined, port: number | string) =>
  ['localhost', '127.0.0.1'].some((name) => host?.toLowerCase() === `${name}:${port}`);
