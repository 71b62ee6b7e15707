import type { UploadMetadata } from '../../../contract/tus.ts';
import type { Source } from '../sources/source.ts';
import { type Planned, uploadId } from '../store/journal-entry.ts';
import { JournalPage } from '../store/journal-page.ts';
import type { ReceiptKey } from '../store/receipts.ts';
import type { FileEvent } from './events.ts';
import { metadataOf, type UploadJob, type UploadOptions, type UploadTools } from './job.ts';

/** State of one file's upload in this process: the source, its journal entry and the counters. */
export class UploadRun {
  readonly source: Source;
  readonly job: UploadJob;
  readonly options: UploadOptions;
  readonly tools: UploadTools;
  readonly metadata: UploadMetadata;
  readonly id: string;
  /** Start of this run, in ISO 8601. */
  readonly begunAt: string;
  /** Key of the file's receipt. */
  readonly key: ReceiptKey;
  readonly page: JournalPage;
  /** Bytes written to the socket; resent bytes count again. */
  bytesSent = 0;
  /** Offset from which this run resumed; null if it created the session. */
  resumedFrom: number | null = null;
  /** Number of upload sessions that this run created. */
  sessionsCreated = 0;

  constructor(source: Source, job: UploadJob, options: UploadOptions, tools: UploadTools) {
    this.source = source;
    this.job = job;
    this.options = options;
    this.tools = tools;
    this.metadata = metadataOf(job);
    this.begunAt = new Date(tools.api.transport.clock.now()).toISOString();
    const identity = job.identity ?? source.realPath;
    this.id = job.id ?? idOf({ ...job, identity }, tools.api.transport.baseUrl);
    this.key = receiptKey(job, identity, tools.api.transport.baseUrl);
    this.page = new JournalPage(tools.journal, this.id, !tools.receipts, (message) =>
      this.notice(message),
    );
  }

  /** Returns the journal entry of this upload before any request to the service. */
  planned(): Planned {
    const { api, profile } = this.tools;
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
      begunAt: this.begunAt,
    };
  }

  get label(): string {
    return this.job.label ?? this.job.path;
  }

  /**
   * Records an orphan: an incomplete asset that stays on the service, for `uploads gc`.
   *
   * @param isGuessed true if it was only matched by name and may belong to another upload
   */
  async leaveBehind(assetUid: string, isGuessed = false): Promise<void> {
    const { receipts, api } = this.tools;
    const { asset_name: name = this.metadata.filename } = this.metadata;
    const at = new Date(api.transport.clock.now()).toISOString();
    await receipts?.keepOrphan(this.key.service, {
      assetUid,
      name,
      path: this.label,
      at,
      isGuessed,
    });
  }

  notice(message: string): void {
    this.say({ event: 'notice', message });
  }

  say(event: WithoutPath<FileEvent>): void {
    this.tools.onEvent({ path: this.label, ...event });
  }
}

/** Returns the journal id of an upload job. */
export const idOf = (job: UploadJob & { identity: string }, baseUrl: URL) =>
  uploadId({ baseUrl: baseUrl.origin, source: job.identity, metadata: metadataOf(job) });

/** Returns the receipt key of an upload job. @param path real path, URL or stdin's content identity */
const receiptKey = (
  { workspace, folder }: Pick<UploadJob, 'workspace' | 'folder'>,
  path: string,
  baseUrl: URL,
): ReceiptKey => ({ service: baseUrl.origin, workspace, folder: folder ?? '', path });

type WithoutPath<T> = T extends unknown ? Omit<T, 'path'> : never;
