import { type BigIntStats, constants, fstatSync, statSync } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { exitCodes, MediactlError } from '../../errors.ts';

/** What tells a file from another, and from its own later self. */
export type FileIdentity = {
  sizeBytes: number;
  mtimeNs: string;
  /** Of one machine's file system alone: absent in what is kept for others, and of what is no file. */
  dev?: string;
  ino?: string;
  /** Of the inode: moves with every write, and with a change of mode or name too. */
  ctimeNs?: string;
  /**
   * A server's word for one version of it, which vouches for every byte: a strong ETag (RFC 9110
   * §8.8.1). Absent where there is none.
   */
  validator?: string;
};

/**
 * What tells that a file may hold something else than it did; undefined where nothing does. Device
 * numbers may change at a reboot, and are left out.
 */
export function differenceBetween(before: FileIdentity, now: FileIdentity): string | undefined {
  if (before.sizeBytes !== now.sizeBytes)
    return `its size went from ${before.sizeBytes} to ${now.sizeBytes} bytes`;
  if (differ(before.validator, now.validator)) return 'the server has another version of it';
  // One that is the same vouches for the bytes, whatever time the server tells.
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
 * Nobody wrote to it meanwhile, nor changed its mode, owner or name. A length alone (stdin) vouches
 * for nothing.
 */
export const isUntouched = (before: FileIdentity, now: FileIdentity) =>
  differenceBetween(before, now) === undefined &&
  (now.mtimeNs !== '0' || now.validator !== undefined);

/** Read size matters more than the HTTP library: 64 KiB reads ran at half the speed. */
const readBytes = 2 * 1024 * 1024;

/** Buffers that nobody reads into: as many as files were read at once, whatever the number of files. */
const rings: Buffer[][] = [];

/** One open handle for the whole upload; every read is positional. */
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
   * @param knownAs its place, where somebody has looked
   * @throws MediactlError for no such file, an unreadable one, a directory, a pipe or device
   */
  static async open(path: string, knownAs?: string): Promise<FileSource> {
    try {
      // Opening a FIFO would wait for its writer otherwise.
      const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        const found = fstatSync(handle.fd, { bigint: true });
        if (!found.isFile()) throw notAFile(path, found.isDirectory());
        const identity = identityOf(found);
        if (identity.sizeBytes === 0) await assertEmpty(path, handle);
        return new FileSource(path, knownAs ?? (await placeOf(path)), identity, handle);
      } catch (error) {
        await handle.close();
        throw error;
      }
    } catch (error) {
      throw error instanceof MediactlError ? error : unreadable(path, error);
    }
  }

  /** As it was when it was opened, or last found to hold the same. */
  get identity(): FileIdentity {
    return this.#identity;
  }

  get sizeBytes(): number {
    return this.#identity.sizeBytes;
  }

  /**
   * The bytes [start, end), in buffers of 2 MiB, one read ahead of its consumer. The file is looked
   * at once more before the last buffer is handed over, so a changed file never completes a chunk.
   *
   * @throws MediactlError `file_changed` (13), `file_gone` (1)
   */
  async *read(
    start: number,
    end: number,
    { onRead = () => {}, assertUnchanged = () => this.assertUnchanged() }: Reading = {},
  ): AsyncGenerator<Buffer> {
    // Three buffers in turn: one with the socket, one with the consumer, one being filled. They go
    // back only from a reading that came to its end: an aborted request may still hold one.
    const ring = rings.pop() ?? [];
    const fill = (at: number, turn: number) => {
      ring[turn % 3] ??= Buffer.allocUnsafeSlow(readBytes);
      const buffer = ring[turn % 3] as Buffer;
      const filled = this.#fill(buffer, at, Math.min(readBytes, end - at)).then((bytes) => {
        onRead(at, bytes);
        return bytes;
      });
      filled.catch(() => {}); // awaited below, unless the consumer leaves first
      return filled;
    };
    let next = fill(start, 0);
    for (let at = start, turn = 1; at < end; turn++) {
      const filled = await next;
      at += filled.length;
      if (at < end) next = fill(at, turn);
      else await assertUnchanged();
      yield filled;
    }
    rings.push(ring);
  }

  async #fill(buffer: Buffer, at: number, length: number): Promise<Buffer> {
    for (let done = 0; done < length; ) {
      const { bytesRead } = await this.#handle.read(buffer, done, length - done, at + done);
      if (bytesRead === 0) throw changed(this.path, 'it became shorter');
      done += bytesRead;
    }
    return buffer.subarray(0, length);
  }

  /**
   * @param assertSameContent for a file whose times of change alone moved: another mode or name, or a
   *   write whose time was put back. Without it, that is no change.
   * @throws MediactlError when the path no longer leads to the same bytes
   */
  async assertUnchanged(assertSameContent = async () => {}): Promise<void> {
    // Of what has just been read, the system knows all this: no turn of the pool of threads is worth it.
    const now = identityOf(fstatSync(this.#handle.fd, { bigint: true }));
    const before = this.#identity;
    if (now.sizeBytes !== before.sizeBytes)
      throw changed(this.path, `its size went from ${this.sizeBytes} to ${now.sizeBytes} bytes`);
    if (now.mtimeNs !== before.mtimeNs) throw changed(this.path, 'it was written to');
    const there = lookAt(this.path);
    if (String(there.ino) !== before.ino || String(there.dev) !== before.dev)
      throw changed(this.path, 'another file took its place');
    if (now.ctimeNs === before.ctimeNs) return;
    await assertSameContent();
    this.#identity = now;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** Bytes to upload, that can be read again: a file of this machine, or something like one. */
export type Source = Pick<
  FileSource,
  'path' | 'realPath' | 'identity' | 'sizeBytes' | 'read' | 'assertUnchanged' | 'close'
>;

/** What somebody who reads wants to be told, and asked. */
export type Reading = {
  /** Called with each buffer and its place as soon as it is filled: while the one before is on its way. */
  onRead?: (at: number, bytes: Buffer) => void;
  /** Called before the last buffer is handed over; throws where the file is another by now. */
  assertUnchanged?: () => Promise<void>;
};

/** @throws MediactlError `file_gone` (1) */
function lookAt(path: string): BigIntStats {
  try {
    return statSync(path, { bigint: true });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? gone(path) : unreadable(path, error);
  }
}

function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): FileIdentity {
  return {
    dev: String(dev),
    ino: String(ino),
    sizeBytes: Number(size),
    mtimeNs: String(mtimeNs),
    ctimeNs: String(ctimeNs),
  };
}

/** Where a file is, and not where a link in its place leads: two names are two files. */
export const placeOf = async (path: string) => join(await realpath(dirname(path)), basename(path));

/** /proc and some FUSE file systems tell a size of 0 for files that hold something. */
async function assertEmpty(path: string, handle: FileHandle): Promise<void> {
  const { bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, 0);
  if (bytesRead > 0) throw notEmpty(path);
}

export const changed = (path: string, reason: string, since = 'its upload began') =>
  new MediactlError(`${path} changed since ${since}`, {
    code: 'file_changed',
    exitCode: exitCodes.integrity,
    reason,
    hint: `once it no longer changes, mediactl upload --again '${path}', which makes a new asset`,
  });

export const gone = (path: string) =>
  new MediactlError(`${path} is gone`, {
    code: 'file_gone',
    exitCode: exitCodes.unclassified,
    reason: 'it was deleted or renamed while it was being uploaded',
    hint: 'put it back and run the same command again',
  });

export const notAFile = (path: string, isDirectory: boolean) =>
  new MediactlError(isDirectory ? `${path} is a directory` : `${path} is not a regular file`, {
    code: isDirectory ? 'is_directory' : 'not_a_file',
    exitCode: exitCodes.usage,
    reason: isDirectory
      ? 'only files are uploaded'
      : 'the length must be known before an upload starts',
    hint: isDirectory
      ? `mediactl upload -r ${path}, for the files in it`
      : `mediactl upload - --name NAME < ${path}, which spools it first`,
  });

const notEmpty = (path: string) =>
  new MediactlError(`${path} has more than the 0 bytes that it claims`, {
    code: 'not_a_file',
    exitCode: exitCodes.usage,
    reason: 'the length must be known before an upload starts',
    hint: `mediactl upload - --name NAME < ${path}, which spools it first`,
  });

export function unreadable(path: string, error: unknown): MediactlError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new MediactlError(`no such file: ${path}`, {
      code: 'no_such_file',
      exitCode: exitCodes.usage,
      hint: path === 'help' ? 'mediactl upload --help' : 'check the path',
      underlying: error,
    });
  return new MediactlError(`cannot read ${path}`, {
    code: 'unreadable_file',
    exitCode: exitCodes.usage,
    reason: code === 'EACCES' ? 'you may not read it' : message,
    hint: code === 'EACCES' ? `chmod u+r ${path}, or run as its owner` : 'check the disk',
    underlying: error,
  });
}
