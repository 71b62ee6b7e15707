import type { SSEStreamingApi } from 'hono/streaming';
import { isEnded, type PageEvent, type UploadState } from '../protocol.ts';

const maxEndedUploads = 200;

/** Broadcasts events to every open page, and replays uploads and the present wait to a page that is opened later. */
export class EventBroadcaster {
  readonly #listeners = new Set<(event: PageEvent) => void>();
  readonly #uploads = new Map<string, UploadState>();
  #wait: Extract<PageEvent, { kind: 'waiting' }> | undefined;

  publish(event: PageEvent): void {
    if (event.kind !== 'upload') this.#wait = event.kind === 'waiting' ? event : undefined;
    else {
      this.#uploads.delete(event.upload.id);
      this.#uploads.set(event.upload.id, event.upload);
      this.clearEnded(maxEndedUploads);
    }
    for (const emit of this.#listeners) emit(event);
  }

  /** Drops finished uploads from the replay, except the `keep` newest ones. */
  clearEnded(keep = 0): void {
    const ended = [...this.#uploads.values()].filter(isEnded);
    for (const { id } of ended.slice(0, Math.max(0, ended.length - keep))) this.#uploads.delete(id);
  }

  /** Sends events to a page until it disconnects. */
  async sendTo(stream: SSEStreamingApi): Promise<void> {
    const emit = (event: PageEvent) => void stream.writeSSE({ data: JSON.stringify(event) });
    void stream.write('retry: 1000\n\n'); // milliseconds until a browser reconnects
    for (const upload of this.#uploads.values()) emit({ kind: 'upload', upload });
    if (this.#wait && this.#wait.until > Date.now()) emit(this.#wait);
    this.#listeners.add(emit);
    await new Promise<void>((resolve) => stream.onAbort(resolve));
    this.#listeners.delete(emit);
  }
}
