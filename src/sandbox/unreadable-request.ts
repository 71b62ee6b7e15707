import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { anonymousHeaders } from './access.ts';
import type { Service } from './service.ts';
import { type ErrorStatus, errors, ServiceError } from './service-error.ts';

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
export function answerUnreadable(server: Server, service: Service): void {
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
