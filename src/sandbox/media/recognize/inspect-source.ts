import { open, readFile, stat } from 'node:fs/promises';
import { imageSize } from 'image-size';
import { imageSizeFromFile } from 'image-size/fromFile';
import { CustomSource, Input } from 'mediabunny';
import { isCalledVideo, typeByContainer, typeOfUnknown } from './asset-type.ts';
import type { Dimensions } from './dimensions.ts';
import { imageDemuxers } from './image-types.ts';
import { inspectMedia, type OpenMedia, readMedia } from './inspect-media.ts';
import type { BrokenSource, InspectedSource, InspectionTask, WorkerMessage } from './inspection-messages.ts';
import { containers, demuxerOf, detectKind, type FfmpegOnlyContainer } from './source-kind.ts';

type SendMessage = (message: WorkerMessage) => Promise<void>;

/** Inspects a source and sends its properties; for media, also sends the result of reading it to its end. */
export async function inspectSource(task: InspectionTask, send: SendMessage): Promise<void> {
  const kind = await detectKind(task);
  const found = (what: InspectedSource | BrokenSource) => send({ found: what });
  switch (kind.is) {
    case 'document':
    case 'generic':
      return found({ type: kind.is, contentType: kind.contentType });
    case 'image':
      return found(await inspectImage(task.sourcePath, kind.contentType));
    case 'foreign':
      return found(unreadSource(kind.foreign, 'only ffmpeg can read this type of file', 'foreign'));
    case 'other': {
      const { contentType, foreign } = kind;
      const { source, endHeader } = openBounded(task.sourcePath);
      using input = new Input({ formats: containers, source }); // closes the file: Node.js 26 ends a process that does not
      if (await input.canRead().catch(() => false))
        return await inspectContainer({ input, endHeader }, contentType, task, send);
      if (foreign) return found(unreadSource(foreign, 'only ffmpeg can read its content', 'foreign'));
      return found(typeOfUnknown(task, contentType));
    }
  }
}

type UnreadCause = NonNullable<InspectedSource['unread']>['why'];

const unreadSource = (container: FfmpegOnlyContainer, reason: string, why: UnreadCause): InspectedSource => ({
  ...container,
  unread: { reason, why },
});

/** Maximum number of pixels. A header that claims more is considered forged. */
const maxPixels = 2 ** 32;

/** Content types that the `image-size` package reads reliably. If it fails on one, the file is damaged. */
const measurableTypes = new Set(['image/jpeg', 'image/png', 'image/apng', 'image/gif', 'image/webp', 'image/bmp']);

/** Returns an image with its size. Sets `unread` if an image of a common type cannot be read. */
async function inspectImage(sourcePath: string, contentType: string): Promise<InspectedSource> {
  const demuxer = imageDemuxers.get(contentType);
  const image = { type: 'image', contentType, demuxer } as const;
  try {
    return { ...image, ...(await imageSizeOf(sourcePath)) };
  } catch (error) {
    const reason = `the image cannot be read: ${(error as Error).message}`;
    // ffmpeg might still read rare types.
    return measurableTypes.has(contentType) ? { ...image, unread: { reason, why: 'broken' } } : image;
  }
}

/** Maximum size of an image file that is loaded into memory to find its dimensions. */
const maxInMemoryBytes = 64 * 1024 * 1024;

/** @throws Error if the image has no plausible size */
async function imageSizeOf(path: string): Promise<Dimensions> {
  // image-size reads only the first half megabyte of a file, but the dimensions can come later, after the metadata.
  const found = await imageSizeFromFile(path).catch(async (error) => {
    if ((await stat(path)).size > maxInMemoryBytes) throw error;
    return imageSize(await readFile(path));
  });
  const [width, height] = [Math.round(found.width), Math.round(found.height)]; // SVG sizes may be fractional
  if (width < 1 || height < 1 || width * height > maxPixels) throw new Error(`it claims ${width} by ${height} pixels`);
  // EXIF orientations 5 to 8 are rotated by 90°.
  return (found.orientation ?? 1) < 5 ? { width, height } : { width: height, height: width };
}

/** Inspects a file whose container mediabunny recognizes, even if it fails to read the content. */
async function inspectContainer(
  media: OpenMedia,
  contentType: string | undefined,
  task: InspectionTask,
  send: SendMessage,
): Promise<void> {
  const { input } = media;
  const demuxer = demuxerOf(await input.getFormat());
  const container = { type: typeByContainer(contentType), contentType: contentType ?? 'video/mp4', demuxer } as const;
  const source = (found: InspectedSource) => send({ found });
  const missingBytes = demuxer === 'mov' ? await countMissingBytes(task.sourcePath) : 0;
  if (missingBytes > 0)
    return send({
      found: { type: 'broken', reason: `the file is truncated: its last ${missingBytes} bytes are missing` },
    });
  // Send a preliminary result first, which is used if reading the header kills this process.
  await source(unreadSource(container, 'reading its header did not finish', 'large'));
  const found = await inspectMedia(media, isCalledVideo(contentType)).catch((error: Error) => {
    // A file that needs too much memory is not necessarily broken.
    const why = error instanceof MediaTooLargeError || error instanceof RangeError ? 'large' : 'broken';
    return unreadSource(container, `the file cannot be processed: ${error.message}`, why);
  });
  await source(found);
  if (!found.unread) await send({ reading: await readMedia(input, task) });
}

/** Maximum number of boxes to read: a fragmented file has two for each fragment. */
const maxBoxes = 100_000;

/**
 * Returns how many bytes of media an MP4 or QuickTime file lacks at its end. Its index can be in front, and then says
 * nothing about what follows. A box has its size and its name, four bytes each; the size 1 is followed by one of eight
 * bytes, and the size 0 means up to the end of the file.
 */
async function countMissingBytes(path: string): Promise<number> {
  const handle = await open(path);
  try {
    const { size: fileBytes } = await handle.stat();
    const head = Buffer.alloc(16);
    for (let at = 0, n = 0; n < maxBoxes && at + 8 <= fileBytes; n++) {
      await handle.read(head.fill(0), 0, 16, at);
      const size = head.readUInt32BE(0);
      const bytes = size === 1 ? Number(head.readBigUInt64BE(8)) : size;
      if (bytes < 8) return 0; // the last box, or not a box
      at += bytes;
      if (at > fileBytes) return head.toString('latin1', 4, 8) === 'mdat' ? at - fileBytes : 0;
    }
    return 0;
  } finally {
    await handle.close();
  }
}

/** Maximum size of one read, since a header, image or packet is loaded into memory as a whole. */
const maxReadMiB = 64;
/** Maximum total size of the reads for the header and tags, which stay in memory. */
const maxHeaderMiB = 128;

/** Error for media that is too large to be read into memory, whether it is intact or not. */
class MediaTooLargeError extends Error {}

const inMiB = (bytes: number) => Math.ceil(bytes / 1024 / 1024);

/**
 * Opens an untrusted file for mediabunny, with limits on the size of reads. After `endHeader`, the total size is not
 * limited, since packets are released again.
 */
function openBounded(path: string): { source: CustomSource; endHeader(): void } {
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
