import type { ServerResponse } from 'node:http';
import { answer, listen } from './http-server.ts';

export const uidOf = (at: number) => `00000000-0000-4000-8000-${at.toString(16).padStart(12, '0')}`;

type Record = { uid: string; [field: string]: unknown };

/** Starts a service with the test's assets and thumbnails; records the requested paths. */
export async function pictured(
  assets: readonly Record[],
  media: (name: string, response: ServerResponse) => void,
): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const url: string = await listen((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', url);
    asked.push(pathname);
    if (pathname.startsWith('/media/')) return media(pathname.slice('/media/'.length), response);
    const offset = Number(searchParams.get('offset') ?? 0);
    const limit = Number(searchParams.get('limit') ?? 20);
    const records = assets.map((asset, at) => ({
      ...{
        name: `asset ${at}`,
        type: 'image',
        status: 'ready',
        created_at: '2026-01-02T03:04:05Z',
      },
      ...{ thumbnail_url: `${url}/media/${at}`, ...asset },
    }));
    const only = records.find(({ uid }) => pathname.includes(uid));
    answer(
      response,
      200,
      only ?? { items: records.slice(offset, offset + limit), count: records.length },
    );
  });
  return { url, asked };
}

export const sending = (bytes: Buffer, type: string) => (_: string, response: ServerResponse) => {
  response.writeHead(200, { 'content-type': type, 'content-length': bytes.length });
  response.end(bytes);
};
