import { readFileSync } from 'node:fs';
import { systemClock } from '../../src/shared/clock.ts';
import { hangMs } from './hang.ts';
import { assertConformsToOpenApi } from './openapi-check.ts';
import type { TestSandbox } from './sandbox.ts';

const prefix = '/api/external/v1';

/**
 * Creates functions for raw requests with literals of the specification, without any client code.
 * Throws if an API response does not conform to the sandbox's OpenAPI document.
 */
export function rawHttp(sandbox: () => TestSandbox) {
  const call = async (
    method: string,
    path: string,
    { key = sandbox().key, headers = {}, body }: RawOptions = {},
  ): Promise<UntypedResponse> => {
    const url = new URL(path.startsWith('http') ? path : sandbox().url + prefix + path);
    const response = await fetch(url, {
      signal: AbortSignal.timeout(hangMs),
      method,
      // Without keep-alive, the server cannot close an idle connection while a request is in flight.
      headers: { connection: 'close', ...(key && { authorization: `Bearer ${key}` }), ...headers },
      ...(body !== undefined && { body }),
      redirect: 'manual',
    });
    await assertConformsToOpenApi(sandbox(), method, url, response);
    return response;
  };

  /** Sends a JSON body. */
  const send = (method: string, path: string, body: unknown, key?: string) =>
    call(method, path, {
      ...(key && { key }),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  const createUploadOfSize = (size: number, metadata: Record<string, string> = {}, options: RawOptions = {}) =>
    call('POST', '/upload/', {
      ...options,
      headers: {
        'Tus-Resumable': '1.0.0',
        'Upload-Length': String(size),
        'Upload-Metadata': Object.entries({ filename: 'a.bin', workspace_uid: sandbox().workspace, ...metadata })
          .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
          .join(','),
        ...options.headers,
      },
    });

  const patch = (location: string, offset: number, bytes: Uint8Array, headers: Record<string, string> = {}) =>
    call('PATCH', sandbox().url + location, {
      headers: {
        'Tus-Resumable': '1.0.0',
        'Upload-Offset': String(offset),
        'Content-Type': 'application/offset+octet-stream',
        ...headers,
      },
      body: bytes,
    });

  const head = (location: string) => call('HEAD', sandbox().url + location, { headers: { 'Tus-Resumable': '1.0.0' } });

  /** Returns the upload offset that HEAD reports. */
  const offsetOf = async (location: string) => Number((await head(location)).headers.get('Upload-Offset'));

  /** Uploads a whole file and waits until it is processed. */
  const upload = async (path: string, metadata: Record<string, string> = {}) => {
    const bytes = readFileSync(path);
    const filename = path.split('/').at(-1) as string;
    const created = await createUploadOfSize(bytes.length, { filename, ...metadata });
    const { asset_uid, location } = (await created.json()) as Record<string, string>;
    await patch(location as string, 0, bytes);
    return waitUntilProcessed(asset_uid as string);
  };

  const waitUntilProcessed = async (uid: string) => {
    for (const deadline = Date.now() + hangMs; Date.now() < deadline; ) {
      const isProcessed = sandbox().afterProcessing(uid);
      const asset = await (await call('GET', `/assets/${uid}/`)).json();
      if (asset.status === 'ready' || asset.status === 'failed') return asset;
      // Also poll, which keeps the connection open.
      await Promise.race([isProcessed, systemClock.sleep(1000)]);
    }
    throw new Error(`asset ${uid} is not processed`);
  };

  const fetchPlayer = async (uid: string) => (await call('GET', `/assets/${uid}/player/`)).json();

  /** Fetches playback info like a player page: with a token and without an API key. */
  const fetchPlaybackInfo = async (uid: string) => {
    const { playback_token } = await fetchPlayer(uid);
    const response = await call('POST', '/playback/info/', {
      key: '',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ asset_id: uid, playback_token }),
    });
    return response.json();
  };

  const watchUrl = async (uid: string) =>
    `${sandbox().url}/watch/${uid}?token=${(await fetchPlayer(uid)).playback_token}`;

  return {
    call,
    send,
    createUploadOfSize,
    patch,
    head,
    offsetOf,
    upload,
    waitUntilProcessed,
    fetchPlayer,
    fetchPlaybackInfo,
    watchUrl,
  };
}

/** A response whose JSON is untyped: tests assert on its shape. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type UntypedResponse = Omit<Response, 'json'> & { json(): Promise<any> };

type RawOptions = {
  /** API key; an empty string sends none. */
  key?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
};
