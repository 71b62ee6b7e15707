import type { Api } from '../client/api/api.ts';
import type { Remedy } from '../client/errors.ts';
import type { OwnFiles } from '../client/own-files.ts';
import { decideByEntry } from '../client/upload/decide/by-entry.ts';
import { findOwnReceipt } from '../client/upload/decide/by-receipt.ts';
import { sendNew } from '../client/upload/decide/decision.ts';
import type { UploadSettings } from '../client/upload/decide/upload-settings.ts';
import { type OnUploadEvent, toWaitingEvent } from '../client/upload/session/events.ts';
import { toUploaded, type Uploaded } from '../client/upload/session/file-outcome.ts';
import type { FirstCreation } from '../client/upload/session/first-creation.ts';
import type { SessionPorts } from '../client/upload/session/session-ports.ts';
import type { Throttle } from '../client/upload/session/throttle.ts';
import { openUpload, upload } from '../client/upload/session/upload.ts';
import type { UploadRun } from '../client/upload/session/upload-run.ts';
import { describeChange, matchesReceipt, versionOf } from '../client/upload/sources/file-identity.ts';
import { fileChanged, type UploadSource } from '../client/upload/sources/source.ts';
import { fileAt } from '../client/upload/sources/upload-file.ts';
import type { Receipts } from '../client/upload/store/receipts.ts';
import type { Orphan } from '../client/upload/store/upload-entry.ts';
import type { UploadStore } from '../client/upload/store/upload-store.ts';
import { createAttemptStore } from './attempt-store.ts';
import type { Lease } from './lease.ts';
import type { QueueClient, QueueJob } from './queue-client.ts';
import type { OpenUrl, Roots } from './roots.ts';
import type { Claim } from './shared-store.ts';
import { aboutOf, serviceMismatch, type UploadTask } from './task.ts';

/** Dependencies that all attempts of a worker share. */
export type WorkerPorts = Pick<SessionPorts, 'api' | 'profile' | 'onEvent' | 'signal'> & {
  /** Limits the bytes of all files together; undefined for no limit. */
  throttle: Throttle | undefined;
  roots: Roots;
  ownFiles: OwnFiles;
  openAddress: OpenUrl;
  /** Receipts of this machine, for when the store loses its newest writes; undefined if they cannot be written. */
  receipts: Receipts | undefined;
};

/** @property firstCreation shared by all uploads of the worker */
type ClaimedUpload = { job: QueueJob; task: UploadTask; claim: Claim; lease: Lease; firstCreation: FirstCreation };

/** Uploads one queued file. Its entry is in the queue's store, for other workers. Sends nothing after the lease is lost. */
export class UploadAttempt {
  readonly #claimed: ClaimedUpload;
  readonly #settings: UploadSettings;
  readonly #deps: WorkerPorts;
  readonly #api: Api;
  readonly #store: UploadStore;
  #requests = 0;

  constructor(client: QueueClient, claimed: ClaimedUpload, settings: UploadSettings, deps: WorkerPorts) {
    const { task, claim, lease } = claimed;
    this.#claimed = claimed;
    this.#settings = settings;
    this.#deps = deps;
    this.#store = createAttemptStore(client, claim, lease);
    this.#api = deps.api.withObserver({
      lane: 'bulk',
      onNotice: (notice) => this.#onEvent({ path: task.path, ...toWaitingEvent(notice) }),
      onRequest: () => {
        lease.assertHeld();
        this.#requests++;
      },
    });
  }

  async run(): Promise<{ uploaded: Uploaded; requests: number }> {
    const { task, claim } = this.#claimed;
    const own = this.#deps.api.transport.baseUrl.origin;
    if (task.service !== own) throw serviceMismatch('it is queued', task.service, own);
    const run = await this.#open();
    try {
      const existing = claim.entry === undefined ? await this.#findLocalUpload(run) : undefined;
      if (existing) return { uploaded: existing, requests: this.#requests };
      const { uploaded, persisted } = await upload(run);
      await persisted;
      return { uploaded, requests: this.#requests };
    } finally {
      await run.source.close();
    }
  }

  #open(): Promise<UploadRun> {
    const { job, task, lease, firstCreation } = this.#claimed;
    const { throttle, profile, signal, receipts } = this.#deps;
    const { chunkBytes, requireChecksum, workspace, folder, filename } = task;
    return openUpload(
      { ...fileAt(task.path), id: job.id, filename, about: aboutOf(task), target: { workspace, folder } },
      { ...this.#settings, chunkBytes, requireChecksum },
      {
        api: this.#api,
        store: {
          ...this.#store,
          finish: async (entry, receipt) => {
            const message = await receipts?.save(receipt).catch((error: Error) => error.message);
            if (message) this.#warn(`cannot save the receipt: ${message}`);
            await this.#store.finish(entry, receipt);
          },
        },
        // The queue has the receipts, which were compared before the job was claimed.
        decide: async (subject) => (await decideByEntry(subject, sendNew, this.#store)) ?? sendNew,
        throttle,
        profile,
        firstCreation,
        signal: AbortSignal.any([signal, lease.signal]),
        onEvent: this.#onEvent,
        openSource: () => this.#openSource(),
        orphans: { saveOrphan: (service, orphan) => this.#saveOrphan(service, orphan) },
        confirmNewAsset: (refusal) => Promise.reject(refusal),
      },
    );
  }

  /** Emits no events after the lease is lost, because another worker reports the file. */
  readonly #onEvent: OnUploadEvent = (event) => {
    if (!this.#claimed.lease.signal.aborted) this.#deps.onEvent(event);
  };

  #warn(message: string, remedy?: Remedy): void {
    this.#onEvent({ path: this.#claimed.task.path, event: 'warning', message, remedy });
  }

  async #openSource(): Promise<UploadSource> {
    const { task, lease } = this.#claimed;
    const { roots, ownFiles, openAddress } = this.#deps;
    const source = await roots.open(task.source, openAddress, ownFiles);
    const change = describeQueueChange(task, source);
    guardReads(source, lease);
    if (!change) return source;
    await source.close();
    throw fileChanged(task.path, change, 'it was queued').with({ hint: 'queue it again once it no longer changes' });
  }

  async #saveOrphan(service: string, orphan: Orphan): Promise<void> {
    const { receipts } = this.#deps;
    await receipts?.saveOrphan(service, orphan);
    const left = `it may have left an incomplete asset, ${orphan.assetUid ?? `named ${orphan.name}`}`;
    this.#warn(left, receipts && ['list_orphans']);
  }

  /** Returns the upload of this file from the local receipts, if the file is unchanged and its asset still exists. */
  async #findLocalUpload({ key, source: { path, identity } }: UploadRun): Promise<Uploaded | undefined> {
    const { task } = this.#claimed;
    if (task.forceId !== undefined) return undefined;
    const receipt = await findOwnReceipt(this.#deps.receipts, key, { path, sizeBytes: identity.sizeBytes });
    const isSame = receipt?.name === (task.name ?? task.filename);
    if (!receipt?.blake3 || !isSame || !matchesReceipt(receipt, identity)) return undefined;
    const exists = await this.#api.assets.get(receipt.assetUid).then(
      () => true,
      ({ kind }) => kind !== 'notFound',
    );
    return exists ? toUploaded(receipt, 'skipped') : undefined;
  }
}

/** Describes how a file has changed since it was queued. Returns undefined if it is unchanged. */
function describeQueueChange({ sizeBytes, fileVersion }: UploadTask, { identity }: UploadSource): string | undefined {
  const now = versionOf(identity);
  const mtimeNs = isSameRoundedTime(fileVersion, now) ? now : fileVersion;
  return describeChange({ sizeBytes, mtimeNs }, { sizeBytes: identity.sizeBytes, mtimeNs: now });
}

/** Compares times at the lower precision of the two, since file servers store milliseconds or whole seconds. */
function isSameRoundedTime(...versions: [queued: string, now: string]): boolean {
  const end = versions.some((version) => version.endsWith('000000000')) ? -9 : -6;
  const areTimes = versions.every((version) => /^\d{10,}$/.test(version));
  const [queued, now] = versions.map((version) => version.slice(0, end));
  return areTimes && queued === now;
}

/** Makes reading from a source fail once the lease is lost. */
function guardReads(source: UploadSource, lease: Lease): void {
  const read = source.read.bind(source);
  source.read = async function* (...range) {
    for await (const bytes of read(...range)) {
      lease.assertHeld();
      yield bytes;
    }
  };
}
