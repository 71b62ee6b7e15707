import type { Api } from '../api/api.ts';
import { MediactlError } from '../errors.ts';
import { type OnUploadEvent, toWaitingEvent } from '../upload/session/events.ts';
import { isNewAssetSafe, scanForOrphans } from '../upload/session/find-orphans.ts';
import { versionOf } from '../upload/session/receipt-lookup.ts';
import { openUpload } from '../upload/session/upload-file.ts';
import type { UploadDeps, Uploaded, UploadJob } from '../upload/session/upload-job.ts';
import { fileChanged, type UploadSource } from '../upload/sources/source.ts';
import type { Lease } from './lease.ts';
import { findLocalUpload, type LocalReceipts, saveLocalReceipt } from './local-receipts.ts';
import { QueueJournal } from './queue-journal.ts';
import type { OpenUrl, Roots } from './roots.ts';
import type { UploadTask } from './task.ts';
import { deleteByMarker, uploadMarkerOf } from './upload-marker.ts';
import type { Claim, UploadStore } from './upload-store.ts';

/** Dependencies that all attempts of a worker share. */
export type AttemptDeps = Pick<UploadDeps, 'api' | 'throttle' | 'profile' | 'onEvent'> & {
  roots: Roots;
  openAddress: OpenUrl;
  /** Receipts of this machine; undefined if they cannot be written. */
  receipts: LocalReceipts | undefined;
  signal: AbortSignal;
};

export type UploadAttemptOptions = {
  idleTimeoutMs: number;
  /** True to add a marker to the assets' descriptions, and to find and delete orphans by their marker. */
  hasMarker: boolean;
  /** True if an earlier attempt was started, even if the store has lost the state of that attempt. */
  isRetry: boolean;
  /** Time when the job was queued, in milliseconds since the epoch. */
  queuedAt: number;
};

export type AttemptResult = { uploaded: Uploaded; requests: number; removed: string[] };

/**
 * Uploads one file from the queue. Keeps the journal entry in the store, so that another worker can resume the
 * upload. Sends nothing after the lease is lost.
 */
export async function attemptUpload(
  id: string,
  task: UploadTask,
  { claim, lease, store, label }: { claim: Claim; lease: Lease; store: UploadStore; label: string },
  options: UploadAttemptOptions,
  deps: AttemptDeps,
): Promise<AttemptResult> {
  assertService(task, deps.api);
  const marker = options.hasMarker ? uploadMarkerOf(id, options.queuedAt) : undefined;
  let requests = 0;
  const removed: string[] = [];
  const api = deps.api.withObserver({
    lane: 'bulk',
    onNotice: (notice) => onEvent({ path: task.path, ...toWaitingEvent(notice) }),
    onRequest: () => {
      lease.assertHeld();
      requests++;
    },
  });
  const journal = new QueueJournal(store, claim, lease, label);
  // Emit no events after the lease is lost, because another worker reports the file.
  const onEvent: OnUploadEvent = (event) => {
    if (!lease.signal.aborted) deps.onEvent(event);
  };
  const deleteOrphans = async () => {
    if (marker === undefined) return undefined;
    const { removed: deletedUids, left } = await deleteByMarker(api, marker);
    removed.push(...deletedUids);
    return { assets: left, isComplete: true };
  };
  let file: UploadSource | undefined;
  const upload = await openUpload(
    toUploadJob(id, task, marker),
    {
      ...{ chunkBytes: task.chunkBytes, idleTimeoutMs: options.idleTimeoutMs, same: 'upload' },
      ...{ again: false, onExpired: task.onExpired, requireChecksum: task.requireChecksum },
    },
    {
      ...{ api, journal, maxReceiptId: 0, throttle: deps.throttle, profile: deps.profile },
      signal: AbortSignal.any([deps.signal, lease.signal]),
      onEvent,
      openSource: async () => {
        const source = await deps.roots.open(task.source, deps.openAddress);
        file = source;
        const change = describeQueueChange(task, source);
        if (!change) return leaseGuarded(source, lease);
        await source.close();
        throw fileChanged(task.path, change, 'it was queued').with({
          hint: 'once it no longer changes, queue it again',
        });
      },
      findOrphans: async (creation) =>
        (await deleteOrphans()) ?? (await scanForOrphans({ api, journal }, [creation]))(creation),
      // A match by name might be another worker's asset, so create a new asset.
      confirmNewAsset: async (refusal) => {
        if (options.hasMarker || !isNewAssetSafe(refusal)) throw refusal;
      },
    },
  );
  try {
    const { receipts } = deps;
    const hasNoEntry = claim.journalEntry === undefined;
    const existing = file && receipts && hasNoEntry && (await findLocalUpload(task, file, receipts, api));
    if (existing) return { uploaded: existing, requests, removed };
    // The store might have lost its newest writes, and with them the journal entry of an earlier attempt.
    if (options.isRetry && hasNoEntry) assertNoOrphans(task, await deleteOrphans());
    const { uploaded, persisted } = await upload.run();
    await persisted;
    if (file && receipts)
      await saveLocalReceipt(task, file, uploaded, receipts, api.transport.clock.now()).catch(({ message }: Error) =>
        onEvent({ path: task.path, ...receiptNotice(message) }),
      );
    return { uploaded, requests, removed };
  } finally {
    await upload.close();
  }
}

const receiptNotice = (why: string) => ({ event: 'notice', message: `the receipt cannot be kept: ${why}` }) as const;

const toUploadJob = (id: string, task: UploadTask, marker: string | undefined): UploadJob => {
  const { description, path, workspace, folder, filename, name, contentType, tags } = task;
  const markedDescription = [description, marker].filter(Boolean).join(' ');
  return {
    ...{ id, path, label: path, workspace, folder, filename, name, contentType, tags },
    description: markedDescription || undefined,
  };
};

function assertService({ service }: UploadTask, { transport }: Api): void {
  const own = transport.baseUrl.origin;
  if (service === own) return;
  throw new MediactlError(`it is for ${service}`, {
    code: 'foreign_service',
    reason: `this worker's account is of ${own}`,
  });
}

/** Describes how a file has changed since it was queued. Returns undefined if it is unchanged. */
function describeQueueChange({ sizeBytes, fileVersion }: UploadTask, { identity }: UploadSource): string | undefined {
  if (sizeBytes !== identity.sizeBytes) return `its size went from ${sizeBytes} to ${identity.sizeBytes} bytes`;
  const isSame = isSameFileVersion(fileVersion, versionOf(identity));
  return isSame ? undefined : 'it was written to';
}

/**
 * Returns true if two file versions are equal. Modification times are compared at the lower precision of the two,
 * since file servers store milliseconds or whole seconds.
 */
function isSameFileVersion(queued: string, now: string): boolean {
  const versions = [queued, now];
  const end = versions.some((version) => version.endsWith('000000000')) ? -9 : -6;
  const areTimes = versions.every((version) => /^\d{10,}$/.test(version));
  return queued === now || (areTimes && queued.slice(0, end) === now.slice(0, end));
}

/** Wraps a source so that reading from it fails once the lease is lost. */
const leaseGuarded = (source: UploadSource, lease: Lease): UploadSource => ({
  path: source.path,
  realPath: source.realPath,
  get identity() {
    return source.identity;
  },
  get sizeBytes() {
    return source.sizeBytes;
  },
  async *read(start, end, reading) {
    for await (const bytes of source.read(start, end, reading)) {
      lease.assertHeld();
      yield bytes;
    }
  },
  assertUnchanged: (...args) => source.assertUnchanged(...args),
  close: () => source.close(),
});

/** @throws MediactlError `creation_unknown` (exit 2) if an earlier attempt has created an asset */
function assertNoOrphans({ path }: UploadTask, found: { assets: { uid: string }[] } | undefined): void {
  const [first] = found?.assets ?? [];
  if (first)
    throw new MediactlError(`an earlier attempt at ${path} made asset ${first.uid}`, {
      code: 'creation_unknown',
      reason: 'the queue lost what became of it',
      hint: 'mediactl assets get it: if it is whole, forget this upload; else delete it, then retry',
      details: { asset_uids: found?.assets.map(({ uid }) => uid) },
    });
}
