import { backoff, retryUntil } from '../../contract/retry.ts';
import type { DroppedFileInfo } from '../../web/browse/protocol.ts';
import type { BrowseBackend } from '../../web/browse/server/backend.ts';
import { apiPrefix } from '../http.ts';
import { RequestRefusedError, type ServiceClient } from './service-client.ts';

/** Size from which on buffers are sent as one chunk. The limit is "at most 50 MiB per request" (§4). */
const chunkBytes = 16 * 1024 * 1024;

/** Maximum number of 5xx responses and dropped connections in a row. A 429 response is retried without limit. */
const maxFailures = 5;

export type ListedFolder = { uid: string; name: string; children: ListedFolder[] };

const tus = { 'tus-resumable': '1.0.0' };

/** Returns a function that uploads a file from the page in chunks (§4, TUS). */
export function createUploader(client: ServiceClient, workspace: string): BrowseBackend['uploadFile'] {
  const folderFor = createFolderFinder(client, workspace);
  return async (file, bytes, onProgress) => {
    const folder = await folderFor(file);
    let sentBytes = 0;
    const retry = <T>(work: () => Promise<T>) => retryRequest(work, () => onProgress({ state: 'waiting', sentBytes }));
    const headers = { ...tus, ...creationHeaders(file, workspace, folder) };
    const { asset_uid, location } = await retry(() =>
      client.json<{ asset_uid: string; location: string }>('/upload/', { method: 'POST', headers }),
    );
    const session = location.slice(apiPrefix.length);
    const send = (body: Uint8Array) => {
      const type = 'application/offset+octet-stream';
      const headers = { ...tus, 'upload-offset': String(sentBytes), 'content-type': type };
      return client.request(session, { method: 'PATCH', headers, body });
    };
    try {
      for await (const chunk of groupIntoChunks(bytes)) {
        const chunkStart = sentBytes;
        await retry(async () => {
          if (sentBytes === chunkStart + chunk.length) return;
          await send(chunk.subarray(sentBytes - chunkStart)).catch(async (error) => {
            // After a dropped connection, only the server knows how many bytes it received.
            const { headers } = await client.request(session, { method: 'HEAD', headers: tus });
            sentBytes = Number(headers.get('upload-offset'));
            throw error;
          });
        });
        sentBytes = chunkStart + chunk.length;
        onProgress({ state: 'sending', sentBytes });
      }
    } catch (error) {
      // Deletes the asset, because this upload cannot be resumed.
      await client.request(`/assets/${asset_uid}/`, { method: 'DELETE' }).catch(() => {});
      throw error;
    }
    return { assetUid: asset_uid, isNew: true };
  };
}

/** Retries a request after a backoff, which is at least as long as Retry-After says. */
function retryRequest<T>(work: () => Promise<T>, onWait: () => void): Promise<T> {
  let failures = 0;
  return retryUntil(undefined, work, {
    delayAfter: (error, attempt) => {
      const { status = 503, retryAfterSeconds = 0 } = error instanceof RequestRefusedError ? error : {};
      if (status !== 429 && (status < 500 || ++failures >= maxFailures)) return undefined;
      onWait();
      return Math.max(backoff(attempt, { minMs: 500, maxMs: 10_000 }), retryAfterSeconds * 1000);
    },
  });
}

function creationHeaders({ name, sizeBytes }: DroppedFileInfo, workspace: string, folder: string | null) {
  const fields = { filename: name, workspace_uid: workspace, ...(folder !== null && { parent_folder_uid: folder }) };
  const metadata = Object.entries(fields).map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`);
  return { 'upload-length': String(sizeBytes), 'upload-metadata': metadata.join(',') };
}

/** Finds or creates the folder of a file. Calls run one at a time (mutex), so that no folder is created twice. */
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

/** Groups buffers into chunks of at least `chunkBytes`; the last chunk can be shorter. */
async function* groupIntoChunks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let buffered: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bytes) {
    buffered.push(piece);
    size += piece.length;
    if (size < chunkBytes) continue;
    yield Buffer.concat(buffered);
    buffered = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(buffered);
}
