import { useState } from 'preact/hooks';
import { isEnded, type PageEvent, type UploadState } from '../protocol.ts';
import { clearEndedUploads, sendFile, setup } from './api.ts';
import type { DroppedFile } from './drops.ts';
import { useRedraw } from './hooks.ts';

/** Maximum number of concurrent uploads. Other files wait in the browser, to save disk space of the serving process. */
const maxConcurrentUploads = 3;
/** Minimum time between redraws. Not a frame, because requestAnimationFrame does not fire in hidden tabs. */
const redrawIntervalMs = 16;

type UploadListeners = { onUploaded(): void; onAllEnded(): void };

/** Reason for a wait, and its end (milliseconds since the Unix epoch). */
export type ServiceWait = { why: string; until: number };

type QueuedFile = DroppedFile & { id: string; folder: string };

/** Sends dropped files to the serving process, a few at a time, and tracks their state with server-sent events. */
export class Uploads {
  readonly #redraw: () => void;
  readonly #states = new Map<string, UploadState>();
  readonly #queue: QueuedFile[] = [];
  readonly #onEnded = new Map<string, () => void>();
  #activeSlots = 0;
  #events: EventSource | undefined;
  isServerDown = false;
  /** Why the service is waited for, if so. */
  serviceWait: ServiceWait | undefined;

  on: UploadListeners = { onUploaded: () => {}, onAllEnded: () => {} };
  #redrawTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(redraw: () => void) {
    this.#redraw = redraw;
    this.#connect();
    document.addEventListener('visibilitychange', () => this.#connect());
    addEventListener('beforeunload', (event) => {
      if (this.#isBusy) event.preventDefault(); // the browser asks before it closes the tab
    });
  }

  get states(): readonly UploadState[] {
    return [...this.#states.values()];
  }

  get #isBusy(): boolean {
    return this.#activeSlots + this.#queue.length > 0;
  }

  add(files: readonly DroppedFile[], folder: string | null): void {
    for (const { file, relativeDir } of files) {
      const id = crypto.randomUUID();
      this.#update(initialState(id, file));
      this.#queue.push({ file, relativeDir, id, folder: folder ?? '' });
    }
    while (this.#activeSlots < maxConcurrentUploads && this.#queue.length > 0) void this.#runSlot();
  }

  async #runSlot(): Promise<void> {
    this.#activeSlots++;
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      const { file, id, relativeDir, folder } = next;
      const ended = new Promise<void>((resolve) => this.#onEnded.set(id, resolve));
      await sendFile(file, { id, below: relativeDir, folder }).then(
        () => ended,
        (error: Error) => this.#update({ ...initialState(id, file), state: 'failed', problem: error.message }),
      );
      this.#onEnded.delete(id);
    }
    this.#activeSlots--;
  }

  clear(): void {
    for (const state of this.states) if (isEnded(state)) this.#states.delete(state.id);
    clearEndedUploads().catch(() => {}); // if this fails, the uploads reappear after a reload
    this.#onChange();
  }

  /**
   * Opens the event stream, and closes it in a hidden tab without uploads, because a browser allows six connections
   * per origin across its tabs. The server replays missed events on reconnect.
   */
  #connect(): void {
    const needsEvents = document.visibilityState === 'visible' || this.#isBusy;
    if (needsEvents === (this.#events !== undefined)) return;
    this.#events?.close();
    this.#events = needsEvents ? new EventSource(`${setup.base}events`) : undefined;
    if (!this.#events) return;
    this.#events.onmessage = ({ data }) => this.#handle(JSON.parse(data) as PageEvent);
    this.#events.onopen = () => this.#setServerDown(false);
    this.#events.onerror = () => this.#setServerDown(true);
  }

  #handle(event: PageEvent): void {
    if (event.kind !== 'upload') {
      this.serviceWait = event.kind === 'waiting' ? event : undefined;
      this.#onChange();
      return;
    }
    const { upload } = event;
    const before = this.#states.get(upload.id);
    this.#update(upload);
    if (!isEnded(upload)) return;
    this.#onEnded.get(upload.id)?.();
    if (upload.state === 'uploaded' && before?.state !== 'uploaded') this.on.onUploaded();
    // Ignores replayed events of uploads that ended before the page was opened.
    if (before && !isEnded(before) && this.states.every(isEnded)) this.on.onAllEnded();
  }

  #update(state: UploadState): void {
    this.#states.set(state.id, state);
    this.#onChange();
  }

  #setServerDown(isDown: boolean): void {
    this.isServerDown = isDown;
    this.#onChange();
  }

  #onChange(): void {
    this.#redrawTimer ??= setTimeout(() => {
      this.#redrawTimer = undefined;
      this.#redraw();
    }, redrawIntervalMs);
  }
}

export function useUploads(on: UploadListeners): Uploads {
  const redraw = useRedraw();
  const [uploads] = useState(() => new Uploads(redraw));
  uploads.on = on;
  return uploads;
}

const initialState = (id: string, { name, size }: File): UploadState => ({
  id,
  name,
  state: 'taking',
  doneBytes: 0,
  sizeBytes: size,
});
