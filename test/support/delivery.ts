import type { ServerResponse } from 'node:http';
import { someBytes } from './files.ts';
import { answer, listen } from './http-server.ts';

/* A service of one asset, whose media come as a test wants them to. */

export const uid = '00000000-0000-4000-8000-000000000001';

export const size = 300_000;
export const first = someBytes(size, 'the first version');

/** A service of one video, whose media are answered by the test. */
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

/** How one answer of a delivery network looks. */
export type Reply = {
  status?: number;
  headers?: Record<string, string | number>;
  body?: Buffer;
  /** The line breaks once the body is sent. */
  isCut?: boolean;
  /** Neither its length nor its parts are told: the body ends with the line. */
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
