import { setTimeout as sleep } from 'node:timers/promises';
import type { DroppedFileInfo } from '../../web/browse/protocol.ts';
import type { BrowseBackend } from '../../web/browse/server/backend.ts';
import { apiPrefix } from '../http.ts';
import { RequestRefusedError, type ServiceClient } from './service-client.ts';

/** Chunk size. The limit is "at most 50 MiB per request" (§4). */
const chunkBytes = 16 * 1024 * 1024;

const maxAttempts = 5;
const baseDelayMs = 500;

/**
 * Runs `work`, and retries it with a linear backoff. Retries a 429 response without limit, each time after its
 * Retry-After delay. Retries a 5xx response or a dropped connection until `maxAttempts` is reached.
 */
async function withRetry<T>(onWait: () => void, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await work();
    } catch (error) {
      const { status = 503, retryAfterSeconds = 0 } = error instanceof RequestRefusedError ? error : {};
      const isLimited = status === 429;
      if (!isLimited && (status < 500 || attempt >= maxAttempts)) throw error;
      if (isLimited) attempt--;
      onWait();
      await sleep(Math.max(baseDelayMs * attempt, retryAfterSeconds * 1000));
    }
}

type PageUploadSession = { asset_uid: string; location: string };
export type ListedFolder = { uid: string; name: string; children: ListedFolder[] };

/** Returns a function that uploads a file from the page in chunks (§4, TUS). */
export function createUploader(client: ServiceClient, workspace: string): BrowseBackend['uploadFile'] {
  const folderFor = createFolderFinder(client, workspace);
  return async (file, bytes, onProgress) => {
    const folder = await folderFor(file);
    const metadata = Object.entries({
      ...{ filename: file.name, workspace_uid: workspace },
      ...(folder !== null && { parent_folder_uid: folder }),
    }).map(([name, value]) => `${name} ${Buffer.from(value).toString('base64')}`);
    const tus = { 'tus-resumable': '1.0.0' };
    let sentBytes = 0;
    const reportWaiting = () => onProgress({ state: 'waiting', sentBytes });
    const { asset_uid, location } = await withRetry(reportWaiting, () =>
      client.json<PageUploadSession>('/upload/', {
        method: 'POST',
        headers: {
          ...{ ...tus, 'upload-length': String(file.sizeBytes) },
          'upload-metadata': metadata.join(','),
        },
      }),
    );
    const session = location.slice(apiPrefix.length);
    const offset = async () => {
      const { headers } = await client.request(session, { method: 'HEAD', headers: tus });
      return Number(headers.get('upload-offset'));
    };
    try {
      for await (const chunk of splitIntoChunks(bytes)) {
        const chunkStart = sentBytes;
        const send = async () => {
          const body = chunk.subarray(sentBytes - chunkStart);
          if (body.length === 0) return;
          await client.request(session, {
            method: 'PATCH',
            body,
            headers: {
              ...{ ...tus, 'upload-offset': String(sentBytes) },
              'content-type': 'application/offset+octet-stream',
            },
          });
        };
        await withRetry(reportWaiting, () =>
          send().catch(async (error) => {
            // After a dropped connection, only the server knows how many bytes it received.
            sentBytes = await offset();
            throw error;
          }),
        );
        sentBytes = chunkStart + chunk.length;
        onProgress({ state: 'sending', sentBytes });
      }
    } catch (error) {
      // Deletes the asset, because this upload cannot be resumed.
      await client.request(`/assets/${asset_uid}/`, { method: 'DELETE' }).catch(() => {});
      throw error;
    }
    return { assetUid: asset_uid, how: 'uploaded' };
  };
}

/**
 * Returns a function that finds or creates the folder of a file. Its calls run one at a time (mutex), so that no
 * folder is created twice.
 */
function createFolderFinder(client: ServiceClient, workspace: string) {
  const path = `/workspaces/${workspace}/folders/`;
  let queue: Promise<unknown> = Promise.resolve();
  return ({ folder, relativeDir }: DroppedFileInfo): Promise<string | null> => {
    const made = queue.then(async () => {
      let parentUid: string | null = folder;
      for (const name of relativeDir.split('/').filter(Boolean)) {
        const tree = await client.json<ListedFolder[]>(path);
        const level = parentUid === null ? tree : (findFolder(tree, parentUid)?.children ?? []);
        const existing = level.find((each) => each.name === name);
        const json = { name, parent_uid: parentUid };
        parentUid = (existing ?? (await client.json<ListedFolder>(path, { method: 'POST', json }))).uid;
      }
      return parentUid;
    });
    queue = made.catch(() => {}); // the caller gets the error
    return made;
  };
}

const findFolder = (tree: readonly ListedFolder[], uid: string): ListedFolder | undefined =>
  tree.flatMap((folder) => (folder.uid === uid ? folder : (findFolder(folder.children, uid) ?? [])))[0];

/** Regroups buffers of any size into chunks of `chunkBytes`; the last chunk can be shorter. */
async function* splitIntoChunks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let buffered: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bytes)
    for (let rest = piece; rest.length > 0; ) {
      const part = rest.subarray(0, chunkBytes - size);
      buffered.push(part);
      size += part.length;
      rest = rest.subarray(part.length);
      if (size < chunkBytes) continue;
      yield Buffer.concat(buffered);
      buffered = [];
      size = 0;
    }
  if (size > 0) yield Buffer.concat(buffered);
}
