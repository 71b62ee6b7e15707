import type { ServerResponse } from 'node:http';
import { respond, startServer } from './http-server.ts';

export const numberedUid = (at: number) => `00000000-0000-4000-8000-${at.toString(16).padStart(12, '0')}`;

type AssetRecord = { uid: string; [field: string]: unknown };

/** Starts a service with the test's assets and thumbnails; records the requested paths. */
export async function startThumbnailService(
  assets: readonly AssetRecord[],
  media: (name: string, response: ServerResponse) => void,
): Promise<{ url: string; requestedPaths: string[] }> {
  const requestedPaths: string[] = [];
  const url: string = await startServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', url);
    requestedPaths.push(pathname);
    if (pathname.startsWith('/media/')) return media(pathname.slice('/media/'.length), response);
    const offset = Number(searchParams.get('offset') ?? 0);
    const limit = Number(searchParams.get('limit') ?? 20);
    const records = assets.map((asset, at) => ({
      name: `asset ${at}`,
      type: 'image',
      status: 'ready',
      created_at: '2026-01-02T03:04:05Z',
      thumbnail_url: `${url}/media/${at}`,
      ...asset,
    }));
    const single = records.find(({ uid }) => pathname.includes(uid));
    respond(response, 200, single ?? { items: records.slice(offset, offset + limit), count: records.length });
  });
  return { url, requestedPaths };
}

export const sendBytes = (bytes: Buffer, type: string) => (_: string, response: ServerResponse) => {
  response.writeHead(200, { 'content-type': type, 'content-length': bytes.length });
  response.end(bytes);
};
