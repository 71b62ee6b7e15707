import { useEffect, useRef, useState } from 'preact/hooks';
import { isEnded, type PageEvent, type UploadState } from '../protocol.ts';
import { clearEnded, sendFile, setup } from './api.ts';
import type { DroppedFile } from './drops.ts';

/** Maximum concurrent uploads. Other files wait in the browser, to save disk space of the process. */
const lanes = 3;

type Waiting = DroppedFile & { id: string; folder: string };

export type Uploads = {
  states: readonly UploadState[];
  add(files: readonly DroppedFile[], folder: string | null): void;
  clear(): void;
  /** True while the serving process is unreachable. */
  isGone: boolean;
  /** Set while uploads wait for the service: the reason, and until when (milliseconds since the epoch). */
  waiting: { why: string; until: number } | undefined;
};

/** Sends dropped files to the serving process, a few at a time; tracks their state by events. */
export function useUploads(on: { onUploaded(): void; onAllEnded(): void }): Uploads {
  const [states] = useState(() => new Map<string, UploadState>());
  const [queue] = useState(() => new Queue());
  const [waiting, setWaiting] = useState<Uploads['waiting']>();
  const [isGone, setGone] = useState(false);
  const redraw = useFrames();
  const listener = useRef(on);
  listener.current = on;
  const tell = (state: UploadState) => {
    states.set(state.id, state);
    redraw();
  };
  const take = (event: PageEvent) => {
    if (event.kind !== 'upload') return setWaiting(event.kind === 'waiting' ? event : undefined);
    const before = states.get(event.upload.id);
    tell(event.upload);
    if (!isEnded(event.upload)) return;
    queue.settled(event.upload.id);
    if (event.upload.state === 'uploaded' && before?.state !== 'uploaded')
      listener.current.onUploaded();
    // Ignores replayed events of uploads that ended before the page was opened.
    if (before && !isEnded(before) && [...states.values()].every(isEnded))
      listener.current.onAllEnded();
  };
  useEffect(() => {
    let events: EventSource | undefined;
    // A browser allows six connections per origin across its tabs: hidden tabs without uploads close theirs.
    // The server replays missed events on reconnect.
    const listen = () => {
      const isWanted = document.visibilityState === 'visible' || queue.isBusy;
      if (isWanted === (events !== undefined)) return;
      events?.close();
      events = isWanted ? new EventSource(`${setup.base}events`) : undefined;
      if (!events) return;
      events.onmessage = ({ data }) => take(JSON.parse(data) as PageEvent);
      events.onopen = () => setGone(false);
      events.onerror = () => setGone(true);
    };
    listen();
    document.addEventListener('visibilitychange', listen);
    const stay = (event: BeforeUnloadEvent) => {
      if (queue.isBusy) event.preventDefault();
    };
    addEventListener('beforeunload', stay);
    return () => {
      events?.close();
      document.removeEventListener('visibilitychange', listen);
      removeEventListener('beforeunload', stay);
    };
  }, []);
  return {
    states: [...states.values()],
    waiting,
    isGone,
    add: (files, folder) => queue.add(files, folder, tell),
    clear: () => {
      for (const state of states.values()) if (isEnded(state)) states.delete(state.id);
      clearEnded().catch(() => {}); // on failure they only reappear after a reload
      redraw();
    },
  };
}

/** Throttles redraws to one per frame. */
function useFrames(): () => void {
  const [, draw] = useState(0);
  const isAsked = useRef(false);
  return () => {
    if (isAsked.current) return;
    isAsked.current = true;
    // Not requestAnimationFrame: it does not fire in hidden tabs.
    setTimeout(() => {
      isAsked.current = false;
      draw((count) => count + 1);
    }, 16);
  };
}

class Queue {
  readonly #waiting: Waiting[] = [];
  readonly #ends = new Map<string, () => void>();
  #underWay = 0;

  get isBusy(): boolean {
    return this.#underWay + this.#waiting.length > 0;
  }

  add(files: readonly DroppedFile[], folder: string | null, tell: (state: UploadState) => void) {
    for (const { file, below } of files) {
      const id = crypto.randomUUID();
      tell(stateOf(id, file));
      this.#waiting.push({ file, below, id, folder: folder ?? '' });
    }
    while (this.#underWay < lanes && this.#waiting.length > 0) void this.#lane(tell);
  }

  async #lane(tell: (state: UploadState) => void): Promise<void> {
    this.#underWay++;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const { file, id, below, folder } = next;
      const ended = new Promise<void>((resolve) => this.#ends.set(id, resolve));
      await sendFile(file, { id, below, folder }).then(
        () => ended,
        (error: Error) => tell({ ...stateOf(id, file), state: 'failed', problem: error.message }),
      );
      this.#ends.delete(id);
    }
    this.#underWay--;
  }

  /** Frees the slot of a file that was uploaded or failed. */
  settled(id: string): void {
    this.#ends.get(id)?.();
  }
}

const stateOf = (id: string, { name, size }: File): UploadState => ({
  ...{ id, name, state: 'taking', doneBytes: 0, sizeBytes: size },
});
