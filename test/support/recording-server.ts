import { answer, type Handler, listen } from './http-server.ts';

export type Recorded = {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string | string[] | undefined>;
  /** Parsed JSON, text if it is not JSON, null if empty. */
  body: unknown;
};

export type Answer = { status?: number; body?: unknown; headers?: Record<string, string> };

/** Responds to a request; undefined is a 404. */
export type Answers = (request: Recorded) => Answer | undefined;

/** Starts a server with the given responses that records every request. */
export async function record(answers: Answers): Promise<{ url: string; requests: Recorded[] }> {
  const requests: Recorded[] = [];
  const handler: Handler = async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString();
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const recorded: Recorded = {
      method: request.method ?? '',
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: request.headers,
      body: text === '' ? null : parsed(text),
    };
    requests.push(recorded);
    const { status = 200, body, headers } = answers(recorded) ?? { status: 404, body: {} };
    answer(response, status, body, headers);
  };
  return { url: await listen(handler), requests };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
