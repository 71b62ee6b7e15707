import type { ServerResponse } from 'node:http';
import { someBytes } from './files.ts';
import { respond, startServer } from './http-server.ts';

/* A service with one asset, whose media responses the test decides: a CDN that drops, truncates or changes. */

export const assetUid = '00000000-0000-4000-8000-000000000001';

export const fileSize = 300_000;
export const firstVersion = someBytes(fileSize, 'the first version');

/** Starts a service with one video; `media` handles the requests for its source file. */
export async function serveVideo(media: (response: ServerResponse) => void, sizeBytes = fileSize): Promise<string> {
  const service: string = await startServer((request, response) => {
    if (request.url?.startsWith('/media')) return media(response);
    respond(response, 200, {
      uid: assetUid,
      name: 'film',
      playback_token: 'a.token',
      type: 'video',
      size: sizeBytes,
      content_type: 'video/mp4',
      source_url: { url: `${service}/media` },
    });
  });
  return service;
}

/** A media response of a CDN. */
export type MediaReply = {
  status?: number;
  headers?: Record<string, string | number>;
  body?: Buffer;
  /** Drops the connection after the body, before the end of the response. */
  dropsConnection?: boolean;
  /** No Content-Length and no chunked encoding: the body ends when the connection closes. */
  endsWithConnection?: boolean;
};

export const videoHeaders = { etag: '"one"', 'content-type': 'video/mp4' };
export const fullReply: MediaReply = {
  headers: { ...videoHeaders, 'content-length': fileSize },
  body: firstVersion,
};

export function sendReply(
  response: ServerResponse,
  { status = 200, headers = {}, body, dropsConnection, endsWithConnection }: MediaReply,
) {
  const sentHeaders = Object.entries(headers).filter(([, value]) => value !== '');
  if (endsWithConnection) {
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
  }
  response.writeHead(status, Object.fromEntries([...sentHeaders, ['date', 'Sat, 21 Nov 2026 00:00:00 GMT']]));
  if (dropsConnection) response.write(body ?? '', () => setTimeout(() => response.destroy(), 10));
  else response.end(body);
}
