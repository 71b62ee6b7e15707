import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { Files } from '../files.ts';
import { ServiceError } from '../service-error.ts';
import type { SessionRow, Sessions } from '../store/sessions.ts';
import { type Blake3, createBlake3 } from './blake3.ts';

/** §8: "at most 50 MiB per PATCH body". */
const maxChunkBytes = 50 * 1024 * 1024;
/** A connection that brings nothing for so long is closed … */
const silenceMs = 60_000;
/** … and for so long, gives way to one that knows the offset. */
const quietMs = 1_000;

/** A connection that holds a session; `heardAt` when it last brought bytes. */
type Writer = {
  incoming: IncomingMessage;
  body: AsyncIterable<Buffer>;
  done: Promise<void>;
  heardAt: number;
};

type Progress = { offset: number; blake3: Blake3 };

/** What a PATCH came to. `checksum` with the last byte only. */
export type Received = { offset: number; checksum?: string };

export type ReceiverOptions = {
  files: Files;
  sessions: Sessions;
  /** Every byte of the asset is here and on disk: the session is complete. */
  onWhole(session: SessionRow): void;
  /** Its time is over, and its bytes are gone. */
  onExpired(session: SessionRow): void;
};

/**
 * The bytes of upload sessions. The length of a session's file is its offset, so a restart, a kill
 * or a broken line loses nothing that was written.
 */
export class Receiver {
  readonly #options: ReceiverOptions;
  /** Digests under way; after a restart they are made again from disk. */
  readonly #digests = new Map<string, Progress>();
  /** The connection that writes to a session, if any. */
  readonly #writing = new Map<string, Writer>();

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  /** How far a session is, in bytes; as the store has it now, since others may complete it. */
  async offset({ uid, total_size }: SessionRow): Promise<number> {
    const onDisk = (await sizeOf(this.#options.files.partial(uid))) ?? 0;
    return this.#options.sessions.find(uid)?.completed_at ? total_size : onDisk;
  }

  /** Appends a PATCH body at `offset`; keeps what came even when the connection breaks. */
  async receive(
    session: SessionRow,
    offset: number,
    lengthBytes: number | undefined,
    incoming: IncomingMessage,
    body: AsyncIterable<Buffer> = incoming,
  ): Promise<Received> {
    // "409 means the sent Upload-Offset differs from the server's" (§4)
    if (offset !== (await this.offset(session))) throw await this.#conflict(session);
    if (offset === session.total_size && !lengthBytes) return { offset };
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
      await Promise.race([rival.done, new Promise((resolve) => setTimeout(resolve, 50))]);
      if (offset !== (await this.offset(session))) throw await this.#conflict(session);
    }
  }

  async #append(session: SessionRow, start: number, writer: Writer): Promise<Received> {
    const progress = await this.#progressAt(session.uid, start);
    const handle = await open(this.#options.files.partial(session.uid), 'a', 0o600);
    writer.incoming.setTimeout(silenceMs, () => writer.incoming.destroy());
    try {
      await write(writer, handle, progress, start, session.total_size);
      await handle.sync(); // before a 204: what is acknowledged stays
    } finally {
      await handle.close();
    }
    if (progress.offset < session.total_size) return { offset: progress.offset };
    this.#digests.delete(session.uid);
    const checksum = progress.blake3.finish();
    await this.complete(session);
    return { offset: session.total_size, checksum };
  }

  /** Makes a whole session's bytes the asset's source. */
  async complete(session: SessionRow): Promise<void> {
    const { uid, asset_uid } = session;
    const { files, onWhole } = this.#options;
    await mkdir(files.assetFolder(asset_uid), { recursive: true, mode: 0o700 });
    // A kill between the rename and the row leaves the source there already.
    const partial = await sizeOf(files.partial(uid));
    const whole = partial === undefined ? files.source(asset_uid) : files.partial(uid);
    if ((await sizeOf(whole)) !== session.total_size)
      throw new ServiceError(503, 'the bytes on disk are not those that were received');
    if (partial !== undefined) await rename(whole, files.source(asset_uid));
    onWhole(session);
  }

  /**
   * What expired sessions hold: "a new session must be created" (§3), so their bytes serve nobody.
   * Their assets have failed, and take no storage.
   */
  async clearExpired(now: number): Promise<void> {
    const { sessions, files, onExpired } = this.#options;
    for (const session of sessions.open()) {
      if (session.expires_at > now || this.#writing.has(session.uid)) continue;
      this.#digests.delete(session.uid);
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
      if ((await Promise.all(sizes)).includes(session.total_size)) await this.complete(session);
    }
  }

  /** The running digest of the first `offset` bytes; read again from disk after a restart. */
  async #progressAt(uid: string, offset: number): Promise<Progress> {
    const known = this.#digests.get(uid);
    if (known?.offset === offset) return known;
    const progress: Progress = { offset: 0, blake3: await createBlake3() };
    if (offset > 0)
      for await (const bytes of createReadStream(this.#options.files.partial(uid), {
        end: offset - 1,
        highWaterMark: 1024 * 1024,
      })) {
        progress.blake3.update(bytes);
        progress.offset += bytes.length;
      }
    this.#digests.set(uid, progress);
    return progress;
  }

  async #conflict(session: SessionRow): Promise<ServiceError> {
    const offset = await this.offset(session);
    return new ServiceError(409, `the upload is at byte ${offset}`, {
      headers: { 'Upload-Offset': String(offset) },
    });
  }
}

/** Undefined where there is no such file. */
const sizeOf = (path: string) =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  );

/** Of a digest whose last bytes may not be on disk: no offset is this, so it is made anew. */
const aheadOfDisk = -1;

async function write(
  writer: Writer,
  handle: FileHandle,
  progress: Progress,
  start: number,
  totalSize: number,
): Promise<void> {
  let at = progress.offset;
  for await (const bytes of writer.body) {
    const end = at + bytes.length;
    if (end - start > maxChunkBytes)
      throw new ServiceError(413, 'a PATCH body holds at most 50 MiB');
    if (end > totalSize) throw new ServiceError(413, `the upload is of ${totalSize} bytes`);
    const written = handle.appendFile(bytes); // whole, or an error: a short write is not acknowledged
    progress.blake3.update(bytes); // meanwhile
    progress.offset = aheadOfDisk;
    await written;
    writer.heardAt = Date.now();
    progress.offset = end;
    at = end;
  }
}
