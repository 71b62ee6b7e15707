import { open } from 'node:fs/promises';
import { CustomSource } from 'mediabunny';

/** Maximum size of one read, since a header, image or packet is loaded into memory as a whole. */
const maxReadMiB = 64;
/** Maximum total size of the reads for the header and tags, which stay in memory. */
const maxHeaderMiB = 128;

/** Error for media that is too large to be read into memory, whether it is intact or not. */
export class MediaTooLargeError extends Error {}

const inMiB = (bytes: number) => Math.ceil(bytes / 1024 / 1024);

/** A file source for mediabunny that limits the size of reads, since files are untrusted. */
export class BoundedSource {
  readonly source: CustomSource;
  #headerBytes = 0;
  #isInHeader = true;

  constructor(path: string) {
    const opening = open(path);
    this.source = new CustomSource({
      getSize: async () => (await (await opening).stat()).size,
      read: async (start, end) => {
        this.#assertBounded(end - start);
        const bytes = new Uint8Array(end - start);
        for (let at = 0; at < bytes.length; ) {
          const left = bytes.length - at;
          const { bytesRead } = await (await opening).read(bytes, at, left, start + at);
          if (bytesRead === 0) throw new Error('the file ends before it should');
          at += bytesRead;
        }
        return bytes;
      },
      dispose: () => opening.then((handle) => handle.close()),
      prefetchProfile: 'fileSystem',
      // Ignore unhandled errors of prefetched reads; awaited reads still fail.
      handleUnhandledError: () => {},
    });
  }

  /** Ends the header phase. Packets read afterwards are released again, so the total size is no longer limited. */
  endHeader(): void {
    this.#isInHeader = false;
  }

  #assertBounded(bytes: number): void {
    if (inMiB(bytes) > maxReadMiB)
      throw new MediaTooLargeError(`a part of ${inMiB(bytes)} MiB is more than is read at once`);
    if (!this.#isInHeader) return;
    this.#headerBytes += bytes;
    if (inMiB(this.#headerBytes) > maxHeaderMiB)
      throw new MediaTooLargeError(`its header and tags are more than the ${maxHeaderMiB} MiB that are read`);
  }
}
