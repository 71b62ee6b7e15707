import type { ServerResponse } from 'node:http';
import { someBytes } from './files.ts';
import { answer, listen } from './http-server.ts';

/* A service with one asset, whose media responses the test decides: a CDN that drops, truncates or changes. */

export const uid = '00000000-0000-4000-8000-000000000001';

export const size = 300_000;
export const first = someBytes(size, 'the first version');

/** Starts a service with one video; `media` handles the requests for its source file. */
export async function serving(
  media: (response: ServerResponse) => void,
  sizeBytes = size,
): Promise<string> {
  const service: string = await listen((request, response) => {
    if (request.url?.startsWith('/media')) return media(response);
    answer(response, 200, {
      ...{ uid, name: 'film', playback_token: 'a.token', type: 'video', size: sizeBytes },
      ...{ content_type: 'video/mp4', source_url: { url: `${service}/media` } },
    });
  });
  return service;
}

/** A media response of a CDN. */
export type Reply = {
  status?: number;
  headers?: Record<string, string | number>;
  body?: Buffer;
  /** Drops the connection after the body, before the end of the response. */
  isCut?: boolean;
  /** No Content-Length and no chunked encoding: the body ends when the connection closes. */
  endsWithLine?: boolean;
};

export const head = { etag: '"one"', 'content-type': 'video/mp4' };
export const whole: Reply = { headers: { ...head, 'content-length': size }, body: first };

export function send(
  response: ServerResponse,
  { status = 200, headers = {}, body, isCut, endsWithLine }: Reply,
) {
  const told = Object.entries(headers).filter(([, value]) => value !== '');
  if (endsWithLine) {
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
  }
  response.writeHead(
    status,
    Object.fromEntries([...told, ['date', 'Sat, 21 Nov 2026 00:00:00 GMT']]),
  );
  if (isCut) response.write(body ?? '', () => setTimeout(() => response.destroy(), 10));
  else response.end(body);
}
