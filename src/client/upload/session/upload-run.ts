import type { UploadMetadata } from '../../../contract/tus.ts';
import type { UploadSource } from '../sources/source.ts';
import { type PlannedEntry, uploadId } from '../store/journal-entry.ts';
import { JournalHandle } from '../store/journal-handle.ts';
import type { ReceiptKey } from '../store/receipts.ts';
import type { FileEvent } from './events.ts';
import { metadataOf, type UploadDeps, type UploadJob, type UploadOptions } from './upload-job.ts';

/** State of one file's upload in this process: the source, its journal entry and the counters. */
export class UploadRun {
  readonly source: UploadSource;
  readonly job: UploadJob;
  readonly options: UploadOptions;
  readonly deps: UploadDeps;
  readonly metadata: UploadMetadata;
  readonly id: string;
  /** Start of this run, in ISO 8601. */
  readonly startedAt: string;
  /** Key of the file's receipt, the record by which later runs recognize a finished upload. */
  readonly receiptKey: ReceiptKey;
  readonly journal: JournalHandle;
  /** Number of bytes written to the socket. Bytes that are sent again count again. */
  bytesSent = 0;
  /** Offset from which this run resumed; null if it created the session. */
  resumedFrom: number | null = null;
  /** Number of upload sessions that this run created. */
  sessionsCreated = 0;

  constructor(source: UploadSource, job: UploadJob, options: UploadOptions, deps: UploadDeps) {
    this.source = source;
    this.job = job;
    this.options = options;
    this.deps = deps;
    this.metadata = metadataOf(job);
    this.startedAt = new Date(deps.api.transport.clock.now()).toISOString();
    const identity = job.identity ?? source.realPath;
    this.id = job.id ?? uploadIdOf({ ...job, identity }, deps.api.transport.baseUrl);
    this.receiptKey = receiptKey(job, identity, deps.api.transport.baseUrl);
    this.journal = new JournalHandle(deps.journal, this.id, !deps.receipts, (message) => this.notice(message));
  }

  /** Returns the journal entry that this upload has before any request to the service. */
  planned(): PlannedEntry {
    const { api, profile } = this.deps;
    const { identity } = this.job;
    return {
      version: 2,
      state: 'planned',
      id: this.id,
      path: this.label,
      realPath: this.source.realPath,
      ...(identity !== undefined && { identity }),
      file: this.source.identity,
      baseUrl: api.transport.baseUrl.origin,
      profile,
      metadata: this.metadata,
      begunAt: this.startedAt,
    };
  }

  get label(): string {
    return this.job.label ?? this.job.path;
  }

  /**
   * Records an orphan, i.e. an incomplete asset that stays on the service, so that `uploads gc` finds it.
   *
   * @param isGuessed true if the asset was only matched by name and might belong to another upload
   */
  async recordOrphan(assetUid: string, isGuessed = false): Promise<void> {
    const { receipts, api } = this.deps;
    const { asset_name: name = this.metadata.filename } = this.metadata;
    const at = new Date(api.transport.clock.now()).toISOString();
    await receipts?.saveOrphan(this.receiptKey.service, {
      assetUid,
      name,
      path: this.label,
      at,
      isGuessed,
    });
  }

  notice(message: string): void {
    this.emit({ event: 'notice', message });
  }

  emit(event: WithoutPath<FileEvent>): void {
    this.deps.onEvent({ path: this.label, ...event });
  }
}

/** Returns the journal id of an upload job. */
export const uploadIdOf = (job: UploadJob & { identity: string }, baseUrl: URL) =>
  uploadId({ baseUrl: baseUrl.origin, source: job.identity, metadata: metadataOf(job) });

/** Returns the receipt key of an upload job. @param path real path, URL or stdin's content identity */
const receiptKey = (
  { workspace, folder }: Pick<UploadJob, 'workspace' | 'folder'>,
  path: string,
  baseUrl: URL,
): ReceiptKey => ({ service: baseUrl.origin, workspace, folder: folder ?? '', path });

type WithoutPath<T> = T extends unknown ? Omit<T, 'path'> : never;
