import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { respond, startServer } from './http-server.ts';
import { type RecordedRequest, readRequest, type StubResponse } from './recording-server.ts';

export type Json = Record<string, unknown>;

/** How a service differs from the sandbox behind it. */
export type ServiceChange = {
  /** Changes a request, or responds in place of the sandbox. */
  request?: (request: RecordedRequest) => StubResponse | undefined;
  /** Changes the response in place. */
  response?: (
    response: { status: number; body: unknown; headers: Record<string, string> },
    request: RecordedRequest,
  ) => void;
};

/** Starts a service that is the sandbox at `target` with other choices. Records its requests. */
export async function startChangedService(
  target: string,
  { request: changeRequest, response: changeResponse }: ServiceChange,
) {
  const requests: RecordedRequest[] = [];
  const url = await startServer(async (incoming, outgoing) => {
    const request = await readRequest(incoming);
    requests.push({ ...request, query: { ...request.query } });
    const own = changeRequest?.(request);
    if (own) return respond(outgoing, own.status ?? 200, own.body, own.headers);
    const {
      host: _host,
      connection: _connection,
      'content-length': _length,
      'transfer-encoding': _encoding,
      ...headers
    } = request.headers;
    const address = new URL(request.path, target);
    for (const [name, value] of Object.entries(request.query)) address.searchParams.set(name, value);
    const isJson = String(headers['content-type'] ?? '').includes('json');
    const body = isJson ? JSON.stringify(request.body) : request.bytes;
    const { answer, bytes } = await exchange(address, request.method, headers, body);
    const {
      'content-length': _answerLength,
      'content-encoding': _answerEncoding,
      'transfer-encoding': _transfer,
      connection: _closes,
      ...rest
    } = answer.headers as Record<string, string>;
    const changed = {
      status: answer.statusCode as number,
      body: parse(bytes, rest['content-type']),
      headers: rest as Record<string, string>,
    };
    changeResponse?.(changed, request);
    if (Buffer.isBuffer(changed.body)) outgoing.writeHead(changed.status, changed.headers).end(changed.body);
    else respond(outgoing, changed.status, changed.body, changed.headers);
  });
  return { url, requests };
}

/** Sends a request with a body of its own length. Cheaper than `fetch`, since these tests send ten thousand requests. */
async function exchange(address: URL, method: string, headers: OutgoingHttpHeaders, body: string | Buffer) {
  const length = Buffer.byteLength(body);
  const outgoing = httpRequest(address, {
    method,
    headers: length > 0 ? { ...headers, 'content-length': length } : headers,
    agent: false,
  });
  const [answer] = (await once(outgoing.end(body), 'response')) as [IncomingMessage];
  return { answer, bytes: Buffer.concat(await answer.toArray()) };
}

const parse = (bytes: Buffer, type = '') =>
  type.includes('json') ? JSON.parse(bytes.toString()) : bytes.length > 0 ? bytes : undefined;

/** Calls `change` with each object in a JSON value, the inner ones first. */
export function eachObject(value: unknown, change: (object: Json) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const inner of Object.values(value)) eachObject(inner, change);
  if (!Array.isArray(value)) change(value as Json);
}

/** Renames a field, if there is one. */
export function renameField(object: Json, from: string, to: string): void {
  if (!(from in object)) return;
  object[to] = object[from];
  delete object[from];
}
