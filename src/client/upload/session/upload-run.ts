import type { UploadMetadata } from '../../../contract/tus.ts';
import type { JsonObject } from '../../../shared/json-values.ts';
import type { Remedy } from '../../errors.ts';
import type { Subject } from '../decide/matcher.ts';
import type { UploadSettings } from '../decide/upload-settings.ts';
import { digestOf } from '../sources/checksum.ts';
import type { FileIdentity } from '../sources/file-identity.ts';
import type { UploadSource } from '../sources/source.ts';
import type { ReceiptKey } from '../sources/upload-file.ts';
import { metadataOf, shownPathOf, type TargetedFile, uploadIdOf } from '../sources/upload-file.ts';
import { type IntendedEntry, orphanOf, type PlannedEntry, type UploadEntry } from '../store/upload-entry.ts';
import type { UploadStore } from '../store/upload-store.ts';
import type { FileEvent } from './events.ts';
import type { FilePorts } from './session-ports.ts';

/** State of one file's upload in this process: the source, its entry in the upload store, and the counters. */
export class UploadRun implements Subject {
  readonly source: UploadSource;
  readonly file: TargetedFile;
  readonly options: UploadSettings;
  readonly deps: FilePorts;
  readonly store: UploadStore;
  readonly metadata: UploadMetadata;
  readonly id: string;
  readonly startedAt: string;
  readonly key: ReceiptKey;
  /** Number of bytes written to the socket. Bytes that are sent again count again. */
  bytesSent = 0;
  resumedFrom: number | null = null;
  sessionsCreated = 0;
  /** Uid of the asset that is being uploaded; undefined before it is created. */
  assetUid: string | undefined;
  /** Number of creations of this run whose response was lost. */
  lostCreations = 0;
  #isStarted = false;
  #digest: Promise<string> | undefined;

  constructor(source: UploadSource, file: TargetedFile, options: UploadSettings, deps: FilePorts) {
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
    this.key = { service: baseUrl.origin, workspace, folder, realPath: identity };
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

  /** Returns the fields of the PATCH for metadata that the creation of the asset did not set. */
  fieldsToSet({ metadata: sent }: UploadEntry): JsonObject {
    const { asset_name: name = sent.asset_name, description = sent.description } = this.metadata;
    const { tags = [] } = this.file.about ?? {};
    return {
      ...(name !== sent.asset_name && { name }),
      ...(description !== sent.description && { description }),
      ...(tags.length > 0 && this.deps.api.assets.tagFields(tags)),
    };
  }

  get identity(): FileIdentity {
    return this.source.identity;
  }

  readonly digest = (): Promise<string> => {
    this.#digest ??= this.read(digestOf);
    return this.#digest;
  };

  read<T>(work: (source: UploadSource) => Promise<T>): Promise<T> {
    this.start();
    return work(this.source);
  }

  /** Reports, once, that the file is read or sent. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.emit({ event: 'started', size_bytes: this.source.sizeBytes });
    if (this.source.sizeBytes === 0) this.notice('the file is empty');
  }

  get shownPath(): string {
    return shownPathOf(this.file);
  }

  /** Records an incomplete asset for `uploads cleanup`. */
  async recordOrphan(assetUid: string): Promise<void> {
    const at = new Date(this.deps.api.transport.clock.now()).toISOString();
    await this.deps.orphans?.saveOrphan(this.key.service, { ...orphanOf(this.planned()), assetUid, at });
  }

  /** Records a creation whose response was lost, with the name and the size that were sent, not those of the file now. */
  async recordLostCreation(entry: IntendedEntry): Promise<void> {
    await this.deps.orphans?.saveOrphan(this.key.service, orphanOf(entry));
  }

  notice(message: string, remedy?: Remedy): void {
    this.emit({ event: 'warning', message, ...(remedy && { remedy }) });
  }

  emit(event: WithoutPath<FileEvent>): void {
    this.deps.onEvent({ path: this.shownPath, ...event });
  }
}

type WithoutPath<T> = T extends unknown ? Omit<T, 'path'> : never;
