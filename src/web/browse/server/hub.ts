import { isEnded, type PageEvent, type UploadState } from '../protocol.ts';

/** Uploads that ended are told to a page that is opened later, so many of them. */
const mostEnded = 200;

/** Tells every open page what happens, and what has happened to one that is opened later. */
export class Hub {
  readonly #pages = new Set<(event: PageEvent) => void>();
  readonly #uploads = new Map<string, UploadState>();

  publish(event: PageEvent): void {
    if (event.kind === 'upload') this.#keep(event.upload);
    for (const tell of this.#pages) tell(event);
  }

  #keep(upload: UploadState): void {
    this.#uploads.delete(upload.id);
    this.#uploads.set(upload.id, upload);
    const ended = [...this.#uploads.values()].filter(isEnded);
    for (const { id } of ended.slice(0, -mostEnded)) this.#uploads.delete(id);
  }

  /** What ended is told to nobody any more. */
  forgetEnded(): void {
    for (const upload of [...this.#uploads.values()])
      if (isEnded(upload)) this.#uploads.delete(upload.id);
  }

  /** Server-sent events, until the reader leaves. */
  stream(): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    let tell: (event: PageEvent) => void;
    return new ReadableStream({
      start: (controller) => {
        tell = (event) => controller.enqueue(encoder.encode(`data: ${JSON.stringify(event)}\n\n`));
        controller.enqueue(encoder.encode('retry: 1000\n\n'));
        for (const upload of this.#uploads.values()) tell({ kind: 'upload', upload });
        this.#pages.add(tell);
      },
      cancel: () => {
        this.#pages.delete(tell);
      },
    });
  }
}
