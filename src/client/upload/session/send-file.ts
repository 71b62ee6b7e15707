import type { ResponseHeaders } from '../../http/rate-limit-headers.ts';
import { openChecksum } from '../sources/checksum.ts';
import { PrefixDigest } from '../sources/prefix-digest.ts';
import { describeChange, fileChanged } from '../sources/source.ts';
import type { CompleteEntry, OpenEntry } from '../store/journal-entry.ts';
import { transfer } from './transfer.ts';
import type { UploadRun } from './upload-run.ts';
import { type Verdict, verify, verifyAgain } from './verification.ts';

/** Maximum bytes that the journal records as sent in advance, so that a slow disk does not delay every chunk. */
const maxSendAheadBytes = 100 * 1024 * 1024;

/**
 * Returns the offset up to which an upload may send before the journal has to be written again. The last of several
 * chunks is recorded only when it is started, because the service might then have the complete file.
 */
export function sendAheadLimit(offset: number, { source, options }: UploadRun): number {
  const { sizeBytes } = source;
  const chunksLeft = Math.ceil((sizeBytes - offset) / options.chunkBytes);
  if (chunksLeft <= 1) return offset === 0 ? sizeBytes : offset;
  return Math.min(offset + maxSendAheadBytes, offset + (chunksLeft - 1) * options.chunkBytes);
}

/**
 * Sends the bytes that the session still lacks, and verifies the checksum of the complete file.
 *
 * @throws SessionGoneError if the service does not know the session
 * @throws MediactlError if the upload fails; `file_changed` (exit 13) if the file changed since the upload started
 */
export async function sendFile(run: UploadRun, entry: OpenEntry): Promise<CompleteEntry> {
  const { source, deps, options, journal } = run;
  const { sizeBytes } = source;
  const isFresh = run.resumedFrom === null;
  const verifiedTo = entry.prefix?.offset ?? 0;
  const digest = new PrefixDigest(source, await openChecksum(), entry.prefix);
  let hasResponded = isFresh;
  let position = entry.offset;
  let isReadToEnd = false;
  let lastChunkStart = entry.offset;
  let verdict: Verdict = { verified: null };
  let suspectedChange: string | undefined;
  /** Value of `sentTo` in the entry on disk. The value in memory can be higher. */
  let sentToOnDisk = entry.sentTo;
  let lastWrite = Promise.resolve();
  /** Error of a failed journal write, thrown instead of sending the next chunk. */
  let writeError: unknown;
  const saveEntry = () => {
    const { sentTo } = entry;
    lastWrite = journal.write(entry).then(() => {
      sentToOnDisk = Math.max(sentToOnDisk, sentTo);
    });
    lastWrite.catch((error) => {
      writeError = error;
    });
  };
  if (!isFresh && entry.prefix) run.emit({ event: 'rehashing', offset_bytes: verifiedTo });
  const progress = () =>
    run.emit({
      event: 'progress',
      acknowledged_bytes: entry.offset,
      sent_bytes: Math.max(position, entry.offset),
      size_bytes: sizeBytes,
    });
  await transfer(entry.session.url, options.chunkBytes, {
    transport: deps.api.transport,
    source,
    digest,
    isFresh: isFresh,
    sentTo: isFresh ? 0 : entry.sentTo,
    idleTimeoutMs: options.idleTimeoutMs,
    throttle: deps.throttle,
    signal: deps.signal,
    onSending: async (end) => {
      if (writeError) throw writeError;
      if (end <= sentToOnDisk) return;
      if (end > entry.sentTo) {
        entry.sentTo = end;
        saveEntry();
      }
      await lastWrite;
    },
    onSent: (count, at) => {
      run.bytesSent += count;
      isReadToEnd = at === sizeBytes;
      position = at;
      progress();
    },
    onAcknowledged: async (offset, headers) => {
      if (!hasResponded) {
        suspectedChange = findSuspectedChange(run, entry, offset);
        if (!suspectedChange) entry.file = source.identity;
        emitResumed(run, entry, offset);
      }
      hasResponded = true;
      if (offset < sizeBytes) lastChunkStart = offset;
      entry.offset = offset;
      entry.sentTo = Math.max(entry.sentTo, sendAheadLimit(offset, run));
      position = offset;
      const prefix = digest.current();
      if (prefix.offset === offset && !suspectedChange) entry.prefix = prefix;
      if (offset < sizeBytes) saveEntry();
      else verdict = await verify(source, prefix.blake3, lastChunkStart, headers);
      progress();
    },
  });
  // A source that was read to its end has already checked that the file is unchanged.
  if (!isReadToEnd) await digest.assertUnchanged();
  await digest.catchUp(sizeBytes);
  return completeEntry(run, entry, digest.current().blake3, verdict, suspectedChange, lastChunkStart);
}

/**
 * Returns the reason why the service's bytes up to `offset` might come from another version of the file: the file
 * was modified or replaced, or the journal is outdated. Only the service's checksum can rule that out.
 *
 * @returns undefined if the digest in the journal covers those bytes or the file is unchanged
 * @throws MediactlError `file_changed` (exit 13) if the source is a URL and its ETag has changed
 */
export function findSuspectedChange({ source }: UploadRun, entry: OpenEntry, offset: number): string | undefined {
  if (offset <= (entry.prefix?.offset ?? 0)) return undefined;
  if (offset > entry.sentTo) return `the service has more bytes than this machine sent`;
  const difference = describeChange(entry.file, source.identity);
  const suspectedChange = difference && `${difference} since asset ${entry.session.assetUid} got bytes of it`;
  if (suspectedChange && source.identity.validator !== undefined) throw fileChanged(source.path, suspectedChange);
  return suspectedChange;
}

function emitResumed(run: UploadRun, { session }: OpenEntry, offset: number): void {
  run.resumedFrom = offset;
  run.emit({
    event: 'resumed',
    asset_uid: session.assetUid,
    session_uid: session.uid,
    offset_bytes: offset,
  });
}

/**
 * Returns the `CompleteEntry` for an upload whose bytes are all acknowledged. If the service has sent no checksum
 * yet, asks it for one. Writes the entry to the journal unless a receipt replaces it at once.
 *
 * @throws MediactlError `file_changed` (exit 13) if no checksum rules out a suspected change
 *   (`findSuspectedChange`)
 */
export async function completeEntry(
  run: UploadRun,
  entry: OpenEntry,
  blake3: string,
  first: Verdict,
  suspectedChange: string | undefined,
  lastChunkStart = 0,
): Promise<CompleteEntry> {
  const { api, signal } = run.deps;
  let verdict = first;
  if (first.verified === null && run.source.sizeBytes > 0) {
    const compare = (headers: ResponseHeaders) => verify(run.source, blake3, lastChunkStart, headers);
    verdict = await verifyAgain(api, entry.session, { sizeBytes: run.source.sizeBytes, blake3 }, compare, signal);
    const note = verdict.verified === null ? (first.note ?? verdict.note) : undefined;
    if (suspectedChange && verdict.verified === null)
      throw fileChanged(run.source.path, `${suspectedChange}, and the service gives no checksum of it`);
    if (note) run.notice(note);
  }
  const { offset: _offset, sentTo: _sentTo, prefix: _prefix, isRefused: _refused, ...rest } = entry;
  const completeEntry: CompleteEntry = {
    ...rest,
    state: 'whole',
    file: run.source.identity,
    blake3,
    verified: verdict.verified,
    ...(verdict.verified === false && { serviceBlake3: verdict.serviceBlake3 }),
  };
  if (completeEntry.verified === false || !run.deps.receipts || run.job.tags) await run.journal.write(completeEntry);
  return completeEntry;
}
