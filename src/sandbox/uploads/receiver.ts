import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { maxChunkMiB } from '../../contract/limits.ts';
import { pollUntil, retryUntil } from '../../shared/retry.ts';
import type { Files } from '../files.ts';
import { ServiceError } from '../service-error.ts';
import { isLocked } from '../storage-failure.ts';
import type { SessionRow, UploadSessions } from '../store/sessions.ts';

const maxChunkBytes = maxChunkMiB * 1024 * 1024;
/** Idle timeout, after which a connection that sends no bytes is closed. */
const idleTimeoutMs = 60_000;
/** Time without bytes after which a connection is closed if another one wants to write at the same offset. */
const stallMs = 1_000;
const writerPollMs = 50;
/** Number of retries, 250 ms apart, while another process locks the database. */
const maxLockRetries = 20;
const sweepIntervalMs = 1_000;

/** A PATCH request, with the offset and the length that the client sent. */
export type UploadChunk = {
  offset: number;
  lengthBytes: number | undefined;
  incoming: IncomingMessage;
  body: AsyncIterable<Buffer>;
};

/** Request that currently writes to a session. `lastDataAt` is the time of its last bytes, by `Date.now()`. */
type Writer = UploadChunk & { lastDataAt: number };

/** Result of a PATCH request. `checksum` is set if the request completed the upload. */
export type Received = { offset: number; checksum?: string };

type ReceiverOptions = {
  files: Files;
  sessions: UploadSessions;
  now(): number;
  /** Called when all bytes of an asset are on disk and its session is complete. */
  onComplete(assetUid: string): void;
};

/** Receives uploads. The size of a session's file is its offset, so a kill or a dropped connection loses no bytes. */
export class Receiver {
  readonly #options: ReceiverOptions;
  /** Checksums of the sessions in progress. After a restart, they are recomputed from disk. */
  readonly #digests = new Map<string, Digest>();
  /** Maps a session uid to its writer. Acts as a mutex, so that only one connection appends. */
  readonly #writers = new Map<string, Writer>();
  /** Uids of the sessions that have received all bytes but are not completed yet. */
  readonly #pending = new Set<string>();

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  /** Returns the offset of a session. Reads the session again, because a concurrent request might have completed it. */
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
  async receive(session: SessionRow, chunk: UploadChunk): Promise<Received> {
    const { offset, lengthBytes } = chunk;
    await this.#assertOffset(session, offset);
    if (offset === session.total_size && !lengthBytes && !this.#pending.has(session.uid)) return { offset };
    if (lengthBytes !== undefined) assertFits(session, offset, lengthBytes);
    const writer = await pollUntil(undefined, () => this.#becomeWriter(session, chunk), { intervalMs: writerPollMs });
    try {
      return await this.#append(session, writer);
    } finally {
      this.#writers.delete(session.uid);
    }
  }

  /**
   * Registers a request as the only writer of the session. Returns undefined while there is another one, whose
   * connection is closed if it has stalled.
   * @throws ServiceError 409 if the other one has written more bytes
   */
  async #becomeWriter(session: SessionRow, chunk: UploadChunk): Promise<Writer | undefined> {
    await this.#assertOffset(session, chunk.offset);
    const rival = this.#writers.get(session.uid);
    if (rival && Date.now() - rival.lastDataAt > stallMs) rival.incoming.destroy();
    if (rival) return undefined;
    const writer = { ...chunk, lastDataAt: Date.now() };
    this.#writers.set(session.uid, writer);
    return writer;
  }

  async #append(session: SessionRow, writer: Writer): Promise<Received> {
    const { files } = this.#options;
    const { uid, asset_uid, total_size } = session;
    const { offset: start } = writer;
    const partial = files.partial(uid);
    const isMoved = start === total_size && (await sizeOf(partial)) === undefined;
    const digest = await this.#digestOf(uid, start, isMoved ? files.source(asset_uid) : partial);
    if (start < total_size) {
      const handle = await open(partial, 'a', 0o600);
      writer.incoming.setTimeout(idleTimeoutMs, () => writer.incoming.destroy());
      try {
        await appendBody(session, writer, handle, digest);
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

  /** Returns the digest of the first `offset` bytes of a session, read from the file at `path` if it is not cached. */
  async #digestOf(sessionUid: string, offset: number, path: string): Promise<Digest> {
    const cached = this.#digests.get(sessionUid);
    if (cached?.offset === offset) return cached;
    const digest: Digest = { offset: 0, blake3: await createBlake3() };
    if (offset > 0)
      for await (const bytes of createReadStream(path, { end: offset - 1, highWaterMark: 1024 * 1024 })) {
        digest.blake3.update(bytes);
        digest.offset += bytes.length;
      }
    this.#digests.set(sessionUid, digest);
    return digest;
  }

  /** Moves a fully received upload to the asset's source file. If that fails, it stays pending. */
  async #complete(session: SessionRow): Promise<void> {
    const { uid } = session;
    // Its asset might be in the trash.
    if (!this.#options.sessions.find(uid)) throw new ServiceError(404, `upload session ${uid} does not exist`);
    this.#pending.add(uid);
    await this.#moveToSource(session);
    this.#pending.delete(uid);
    this.#digests.delete(uid);
  }

  async #moveToSource({ uid, asset_uid, total_size }: SessionRow): Promise<void> {
    const { files, sessions, now, onComplete } = this.#options;
    await mkdir(files.assetFolder(asset_uid), { recursive: true, mode: 0o700 });
    // After a kill between rename and database update, the source already exists.
    const partial = await sizeOf(files.partial(uid));
    const receivedFile = partial === undefined ? files.source(asset_uid) : files.partial(uid);
    if ((await sizeOf(receivedFile)) !== total_size)
      throw new ServiceError(503, 'the bytes on disk do not match the bytes received');
    if (partial !== undefined) await rename(receivedFile, files.source(asset_uid));
    const complete = () => {
      const current = sessions.find(uid);
      if (!current || current.completed_at) return;
      sessions.complete(current, new Date(now()).toISOString());
      onComplete(asset_uid);
    };
    // Other requests are served while another process locks the database.
    await retryUntil(undefined, complete, {
      delayAfter: (error, attempt) => (isLocked(error) && attempt < maxLockRetries ? 250 : undefined),
    });
  }

  /** Deletes expired sessions and their bytes, because "a new session must be created" (§3). */
  async clearExpired(): Promise<void> {
    const { sessions, files, now } = this.#options;
    for (const session of sessions.findExpired(now())) {
      if (this.#writers.has(session.uid) || this.#pending.has(session.uid)) continue;
      this.#digests.delete(session.uid);
      await rm(files.partial(session.uid), { force: true });
      sessions.delete(session, new Date(now()).toISOString());
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

  /** Clears expired sessions and retries failed completions every second, until the signal aborts. */
  async sweep(signal: AbortSignal, log: (line: string) => void): Promise<void> {
    const sweepOnce = async () => {
      try {
        await this.clearExpired();
        await this.#retryPending();
      } catch (error) {
        log(`error sessions: ${(error as Error).message}`);
      }
    };
    await pollUntil(signal, sweepOnce, { intervalMs: sweepIntervalMs }).catch(() => {}); // it was aborted
  }

  async #retryPending(): Promise<void> {
    for (const uid of this.#pending) {
      if (this.#writers.has(uid)) continue;
      const session = this.#options.sessions.find(uid);
      if (session && !session.completed_at) await this.#complete(session);
      else this.#pending.delete(uid); // its asset is in the trash, or a concurrent request completed it
    }
  }

  /** @throws ServiceError 409: "409 means the sent Upload-Offset differs from the server's" (§4) */
  async #assertOffset(session: SessionRow, offset: number): Promise<void> {
    const current = await this.getOffset(session);
    if (offset === current) return;
    const headers = { 'Upload-Offset': String(current) };
    throw new ServiceError(409, `the upload is at byte ${current}`, { headers });
  }
}

/** @throws ServiceError 413 if a chunk is too large, or exceeds the upload */
function assertFits({ total_size }: SessionRow, offset: number, lengthBytes: number): void {
  if (lengthBytes > maxChunkBytes) throw new ServiceError(413, `a PATCH body must be at most ${maxChunkMiB} MiB`);
  if (offset + lengthBytes > total_size) throw new ServiceError(413, `the upload is only ${total_size} bytes long`);
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

/** Marks a cached digest as invalid, because its last bytes might not be on disk: the next PATCH recomputes it. */
const invalidOffset = -1;

async function appendBody(session: SessionRow, writer: Writer, handle: FileHandle, digest: Digest): Promise<void> {
  let { offset } = writer;
  for await (const bytes of writer.body) {
    const end = offset + bytes.length;
    assertFits(session, writer.offset, end - writer.offset);
    const written = handle.appendFile(bytes); // writes all or throws, so no short write is acknowledged
    digest.blake3.update(bytes); // while the write is in progress
    digest.offset = invalidOffset;
    await written;
    writer.lastDataAt = Date.now();
    digest.offset = end;
    offset = end;
  }
}

/** An incremental BLAKE3 hash. `digest` must be called only once. */
type Blake3 = { update(bytes: Buffer): unknown; digest(encoding: 'hex'): string };

async function createBlake3(): Promise<Blake3> {
  const native = await import('@napi-rs/blake-hash').catch(() => undefined);
  return native ? new native.Blake3Hasher() : (await import('hash-wasm')).createBLAKE3();
}

/** Incremental checksum of the first `offset` bytes of an upload session's file. */
type Digest = { offset: number; blake3: Blake3; checksum?: string };

/** Returns the checksum as a hex string. Memoizes it, because a hash can be finished only once. */
const checksumOf = (digest: Digest): string => {
  digest.checksum ??= digest.blake3.digest('hex');
  return digest.checksum;
};
