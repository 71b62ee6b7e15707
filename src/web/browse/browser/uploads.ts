import { useEffect, useRef, useState } from 'preact/hooks';
import { isEnded, type PageEvent, type UploadState } from '../protocol.ts';
import { clearEndedUploads, sendFile, setup } from './api.ts';
import type { DroppedFile } from './drops.ts';

/**
 * Maximum number of concurrent uploads. Other files wait in the browser, to save disk space of the serving process.
 */
const maxConcurrentUploads = 3;

type QueuedFile = DroppedFile & { id: string; folder: string };

export type Uploads = {
  states: readonly UploadState[];
  add(files: readonly DroppedFile[], folder: string | null): void;
  clear(): void;
  /** True while the serving process is unreachable. */
  isServerDown: boolean;
  /**
   * Reason why uploads wait for the service, and end of the wait (milliseconds since the Unix epoch), if they wait.
   */
  serviceWait: { why: string; until: number } | undefined;
};

/** Sends dropped files to the serving process, a few at a time. Tracks their state with server-sent events. */
export function useUploads(on: { onUploaded(): void; onAllEnded(): void }): Uploads {
  const [states] = useState(() => new Map<string, UploadState>());
  const [queue] = useState(() => new UploadQueue());
  const [serviceWait, setServiceWait] = useState<Uploads['serviceWait']>();
  const [isServerDown, setServerDown] = useState(false);
  const redraw = useThrottledRedraw();
  const listener = useRef(on);
  listener.current = on;
  const update = (state: UploadState) => {
    states.set(state.id, state);
    redraw();
  };
  const handleEvent = (event: PageEvent) => {
    if (event.kind !== 'upload') return setServiceWait(event.kind === 'waiting' ? event : undefined);
    const before = states.get(event.upload.id);
    update(event.upload);
    if (!isEnded(event.upload)) return;
    queue.markEnded(event.upload.id);
    if (event.upload.state === 'uploaded' && before?.state !== 'uploaded') listener.current.onUploaded();
    // Ignores replayed events of uploads that ended before the page was opened.
    if (before && !isEnded(before) && [...states.values()].every(isEnded)) listener.current.onAllEnded();
  };
  useEffect(() => {
    let events: EventSource | undefined;
    // A browser allows six connections per origin across its tabs, so hidden tabs without uploads close
    // their event stream. The server replays missed events on reconnect.
    const listen = () => {
      const needsEvents = document.visibilityState === 'visible' || queue.isBusy;
      if (needsEvents === (events !== undefined)) return;
      events?.close();
      events = needsEvents ? new EventSource(`${setup.base}events`) : undefined;
      if (!events) return;
      events.onmessage = ({ data }) => handleEvent(JSON.parse(data) as PageEvent);
      events.onopen = () => setServerDown(false);
      events.onerror = () => setServerDown(true);
    };
    listen();
    document.addEventListener('visibilitychange', listen);
    const confirmLeave = (event: BeforeUnloadEvent) => {
      if (queue.isBusy) event.preventDefault();
    };
    addEventListener('beforeunload', confirmLeave);
    return () => {
      events?.close();
      document.removeEventListener('visibilitychange', listen);
      removeEventListener('beforeunload', confirmLeave);
    };
  }, []);
  return {
    states: [...states.values()],
    serviceWait,
    isServerDown,
    add: (files, folder) => queue.add(files, folder, update),
    clear: () => {
      for (const state of states.values()) if (isEnded(state)) states.delete(state.id);
      clearEndedUploads().catch(() => {}); // if this fails, the uploads reappear after a reload
      redraw();
    },
  };
}

/** Returns a function that redraws the component, throttled to one redraw per frame. */
function useThrottledRedraw(): () => void {
  const [, draw] = useState(0);
  const isAsked = useRef(false);
  return () => {
    if (isAsked.current) return;
    isAsked.current = true;
    // Not requestAnimationFrame, because it does not fire in hidden tabs.
    setTimeout(() => {
      isAsked.current = false;
      draw((count) => count + 1);
    }, 16);
  };
}

class UploadQueue {
  readonly #queued: QueuedFile[] = [];
  readonly #onEnded = new Map<string, () => void>();
  #activeSlots = 0;

  get isBusy(): boolean {
    return this.#activeSlots + this.#queued.length > 0;
  }

  add(files: readonly DroppedFile[], folder: string | null, onState: (state: UploadState) => void) {
    for (const { file, relativeDir } of files) {
      const id = crypto.randomUUID();
      onState(initialState(id, file));
      this.#queued.push({ file, relativeDir, id, folder: folder ?? '' });
    }
    while (this.#activeSlots < maxConcurrentUploads && this.#queued.length > 0) void this.#runSlot(onState);
  }

  async #runSlot(onState: (state: UploadState) => void): Promise<void> {
    this.#activeSlots++;
    for (let next = this.#queued.shift(); next; next = this.#queued.shift()) {
      const { file, id, relativeDir, folder } = next;
      const ended = new Promise<void>((resolve) => this.#onEnded.set(id, resolve));
      await sendFile(file, { id, below: relativeDir, folder }).then(
        () => ended,
        (error: Error) => onState({ ...initialState(id, file), state: 'failed', problem: error.message }),
      );
      this.#onEnded.delete(id);
    }
    this.#activeSlots--;
  }

  /** Frees the upload slot of a file that was uploaded or failed. */
  markEnded(id: string): void {
    this.#onEnded.get(id)?.();
  }
}

const initialState = (id: string, { name, size }: File): UploadState => ({
  ...{ id, name, state: 'taking', doneBytes: 0, sizeBytes: size },
});
