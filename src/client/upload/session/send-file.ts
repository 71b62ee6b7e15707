import type { ResponseHeaders } from '../../http/rate-limit-headers.ts';
import { openChecksum } from '../sources/checksum.ts';
import { PrefixDigest } from '../sources/prefix-digest.ts';
import { changed, differenceBetween } from '../sources/source.ts';
import type { Open, Whole } from '../store/journal-entry.ts';
import { transfer } from './transfer.ts';
import type { UploadRun } from './upload-run.ts';
import { lookAgain, type Verdict, verify } from './verification.ts';

/** Number of bytes that the journal records as sent in advance, so that a slow disk does not delay every chunk. */
const sentAheadBytes = 100 * 1024 * 1024;

/**
 * Returns the offset up to which an upload may send before the journal has to be written again. The last of
 * several chunks is recorded only when it is started: from then on the service may have the complete file.
 */
export function sentAhead(offset: number, { source, options }: UploadRun): number {
  const { sizeBytes } = source;
  const chunksLeft = Math.ceil((sizeBytes - offset) / options.chunkBytes);
  if (chunksLeft <= 1) return offset === 0 ? sizeBytes : offset;
  return Math.min(offset + sentAheadBytes, offset + (chunksLeft - 1) * options.chunkBytes);
}

/**
 * Sends the remaining bytes of a session and verifies the checksum of the complete file.
 *
 * @throws SessionGoneError if the service does not know the session
 * @throws MediactlError; `file_changed` (13) if the file changed since the upload started
 */
export async function sendFile(run: UploadRun, entry: Open): Promise<Whole> {
  const { source, tools, options, page } = run;
  const { sizeBytes } = source;
  const isFresh = run.resumedFrom === null;
  const vouchedTo = entry.prefix?.offset ?? 0;
  const digest = new PrefixDigest(source, await openChecksum(), entry.prefix);
  let isAnswered = isFresh;
  let position = entry.offset;
  let isReadToEnd = false;
  let lastChunkStart = entry.offset;
  let verdict: Verdict = { verified: null };
  let doubt: string | undefined;
  /** Value of `sentTo` in the entry on disk; the one in memory may be ahead. */
  let sentToOnDisk = entry.sentTo;
  let written = Promise.resolve();
  /** Error of the last journal write; the next chunk is not sent then. */
  let unwritten: unknown;
  const keep = () => {
    const { sentTo } = entry;
    written = page.write(entry).then(() => {
      sentToOnDisk = Math.max(sentToOnDisk, sentTo);
    });
    written.catch((error) => {
      unwritten = error;
    });
  };
  if (!isFresh && entry.prefix) run.say({ event: 'rehashing', offset_bytes: vouchedTo });
  const progress = () =>
    run.say({
      event: 'progress',
      acknowledged_bytes: entry.offset,
      sent_bytes: Math.max(position, entry.offset),
      size_bytes: sizeBytes,
    });
  await transfer(entry.session.url, options.chunkBytes, {
    transport: tools.api.transport,
    source,
    digest,
    fresh: isFresh,
    sentTo: isFresh ? 0 : entry.sentTo,
    idleTimeoutMs: options.idleTimeoutMs,
    throttle: tools.throttle,
    signal: tools.signal,
    onSending: async (end) => {
      if (unwritten) throw unwritten;
      if (end <= sentToOnDisk) return;
      if (end > entry.sentTo) {
        entry.sentTo = end;
        keep();
      }
      await written;
    },
    onSent: (count, at) => {
      run.bytesSent += count;
      isReadToEnd = at === sizeBytes;
      position = at;
      progress();
    },
    onAcknowledged: async (offset, headers) => {
      if (!isAnswered) {
        doubt = doubtOf(run, entry, offset);
        if (!doubt) entry.file = source.identity;
        sayResumed(run, entry, offset);
      }
      isAnswered = true;
      if (offset < sizeBytes) lastChunkStart = offset;
      entry.offset = offset;
      entry.sentTo = Math.max(entry.sentTo, sentAhead(offset, run));
      position = offset;
      const prefix = digest.current();
      if (prefix.offset === offset && !doubt) entry.prefix = prefix;
      if (offset < sizeBytes) keep();
      else verdict = await verify(source, prefix.blake3, lastChunkStart, headers);
      progress();
    },
  });
  // A source read to its end has already checked that the file is unchanged.
  if (!isReadToEnd) await digest.assertUnchanged();
  await digest.catchUp(sizeBytes);
  return wholeEntry(run, entry, digest.current().blake3, verdict, doubt, lastChunkStart);
}

/**
 * Returns the reason why the service's bytes up to `offset` may come from another version of the file: it was
 * modified or replaced, or the journal is outdated. Only the service's checksum can rule that out. Undefined
 * if the journaled digest covers those bytes or the file is unchanged.
 *
 * @throws MediactlError `file_changed` if the source's server reports another version
 */
export function doubtOf({ source }: UploadRun, entry: Open, offset: number): string | undefined {
  if (offset <= (entry.prefix?.offset ?? 0)) return undefined;
  if (offset > entry.sentTo) return `the service has more bytes than this machine sent`;
  const difference = differenceBetween(entry.file, source.identity);
  const doubt = difference && `${difference} since asset ${entry.session.assetUid} got bytes of it`;
  if (doubt && source.identity.validator !== undefined) throw changed(source.path, doubt);
  return doubt;
}

function sayResumed(run: UploadRun, { session }: Open, offset: number): void {
  run.resumedFrom = offset;
  run.say({
    event: 'resumed',
    asset_uid: session.assetUid,
    session_uid: session.uid,
    offset_bytes: offset,
  });
}

/**
 * Returns the entry of an upload whose bytes are all acknowledged. Without a checksum so far, asks the service
 * once more. Writes the entry unless the receipt follows at once.
 *
 * @throws MediactlError `file_changed` if a suspected change (`findSuspectedChange`) is not ruled out by a checksum
 */
export async function wholeEntry(
  run: UploadRun,
  entry: Open,
  blake3: string,
  first: Verdict,
  doubt: string | undefined,
  lastChunkStart = 0,
): Promise<Whole> {
  const { api, signal } = run.tools;
  let verdict = first;
  if (first.verified === null && run.source.sizeBytes > 0) {
    const compare = (headers: ResponseHeaders) =>
      verify(run.source, blake3, lastChunkStart, headers);
    verdict = await lookAgain(
      api,
      entry.session,
      { sizeBytes: run.source.sizeBytes, blake3 },
      compare,
      signal,
    );
    const note = verdict.verified === null ? (first.note ?? verdict.note) : undefined;
    if (doubt && verdict.verified === null)
      throw changed(run.source.path, `${doubt}, and the service gives no checksum of it`);
    if (note) run.notice(note);
  }
  const { offset: _offset, sentTo: _sentTo, prefix: _prefix, isRefused: _refused, ...rest } = entry;
  const whole: Whole = {
    ...rest,
    state: 'whole',
    file: run.source.identity,
    blake3,
    verified: verdict.verified,
    ...(verdict.verified === false && { serviceBlake3: verdict.serviceBlake3 }),
  };
  if (whole.verified === false || !run.tools.receipts || run.job.tags) await run.page.write(whole);
  return whole;
}
