import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/**
 * Starts an HTTP server on a loopback port.
 *
 * @param onEnd registers the function that closes the server; by default, it runs when the test ends
 * @param port a free one by default
 * @returns its origin
 */
export async function startServer(
  handler: Handler,
  onEnd: (close: () => void) => unknown = onTestFinished,
  port = 0,
): Promise<string> {
  const server = createServer((request, response) => {
    Promise.resolve(handler(request, response)).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 30_000; // Node's 5 s race with a busy client, which then sends a read once more
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function respond(
  response: ServerResponse,
  status: number,
  body: unknown = undefined,
  headers: Record<string, string> = {},
): void {
  const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/plain' : 'application/json';
  response.writeHead(status, { ...(text && { 'content-type': type }), ...headers });
  response.end(text);
}

/** Starts a site on its own origin that serves one HTML document. */
export const serveHtml = (text: string) =>
  startServer((_, response) => respond(response, 200, text, { 'content-type': 'text/html' }));
