import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Files } from '../files.ts';
import { ServiceError } from '../service-error.ts';
import { isLocked } from '../storage-failure.ts';
import type { SessionRow, Sessions } from '../store/sessions.ts';
import { checksumOf, type Digest, Digests } from './digests.ts';

/** §8: "at most 50 MiB per PATCH body". */
const maxChunkBytes = 50 * 1024 * 1024;
/** A connection that brings nothing for so long is closed … */
const silenceMs = 60_000;
/** … and for so long, gives way to one that knows the offset. */
const quietMs = 1_000;
/** How long a whole upload waits for the store, where another program holds it. */
const lockPatienceMs = 5_000;

/** A connection that holds a session; `heardAt` when it last brought bytes. */
type Writer = {
  incoming: IncomingMessage;
  body: AsyncIterable<Buffer>;
  done: Promise<void>;
  heardAt: number;
};

/** What a PATCH came to. `checksum` with the last byte only. */
export type Received = { offset: number; checksum?: string };

export type ReceiverOptions = {
  files: Files;
  sessions: Sessions;
  /** Every byte of the asset is here and on disk: the session is complete. */
  onWhole(session: SessionRow): void;
  /** The disk or the store refused that: it is owed, until `completeAgain` brings it about. */
  onOwed(): void;
  /** The session's time is over, and its bytes are gone. */
  onExpired(session: SessionRow): void;
};

/**
 * The bytes of upload sessions. The length of a session's file is its offset, so a restart, a kill
 * or a broken line loses nothing that was written.
 */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #digests = new Digests();
  /** The connection that writes to a session, if any. */
  readonly #writing = new Map<string, Writer>();
  /** Uids of sessions whose every byte is here, and which could not be completed yet. */
  readonly #owed = new Set<string>();

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  /** How far a session is, in bytes; as the store has it now, since others may complete it. */
  async offset({ uid, asset_uid, total_size }: SessionRow): Promise<number> {
    const { sessions, files } = this.#options;
    if (sessions.find(uid)?.completed_at) return total_size;
    const onDisk = await sizeOf(files.partial(uid));
    if (onDisk !== undefined) return onDisk;
    // Whole, but the store could not be told yet.
    return (await sizeOf(files.source(asset_uid))) === total_size ? total_size : 0;
  }

  /**
   * Appends a PATCH body at `offset`; keeps what came even when the connection breaks. One without
   * bytes at the end of a whole session completes it, where it could not be before.
   */
  async receive(
    session: SessionRow,
    offset: number,
    lengthBytes: number | undefined,
    incoming: IncomingMessage,
    body: AsyncIterable<Buffer>,
  ): Promise<Received> {
    // "409 means the sent Upload-Offset differs from the server's" (§4)
    if (offset !== (await this.offset(session))) throw await this.#conflict(session);
    if (offset === session.total_size && !lengthBytes && !this.#owed.has(session.uid))
      return { offset };
    if (lengthBytes !== undefined && lengthBytes > maxChunkBytes)
      throw new ServiceError(413, 'a PATCH body holds at most 50 MiB');
    if (offset + (lengthBytes ?? 0) > session.total_size)
      throw new ServiceError(413, `the upload is of ${session.total_size} bytes`);
    await this.#awaitTurn(session, offset);
    if (this.#writing.has(session.uid)) throw await this.#conflict(session);
    let release = () => {};
    const done = new Promise<void>((resolve) => {
      release = resolve;
    });
    const writer: Writer = { incoming, body, done, heardAt: Date.now() };
    this.#writing.set(session.uid, writer);
    try {
      return await this.#append(session, offset, writer);
    } finally {
      this.#writing.delete(session.uid);
      release();
    }
  }

  /**
   * Until nobody else writes to the session. A rival that brings bytes moves the offset, which
   * makes ours a conflict; one that has gone silent, as a broken line does, loses its turn.
   */
  async #awaitTurn(session: SessionRow, offset: number): Promise<void> {
    for (
      let rival = this.#writing.get(session.uid);
      rival;
      rival = this.#writing.get(session.uid)
    ) {
      if (Date.now() - rival.heardAt > quietMs) rival.incoming.destroy();
      await Promise.race([rival.done, sleep(50)]);
      if (offset !== (await this.offset(session))) throw await this.#conflict(session);
    }
  }

  async #append(session: SessionRow, start: number, writer: Writer): Promise<Received> {
    const { files } = this.#options;
    const { uid, asset_uid, total_size } = session;
    const partial = files.partial(uid);
    const isMoved = start === total_size && (await sizeOf(partial)) === undefined;
    const digest = await this.#digests.at(uid, start, isMoved ? files.source(asset_uid) : partial);
    if (start < total_size) {
      const handle = await open(partial, 'a', 0o600);
      writer.incoming.setTimeout(silenceMs, () => writer.incoming.destroy());
      try {
        await write(writer, handle, digest, start, total_size);
        await handle.sync(); // before a 204: what is acknowledged stays
      } finally {
        await handle.close();
      }
    }
    if (digest.offset < total_size) return { offset: digest.offset };
    const checksum = checksumOf(digest);
    await this.#complete(session);
    return { offset: total_size, checksum };
  }

  /** Makes a whole session's bytes the asset's source; owed where that fails. */
  async #complete(session: SessionRow): Promise<void> {
    const { uid } = session;
    if (!this.#options.sessions.find(uid)) throw new ServiceError(404, `no upload session ${uid}`); // its asset went to the trash
    this.#owed.add(uid);
    try {
      await this.#moveWhole(session);
    } catch (error) {
      this.#options.onOwed();
      throw error;
    }
    this.#owed.delete(uid);
    this.#digests.forget(uid);
  }

  async #moveWhole({ uid, asset_uid, total_size }: SessionRow): Promise<void> {
    const { files, sessions, onWhole } = this.#options;
    await mkdir(files.assetFolder(asset_uid), { recursive: true, mode: 0o700 });
    // A kill between the rename and the row leaves the source there already.
    const partial = await sizeOf(files.partial(uid));
    const whole = partial === undefined ? files.source(asset_uid) : files.partial(uid);
    if ((await sizeOf(whole)) !== total_size)
      throw new ServiceError(503, 'the bytes on disk are not those that were received');
    if (partial !== undefined) await rename(whole, files.source(asset_uid));
    await pastLocks(() => {
      const current = sessions.find(uid);
      if (current && !current.completed_at) onWhole(current);
    });
  }

  /**
   * What expired sessions hold: "a new session must be created" (§3), so their bytes serve nobody.
   * Their assets have failed, and take no storage.
   */
  async clearExpired(now: number): Promise<void> {
    const { sessions, files, onExpired } = this.#options;
    for (const session of sessions.expired(now)) {
      if (this.#writing.has(session.uid) || this.#owed.has(session.uid)) continue;
      this.#digests.forget(session.uid);
      await rm(files.partial(session.uid), { force: true });
      onExpired(session);
    }
  }

  /** After a start: sessions that a kill left with every byte, but not completed. */
  async completeWhole(): Promise<void> {
    const { sessions, files } = this.#options;
    for (const session of sessions.open()) {
      if (session.total_size === 0) continue;
      const sizes = [files.partial(session.uid), files.source(session.asset_uid)].map(sizeOf);
      if ((await Promise.all(sizes)).includes(session.total_size)) await this.#complete(session);
    }
  }

  /** Whether a session is whole and waits to be completed. */
  get isOwing(): boolean {
    return this.#owed.size > 0;
  }

  /** Completes what is owed, as far as disk and store allow it now. */
  async completeAgain(): Promise<void> {
    for (const uid of this.#owed) {
      if (this.#writing.has(uid)) continue;
      const session = this.#options.sessions.find(uid);
      if (session && !session.completed_at) await this.#complete(session);
      else this.#owed.delete(uid); // its asset is in the trash, or somebody was faster
    }
  }

  async #conflict(session: SessionRow): Promise<ServiceError> {
    const offset = await this.offset(session);
    return new ServiceError(409, `the upload is at byte ${offset}`, {
      headers: { 'Upload-Offset': String(offset) },
    });
  }
}

/** Undefined where there is no such file. */
async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** Tries again while another program holds the store; others are served meanwhile. */
async function pastLocks(work: () => void): Promise<void> {
  for (const until = Date.now() + lockPatienceMs; ; await sleep(250)) {
    try {
      return work();
    } catch (error) {
      if (!isLocked(error) || Date.now() > until) throw error;
    }
  }
}

/** Of a digest whose last bytes may not be on disk: no offset is this, so it is made anew. */
const aheadOfDisk = -1;

async function write(
  writer: Writer,
  handle: FileHandle,
  digest: Digest,
  start: number,
  totalSize: number,
): Promise<void> {
  let at = digest.offset;
  for await (const bytes of writer.body) {
    const end = at + bytes.length;
    if (end - start > maxChunkBytes)
      throw new ServiceError(413, 'a PATCH body holds at most 50 MiB');
    if (end > totalSize) throw new ServiceError(413, `the upload is of ${totalSize} bytes`);
    const written = handle.appendFile(bytes); // whole, or an error: a short write is not acknowledged
    digest.blake3.update(bytes); // meanwhile
    digest.offset = aheadOfDisk;
    await written;
    writer.heardAt = Date.now();
    digest.offset = end;
    at = end;
  }
}
