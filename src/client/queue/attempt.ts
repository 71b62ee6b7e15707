import type { Api } from '../api/api.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import { isNewAssetSafe } from '../upload/batch/unconfirmed-creations.ts';
import { type OnUploadEvent, toWaitingEvent } from '../upload/session/events.ts';
import { findOrphans } from '../upload/session/find-orphans.ts';
import { versionOf } from '../upload/session/receipt-lookup.ts';
import type { OrphanCandidates } from '../upload/session/unconfirmed-creation.ts';
import { openUpload } from '../upload/session/upload-file.ts';
import type { UploadDeps, Uploaded, UploadJob } from '../upload/session/upload-job.ts';
import { fileChanged, type UploadSource } from '../upload/sources/source.ts';
import type { Lease } from './lease.ts';
import { markOf, removeMarked } from './marked.ts';
import { keepHere, type OwnReceipts, uploadedHere } from './own-receipts.ts';
import type { OpenAddress, Roots } from './roots.ts';
import { SharedJournal } from './shared-journal.ts';
import type { Claim, Store } from './store.ts';
import type { UploadTask } from './task.ts';

/** Dependencies that all attempts of a worker share. */
export type WorkTools = Pick<UploadDeps, 'api' | 'throttle' | 'profile' | 'onEvent'> & {
  roots: Roots;
  openAddress: OpenAddress;
  /** Receipts of this machine; undefined if they cannot be written. */
  receipts: OwnReceipts | undefined;
  signal: AbortSignal;
};

export type AttemptOptions = {
  /** Milliseconds. */
  idleTimeoutMs: number;
  /** Add a marker to the assets' descriptions, and delete orphans by it. */
  marks: boolean;
  /** An earlier attempt was started, even if the store has lost its state. */
  isRepeated: boolean;
  /** Milliseconds since the epoch. */
  queuedAt: number;
};

export type Attempted = { uploaded: Uploaded; requests: number; removed: string[] };

/**
 * Uploads one file of the queue. Its journal entry is in the store, so that another worker can resume. Sends
 * nothing after the lease is lost.
 */
export async function attempt(
  id: string,
  task: UploadTask,
  { claim, lease, store, label }: { claim: Claim; lease: Lease; store: Store; label: string },
  options: AttemptOptions,
  tools: WorkTools,
): Promise<Attempted> {
  assertService(task, tools.api);
  const mark = options.marks ? markOf(id, options.queuedAt) : undefined;
  let requests = 0;
  const removed: string[] = [];
  const api = tools.api.withObserver({
    lane: 'bulk',
    onNotice: (notice) => onEvent({ path: task.path, ...toWaitingEvent(notice) }),
    onRequest: () => {
      lease.assertHeld();
      requests++;
    },
  });
  const journal = new SharedJournal(store, claim, lease, label);
  // No events after the lease is lost: another worker reports the file.
  const onEvent: OnUploadEvent = (event) => {
    if (!lease.signal.aborted) tools.onEvent(event);
  };
  const lostBefore = async () => {
    if (mark === undefined) return undefined;
    const { removed: deleted, left } = await removeMarked(api, mark);
    removed.push(...deleted);
    return { assets: left, isComplete: true };
  };
  let file: UploadSource | undefined;
  const upload = await openUpload(
    jobOf(id, task, mark),
    {
      ...{ chunkBytes: task.chunkBytes, idleTimeoutMs: options.idleTimeoutMs, same: 'upload' },
      ...{ again: false, onExpired: task.onExpired, requireChecksum: task.requireChecksum },
    },
    {
      ...{ api, journal, receiptMark: 0, throttle: tools.throttle, profile: tools.profile },
      signal: AbortSignal.any([tools.signal, lease.signal]),
      onEvent,
      openSource: async () => {
        const source = await tools.roots.open(task.source, tools.openAddress);
        file = source;
        const change = changeSince(task, source);
        if (!change) return held(source, lease);
        await source.close();
        throw fileChanged(task.path, change, 'it was queued').with({
          hint: 'once it no longer changes, queue it again',
        });
      },
      findOrphans: async (lost) => {
        const marked = await lostBefore();
        return (
          marked ??
          ((await findOrphans(api, journal, () => false, [lost])).get(lost) as OrphanCandidates)
        );
      },
      // A match by name may be another worker's asset: create a new one.
      confirmNewAsset: async (refusal) => {
        if (options.marks || !isNewAssetSafe(refusal)) throw refusal;
      },
    },
  );
  try {
    const { receipts } = tools;
    const isUnknown = claim.page === undefined;
    const before = file && receipts && isUnknown && (await uploadedHere(task, file, receipts, api));
    if (before) return { uploaded: before, requests, removed };
    // The store may have lost its newest writes, and with them the journal entry of an earlier attempt.
    if (options.isRepeated && isUnknown) refuseLeft(task, await lostBefore());
    const { uploaded, persisted } = await upload.run();
    await persisted;
    if (file && receipts)
      await keepHere(task, file, uploaded, receipts, api.transport.clock.now()).catch(
        ({ message }: Error) => onEvent({ path: task.path, ...receiptLost(message) }),
      );
    return { uploaded, requests, removed };
  } finally {
    await upload.close();
  }
}

const receiptLost = (why: string) =>
  ({ event: 'notice', message: `the receipt cannot be kept: ${why}` }) as const;

const jobOf = (id: string, task: UploadTask, mark: string | undefined): UploadJob => {
  const { description, path, workspace, folder, filename, name, contentType, tags } = task;
  const words = [description, mark].filter(Boolean).join(' ');
  return {
    ...{ id, path, label: path, workspace, folder, filename, name, contentType, tags },
    description: words || undefined,
  };
};

function assertService({ service }: UploadTask, { transport }: Api): void {
  const own = transport.baseUrl.origin;
  if (service === own) return;
  throw new MediactlError(`it is for ${service}`, {
    code: 'foreign_service',
    exitCode: exitCodes.usage,
    reason: `this worker's account is of ${own}`,
    hint: 'a queue for each service: the address with #NAME',
  });
}

/** Describes how a file has changed since it was queued; undefined if it has not. */
function changeSince(
  { sizeBytes, fileVersion }: UploadTask,
  { identity }: UploadSource,
): string | undefined {
  if (sizeBytes !== identity.sizeBytes)
    return `its size went from ${sizeBytes} to ${identity.sizeBytes} bytes`;
  const isSame = sameVersion(fileVersion, versionOf(identity));
  return isSame ? undefined : 'it was written to';
}

/** Compares versions (mtimes), at the lower precision of the two: file servers store milliseconds, or whole seconds. */
function sameVersion(queued: string, now: string): boolean {
  const versions = [queued, now];
  const end = versions.some((version) => version.endsWith('000000000')) ? -9 : -6;
  const areTimes = versions.every((version) => /^\d{10,}$/.test(version));
  return queued === now || (areTimes && queued.slice(0, end) === now.slice(0, end));
}

/** Wraps a source so that it stops reading when the lease is lost. */
const held = (source: UploadSource, lease: Lease): UploadSource => ({
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
  assertUnchanged: (...given) => source.assertUnchanged(...given),
  close: () => source.close(),
});

/** Fails if an earlier attempt has created an asset. @throws MediactlError `creation_unknown` (2) */
function refuseLeft({ path }: UploadTask, found: { assets: { uid: string }[] } | undefined): void {
  const [first] = found?.assets ?? [];
  if (first)
    throw new MediactlError(`an earlier attempt at ${path} made asset ${first.uid}`, {
      code: 'creation_unknown',
      exitCode: exitCodes.usage,
      reason: 'the queue lost what became of it',
      hint: 'mediactl assets get it: if it is whole, forget this upload; else delete it, then retry',
      details: { asset_uids: found?.assets.map(({ uid }) => uid) },
    });
}
