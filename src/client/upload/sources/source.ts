import { type BigIntStats, closeSync, constants, fstatSync, open, read, readSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { CodedError } from '../../errors.ts';
import { hasConfiguration, type OwnFiles, ownFileError } from '../../own-files.ts';
import type { FileChooser } from './file-chooser.ts';
import { describeChange, type FileIdentity, identityOf } from './file-identity.ts';
import { FileWalker } from './file-walker.ts';
import { notAFile, realPathOf, unknownLength, unreadableFile } from './upload-file.ts';

/** Size of each read. It affects speed more than the HTTP library does: 64 KiB reads ran at half the speed. */
const readBufferBytes = 2 * 1024 * 1024;

/** Reads below this size get a buffer of their own. */
const minPooledBytes = 64 * 1024;

/** Read buffers that are free, while any file is open. There are at most three per file that is read. */
const freeBuffers: Buffer[] = [];
let openFiles = 0;

const openAsync = promisify(open);
const readAsync = promisify(read);

/** A local file to upload, read by position through one descriptor that stays open for the whole upload. */
export class FileSource {
  readonly path: string;
  readonly realPath: string;
  /** The file's identity when it was opened, or when its content was last found unchanged. */
  identity: FileIdentity;
  #fd: number;
  /** Resolves once no read is running. A read can outlast its consumer. */
  #reading: Promise<unknown> | undefined;
  /** Buffers of the last complete read, which a socket might still hold. */
  #usedBuffers: Buffer[] = [];

  private constructor(path: string, realPath: string, identity: FileIdentity, fd: number) {
    this.path = path;
    this.realPath = realPath;
    this.identity = identity;
    this.#fd = fd;
    openFiles++;
  }

  /**
   * @param own files of mediactl itself, which are not opened
   * @param realPath real path of the file, if already resolved
   * @throws CodedError (exit 2) if the file does not exist, is unreadable, is in `own`, or is a directory, pipe or
   *   device
   */
  static async open(path: string, own: OwnFiles, realPath?: string): Promise<FileSource> {
    try {
      own.assertForeign(path);
      // Without O_NONBLOCK, opening a FIFO waits for its writer.
      const fd = await openAsync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        const found = fstatSync(fd, { bigint: true });
        if (!found.isFile()) throw notAFile(path, found.isDirectory());
        const identity = identityOf(found);
        if (identity.sizeBytes === 0) assertEmpty(path, fd);
        else if (hasConfiguration(fd, identity.sizeBytes)) throw ownFileError(path);
        return new FileSource(path, realPath ?? (await realPathOf(path)), identity, fd);
      } catch (error) {
        closeSync(fd);
        throw error;
      }
    } catch (error) {
      throw error instanceof CodedError ? error : unreadableFile(path, error);
    }
  }

  get sizeBytes(): number {
    return this.identity.sizeBytes;
  }

  /**
   * Yields the bytes [start, end) in buffers of 2 MiB and prefetches the next buffer. Before the last buffer it
   * checks that the file is unchanged, so a changed file never completes a chunk.
   *
   * @throws CodedError `file_changed` (exit 13), `file_unusable` (exit 2)
   */
  async *read(
    start: number,
    end: number,
    { onRead = () => {}, assertUnchanged = () => this.assertUnchanged() }: ReadOptions = {},
  ): AsyncGenerator<Buffer> {
    // Three buffers rotate: one at the socket, one at the consumer, and one being filled.
    const buffers: Buffer[] = [];
    const isPooled = end - start >= minPooledBytes;
    const allocate = () =>
      isPooled ? (freeBuffers.pop() ?? Buffer.allocUnsafeSlow(readBufferBytes)) : Buffer.allocUnsafe(end - start);
    const prefetch = (at: number, turn: number) => {
      const buffer = buffers[turn % 3] ?? allocate();
      buffers[turn % 3] = buffer;
      const filled = this.#readFully(buffer, at, Math.min(buffer.length, end - at)).then((bytes) => {
        onRead(at, bytes);
        return bytes;
      });
      const previous = this.#reading;
      this.#reading = filled.catch(() => {}).then(() => previous); // awaited below, unless the consumer leaves first
      return filled;
    };
    let next = prefetch(start, 0);
    for (let at = start, turn = 1; at < end; turn++) {
      const filled = await next;
      at += filled.length;
      if (at < end) next = prefetch(at, turn);
      else await assertUnchanged();
      yield filled;
    }
    if (isPooled) this.#usedBuffers = buffers;
  }

  /** Frees the buffers of a complete read for other files. Call it once all its bytes are acknowledged. */
  releaseBuffers(): void {
    freeBuffers.push(...this.#usedBuffers);
    this.#usedBuffers = [];
  }

  async #readFully(buffer: Buffer, at: number, length: number): Promise<Buffer> {
    for (let done = 0; done < length; ) {
      const { bytesRead } = await readAsync(this.#fd, buffer, done, length - done, at + done);
      if (bytesRead === 0) throw fileChanged(this.path, 'it was truncated');
      done += bytesRead;
    }
    return buffer.subarray(0, length);
  }

  /**
   * Checks that the path still leads to the same content.
   *
   * @param assertSameContent called if only the inode change time differs: the mode or name changed, or the file was
   *   written to and its modification time restored. By default such a file counts as unchanged.
   * @throws CodedError `file_changed` (exit 13), `file_unusable` (exit 2)
   */
  async assertUnchanged(assertSameContent = async () => {}): Promise<void> {
    // Synchronous, because the inode of a file just read is cached and the thread pool would be slower.
    const now = identityOf(fstatSync(this.#fd, { bigint: true }));
    const before = this.identity;
    const change = describeChange({ ...before, ctimeNs: undefined }, now);
    if (change) throw fileChanged(this.path, change);
    const there = identityOf(statPath(this.path));
    if (there.ino !== before.ino || there.dev !== before.dev) throw fileChanged(this.path, 'another file replaced it');
    if (now.ctimeNs === before.ctimeNs) return;
    await assertSameContent();
    this.identity = now;
  }

  /** Closes the file, synchronously, because the thread pool would cost more. A read under way ends first. */
  async close(): Promise<void> {
    await this.#reading;
    const fd = this.#fd;
    this.#fd = -1; // the number might soon be that of another file
    if (fd < 0) return;
    closeSync(fd);
    openFiles--;
    if (openFiles === 0) freeBuffers.length = 0;
  }
}

/** A readable source of an upload: a local file, a URL or an rclone file. */
export type UploadSource = Pick<
  FileSource,
  'path' | 'realPath' | 'identity' | 'sizeBytes' | 'read' | 'assertUnchanged' | 'close'
> &
  Partial<Pick<FileSource, 'releaseBuffers'>>;

export type ReadOptions = {
  /** Called with the offset and bytes of each buffer once it is filled, while the previous one is being sent. */
  onRead?: (at: number, bytes: Buffer) => void;
  /** Called before the last buffer is yielded; throws if the file has changed. */
  assertUnchanged?: () => Promise<void>;
};

/** @throws CodedError `file_unusable` (exit 2) if the path does not exist */
function statPath(path: string): BigIntStats {
  try {
    return statSync(path, { bigint: true });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? fileGone(path) : unreadableFile(path, error);
  }
}

/** Checks that a file of size 0 is empty, since /proc and some FUSE file systems report 0 for files with content. */
function assertEmpty(path: string, fd: number): void {
  if (readSync(fd, Buffer.alloc(1), 0, 1, 0) > 0) throw unknownLength(`${path} reports a size of 0 but is not empty`);
}

export const fileChanged = (path: string, reason: string, since = 'its upload began') =>
  new CodedError(`${path} changed since ${since}`, {
    code: 'file_changed',
    reason,
  });

export const fileGone = (path: string) =>
  new CodedError(`${path} no longer exists`, {
    subcode: 'file_gone',
    reason: 'it was deleted or renamed during the upload',
  });

/** Finds the chosen local files at paths, or below them. @param mayBeGlob as for `FileWalker.checkPaths` */
export async function findLocalFiles(
  paths: readonly string[],
  chooser: FileChooser,
  mayBeGlob?: (path: string) => boolean,
): Promise<FileWalker> {
  const walk = new FileWalker(chooser);
  await walk.checkPaths(paths, mayBeGlob);
  return walk;
}
