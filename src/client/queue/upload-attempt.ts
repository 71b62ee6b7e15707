import { isAwaitingUpload } from '../../contract/assumptions.ts';
import { asText } from '../../contract/json-values.ts';
import type { Asset } from '../../contract/types.ts';
import type { Api } from '../api/api.ts';
import { exitCodes } from '../error-table.ts';
import { MediactlError } from '../errors.ts';
import { type OnUploadEvent, toWaitingEvent } from '../upload/session/events.ts';
import { isNewAssetSafe, scanForOrphans } from '../upload/session/find-orphans.ts';
import { fileTimesOf, isUnchanged, toUploaded, versionOf } from '../upload/session/receipt-lookup.ts';
import { type OpenedUpload, openUpload } from '../upload/session/upload-file.ts';
import type { UploadDeps, Uploaded, UploadJob } from '../upload/session/upload-job.ts';
import { fileChanged, type UploadSource } from '../upload/sources/source.ts';
import type { Receipts } from '../upload/store/receipts.ts';
import type { UploadStore } from '../upload/store/upload-store.ts';
import { createAttemptStore } from './attempt-store.ts';
import type { Lease } from './lease.ts';
import type { QueueClient, QueueJob } from './queue-client.ts';
import type { OpenUrl, Roots } from './roots.ts';
import type { Claim } from './shared-store.ts';
import type { UploadTask } from './task.ts';

/** Maximum number of assets to list by marker. One job has fewer attempts than that. */
const maxMarkedAssets = 200;

/** Dependencies that all attempts of a worker share. */
export type AttemptDeps = Pick<UploadDeps, 'api' | 'throttle' | 'profile' | 'onEvent'> & {
  roots: Roots;
  openAddress: OpenUrl;
  /** Receipts of this machine, for when the store loses its newest writes; undefined if they cannot be written. */
  receipts: Pick<Receipts, 'find' | 'save'> | undefined;
  signal: AbortSignal;
};

type ClaimedUpload = { job: QueueJob; task: UploadTask; claim: Claim; lease: Lease };

export type UploadAttemptOptions = {
  idleTimeoutMs: number;
  /** True to add a marker to the assets' descriptions, and to find and delete orphans by their marker. */
  hasMarker: boolean;
};

/** Uploads one queued file. Its entry is in the queue's store, for other workers. Sends nothing after the lease is lost. */
export class UploadAttempt {
  readonly #claimed: ClaimedUpload;
  readonly #options: UploadAttemptOptions;
  readonly #deps: AttemptDeps;
  readonly #api: Api;
  readonly #store: UploadStore;
  readonly #marker: string | undefined;
  readonly #removed: string[] = [];
  #requests = 0;
  #source: UploadSource | undefined;

  constructor(client: QueueClient, claimed: ClaimedUpload, options: UploadAttemptOptions, deps: AttemptDeps) {
    const { job, task, claim, lease } = claimed;
    this.#claimed = claimed;
    this.#options = options;
    this.#deps = deps;
    this.#store = createAttemptStore(client, claim, lease);
    this.#marker = options.hasMarker ? uploadMarkerOf(job) : undefined;
    this.#api = deps.api.withObserver({
      lane: 'bulk',
      onNotice: (notice) => this.#onEvent({ path: task.path, ...toWaitingEvent(notice) }),
      onRequest: () => {
        lease.assertHeld();
        this.#requests++;
      },
    });
  }

  async run(): Promise<{ uploaded: Uploaded; requests: number; removed: string[] }> {
    const { job, task, claim } = this.#claimed;
    assertService(task, this.#deps.api);
    const upload = await this.#open();
    try {
      const hasNoEntry = claim.entry === undefined;
      const existing = hasNoEntry ? await this.#findLocalUpload() : undefined;
      // The store might have lost its newest writes, and with them the entry of an earlier attempt.
      if (!existing && hasNoEntry && job.attemptsStarted > 1) assertNoOrphans(task, await this.#deleteOrphans());
      const uploaded = existing ?? (await this.#send(upload));
      return { uploaded, requests: this.#requests, removed: this.#removed };
    } finally {
      await upload.close();
    }
  }

  async #send(upload: OpenedUpload): Promise<Uploaded> {
    const { uploaded, persisted } = await upload.run();
    await persisted;
    await this.#saveLocalReceipt(uploaded).catch(({ message }: Error) => {
      const { path } = this.#claimed.task;
      this.#onEvent({ path, event: 'notice', message: `cannot save the receipt: ${message}` });
    });
    return uploaded;
  }

  #open(): Promise<OpenedUpload> {
    const { job, task, lease } = this.#claimed;
    const { throttle, profile, signal } = this.#deps;
    const { idleTimeoutMs, hasMarker } = this.#options;
    const { chunkBytes, onExpired, requireChecksum } = task;
    return openUpload(
      toUploadJob(job.id, task, this.#marker),
      { chunkBytes, idleTimeoutMs, same: 'upload', again: false, onExpired, requireChecksum },
      {
        api: this.#api,
        store: this.#store,
        maxReceiptId: 0,
        throttle,
        profile,
        signal: AbortSignal.any([signal, lease.signal]),
        onEvent: this.#onEvent,
        openSource: () => this.#openSource(),
        findOrphans: async (lost) => {
          const marked = await this.#deleteOrphans();
          if (marked) return { assets: marked, isComplete: true };
          return (await scanForOrphans({ api: this.#api, store: this.#store }, [lost]))(lost);
        },
        // A match by name might be another worker's asset, so create a new asset.
        confirmNewAsset: async (refusal) => {
          if (hasMarker || !isNewAssetSafe(refusal)) throw refusal;
        },
      },
    );
  }

  /** Emits no events after the lease is lost, because another worker reports the file. */
  readonly #onEvent: OnUploadEvent = (event) => {
    if (!this.#claimed.lease.signal.aborted) this.#deps.onEvent(event);
  };

  async #openSource(): Promise<UploadSource> {
    const { task, lease } = this.#claimed;
    const { roots, openAddress } = this.#deps;
    const source = await roots.open(task.source, openAddress);
    this.#source = source;
    const change = describeQueueChange(task, source);
    if (!change) return leaseGuarded(source, lease);
    await source.close();
    throw fileChanged(task.path, change, 'it was queued').with({ hint: 'queue it again once it no longer changes' });
  }

  /**
   * Moves the orphans of this upload to the trash. An orphan is an asset that has the upload's marker but no content,
   * because the response to its creation was lost.
   *
   * @returns the assets with the marker that might have content; undefined without a marker
   */
  async #deleteOrphans(): Promise<Asset[] | undefined> {
    const marker = this.#marker;
    if (marker === undefined) return undefined;
    const { assets } = this.#api;
    const marked: Asset[] = [];
    for await (const page of assets.list({ search: marker }, { limit: maxMarkedAssets }))
      marked.push(...page.filter(({ description }) => asText(description)?.includes(marker)));
    const isEmpty = ({ status }: Asset) => isAwaitingUpload(status);
    const orphans = marked.filter(isEmpty).map(({ uid }) => uid);
    for (const uid of orphans) await assets.delete(uid);
    this.#removed.push(...orphans);
    return marked.filter((asset) => !isEmpty(asset));
  }

  /** Returns the upload of this file from the local receipts, if the file is unchanged and its asset still exists. */
  async #findLocalUpload(): Promise<Uploaded | undefined> {
    const { task } = this.#claimed;
    const source = this.#source;
    if (!source || task.again !== undefined) return undefined;
    const receipt = await this.#deps.receipts?.find(localReceiptKeyOf(task, source));
    const isSame = receipt?.name === (task.name ?? task.filename);
    if (!receipt?.blake3 || !isSame || !isUnchanged(receipt, source.identity)) return undefined;
    const exists = await this.#api.assets.get(receipt.assetUid).then(
      () => true,
      ({ exitCode }) => exitCode !== exitCodes.notFound,
    );
    return exists ? toUploaded(receipt, 'there') : undefined;
  }

  /** Writes a local receipt. Resolves when the receipt is on disk. */
  async #saveLocalReceipt(uploaded: Uploaded): Promise<void> {
    const source = this.#source;
    if (!source) return;
    await this.#deps.receipts?.save({
      ...localReceiptKeyOf(this.#claimed.task, source),
      ...uploaded,
      ...fileTimesOf(source.identity),
      reason: null,
      at: new Date(this.#api.transport.clock.now()).toISOString(),
    });
  }
}

/** Returns the marker of the job that created an asset. The time tells it from the same job id in another queue. */
const uploadMarkerOf = ({ id, timestamp }: QueueJob) => `[mediactl ${id}-${timestamp.toString(36)}]`;

const localReceiptKeyOf = ({ service, workspace, folder = '' }: UploadTask, { realPath }: UploadSource) => ({
  service,
  workspace,
  folder,
  path: realPath,
});

const toUploadJob = (id: string | undefined, task: UploadTask, marker: string | undefined): UploadJob => {
  const { description, path, workspace, folder, filename, name, contentType, tags } = task;
  return {
    id,
    path,
    label: path,
    workspace,
    folder,
    filename,
    name,
    contentType,
    tags,
    description: [description, marker].filter(Boolean).join(' ') || undefined,
  };
};

function assertService({ service }: UploadTask, { transport }: Api): void {
  const own = transport.baseUrl.origin;
  if (service === own) return;
  throw new MediactlError(`it is queued for ${service}`, {
    code: 'foreign_service',
    reason: `this worker's account is on ${own}`,
  });
}

/** Describes how a file has changed since it was queued. Returns undefined if it is unchanged. */
function describeQueueChange({ sizeBytes, fileVersion }: UploadTask, { identity }: UploadSource): string | undefined {
  if (sizeBytes !== identity.sizeBytes) return `its size changed from ${sizeBytes} to ${identity.sizeBytes} bytes`;
  return isSameFileVersion(fileVersion, versionOf(identity)) ? undefined : 'it was modified';
}

/** Compares times at the lower precision of the two, since file servers store milliseconds or whole seconds. */
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
  releaseBuffers: () => source.releaseBuffers?.(),
  close: () => source.close(),
});

/** @throws MediactlError `creation_unknown` (exit 2) if an earlier attempt has created an asset */
function assertNoOrphans({ path }: UploadTask, assets: readonly Asset[] = []): void {
  const [first] = assets;
  if (first)
    throw new MediactlError(`an earlier attempt to upload ${path} created asset ${first.uid}`, {
      code: 'creation_unknown',
      reason: 'the queue lost its result',
      hint: `mediactl get ${first.uid}; if it is complete, forget this upload; if not, delete the asset and retry`,
      details: { asset_uids: assets.map(({ uid }) => uid) },
    });
}
