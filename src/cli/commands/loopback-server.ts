import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MediactlError, usageError } from '../../client/errors.ts';

const maxPort = 65_535;

/** Serves HTTP on loopback only. @param hint next step if the port is taken @throws MediactlError if it is not available */
export async function serveOnLoopback(listener: RequestListener, port: number, hint: string) {
  // No timeout, because a large upload can take hours.
  const server = createServer({ requestTimeout: 0, maxHeaderSize: 16 * 1024 }, listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve); // an invalid port is thrown, not emitted as an error
  }).catch((error) => {
    throw cannotListen(port, hint, error);
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

const cannotListen = (port: number, hint: string, { code, message }: NodeJS.ErrnoException) =>
  port > maxPort || code === 'EADDRINUSE' || code === 'EACCES'
    ? usageError(`port ${port} is not available`, hint)
    : new MediactlError('the page cannot be served', { code: 'cannot_listen', reason: message });
