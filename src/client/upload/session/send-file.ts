import { asText } from '../../../contract/json-values.ts';
import { parseUploadOffset } from '../../../contract/tus.ts';
import { MediactlError } from '../../errors.ts';
import type { ResponseHeaders } from '../../http/rate-limit-headers.ts';
import { openChecksum, PrefixDigest, parseDigest } from '../sources/checksum.ts';
import { describeChange, fileChanged, type UploadSource } from '../sources/source.ts';
import type { CompleteEntry, OpenEntry } from '../store/upload-entry.ts';
import { type TransferListener, transfer } from './transfer.ts';
import type { UploadRun } from './upload-run.ts';

const progressIntervalMs = 1_000;

/** Maximum bytes that are recorded as sent in advance, so that a slow disk does not delay every chunk. */
const maxSendAheadBytes = 100 * 1024 * 1024;

/**
 * Returns the offset up to which an upload may send before the entry has to be written again. The last of several
 * chunks is recorded only when it is started, because the service might then have the complete file.
 */
export function sendAheadLimit(offset: number, { source, options }: UploadRun): number {
  const { sizeBytes } = source;
  const chunksLeft = Math.ceil((sizeBytes - offset) / options.chunkBytes);
  if (chunksLeft <= 1) return offset === 0 ? sizeBytes : offset;
  return Math.min(offset + maxSendAheadBytes, offset + (chunksLeft - 1) * options.chunkBytes);
}

/**
 * @throws SessionGoneError if the service does not know the session
 * @throws MediactlError if the upload fails; `file_changed` (exit 13) if the file changed since the upload started
 */
export async function sendFile(run: UploadRun, entry: OpenEntry): Promise<CompleteEntry> {
  const { prefix } = entry;
  const digest = await PrefixDigest.open(run.source, prefix);
  const sender = new FileSender(run, entry, digest);
  if (run.resumedFrom !== null && prefix) run.emit({ event: 'rehashing', offset_bytes: prefix.offset });
  await transfer(run, entry, sender);
  // A source that was read to its end has already checked that the file is unchanged.
  if (!sender.isReadToEnd) await digest.assertUnchanged();
  await digest.catchUp(run.source.sizeBytes);
  return completeEntry(run, entry, { ...sender.sent, blake3: digest.current().blake3 });
}

/** Follows the transfer of a file, and records what was sent and what is acknowledged. */
class FileSender implements TransferListener {
  readonly digest: PrefixDigest;
  /** True if the last bytes were read from the source in this run. */
  isReadToEnd = false;
  sent: Omit<SentFile, 'blake3'>;
  readonly #run: UploadRun;
  readonly #entry: OpenEntry;
  #hasResponded: boolean;
  #position: number;
  /** Value of `sentTo` in the entry on disk. The value in memory can be higher. */
  #sentToOnDisk: number;
  #lastWrite = Promise.resolve();
  /** Time of the last record of the progress, in milliseconds since the epoch. */
  #progressSavedAt: number;
  /** Error of a failed write to the store, thrown instead of sending the next chunk. */
  #writeError: unknown;

  constructor(run: UploadRun, entry: OpenEntry, digest: PrefixDigest) {
    this.digest = digest;
    this.sent = { verdict: { verified: null }, lastChunkStart: entry.offset };
    this.#run = run;
    this.#entry = entry;
    this.#hasResponded = run.resumedFrom === null;
    this.#position = entry.offset;
    this.#sentToOnDisk = entry.sentTo;
    this.#progressSavedAt = run.deps.api.transport.clock.now();
  }

  async onSending(end: number): Promise<void> {
    if (this.#writeError) throw this.#writeError;
    if (end <= this.#sentToOnDisk) return;
    if (end > this.#entry.sentTo) {
      this.#entry.sentTo = end;
      this.#saveEntry();
    }
    await this.#lastWrite;
  }

  onSent(count: number, at: number): void {
    this.#run.bytesSent += count;
    this.isReadToEnd = at === this.#run.source.sizeBytes;
    this.#position = at;
    this.#saveProgress();
    this.#emitProgress();
  }

  #saveProgress(): void {
    const { store, id, deps } = this.#run;
    const now = deps.api.transport.clock.now();
    if (!store.saveProgress || now - this.#progressSavedAt < progressIntervalMs) return;
    this.#progressSavedAt = now;
    // Only for display. If the store fails, the next write of the entry ends the upload.
    store.saveProgress(id, this.#position).catch(() => {});
  }

  async onAcknowledged(offset: number, headers: ResponseHeaders): Promise<void> {
    const { source } = this.#run;
    const isComplete = offset >= source.sizeBytes;
    if (!this.#hasResponded) this.#onResumed(offset);
    if (!isComplete) this.sent.lastChunkStart = offset;
    const entry = this.#entry;
    entry.offset = offset;
    entry.sentTo = Math.max(entry.sentTo, sendAheadLimit(offset, this.#run));
    this.#position = offset;
    const prefix = this.digest.current();
    if (prefix.offset === offset && !this.sent.suspectedChange) entry.prefix = prefix;
    if (isComplete) this.sent.verdict = await verify(source, prefix.blake3, this.sent.lastChunkStart, headers);
    else this.#saveEntry();
    this.#emitProgress();
  }

  #onResumed(offset: number): void {
    this.sent.suspectedChange = findSuspectedChange(this.#run, this.#entry, offset);
    if (!this.sent.suspectedChange) this.#entry.file = this.#run.source.identity;
    this.#hasResponded = true;
    this.#run.resumedFrom = offset;
    const { assetUid: asset_uid, uid: session_uid } = this.#entry.session;
    this.#run.emit({ event: 'resumed', asset_uid, session_uid, offset_bytes: offset });
  }

  #saveEntry(): void {
    const { sentTo } = this.#entry;
    // The offset need not outlive a power failure: the service knows it better.
    this.#lastWrite = this.#run.store.write(this.#entry, sentTo > this.#sentToOnDisk).then(() => {
      this.#sentToOnDisk = Math.max(this.#sentToOnDisk, sentTo);
    });
    this.#lastWrite.catch((error) => {
      this.#writeError = error;
    });
  }

  #emitProgress(): void {
    const { offset } = this.#entry;
    const [sent_bytes, size_bytes] = [Math.max(this.#position, offset), this.#run.source.sizeBytes];
    this.#run.emit({ event: 'progress', acknowledged_bytes: offset, sent_bytes, size_bytes });
  }
}

/**
 * Returns the reason why the service's bytes up to `offset` might come from another version of the file: the file
 * was modified or replaced since. Only the service's checksum can rule that out.
 *
 * @returns undefined if the digest in the entry covers those bytes or the file is unchanged
 * @throws MediactlError `file_changed` (exit 13) if the source is a URL and its ETag has changed
 */
export function findSuspectedChange({ source }: UploadRun, entry: OpenEntry, offset: number): string | undefined {
  if (offset <= (entry.prefix?.offset ?? 0)) return undefined;
  // The service may have more bytes than the entry says: a later run sent them, and the entry is an older copy.
  const difference = describeChange(entry.file, source.identity);
  const suspectedChange =
    difference && `${difference} after part of it was uploaded to asset ${entry.session.assetUid}`;
  if (suspectedChange && source.identity.validator !== undefined) throw fileChanged(source.path, suspectedChange);
  return suspectedChange;
}

type SentFile = {
  /** BLAKE3 of the file, in hex. */
  blake3: string;
  verdict: Verdict;
  lastChunkStart: number;
  suspectedChange?: string | undefined;
};

/**
 * Converts the entry of an upload whose bytes are all acknowledged. If the service has sent no checksum yet, asks it
 * for one. Writes the entry unless a receipt replaces it at once.
 *
 * @throws MediactlError `file_changed` (exit 13) if no checksum rules out a suspected change (`findSuspectedChange`)
 */
export async function completeEntry(run: UploadRun, entry: OpenEntry, sent: SentFile): Promise<CompleteEntry> {
  const { blake3, verdict: first, lastChunkStart, suspectedChange } = sent;
  let verdict = first;
  if (first.verified === null && run.source.sizeBytes > 0) {
    verdict = await verifyAgain(run, entry.session, blake3, lastChunkStart);
    const note = verdict.verified === null ? (first.note ?? verdict.note) : undefined;
    if (suspectedChange && verdict.verified === null)
      throw fileChanged(run.source.path, `${suspectedChange}, and the service sent no checksum to rule that out`);
    if (note) run.notice(note);
  }
  const { offset: _offset, sentTo: _sentTo, prefix: _prefix, isRefused: _refused, ...rest } = entry;
  const complete: CompleteEntry = {
    ...rest,
    state: 'whole',
    file: run.source.identity,
    blake3,
    verified: verdict.verified,
    ...(verdict.verified === false && { serviceBlake3: verdict.serviceBlake3 }),
  };
  if (complete.verified === false || run.job.tags) await run.store.write(complete);
  return complete;
}

/** Result of comparing the service's checksum with the file's. `note` explains why none could be compared. */
type Verdict = { verified: true } | { verified: null; note?: string } | { verified: false; serviceBlake3: string };

/** Compares the "X-Checksum-Blake3" header in the response to the last chunk (§4) with the digest of the file. */
async function verify(
  source: UploadSource,
  blake3: string,
  lastChunkStart: number,
  headers: ResponseHeaders,
): Promise<Verdict> {
  const header = headers['x-checksum-blake3'];
  if (header === undefined) return { verified: null };
  const stated = parseDigest(header);
  if (stated === undefined)
    return { verified: null, note: `the service sent an unreadable checksum: ${header.slice(0, 80)}` };
  if (stated === blake3) return { verified: true };
  const lastChunk = await openChecksum();
  for await (const bytes of source.read(lastChunkStart, source.sizeBytes)) lastChunk.update(bytes);
  if (stated === lastChunk.digest())
    return { verified: null, note: 'the service’s checksum covers only the last chunk' };
  return { verified: false, serviceBlake3: header };
}

/**
 * Looks for a checksum in the session's HEAD response and the asset's fields, though the API specification promises
 * neither. A field that differs is ignored, since it might be a checksum of something else.
 *
 * @throws MediactlError `bytes_lost` (exit 10) if the session has fewer bytes than it acknowledged
 */
async function verifyAgain(
  { source, deps }: UploadRun,
  { url, assetUid }: OpenEntry['session'],
  blake3: string,
  lastChunkStart: number,
): Promise<Verdict> {
  const { assets, uploadSessions } = deps.api;
  const headers = await ignoreRefusal(uploadSessions.fetchHeaders(url, deps.signal));
  const offset = parseUploadOffset(headers?.['upload-offset']);
  if (offset !== undefined && offset < source.sizeBytes)
    throw new MediactlError(`the service lost bytes of asset ${assetUid}`, {
      code: 'bytes_lost',
      retryable: true,
      details: { asset_uid: assetUid },
      reason: `it has ${offset} bytes, but acknowledged ${source.sizeBytes}`,
    });
  const verdict = await verify(source, blake3, lastChunkStart, headers ?? {});
  if (verdict.verified !== null) return verdict;
  const record = await ignoreRefusal(assets.get(assetUid));
  const hasMatchingDigest = Object.entries(record ?? {}).some(
    ([field, value]) => /blake3|checksum|digest|hash/i.test(field) && parseDigest(asText(value)) === blake3,
  );
  return hasMatchingDigest ? { verified: true } : verdict;
}

/** Returns undefined if the request fails, so that the file stays unverified. Rethrows aborts. */
const ignoreRefusal = <T>(request: Promise<T>): Promise<T | undefined> =>
  request.catch((error) => {
    if (error instanceof MediactlError && error.exitCode < 130) return undefined;
    throw error;
  });

/** Returns the error for an asset whose checksum differs. @param resendCommand command that uploads the file again */
export function checksumMismatch(path: string, resendCommand: string, entry: CompleteEntry): MediactlError {
  const { session, blake3, serviceBlake3 } = entry;
  return new MediactlError(`asset ${session.assetUid} does not match ${path}`, {
    code: 'checksum_mismatch',
    reason: `local BLAKE3 ${blake3}, remote BLAKE3 ${serviceBlake3}`,
    hint: `${resendCommand}, to upload the file again; do not use that asset`,
    details: { asset_uid: session.assetUid, blake3, service_blake3: serviceBlake3 },
  });
}

/** @param isByReceipt true if a receipt of an earlier upload is not verified, such as an imported one */
export const unverifiedError = (assetUid: string, isByReceipt = false) =>
  new MediactlError(`asset ${assetUid} is uploaded but unverified`, {
    code: 'unverified',
    details: { asset_uid: assetUid },
    reason: isByReceipt
      ? 'this machine has not compared it with the file'
      : 'the service sent no checksum to compare with',
    ...(isByReceipt && { hint: 'mediactl check DIRECTORY /FOLDER --download compares it' }),
  });
