import { isEnded, type PageEvent, type UploadState } from '../protocol.ts';

/** Maximum number of finished uploads that are replayed to a newly opened page. */
const maxEndedUploads = 200;

/** Broadcasts events to every open page, and replays the state of uploads to pages that are opened later. */
export class EventBroadcaster {
  readonly #listeners = new Set<(event: PageEvent) => void>();
  readonly #uploads = new Map<string, UploadState>();

  publish(event: PageEvent): void {
    if (event.kind === 'upload') this.#storeUpload(event.upload);
    for (const emit of this.#listeners) emit(event);
  }

  #storeUpload(upload: UploadState): void {
    this.#uploads.delete(upload.id);
    this.#uploads.set(upload.id, upload);
    const ended = [...this.#uploads.values()].filter(isEnded);
    for (const { id } of ended.slice(0, -maxEndedUploads)) this.#uploads.delete(id);
  }

  /** Drops finished uploads from the replay. */
  clearEnded(): void {
    for (const upload of [...this.#uploads.values()]) if (isEnded(upload)) this.#uploads.delete(upload.id);
  }

  /** Returns a stream of server-sent events, which lasts until the client disconnects. */
  stream(): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    let emit: (event: PageEvent) => void;
    return new ReadableStream({
      start: (controller) => {
        emit = (event) => controller.enqueue(encoder.encode(`data: ${JSON.stringify(event)}\n\n`));
        controller.enqueue(encoder.encode('retry: 1000\n\n'));
        for (const upload of this.#uploads.values()) emit({ kind: 'upload', upload });
        this.#listeners.add(emit);
      },
      cancel: () => {
        this.#listeners.delete(emit);
      },
    });
  }
}
