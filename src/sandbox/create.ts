import { once } from 'node:events';
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { type Scope, scopes } from '../contract/scopes.ts';
import { closeServer, createBoundedServer } from '../shared/bounded-server.ts';
import { anonymousHeaders } from './access.ts';
import { createApp } from './app.ts';
import { defaults, type SandboxOptions } from './options.ts';
import { createService, type Service } from './service.ts';
import { type ErrorStatus, errors, ServiceError } from './service-error.ts';
import { openDataFolder } from './store/data-folder.ts';
import { seed } from './store/seed.ts';

export type Sandbox = Awaited<ReturnType<typeof createSandbox>>;

export async function createSandbox(options: SandboxOptions) {
  const { store, close } = await openDataFolder(options.dataDir);
  const service = createService(options, store);
  const { assets, files, keys, processor, receiver, timestamp, now, workspaces } = service;
  const closing = new AbortController();
  const listener = getRequestListener(createApp(service).fetch);
  const server = createBoundedServer(listener, options.connectionLimits);
  answerUnreadable(server, service);
  let sweeping: Promise<void> | undefined;
  const end = async () => {
    closing.abort();
    await sweeping;
    await processor.close();
    close();
  };
  let notes: string[];
  try {
    workspaces.seed(timestamp());
    notes = createNotes(assets.findUnknown(files.assetUids()));
    if (options.seed !== undefined) seed(store, workspaces.primary().uid, options.seed, now());
    await receiver.clearExpired();
    processor.resume();
    await receiver.recoverCompleted();
    sweeping = receiver.sweep(closing.signal, service.log);
    service.origin = await listen(server, options.port ?? defaults.port);
  } catch (error) {
    await end();
    throw error;
  }
  const { uid: workspace, name: workspaceName } = workspaces.primary();
  return {
    /** Origin of the service, such as `http://127.0.0.1:4520`. */
    url: service.origin,
    workspace,
    workspaceName,
    /** Warnings about the data folder, to be shown to the user. */
    notes,
    /** Creates an API key. The key is returned only once; only its hash is stored. */
    createKey: (name: string, granted: readonly Scope[] = scopes) => keys.create(name, granted),
    hasKey: (key: string) => keys.find(key) !== undefined,
    hasKeys: () => keys.count() > 0,
    /** Shuts down the service: closes connections and aborts processing. All data stays on disk. */
    close: async () => {
      await closeServer(server);
      await end();
    },
  };
}

/** Warns of asset folders that the database does not know: since deleted assets keep their row, it has lost data. */
const createNotes = (unknownUids: readonly string[]) =>
  unknownUids.length === 0
    ? []
    : [`sandbox.db lacks ${unknownUids.length} of the assets in media/: it was replaced or has lost data`];

/** Listens on the loopback interface only; returns the origin, including the port. */
async function listen(server: Server, port: number): Promise<string> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    // The executable's runtime has another message, without the code that `sandbox start` looks for.
    throw error.code === 'EADDRINUSE' ? new Error(`listen EADDRINUSE: port ${port} is already in use`) : error;
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Maps errors of Node's HTTP parser to statuses. All others are a malformed request. */
const statuses: Partial<Record<string, ErrorStatus>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/**
 * Answers requests that Node's HTTP parser rejects, so that no route sees them, like all others: with rate-limit headers
 * (§8) and an `error` object (§7). The connection is then closed.
 */
function answerUnreadable(server: Server, service: Service): void {
  const responses = new WeakMap<Duplex, ServerResponse>();
  server.on('request', ({ socket }, response) => void responses.set(socket, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const response = responses.get(socket);
    const isAnswering = response?.headersSent && !response.writableFinished;
    if (isAnswering || error.code === 'ECONNRESET') return void socket.destroy(error);
    if (!socket.writable) return; // the end of a request that was answered
    const status = statuses[error.code ?? ''] ?? 400;
    socket.write(serialize(service, new ServiceError(status, errors[status].meaning)));
    // Closes in stages, so that a client that still sends reads the response.
    (socket as Duplex & { destroySoon(): void }).destroySoon();
  });
}

function serialize(service: Service, { status, body }: ServiceError): string {
  const { errorAnswer, serialize: select } = service.responseSchemas;
  const text = JSON.stringify(select(errorAnswer, body));
  const headers = {
    ...anonymousHeaders(service),
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', text].join('\r\n');
}
