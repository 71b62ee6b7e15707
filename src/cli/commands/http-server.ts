import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CodedError, usageError } from '../../client/errors.ts';
import { closeServer, createBoundedServer } from '../../shared/bounded-server.ts';

const maxPort = 65_535;

/** A browser has six connections, a monitor one. The rest of the file descriptors are for files and the service. */
const limits = { maxConnections: 64, maxHeaderBytes: 16 * 1024 };

/**
 * Serves HTTP, by default on loopback only.
 *
 * @param hint next step if the port is taken
 * @throws CodedError if the port is not available
 */
export async function serveHttp(listener: RequestListener, port: number, hint: string, host = '127.0.0.1') {
  const server = createBoundedServer(listener, limits);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve); // an invalid port is thrown, not emitted as an error
  }).catch((error) => {
    throw cannotListen(port, hint, error);
  });
  return {
    origin: `http://${host}:${(server.address() as AddressInfo).port}`,
    close: () => closeServer(server),
  };
}

const cannotListen = (port: number, hint: string, { code, message }: NodeJS.ErrnoException) =>
  port > maxPort || code === 'EADDRINUSE' || code === 'EACCES'
    ? usageError(`port ${port} is not available`, hint)
    : new CodedError('the page cannot be served', { code: 'port_unavailable', reason: message });
