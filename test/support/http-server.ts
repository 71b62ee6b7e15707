import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** A real server for one test, on a free port of the loopback. */
export async function listen(handler: Handler): Promise<string> {
  const server = createServer((request, response) => {
    Promise.resolve(handler(request, response)).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function answer(
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

/** A site of its own that serves one document. */
export const siteOf = (text: string) =>
  listen((_, response) => answer(response, 200, text, { 'content-type': 'text/html' }));
