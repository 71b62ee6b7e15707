import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MediactlError, usageError } from '../../../client/errors.ts';
import type { BrowseApp } from '../../../web/browse/server/app.ts';

/** Serves the web page on loopback only. @throws MediactlError if the port is not available */
export async function serve(pages: BrowseApp, port: number) {
  const { getRequestListener } = await import('@hono/node-server');
  const listener = getRequestListener(pages.handle, { overrideGlobalObjects: false });
  // No timeout, because a large upload can take hours.
  const server = createServer({ requestTimeout: 0, maxHeaderSize: 16 * 1024 }, listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve); // an invalid port is thrown, not emitted as an error
  }).catch((error) => {
    throw cannotListen(port, error);
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

const cannotListen = (port: number, { code, message }: NodeJS.ErrnoException) =>
  code === 'EADDRINUSE' || code === 'EACCES' || code === 'ERR_SOCKET_BAD_PORT'
    ? usageError(`port ${port} is not available`, 'use another --port, or omit it to use any free port')
    : new MediactlError('the page cannot be served', { code: 'cannot_listen', reason: message });
