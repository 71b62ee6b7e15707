import type { UploadMetadata } from '../../../contract/tus.ts';
import type { Source } from '../sources/source.ts';
import { type Planned, uploadId } from '../store/journal-entry.ts';
import { JournalPage } from '../store/journal-page.ts';
import type { ReceiptKey } from '../store/receipts.ts';
import type { FileEvent } from './events.ts';
import { metadataOf, type UploadJob, type UploadOptions, type UploadTools } from './job.ts';

/** One file's upload in one run of the program: what it is of, its page in the journal, what it counts. */
export class UploadRun {
  readonly source: Source;
  readonly job: UploadJob;
  readonly options: UploadOptions;
  readonly tools: UploadTools;
  readonly metadata: UploadMetadata;
  readonly id: string;
  /** ISO 8601. */
  readonly begunAt: string;
  /** What receipts know it by. */
  readonly key: ReceiptKey;
  readonly page: JournalPage;
  /** Bytes handed to the socket, those sent twice twice. */
  bytesSent = 0;
  /** Offset from which this run went on; null where it began the session. */
  resumedFrom: number | null = null;
  /** Sessions that this run created. */
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

  /** What the journal keeps of it before the service is asked for anything. */
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
   * An asset that stays without its bytes, for whoever clears up.
   *
   * @param isGuessed found by its name: it may be somebody else's
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

/** The name under which the journal keeps an upload. */
export const idOf = (job: UploadJob & { identity: string }, baseUrl: URL) =>
  uploadId({ baseUrl: baseUrl.origin, source: job.identity, metadata: metadataOf(job) });

/** What receipts know a file by. @param path the real path, or what stands in its place */
const receiptKey = (
  { workspace, folder }: Pick<UploadJob, 'workspace' | 'folder'>,
  path: string,
  baseUrl: URL,
): ReceiptKey => ({ service: baseUrl.origin, workspace, folder: folder ?? '', path });

type WithoutPath<T> = T extends unknown ? Omit<T, 'path'> : never;
