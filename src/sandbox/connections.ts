import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Bounds how many connections are open. At the limit a newcomer takes the place of the one that has
 * been idle longest: that asked nothing yet, or whose last answer is long sent. Where every one is
 * at work, the newcomer is closed.
 */
export function boundConnections(server: Server, most: number): void {
  /** How many requests are under way on each. */
  const open = new Map<Socket, number>();
  /** Connections without a request, the longest idle first. */
  const idle = new Set<Socket>();
  const forget = (socket: Socket) => {
    open.delete(socket);
    idle.delete(socket);
  };
  const change = (socket: Socket, by: number) => {
    const before = open.get(socket);
    if (before === undefined) return; // closed meanwhile
    open.set(socket, before + by);
    if (before + by > 0) idle.delete(socket);
    else idle.add(socket);
  };
  server.on('connection', (socket: Socket) => {
    if (open.size >= most) {
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
    change(socket, 1);
    response.once('close', () => change(socket, -1));
  });
}
