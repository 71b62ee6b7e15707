import { open } from 'node:fs/promises';
import { CustomSource } from 'mediabunny';

/** Maximum size of one read, since a header, image or packet is loaded into memory as a whole. */
const maxReadMiB = 64;
/** Maximum total size of the reads for the header and tags, which stay in memory. */
const maxHeaderMiB = 128;

/** Error for media that is too large to be read into memory, whether it is intact or not. */
export class MediaTooLargeError extends Error {}

const inMiB = (bytes: number) => Math.ceil(bytes / 1024 / 1024);

/**
 * Opens an untrusted file for mediabunny, with limits on the size of reads. After `endHeader`, the total size is not
 * limited, since packets are released again.
 */
export function openBounded(path: string): { source: CustomSource; endHeader(): void } {
  const opening = open(path);
  let isInHeader = true;
  let headerBytes = 0;
  const assertBounded = (bytes: number) => {
    if (inMiB(bytes) > maxReadMiB)
      throw new MediaTooLargeError(`a part of ${inMiB(bytes)} MiB exceeds the limit of ${maxReadMiB} MiB`);
    if (isInHeader) headerBytes += bytes;
    if (isInHeader && inMiB(headerBytes) > maxHeaderMiB)
      throw new MediaTooLargeError(`its header and tags exceed the limit of ${maxHeaderMiB} MiB`);
  };
  const source = new CustomSource({
    getSize: async () => (await (await opening).stat()).size,
    read: async (start, end) => {
      assertBounded(end - start);
      const bytes = new Uint8Array(end - start);
      for (let at = 0; at < bytes.length; ) {
        const { bytesRead } = await (await opening).read(bytes, at, bytes.length - at, start + at);
        if (bytesRead === 0) throw new Error('unexpected end of file');
        at += bytesRead;
      }
      return bytes;
    },
    dispose: () => opening.then((handle) => handle.close()),
    prefetchProfile: 'fileSystem',
    // Ignore unhandled errors of prefetched reads; awaited reads still fail.
    handleUnhandledError: () => {},
  });
  const endHeader = () => {
    isInHeader = false;
  };
  return { source, endHeader };
}
