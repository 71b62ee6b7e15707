import { setTimeout as sleep } from 'node:timers/promises';
import type { DroppedFileInfo } from '../../web/browse/protocol.ts';
import type { BrowseBackend } from '../../web/browse/server/backend.ts';
import { apiPrefix } from '../http.ts';
import { type Client, Refused } from './client.ts';

/** Chunk size; the limit is "at most 50 MiB per request" (§4). */
const chunkBytes = 16 * 1024 * 1024;

const tries = 5;
const pauseMs = 500;

/**
 * Retries `work` with a linear backoff: 429 without limit, after Retry-After; 5xx and dropped
 * connections up to `maxAttempts` times.
 */
async function patiently<T>(waiting: () => void, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await work();
    } catch (error) {
      const { status = 503, retryAfterSeconds = 0 } = error instanceof Refused ? error : {};
      const isLimited = status === 429;
      if (!isLimited && (status < 500 || attempt >= tries)) throw error;
      if (isLimited) attempt--;
      waiting();
      await sleep(Math.max(pauseMs * attempt, retryAfterSeconds * 1000));
    }
}

type Session = { asset_uid: string; location: string };
export type Folder = { uid: string; name: string; children: Folder[] };

/** Creates the function that uploads a file from the page in chunks (§4, TUS). */
export function sender(client: Client, workspace: string): BrowseBackend['uploadFile'] {
  const folderFor = folders(client, workspace);
  return async (file, bytes, onProgress) => {
    const folder = await folderFor(file);
    const metadata = Object.entries({
      ...{ filename: file.name, workspace_uid: workspace },
      ...(folder !== null && { parent_folder_uid: folder }),
    }).map(([name, value]) => `${name} ${Buffer.from(value).toString('base64')}`);
    const tus = { 'tus-resumable': '1.0.0' };
    let sentBytes = 0;
    const waiting = () => onProgress({ state: 'waiting', sentBytes });
    const { asset_uid, location } = await patiently(waiting, () =>
      client.json<Session>('/upload/', {
        method: 'POST',
        headers: {
          ...{ ...tus, 'upload-length': String(file.sizeBytes) },
          'upload-metadata': metadata.join(','),
        },
      }),
    );
    const session = location.slice(apiPrefix.length);
    const offset = async () => {
      const { headers } = await client.ask(session, { method: 'HEAD', headers: tus });
      return Number(headers.get('upload-offset'));
    };
    try {
      for await (const chunk of chunked(bytes)) {
        const begin = sentBytes;
        const send = async () => {
          const body = chunk.subarray(sentBytes - begin);
          if (body.length === 0) return;
          await client.ask(session, {
            method: 'PATCH',
            body,
            headers: {
              ...{ ...tus, 'upload-offset': String(sentBytes) },
              'content-type': 'application/offset+octet-stream',
            },
          });
        };
        await patiently(waiting, () =>
          send().catch(async (error) => {
            // After a dropped connection, only the server knows how many bytes it received.
            sentBytes = await offset();
            throw error;
          }),
        );
        sentBytes = begin + chunk.length;
        onProgress({ state: 'sending', sentBytes });
      }
    } catch (error) {
      // Delete the asset: this upload cannot be resumed.
      await client.ask(`/assets/${asset_uid}/`, { method: 'DELETE' }).catch(() => {});
      throw error;
    }
    return { assetUid: asset_uid, how: 'uploaded' };
  };
}

/**
 * Creates the function that finds or creates the folder of a file, one call at a time (mutex), so
 * that none is created twice.
 */
function folders(client: Client, workspace: string) {
  const path = `/workspaces/${workspace}/folders/`;
  let turn: Promise<unknown> = Promise.resolve();
  return ({ folder, relativeDir }: DroppedFileInfo): Promise<string | null> => {
    const made = turn.then(async () => {
      let at: string | null = folder;
      for (const name of relativeDir.split('/').filter(Boolean)) {
        const tree = await client.json<Folder[]>(path);
        const level = at === null ? tree : (find(tree, at)?.children ?? []);
        const there = level.find((each) => each.name === name);
        const json = { name, parent_uid: at };
        at = (there ?? (await client.json<Folder>(path, { method: 'POST', json }))).uid;
      }
      return at;
    });
    turn = made.catch(() => {}); // the caller gets the error
    return made;
  };
}

const find = (tree: readonly Folder[], uid: string): Folder | undefined =>
  tree.flatMap((folder) => (folder.uid === uid ? folder : (find(folder.children, uid) ?? [])))[0];

/** Regroups pieces of any size into chunks of `chunkBytes`; the last may be shorter. */
async function* chunked(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bytes)
    for (let rest = piece; rest.length > 0; ) {
      const part = rest.subarray(0, chunkBytes - size);
      held.push(part);
      size += part.length;
      rest = rest.subarray(part.length);
      if (size < chunkBytes) continue;
      yield Buffer.concat(held);
      held = [];
      size = 0;
    }
  if (size > 0) yield Buffer.concat(held);
}
