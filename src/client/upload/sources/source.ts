import { type BigIntStats, constants, fstatSync, statSync } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MediactlError } from '../../errors.ts';

/** Attributes that distinguish a file from other files and from later versions of itself. */
export type FileIdentity = {
  sizeBytes: number;
  mtimeNs: string;
  /** Device and inode, valid only on this machine. Absent in a shared journal and if the source is not a file. */
  dev?: string;
  ino?: string;
  /** Inode change time in ns since the epoch. It changes with every write, and with a change of mode or name. */
  ctimeNs?: string;
  /** Strong ETag (RFC 9110 §8.8.1): equal ETags guarantee equal bytes. Absent if the server sends none. */
  validator?: string;
};

/**
 * Describes a difference that suggests changed content; returns undefined if there is none. Device numbers are
 * ignored, because a reboot can change them.
 */
export function describeChange(before: FileIdentity, now: FileIdentity): string | undefined {
  if (before.sizeBytes !== now.sizeBytes) return `its size went from ${before.sizeBytes} to ${now.sizeBytes} bytes`;
  if (differ(before.validator, now.validator)) return 'the server has another version of it';
  // An equal ETag guarantees equal bytes, whatever Last-Modified the server sends.
  if (before.validator !== undefined && now.validator !== undefined) return undefined;
  if (differ(before.ino, now.ino)) return 'another file took its place';
  if (before.mtimeNs !== now.mtimeNs) return 'it was written to, or its time set';
  return differ(before.ctimeNs, now.ctimeNs)
    ? 'its mode, owner or name changed, or it was written to and its time put back'
    : undefined;
}

const differ = (one: string | undefined, other: string | undefined) =>
  one !== undefined && other !== undefined && one !== other;

/**
 * Returns true if the file was not written to and its mode, owner and name are the same. Always returns false if
 * only its length is known (stdin).
 */
export const isUntouched = (before: FileIdentity, now: FileIdentity) =>
  describeChange(before, now) === undefined && (now.mtimeNs !== '0' || now.validator !== undefined);

/** Size of each read. It affects speed more than the HTTP library does: 64 KiB reads ran at half the speed. */
const readBufferBytes = 2 * 1024 * 1024;

/** Pool of free read buffers, reused to avoid an allocation per file. It grows only with concurrent reads. */
const bufferPool: Buffer[][] = [];

/** A local file to upload, read by position through one handle that stays open for the whole upload. */
export class FileSource {
  readonly path: string;
  readonly realPath: string;
  readonly #handle: FileHandle;
  #identity: FileIdentity;

  private constructor(path: string, realPath: string, identity: FileIdentity, handle: FileHandle) {
    this.path = path;
    this.realPath = realPath;
    this.#identity = identity;
    this.#handle = handle;
  }

  /**
   * Opens a file.
   *
   * @param sourceId real path of the file, if already resolved
   * @throws MediactlError (exit 2) if the file does not exist, is unreadable, or is a directory, pipe or device
   */
  static async open(path: string, sourceId?: string): Promise<FileSource> {
    try {
      // Without O_NONBLOCK, opening a FIFO waits for its writer.
      const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        const found = fstatSync(handle.fd, { bigint: true });
        if (!found.isFile()) throw notAFile(path, found.isDirectory());
        const identity = identityOf(found);
        if (identity.sizeBytes === 0) await assertEmpty(path, handle);
        return new FileSource(path, sourceId ?? (await realPathOf(path)), identity, handle);
      } catch (error) {
        await handle.close();
        throw error;
      }
    } catch (error) {
      throw error instanceof MediactlError ? error : unreadableFile(path, error);
    }
  }

  /** The file's identity when it was opened, or when its content was last found unchanged. */
  get identity(): FileIdentity {
    return this.#identity;
  }

  get sizeBytes(): number {
    return this.#identity.sizeBytes;
  }

  /**
   * Yields the bytes [start, end) in buffers of 2 MiB and prefetches the next buffer. Before the last buffer it
   * checks that the file is unchanged, so a changed file never completes a chunk.
   *
   * @throws MediactlError `file_changed` (exit 13), `file_gone` (exit 1)
   */
  async *read(
    start: number,
    end: number,
    { onRead = () => {}, assertUnchanged = () => this.assertUnchanged() }: ReadOptions = {},
  ): AsyncGenerator<Buffer> {
    // Three buffers rotate: one at the socket, one at the consumer, and one being filled. They return to the
    // pool only after a complete read, because an aborted request might still use one.
    const buffers = bufferPool.pop() ?? [];
    const prefetch = (at: number, turn: number) => {
      buffers[turn % 3] ??= Buffer.allocUnsafeSlow(readBufferBytes);
      const buffer = buffers[turn % 3] as Buffer;
      const filled = this.#readFully(buffer, at, Math.min(readBufferBytes, end - at)).then((bytes) => {
        onRead(at, bytes);
        return bytes;
      });
      filled.catch(() => {}); // awaited below, unless the consumer leaves first
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
    bufferPool.push(buffers);
  }

  async #readFully(buffer: Buffer, at: number, length: number): Promise<Buffer> {
    for (let done = 0; done < length; ) {
      const { bytesRead } = await this.#handle.read(buffer, done, length - done, at + done);
      if (bytesRead === 0) throw fileChanged(this.path, 'it became shorter');
      done += bytesRead;
    }
    return buffer.subarray(0, length);
  }

  /**
   * Checks that the path still leads to the same content.
   *
   * @param assertSameContent called if only the inode change time differs, because the mode or name changed, or
   *   because the file was written to and its modification time restored. By default such a file counts as
   *   unchanged.
   * @throws MediactlError `file_changed` (exit 13), `file_gone` (exit 1)
   */
  async assertUnchanged(assertSameContent = async () => {}): Promise<void> {
    // Synchronous, because the inode of a file just read is cached and the thread pool would be slower.
    const now = identityOf(fstatSync(this.#handle.fd, { bigint: true }));
    const before = this.#identity;
    if (now.sizeBytes !== before.sizeBytes)
      throw fileChanged(this.path, `its size went from ${this.sizeBytes} to ${now.sizeBytes} bytes`);
    if (now.mtimeNs !== before.mtimeNs) throw fileChanged(this.path, 'it was written to');
    const there = identityOf(statPath(this.path));
    if (there.ino !== before.ino || there.dev !== before.dev)
      throw fileChanged(this.path, 'another file took its place');
    if (now.ctimeNs === before.ctimeNs) return;
    await assertSameContent();
    this.#identity = now;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** A readable source of an upload: a local file, a URL, an rclone file or stdin. */
export type UploadSource = Pick<
  FileSource,
  'path' | 'realPath' | 'identity' | 'sizeBytes' | 'read' | 'assertUnchanged' | 'close'
>;

/** Callbacks for a read. */
export type ReadOptions = {
  /** Called with the offset and bytes of each buffer once it is filled, while the previous one is being sent. */
  onRead?: (at: number, bytes: Buffer) => void;
  /** Called before the last buffer is yielded; throws if the file has changed. */
  assertUnchanged?: () => Promise<void>;
};

/** Returns the `stat` result for a path. @throws MediactlError `file_gone` (exit 1) if it does not exist */
function statPath(path: string): BigIntStats {
  try {
    return statSync(path, { bigint: true });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? fileGone(path) : unreadableFile(path, error);
  }
}

const identityOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): FileIdentity => ({
  ...{ dev: String(dev), ino: String(ino), sizeBytes: Number(size) },
  ...{ mtimeNs: String(mtimeNs), ctimeNs: String(ctimeNs) },
});

/** Returns the path with the real path of its directory. A link at the path itself is not followed. */
export const realPathOf = async (path: string) => join(await realpath(dirname(path)), basename(path));

/** Checks that a file of size 0 is empty, since /proc and some FUSE file systems report 0 for files with content. */
async function assertEmpty(path: string, handle: FileHandle): Promise<void> {
  const { bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, 0);
  if (bytesRead > 0) throw notEmpty(path);
}

/** Creates the error for a file that changed during its upload. */
export const fileChanged = (path: string, reason: string, since = 'its upload began') =>
  new MediactlError(`${path} changed since ${since}`, {
    code: 'file_changed',
    reason,
    hint: `once it no longer changes, mediactl upload --again '${path}', which makes a new asset`,
  });

/** Creates the error for a file that was deleted or renamed during its upload. */
export const fileGone = (path: string) =>
  new MediactlError(`${path} is gone`, {
    code: 'file_gone',
    reason: 'it was deleted or renamed while it was being uploaded',
  });

/** Creates the error for a path that is not a regular file. */
export const notAFile = (path: string, isDirectory: boolean) =>
  new MediactlError(isDirectory ? `${path} is a directory` : `${path} is not a regular file`, {
    code: isDirectory ? 'is_directory' : 'not_a_file',
    reason: isDirectory ? 'only files are uploaded' : 'the length must be known before an upload starts',
    hint: isDirectory
      ? `mediactl upload -r ${path}, for the files in it`
      : `mediactl upload - --name NAME < ${path}, which spools it first`,
  });

const notEmpty = (path: string) =>
  new MediactlError(`${path} has more than the 0 bytes that it claims`, {
    code: 'not_a_file',
    reason: 'the length must be known before an upload starts',
    hint: `mediactl upload - --name NAME < ${path}, which spools it first`,
  });

/** Converts a system error from opening or reading a file to a MediactlError. */
export function unreadableFile(path: string, error: unknown): MediactlError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new MediactlError(`no such file: ${path}`, {
      code: 'no_such_file',
      hint: path === 'help' ? 'mediactl upload --help' : 'check the path',
      underlying: error,
    });
  return new MediactlError(`cannot read ${path}`, {
    code: 'unreadable_file',
    reason: code === 'EACCES' ? 'you may not read it' : message,
    hint: code === 'EACCES' ? `chmod u+r ${path}, or run as its owner` : 'check the path and the disk',
    underlying: error,
  });
}
