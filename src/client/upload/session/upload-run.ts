import { createHash } from 'node:crypto';
import type { UploadMetadata } from '../../../contract/tus.ts';
import type { Remedy } from '../../errors.ts';
import type { UploadSource } from '../sources/source.ts';
import type { ReceiptKey } from '../sources/upload-file.ts';
import { metadataOf, shownPathOf, type TargetedFile } from '../sources/upload-file.ts';
import { orphanOf, type PlannedEntry } from '../store/upload-entry.ts';
import type { UploadStore } from '../store/upload-store.ts';
import type { FileEvent } from './events.ts';
import type { UploadDeps, UploadSettings } from './upload-deps.ts';

/** State of one file's upload in this process: the source, its entry in the upload store, and the counters. */
export class UploadRun {
  readonly source: UploadSource;
  readonly file: TargetedFile;
  readonly options: UploadSettings;
  readonly deps: UploadDeps;
  readonly store: UploadStore;
  readonly metadata: UploadMetadata;
  readonly id: string;
  readonly startedAt: string;
  readonly receiptKey: ReceiptKey;
  /** Number of bytes written to the socket. Bytes that are sent again count again. */
  bytesSent = 0;
  resumedFrom: number | null = null;
  sessionsCreated = 0;
  assetUid: string | undefined;
  /** Number of creations of this run whose response was lost. */
  lostCreations = 0;

  constructor(source: UploadSource, file: TargetedFile, options: UploadSettings, deps: UploadDeps) {
    this.source = source;
    this.file = file;
    this.options = options;
    this.deps = deps;
    this.store = deps.store;
    this.metadata = metadataOf(file);
    this.startedAt = new Date(deps.api.transport.clock.now()).toISOString();
    const identity = file.stream?.identity ?? source.realPath;
    const { baseUrl } = deps.api.transport;
    this.id = file.id ?? uploadIdOf(file, identity, baseUrl);
    const { workspace, folder = '' } = file.target;
    this.receiptKey = { service: baseUrl.origin, workspace, folder, realPath: identity };
  }

  /** Returns the entry that this upload has before any request to the service. */
  planned(): PlannedEntry {
    const { api, profile } = this.deps;
    const { identity } = this.file.stream ?? {};
    return {
      state: 'planned',
      id: this.id,
      path: this.shownPath,
      realPath: this.source.realPath,
      ...(identity !== undefined && { identity }),
      file: this.source.identity,
      baseUrl: api.transport.baseUrl.origin,
      profile,
      metadata: this.metadata,
      begunAt: this.startedAt,
    };
  }

  get shownPath(): string {
    return shownPathOf(this.file);
  }

  /** Records an incomplete asset for `uploads cleanup`. */
  recordOrphan(assetUid: string): Promise<void> {
    return this.#saveOrphan(assetUid, new Date(this.deps.api.transport.clock.now()).toISOString());
  }

  /** Records a creation whose response was lost. @param begunAt time before which it was not sent, in ISO 8601 */
  recordLostCreation(begunAt: string): Promise<void> {
    return this.#saveOrphan(null, begunAt);
  }

  async #saveOrphan(assetUid: string | null, at: string): Promise<void> {
    const orphan = { ...orphanOf(this.planned()), assetUid, at };
    await this.deps.orphans?.saveOrphan(this.receiptKey.service, orphan);
  }

  notice(message: string, remedy?: Remedy): void {
    this.emit({ event: 'warning', message, ...(remedy && { remedy }) });
  }

  emit(event: WithoutPath<FileEvent>): void {
    this.deps.onEvent({ path: this.shownPath, ...event });
  }
}

/**
 * Returns the id of an upload, a hash with which the same command finds its own entry again. It does not
 * include the API key, because a rotated key still belongs to the same organization.
 */
export const uploadIdOf = (file: TargetedFile, identity: string, { origin }: URL) =>
  createHash('sha256')
    .update(JSON.stringify([origin, identity, Object.entries(metadataOf(file)).sort()]))
    .digest('hex')
    .slice(0, 16);

type WithoutPath<T> = T extends unknown ? Omit<T, 'path'> : never;
