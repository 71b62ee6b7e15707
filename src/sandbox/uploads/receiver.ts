import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Files } from '../files.ts';
import { ServiceError } from '../service-error.ts';
import { isLocked } from '../storage-failure.ts';
import type { SessionRow, UploadSessions } from '../store/sessions.ts';
import { checksumOf, type Digest, DigestCache } from './digests.ts';

/** Maximum size of a chunk (§8: "at most 50 MiB per PATCH body"). */
const maxChunkBytes = 50 * 1024 * 1024;
/** Idle timeout, after which a connection that sends no bytes is closed. */
const idleTimeoutMs = 60_000;
/**
 * Stall threshold. A connection that has sent no bytes for this long is closed if another connection wants to write
 * at the same offset.
 */
const stallMs = 1_000;
/** Maximum time to retry while another process locks the database. */
const maxLockWaitMs = 5_000;

/**
 * Connection that currently writes to a session. `lastDataAt` is the time of its last bytes, in milliseconds since
 * the Unix epoch.
 */
type Writer = {
  incoming: IncomingMessage;
  body: AsyncIterable<Buffer>;
  done: Promise<void>;
  lastDataAt: number;
};

/** Result of a PATCH request. `checksum` is set if the request completed the upload. */
export type Received = { offset: number; checksum?: string };

export type ReceiverOptions = {
  files: Files;
  sessions: UploadSessions;
  /** Called when all bytes of an upload are on disk, to mark the session as complete. */
  onComplete(session: SessionRow): void;
  /** Called if a disk or database error kept an upload from completing. `retryPending` retries it. */
  onPending(): void;
  /** Called after a session expired and its bytes were deleted. */
  onExpired(session: SessionRow): void;
};

/**
 * Receives the bytes of upload sessions. The size of a session's file is its offset, so no written bytes are lost
 * if the process is killed or a connection drops.
 */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #digests = new DigestCache();
  /** Maps a session uid to its writer. Acts as a mutex, so that only one connection appends. */
  readonly #writers = new Map<string, Writer>();
  /** Uids of the sessions that have received all bytes but are not completed yet. */
  readonly #pending = new Set<string>();

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  /**
   * Returns the current offset of a session in bytes. Reads the session from the database again, because a
   * concurrent request might have completed it.
   */
  async getOffset({ uid, asset_uid, total_size }: SessionRow): Promise<number> {
    const { sessions, files } = this.#options;
    if (sessions.find(uid)?.completed_at) return total_size;
    const onDisk = await sizeOf(files.partial(uid));
    if (onDisk !== undefined) return onDisk;
    // The file is in its final place, but the session is not yet completed in the database.
    return (await sizeOf(files.source(asset_uid))) === total_size ? total_size : 0;
  }

  /**
   * Appends a PATCH body at `offset`. Bytes received before a dropped connection are kept. An empty PATCH at the
   * end of a fully received session retries a pending completion.
   * @throws ServiceError 409 if `offset` is not the current offset, 413 if the body is too large
   */
  async receive(
    session: SessionRow,
    offset: number,
    lengthBytes: number | undefined,
    incoming: IncomingMessage,
    body: AsyncIterable<Buffer>,
  ): Promise<Received> {
    // "409 means the sent Upload-Offset differs from the server's" (§4)
    if (offset !== (await this.getOffset(session))) throw await this.#createConflict(session);
    if (offset === session.total_size && !lengthBytes && !this.#pending.has(session.uid)) return { offset };
    if (lengthBytes !== undefined && lengthBytes > maxChunkBytes)
      throw new ServiceError(413, 'a PATCH body holds at most 50 MiB');
    if (offset + (lengthBytes ?? 0) > session.total_size)
      throw new ServiceError(413, `the upload is of ${session.total_size} bytes`);
    await this.#waitForWriter(session, offset);
    if (this.#writers.has(session.uid)) throw await this.#createConflict(session);
    let release = () => {};
    const done = new Promise<void>((resolve) => {
      release = resolve;
    });
    const writer: Writer = { incoming, body, done, lastDataAt: Date.now() };
    this.#writers.set(session.uid, writer);
    try {
      return await this.#append(session, offset, writer);
    } finally {
      this.#writers.delete(session.uid);
      release();
    }
  }

  /**
   * Waits until no other connection writes to the session, and closes a connection that has stalled.
   * @throws ServiceError 409 if the other connection has written more bytes
   */
  async #waitForWriter(session: SessionRow, offset: number): Promise<void> {
    for (let rival = this.#writers.get(session.uid); rival; rival = this.#writers.get(session.uid)) {
      if (Date.now() - rival.lastDataAt > stallMs) rival.incoming.destroy();
      await Promise.race([rival.done, sleep(50)]);
      if (offset !== (await this.getOffset(session))) throw await this.#createConflict(session);
    }
  }

  async #append(session: SessionRow, start: number, writer: Writer): Promise<Received> {
    const { files } = this.#options;
    const { uid, asset_uid, total_size } = session;
    const partial = files.partial(uid);
    const isMoved = start === total_size && (await sizeOf(partial)) === undefined;
    const digest = await this.#digests.get(uid, start, isMoved ? files.source(asset_uid) : partial);
    if (start < total_size) {
      const handle = await open(partial, 'a', 0o600);
      writer.incoming.setTimeout(idleTimeoutMs, () => writer.incoming.destroy());
      try {
        await appendBody(writer, handle, digest, start, total_size);
        await handle.sync(); // before the 204, because acknowledged bytes must survive a crash
      } finally {
        await handle.close();
      }
    }
    if (digest.offset < total_size) return { offset: digest.offset };
    const checksum = checksumOf(digest);
    await this.#complete(session);
    return { offset: total_size, checksum };
  }

  /** Moves a fully received upload to the asset's source file. If that fails, it stays pending. */
  async #complete(session: SessionRow): Promise<void> {
    const { uid } = session;
    if (!this.#options.sessions.find(uid)) throw new ServiceError(404, `no upload session ${uid}`); // its asset is in the trash
    this.#pending.add(uid);
    try {
      await this.#moveToSource(session);
    } catch (error) {
      this.#options.onPending();
      throw error;
    }
    this.#pending.delete(uid);
    this.#digests.delete(uid);
  }

  async #moveToSource({ uid, asset_uid, total_size }: SessionRow): Promise<void> {
    const { files, sessions, onComplete } = this.#options;
    await mkdir(files.assetFolder(asset_uid), { recursive: true, mode: 0o700 });
    // After a kill between rename and database update, the source already exists.
    const partial = await sizeOf(files.partial(uid));
    const receivedFile = partial === undefined ? files.source(asset_uid) : files.partial(uid);
    if ((await sizeOf(receivedFile)) !== total_size)
      throw new ServiceError(503, 'the bytes on disk are not those that were received');
    if (partial !== undefined) await rename(receivedFile, files.source(asset_uid));
    await retryWhileLocked(() => {
      const current = sessions.find(uid);
      if (current && !current.completed_at) onComplete(current);
    });
  }

  /**
   * Deletes the bytes of expired sessions, because "a new session must be created" (§3). Their assets become failed
   * and no longer count toward the storage quota.
   */
  async clearExpired(now: number): Promise<void> {
    const { sessions, files, onExpired } = this.#options;
    for (const session of sessions.findExpired(now)) {
      if (this.#writers.has(session.uid) || this.#pending.has(session.uid)) continue;
      this.#digests.delete(session.uid);
      await rm(files.partial(session.uid), { force: true });
      onExpired(session);
    }
  }

  /** Recovers from a crash at startup by completing the sessions that had received all bytes. */
  async recoverCompleted(): Promise<void> {
    const { sessions, files } = this.#options;
    for (const session of sessions.findIncomplete()) {
      if (session.total_size === 0) continue;
      const sizes = [files.partial(session.uid), files.source(session.asset_uid)].map(sizeOf);
      if ((await Promise.all(sizes)).includes(session.total_size)) await this.#complete(session);
    }
  }

  /** True if any session has received all bytes but is not completed yet. */
  get hasPendingCompletions(): boolean {
    return this.#pending.size > 0;
  }

  /** Retries the completion of sessions that have received all bytes. */
  async retryPending(): Promise<void> {
    for (const uid of this.#pending) {
      if (this.#writers.has(uid)) continue;
      const session = this.#options.sessions.find(uid);
      if (session && !session.completed_at) await this.#complete(session);
      else this.#pending.delete(uid); // its asset is in the trash, or a concurrent request completed it
    }
  }

  async #createConflict(session: SessionRow): Promise<ServiceError> {
    const offset = await this.getOffset(session);
    return new ServiceError(409, `the upload is at byte ${offset}`, {
      headers: { 'Upload-Offset': String(offset) },
    });
  }
}

/** Returns the size of a file; undefined if it does not exist. */
async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** Runs and retries `work` while another process locks the database, without blocking requests. */
async function retryWhileLocked(work: () => void): Promise<void> {
  for (const deadline = Date.now() + maxLockWaitMs; ; await sleep(250)) {
    try {
      return work();
    } catch (error) {
      if (!isLocked(error) || Date.now() > deadline) throw error;
    }
  }
}

/**
 * Offset that marks a cached digest as invalid, because the last bytes in it might not be on disk. The next PATCH
 * recomputes the digest.
 */
const invalidOffset = -1;

async function appendBody(
  writer: Writer,
  handle: FileHandle,
  digest: Digest,
  start: number,
  totalSize: number,
): Promise<void> {
  let offset = digest.offset;
  for await (const bytes of writer.body) {
    const end = offset + bytes.length;
    if (end - start > maxChunkBytes) throw new ServiceError(413, 'a PATCH body holds at most 50 MiB');
    if (end > totalSize) throw new ServiceError(413, `the upload is of ${totalSize} bytes`);
    const written = handle.appendFile(bytes); // writes all or throws, so no short write is acknowledged
    digest.blake3.update(bytes); // while the write is in progress
    digest.offset = invalidOffset;
    await written;
    writer.lastDataAt = Date.now();
    digest.offset = end;
    offset = end;
  }
}
