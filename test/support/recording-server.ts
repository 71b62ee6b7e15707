import type { IncomingMessage } from 'node:http';
import { type Handler, respond, startServer } from './http-server.ts';

export type RecordedRequest = {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string | string[] | undefined>;
  /** Parsed JSON, text if it is not JSON, null if empty. */
  body: unknown;
  /** The body as sent. */
  bytes: Buffer;
};

export type StubResponse = { status?: number; body?: unknown; headers?: Record<string, string> };

/** Responds to a request; undefined is a 404. */
export type Responder = (request: RecordedRequest) => StubResponse | undefined;

/** Starts a server with the given responses that records every request. */
export async function startRecordingServer(
  responder: Responder,
): Promise<{ url: string; requests: RecordedRequest[] }> {
  const requests: RecordedRequest[] = [];
  const handler: Handler = async (request, response) => {
    const recorded = await readRequest(request);
    requests.push(recorded);
    const { status = 200, body, headers } = responder(recorded) ?? { status: 404, body: {} };
    respond(response, status, body, headers);
  };
  return { url: await startServer(handler), requests };
}

/** Receives a request with its body. */
export async function readRequest(request: IncomingMessage): Promise<RecordedRequest> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const bytes = Buffer.concat(parts);
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
  return {
    method: request.method ?? '',
    path: pathname,
    query: Object.fromEntries(searchParams),
    headers: request.headers,
    body: bytes.length === 0 ? null : parseBody(bytes.toString()),
    bytes,
  };
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
