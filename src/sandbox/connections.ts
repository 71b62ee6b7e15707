import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Limits the number of open connections. At the limit, a new connection replaces the one that has been idle
 * (without a request in progress) for the longest time. If none is idle, the new connection is closed.
 */
export function limitConnections(server: Server, maxConnections: number): void {
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
