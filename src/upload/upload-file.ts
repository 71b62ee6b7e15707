import { exitCodes, MediactlError } from '../errors.ts';
import { sessionLifetimeMs, type UploadMetadata } from '../wire/tus.ts';
import { openChecksum } from './checksum.ts';
import { createSession, creationUnknown, findOrphans, madeNothing } from './creation.ts';
import type { OnUploadEvent } from './events.ts';
import {
  metadataOf,
  type Uploaded,
  type UploadJob,
  type UploadOptions,
  type UploadTools,
} from './job.ts';
import { type JournalEntry, uploadId } from './journal.ts';
import { JournalPage } from './journal-page.ts';
import { PrefixDigest } from './prefix-digest.ts';
import { expired, isForeign, isSessionGone } from './session-gone.ts';
import { changed, FileSource, isSame } from './source.ts';
import { transfer } from './transfer.ts';
import { mismatch, unverified, type Verdict, verify } from './verification.ts';

/**
 * One file, from its path to a checked asset, going on where an earlier run stopped.
 *
 * @throws MediactlError; the journal keeps what is needed to go on
 */
export async function uploadFile(
  job: UploadJob,
  options: UploadOptions,
  tools: UploadTools,
): Promise<Uploaded> {
  const source = await FileSource.open(job.path);
  try {
    const upload = new FileUpload(source, job, options, tools);
    return await upload.run();
  } finally {
    await source.close();
  }
}

class FileUpload {
  readonly #source: FileSource;
  readonly #job: UploadJob;
  readonly #options: UploadOptions;
  readonly #tools: UploadTools;
  readonly #id: string;
  readonly #metadata: UploadMetadata;
  readonly #page: JournalPage;
  #entry: JournalEntry | undefined;
  #bytesSent = 0;
  #resumedFrom: number | null = null;

  constructor(source: FileSource, job: UploadJob, options: UploadOptions, tools: UploadTools) {
    this.#source = source;
    this.#job = job;
    this.#options = options;
    this.#tools = tools;
    this.#metadata = metadataOf(job);
    const { owner, api } = tools;
    this.#id = uploadId({
      baseUrl: api.transport.baseUrl.origin,
      keyHash: owner.keyHash,
      realPath: source.realPath,
      metadata: this.#metadata,
    });
    this.#page = new JournalPage(tools.journal, this.#id, (message) => this.#notice(message));
  }

  async run(): Promise<Uploaded> {
    const release = await this.#page.lock();
    try {
      this.#say({ event: 'started', size_bytes: this.#source.sizeBytes });
      this.#entry = await this.#earlier();
      if (this.#entry?.session) await this.#checkEarlier();
      try {
        return await this.#toTheEnd();
      } catch (error) {
        if (!this.#entry?.session || !isSessionGone(error)) throw error;
        await this.#startOver(error);
        return await this.#toTheEnd();
      }
    } finally {
      await release();
    }
  }

  async #toTheEnd(): Promise<Uploaded> {
    const entry = await this.#openSession();
    const { session } = entry;
    const whole = entry.offset === this.#source.sizeBytes && entry.verified !== undefined;
    const digest = new PrefixDigest(this.#source, await openChecksum(), entry.prefix);
    if (!whole) await this.#transfer(entry, digest);
    await this.#source.assertUnchanged();
    await digest.catchUp(this.#source.sizeBytes);
    const { blake3 } = digest.current();
    const verified = entry.verified ?? null;
    if (verified === false)
      throw mismatch(this.#job.path, session.assetUid, blake3, entry.serviceBlake3);
    this.#say({ event: 'uploaded', asset_uid: session.assetUid, blake3, verified });
    if (verified === null && this.#options.requireChecksum) throw unverified(session.assetUid);
    return {
      assetUid: session.assetUid,
      sessionUid: session.uid,
      name: this.#metadata.asset_name ?? this.#metadata.filename,
      sizeBytes: this.#source.sizeBytes,
      bytesSent: this.#bytesSent,
      resumedFrom: this.#resumedFrom,
      blake3,
      verified,
      forget: () => this.#page.forget(),
    };
  }

  async #transfer(entry: OpenEntry, digest: PrefixDigest): Promise<void> {
    const { api, signal } = this.#tools;
    const fresh = this.#resumedFrom === null;
    let position = entry.offset;
    let lastChunkStart = entry.offset;
    if (!fresh && entry.prefix)
      this.#say({ event: 'rehashing', offset_bytes: entry.prefix.offset });
    const progress = () =>
      this.#say({
        event: 'progress',
        acknowledged_bytes: entry.offset,
        sent_bytes: Math.max(position, entry.offset),
        size_bytes: this.#source.sizeBytes,
      });
    let answered = fresh;
    await transfer(entry.session.url, this.#options.chunkBytes, {
      transport: api.transport,
      source: this.#source,
      digest,
      fresh,
      idleTimeoutMs: this.#options.idleTimeoutMs,
      rateLimit: this.#options.rateLimit,
      signal,
      onSent: (count, at) => {
        this.#bytesSent += count;
        position = at;
        progress();
      },
      onAcknowledged: async (offset, headers) => {
        if (!answered) this.#sayResumed(entry, offset);
        answered = true;
        lastChunkStart = offset < this.#source.sizeBytes ? offset : lastChunkStart;
        entry.offset = offset;
        position = offset;
        const prefix = digest.current();
        if (prefix.offset === offset) entry.prefix = prefix;
        if (offset === this.#source.sizeBytes)
          this.#conclude(entry, await verify(this.#source, prefix.blake3, lastChunkStart, headers));
        // The next chunk need not wait for the disk: a resume asks the service in any case, and
        // reads what the journal lacks from the file.
        const written = this.#page.write(entry);
        if (offset === this.#source.sizeBytes) await written;
        progress();
      },
    });
    // Nothing was sent for an empty file, so nothing was answered.
    entry.verified ??= null;
  }

  #conclude(entry: OpenEntry, verdict: Verdict): void {
    entry.verified = verdict.verified;
    if (verdict.verified === false) entry.serviceBlake3 = verdict.serviceBlake3;
    else if (verdict.lastChunkOnly)
      this.#notice('the service’s checksum covers the last chunk only; the file is unverified');
  }

  /** The journal's entry with a session: the earlier one, or a new one. */
  async #openSession(): Promise<OpenEntry> {
    if (this.#entry?.session) return this.#entry as OpenEntry;
    const { api, owner, signal } = this.#tools;
    if (this.#entry) await this.#askAboutLostAnswer(this.#entry);
    this.#entry = {
      version: 1,
      id: this.#id,
      path: this.#source.path,
      realPath: this.#source.realPath,
      file: this.#source.identity,
      baseUrl: api.transport.baseUrl.origin,
      profile: owner.profile,
      keyHash: owner.keyHash,
      metadata: this.#metadata,
      intendedAt: new Date(api.transport.clock.now()).toISOString(),
      offset: 0,
    };
    await this.#page.write(this.#entry);
    try {
      const created = await createSession(api, this.#entry, signal);
      this.#entry.session = {
        uid: created.uid,
        url: created.sessionUrl,
        assetUid: created.asset_uid,
        expiresAt: created.expires_at ?? this.#dayFromNow(),
      };
    } catch (error) {
      if (madeNothing(error) || isForeign(error)) await this.#page.forget();
      throw error;
    }
    await this.#page.write(this.#entry);
    const { uid, assetUid } = this.#entry.session;
    this.#say({ event: 'created', asset_uid: assetUid, session_uid: uid });
    return this.#entry as OpenEntry;
  }

  /** "sessions expire after 24 hours" (§2), for a service that does not say when. */
  #dayFromNow(): string {
    return new Date(this.#tools.api.transport.clock.now() + sessionLifetimeMs).toISOString();
  }

  async #askAboutLostAnswer(entry: JournalEntry): Promise<void> {
    const orphans = await findOrphans(this.#tools.api, this.#tools.journal, entry);
    if (orphans.length === 0) return;
    await this.#tools.confirmNewAsset(creationUnknown(this.#job.path, orphans, this.#id));
    this.#notice(`left alone: ${orphans.map(({ uid }) => uid).join(', ')}`);
  }

  /** What an earlier run left in the journal, if it is to be gone on with. */
  async #earlier(): Promise<JournalEntry | undefined> {
    const found = await this.#page.read();
    if (!found) return undefined;
    if (this.#options.resume) return found;
    if (found.session) this.#notice(`left unfinished: asset ${found.session.assetUid}`);
    return undefined;
  }

  /** An earlier session of this same file, or a refusal before a byte is sent. */
  async #checkEarlier(): Promise<void> {
    const entry = this.#entry as OpenEntry;
    const expiresAt = Date.parse(entry.session.expiresAt);
    const isExpired = expiresAt <= this.#tools.api.transport.clock.now();
    this.#resumedFrom = entry.offset;
    if (entry.verified !== undefined) {
      // What is whole is done, unless the file is another by now, or it was another day.
      if (isExpired || !isSame(entry.file, this.#source.identity)) this.#forgetSession();
      else if (await this.#isGone(entry.session.assetUid)) {
        this.#notice(`asset ${entry.session.assetUid} is gone since; uploading anew`);
        this.#forgetSession();
      }
      return;
    }
    if (entry.file.sizeBytes !== this.#source.sizeBytes)
      throw changed(
        this.#source.path,
        `${entry.offset} bytes of it are uploaded, and its size went from ${entry.file.sizeBytes} to ${this.#source.sizeBytes} bytes`,
      );
    entry.file = this.#source.identity;
    if (isExpired) await this.#startOver(expired(entry.session.assetUid));
  }

  async #isGone(assetUid: string): Promise<boolean> {
    return this.#tools.api.assets.get(assetUid).then(
      () => false,
      (error) => {
        if (isSessionGone(error)) return true;
        if (error instanceof MediactlError && error.exitCode === exitCodes.forbidden) return false;
        throw error;
      },
    );
  }

  async #startOver(why: unknown): Promise<void> {
    const { session } = this.#entry as OpenEntry;
    if (this.#options.onExpired === 'fail') throw expired(session.assetUid, why);
    this.#notice(
      `the upload session is gone; starting anew. Asset ${session.assetUid} stays unfinished`,
    );
    this.#forgetSession();
  }

  #forgetSession(): void {
    this.#entry = undefined;
    this.#resumedFrom = null;
  }

  #sayResumed({ session }: OpenEntry, offset: number): void {
    this.#resumedFrom = offset;
    this.#say({
      event: 'resumed',
      asset_uid: session.assetUid,
      session_uid: session.uid,
      offset_bytes: offset,
    });
  }

  #notice(message: string): void {
    this.#say({ event: 'notice', message });
  }

  #say(event: WithoutPath<Parameters<OnUploadEvent>[0]>): void {
    this.#tools.onEvent({ path: this.#job.label ?? this.#job.path, ...event });
  }
}

type WithoutPath<T> = T extends unknown ? Omit<T, 'path'> : never;

type OpenEntry = JournalEntry & { session: NonNullable<JournalEntry['session']> };
