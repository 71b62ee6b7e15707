import { parseUploadOffset } from '../../../contract/tus.ts';
import { asText } from '../../../shared/json-values.ts';
import { CodedError, type Remedy } from '../../errors.ts';
import type { ResponseHeaders } from '../../http/rate-limit-headers.ts';
import { openChecksum, parseDigest } from '../sources/checksum.ts';
import type { UploadSource } from '../sources/source.ts';
import type { CompleteEntry, OpenEntry } from '../store/upload-entry.ts';
import type { UploadRun } from './upload-run.ts';

type SentFile = {
  /** BLAKE3 of the file, in hex. */
  blake3: string;
  verdict: Verdict;
  lastChunkStart: number;
};

/**
 * Converts the entry of an upload whose bytes are all acknowledged. If the service has sent no checksum yet, asks it
 * for one. Writes the entry unless a receipt replaces it at once.
 *
 * @throws CodedError `session_broken` (exit 10) if the session has fewer bytes than it acknowledged
 */
export async function completeEntry(run: UploadRun, entry: OpenEntry, sent: SentFile): Promise<CompleteEntry> {
  const { blake3, verdict: first, lastChunkStart } = sent;
  let verdict = first;
  if (first.verified === null && run.source.sizeBytes > 0) {
    verdict = await verifyAgain(run, entry.session, blake3, lastChunkStart);
    const note = verdict.verified === null ? (first.note ?? verdict.note) : undefined;
    if (note) run.notice(note);
  }
  const { offset: _offset, mayBeWhole: _mayBeWhole, prefix: _prefix, isRefused: _refused, ...rest } = entry;
  const complete: CompleteEntry = {
    ...rest,
    state: 'whole',
    file: run.source.identity,
    blake3,
    verified: verdict.verified,
    ...(verdict.verified === false && { serviceBlake3: verdict.serviceBlake3 }),
  };
  if (complete.verified === false || Object.keys(run.fieldsToSet(entry)).length > 0) await run.store.write(complete);
  return complete;
}

/** Result of comparing the service's checksum with the file's. `note` explains why none could be compared. */
export type Verdict =
  | { verified: true }
  | { verified: null; note?: string }
  | { verified: false; serviceBlake3: string };

/** Compares the "X-Checksum-Blake3" header in the response to the last chunk (§4) with the digest of the file. */
export async function compareChecksum(
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
 * @throws CodedError `session_broken` (exit 10) if the session has fewer bytes than it acknowledged
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
    throw new CodedError(`the service lost bytes of asset ${assetUid}`, {
      code: 'session_broken',
      hint: 'run the same command again',
      retryable: true,
      details: { asset_uid: assetUid },
      reason: `it has ${offset} bytes, but acknowledged ${source.sizeBytes}`,
    });
  const verdict = await compareChecksum(source, blake3, lastChunkStart, headers ?? {});
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
    if (error instanceof CodedError && !['interrupted', 'terminated'].includes(error.kind)) return undefined;
    throw error;
  });

/** Returns the error for an asset whose checksum differs. @param remedy how to upload it again, if not from `path` */
export function checksumMismatch(path: string, remedy: Remedy | undefined, entry: CompleteEntry): CodedError {
  const { session, blake3, serviceBlake3 } = entry;
  return new CodedError(`asset ${session.assetUid} does not match ${path}`, {
    code: 'checksum_mismatch',
    reason: `local BLAKE3 ${blake3}, remote BLAKE3 ${serviceBlake3}`,
    remedy,
    details: { asset_uid: session.assetUid, blake3, service_blake3: serviceBlake3 },
  });
}

/** @param isByReceipt true if a receipt of an earlier upload is not verified, such as that of another machine's asset */
export const unverifiedError = (assetUid: string, isByReceipt = false) =>
  new CodedError(`asset ${assetUid} is uploaded but unverified`, {
    code: 'unverified',
    details: { asset_uid: assetUid },
    reason: isByReceipt
      ? 'this machine has not compared it with the file'
      : 'the service sent no checksum to compare with',
    ...(isByReceipt && { remedy: ['compare_download'] }),
  });
