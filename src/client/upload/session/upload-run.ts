import { createHash } from 'node:crypto';
import type { UploadMetadata } from '../../../contract/tus.ts';
import { exitCodes } from '../../error-table.ts';
import { stateError } from '../../state-error.ts';
import type { UploadSource } from '../sources/source.ts';
import type { UploadJournal } from '../store/journal.ts';
import type { CorruptEntry, JournalEntry, PlannedEntry } from '../store/journal-entry.ts';
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
  readonly startedAt: string;
  readonly receiptKey: ReceiptKey;
  readonly journal: JournalHandle;
  /** Number of bytes written to the socket. Bytes that are sent again count again. */
  bytesSent = 0;
  resumedFrom: number | null = null;
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
    const { workspace, folder = '' } = job;
    this.receiptKey = { service: deps.api.transport.baseUrl.origin, workspace, folder, path: identity };
    this.journal = new JournalHandle(this);
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

  /** Records an incomplete asset for `uploads gc`. @param isGuessed true if it was only matched by name */
  async recordOrphan(assetUid: string, isGuessed = false): Promise<void> {
    const { receipts, api } = this.deps;
    const { asset_name: name = this.metadata.filename } = this.metadata;
    const at = new Date(api.transport.clock.now()).toISOString();
    await receipts?.saveOrphan(this.receiptKey.service, { assetUid, name, path: this.label, at, isGuessed });
  }

  notice(message: string): void {
    this.emit({ event: 'notice', message });
  }

  emit(event: WithoutPath<FileEvent>): void {
    this.deps.onEvent({ path: this.label, ...event });
  }
}

/**
 * Returns the journal id of an upload job, a hash with which the same command finds its own entry again. It does not
 * include the API key, because a rotated key still belongs to the same organization.
 */
export const uploadIdOf = (job: UploadJob & { identity: string }, { origin }: URL) =>
  createHash('sha256')
    .update(JSON.stringify([origin, job.identity, Object.entries(metadataOf(job)).sort()]))
    .digest('hex')
    .slice(0, 16);

type WithoutPath<T> = T extends unknown ? Omit<T, 'path'> : never;

/**
 * Handle for one upload's journal entry. A failed write aborts the upload, which can be resumed later. Without
 * receipts the entry is optional: the failure is reported once and the upload continues.
 */
class JournalHandle {
  readonly #run: UploadRun;
  readonly #journal: UploadJournal;
  #hasReported = false;
  /** Next entry to write. A newer entry replaces it until its write starts (write coalescing). */
  #pending: JournalEntry | undefined;
  #writing: Promise<void> | undefined;

  constructor(run: UploadRun) {
    this.#run = run;
    this.#journal = run.deps.journal;
  }

  /** Returns a function that unlocks. @throws MediactlError `already_uploading` (exit 6); `state_…` (exit 14) */
  async lock(): Promise<() => Promise<void>> {
    try {
      const release = await this.#journal.lock(this.#run.id);
      return async () => {
        await this.#writing?.catch(() => {}); // its caller reports it
        await release();
      };
    } catch (error) {
      const failure = stateError(error, this.#journal.directory);
      if (failure.exitCode !== exitCodes.state) throw failure;
      this.#throwOrReport(failure);
      return async () => {};
    }
  }

  read(): Promise<JournalEntry | CorruptEntry | undefined> {
    return this.#journal.read(this.#run.id);
  }

  async setAside({ path, reason }: CorruptEntry): Promise<void> {
    const aside = await this.#journal.setAside(this.#run.id).catch(() => path);
    this.#run.notice(`the journal of an earlier attempt is unreadable (${reason}); kept as ${aside}`);
  }

  /** Writes the entry and resolves once it or a newer one is on disk. @throws MediactlError `state_…` (exit 14) */
  write(entry: JournalEntry): Promise<void> {
    this.#pending = structuredClone(entry);
    this.#writing ??= this.#writeAll();
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    try {
      for (let state = this.#pending; state; state = this.#pending) {
        this.#pending = undefined;
        await this.#journal.write(state).catch(async (error) => {
          this.#throwOrReport(error);
          await this.#journal.remove(this.#run.id).catch(() => {}); // a stale entry would claim that less was sent
        });
      }
    } finally {
      this.#writing = undefined;
    }
  }

  async forget(): Promise<void> {
    await this.#writing;
    await this.#journal.remove(this.#run.id).catch((error) => this.#reportOnce(error));
  }

  #throwOrReport(error: unknown): void {
    if (this.#run.deps.receipts) throw stateError(error, this.#journal.directory);
    this.#reportOnce(error);
  }

  #reportOnce(error: unknown): void {
    if (this.#hasReported) return;
    this.#hasReported = true;
    this.#run.notice(
      `cannot write to ${this.#journal.directory} (${(error as Error).message}); if this run is interrupted, the upload cannot be resumed`,
    );
  }
}
