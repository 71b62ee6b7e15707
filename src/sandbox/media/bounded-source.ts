import { open } from 'node:fs/promises';
import { CustomSource } from 'mediabunny';

/** A header, a picture or a packet is held whole; none that is larger is read. */
const largestPieceMiB = 64;

/** Media that are refused for what it would take to read them, be they whole or not. */
export class TooLarge extends Error {}

/** A file for mediabunny to read, piece by piece. */
export function boundedSource(path: string): CustomSource {
  const opening = open(path);
  return new CustomSource({
    getSize: async () => (await (await opening).stat()).size,
    read: async (start, end) => {
      if (end - start > largestPieceMiB * 1024 * 1024)
        throw new TooLarge(
          `a part of ${Math.ceil((end - start) / 1024 / 1024)} MiB is more than is read at once`,
        );
      const bytes = new Uint8Array(end - start);
      for (let at = 0; at < bytes.length; ) {
        const { bytesRead } = await (await opening).read(bytes, at, bytes.length - at, start + at);
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
