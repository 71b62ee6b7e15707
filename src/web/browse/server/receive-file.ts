import type { DroppedFileInfo, UploadState } from '../protocol.ts';
import { type BrowseBackend, PageProblem } from './backend.ts';
import type { EventBroadcaster } from './event-broadcaster.ts';

const reportIntervalBytes = 1024 * 1024;

/** Uploads a dropped file. Resolves once it has arrived from the page or failed; events report the rest. */
export async function receiveFile(
  library: BrowseBackend,
  broadcaster: EventBroadcaster,
  query: URLSearchParams,
  body: ReadableStream<Uint8Array> | null,
): Promise<void> {
  const file = parseDroppedFile(query);
  const id = query.get('id')?.slice(0, 100) || file.name;
  const { name, sizeBytes } = file;
  let upload: UploadState = { id, name, state: 'taking', doneBytes: 0, sizeBytes };
  const report = (change: Partial<UploadState>) => {
    upload = { ...upload, ...change };
    broadcaster.publish({ kind: 'upload', upload });
  };
  report({});
  let onReceived = () => {};
  const received = new Promise<void>((resolve) => {
    onReceived = resolve;
  });
  const uploaded = library
    .uploadFile(file, countBytes(file, body, report, onReceived), ({ state, sentBytes }) =>
      report({ state, doneBytes: sentBytes }),
    )
    .then(
      ({ outcome, assetUid }) => report({ state: outcome, doneBytes: sizeBytes, assetUid }),
      (error) => {
        const { problem, reason, hint } = PageProblem.findIn(error) ?? library.toProblem(error);
        report({ state: 'failed', problem: [problem, reason, hint].filter(Boolean).join('; ') });
      },
    );
  await Promise.race([received, uploaded]);
}

/** @throws PageProblem if the file is incomplete or empty */
async function* countBytes(
  { sizeBytes }: DroppedFileInfo,
  body: ReadableStream<Uint8Array> | null,
  report: (change: Partial<UploadState>) => void,
  onReceived: () => void,
): AsyncGenerator<Uint8Array> {
  let [receivedBytes, reportedBytes] = [0, 0];
  try {
    for await (const part of body ?? []) {
      receivedBytes += part.length;
      if (receivedBytes - reportedBytes >= reportIntervalBytes) {
        report({ doneBytes: receivedBytes });
        reportedBytes = receivedBytes;
      }
      yield part;
    }
  } catch {
    throw new PageProblem('the page was closed before the whole file had arrived; drop the file again');
  }
  if (receivedBytes !== sizeBytes)
    throw new PageProblem(`received ${receivedBytes} of ${sizeBytes} bytes from the page`);
  if (receivedBytes === 0) throw new PageProblem('the file is empty');
  onReceived();
}

/** Parses the metadata of a dropped file. Sanitizes its directory and name against path traversal. */
function parseDroppedFile(query: URLSearchParams): DroppedFileInfo {
  const parts = (query.get('below') ?? '').split('/').filter((part) => !/^\.{0,2}$/.test(part));
  return {
    name: (query.get('name') ?? '').replaceAll('/', ' ').slice(0, 500) || 'file',
    relativeDir: parts.join('/'),
    folder: query.get('folder') || null,
    sizeBytes: Number(query.get('size')) || 0,
  };
}
