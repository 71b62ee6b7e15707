import { open } from 'node:fs/promises';
import { CustomSource } from 'mediabunny';

/** A header, a picture or a packet is held whole; none that is larger is read. */
const largestPieceMiB = 64;
/** What is read for the header and its tags is held too, all of it. */
const largestHeaderMiB = 128;

/** Media that are refused for what it would take to read them, be they whole or not. */
export class TooLarge extends Error {}

const inMiB = (bytes: number) => Math.ceil(bytes / 1024 / 1024);

/** A file for mediabunny to read, in pieces that have an end. */
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
      // What nobody waited for is no failure; what is waited for fails where it is.
      handleUnhandledError: () => {},
    });
  }

  /** From here on packets are read, which are let go again. */
  endHeader(): void {
    this.#isInHeader = false;
  }

  #assertBounded(bytes: number): void {
    if (inMiB(bytes) > largestPieceMiB)
      throw new TooLarge(`a part of ${inMiB(bytes)} MiB is more than is read at once`);
    if (!this.#isInHeader) return;
    this.#headerBytes += bytes;
    if (inMiB(this.#headerBytes) > largestHeaderMiB)
      throw new TooLarge(
        `its header and tags are more than the ${largestHeaderMiB} MiB that are read`,
      );
  }
}
