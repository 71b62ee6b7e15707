import type { UploadFile } from '../sources/upload-file.ts';

/**
 * Distributes files over the upload slots (lanes). Resumed uploads come first, since sessions expire after a day.
 * One slot in four then sends the largest files, and the remaining slots send the smallest. Large files use the
 * bandwidth and small files use the rate limit, so both are used fully at the same time. A single slot sends the
 * files in the given order.
 */
export class FileScheduler {
  readonly #resumed: UploadFile[];
  readonly #bySize: UploadFile[];
  readonly #largeLanes: number;
  #smallest = 0;
  #largest: number;

  constructor(files: readonly UploadFile[], isResumable: (file: UploadFile) => boolean, lanes: number) {
    this.#resumed = files.filter(isResumable);
    this.#bySize = files.filter((file) => !isResumable(file));
    this.#largeLanes = lanes > 1 ? Math.ceil(lanes / 4) : 0;
    if (lanes > 1) this.#bySize.sort((a, b) => (a.sizeBytes ?? 0) - (b.sizeBytes ?? 0));
    this.#resumed.reverse();
    this.#largest = this.#bySize.length;
  }

  get remaining(): number {
    return this.#resumed.length + this.#largest - this.#smallest;
  }

  /** Removes and returns the next file for a lane; undefined if none is left. @param lane counted from 0 */
  next(lane: number): UploadFile | undefined {
    const resumed = this.#resumed.pop();
    if (resumed) return resumed;
    if (this.#smallest >= this.#largest) return undefined;
    return lane < this.#largeLanes ? this.#bySize[--this.#largest] : this.#bySize[this.#smallest++];
  }
}
