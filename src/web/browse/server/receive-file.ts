import type { DroppedFileInfo, UploadState } from '../protocol.ts';
import { type BrowseBackend, type DropResult, PageProblem, type TransferProgress } from './backend.ts';
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
  const report = reporter(broadcaster, { id, name, state: 'taking', doneBytes: 0, sizeBytes });
  let onReceived = () => {};
  const received = new Promise<void>((resolve) => {
    onReceived = resolve;
  });
  const uploaded = reportUpload(library, { sizeBytes, report }, (onProgress) =>
    library.uploadFile(file, countBytes(file, body, report, onReceived), onProgress),
  );
  await Promise.race([received, uploaded]);
}

/** Maximum number of uploads that are resumed at the same time, like that of dropped files. */
const maxResumed = 3;

/** Starts to resume what earlier processes have left. Resolves once all are known to the page; events report the rest. */
export async function resumeUploads(
  library: BrowseBackend,
  broadcaster: EventBroadcaster,
  onUploaded: () => void,
): Promise<void> {
  const waiting = (await library.interrupted()).map((upload) => ({
    ...upload,
    report: reporter(broadcaster, {
      ...{ id: upload.id, name: upload.name, state: 'waiting' },
      ...{ doneBytes: upload.sentBytes, sizeBytes: upload.sizeBytes },
    }),
  }));
  const runLane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { id } = next;
      await reportUpload(library, next, (onProgress) => library.resumeUpload(id, onProgress));
      onUploaded();
    }
  };
  for (let lane = 0; lane < maxResumed; lane++) void runLane();
}

type Report = (change: Partial<UploadState>) => void;

/** Publishes an upload, and returns a function that publishes changes of it. */
function reporter(broadcaster: EventBroadcaster, initial: UploadState): Report {
  let upload = initial;
  broadcaster.publish({ kind: 'upload', upload });
  return (change) => {
    upload = { ...upload, ...change };
    broadcaster.publish({ kind: 'upload', upload });
  };
}

/** Reports an upload to its end. Never rejects. */
async function reportUpload(
  library: BrowseBackend,
  { sizeBytes, report }: { sizeBytes: number; report: Report },
  upload: (onProgress: (sending: TransferProgress) => void) => Promise<DropResult>,
): Promise<void> {
  try {
    const { outcome, assetUid } = await upload(({ state, sentBytes }) => report({ state, doneBytes: sentBytes }));
    report({ state: outcome, doneBytes: sizeBytes, assetUid });
  } catch (error) {
    const { problem, reason, hint } = PageProblem.findIn(error) ?? library.toProblem(error);
    report({ state: 'failed', problem: [problem, reason, hint].filter(Boolean).join('; ') });
  }
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
