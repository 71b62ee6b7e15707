import { asText } from '../../../contract/json-values.ts';
import { parseUploadOffset } from '../../../contract/tus.ts';
import { MediactlError } from '../../errors.ts';
import type { ResponseHeaders } from '../../http/rate-limit-headers.ts';
import { openChecksum, parseDigest } from '../sources/checksum.ts';
import type { UploadSource } from '../sources/source.ts';
import type { CompleteEntry, OpenEntry } from '../store/journal-entry.ts';
import type { UploadRun } from './upload-run.ts';

/** Result of comparing the service's checksum with the file's. `note` explains why none could be compared. */
export type Verdict =
  | { verified: true }
  | { verified: null; note?: string }
  | { verified: false; serviceBlake3: string };

/**
 * Compares the "X-Checksum-Blake3" header in the response to the last chunk (§4) with the digest of the file.
 *
 * @param blake3 digest of the complete file, in hex
 */
export async function verify(
  source: UploadSource,
  blake3: string,
  lastChunkStart: number,
  headers: ResponseHeaders,
): Promise<Verdict> {
  const header = headers['x-checksum-blake3'];
  if (header === undefined) return { verified: null };
  const stated = parseDigest(header);
  if (stated === undefined)
    return { verified: null, note: `the service’s checksum cannot be read: ${header.slice(0, 80)}` };
  if (stated === blake3) return { verified: true };
  const lastChunk = await openChecksum();
  for await (const bytes of source.read(lastChunkStart, source.sizeBytes)) lastChunk.update(bytes);
  if (stated === lastChunk.digest())
    return { verified: null, note: 'the service’s checksum covers the last chunk only' };
  return { verified: false, serviceBlake3: header };
}

/**
 * Looks for a checksum again if the last response was lost or had none. Checks the session's HEAD response and the
 * asset's fields, though the API specification promises neither. A header that differs is a mismatch. A field that
 * differs is ignored, since it might be a checksum of something else.
 *
 * @throws MediactlError `bytes_lost` (exit 10) if the session has fewer bytes than it acknowledged
 */
export async function verifyAgain(
  { source, deps }: UploadRun,
  { url, assetUid }: OpenEntry['session'],
  blake3: string,
  lastChunkStart: number,
): Promise<Verdict> {
  const { assets, uploadSessions } = deps.api;
  const headers = await ignoreRefusal(uploadSessions.fetchHeaders(url, deps.signal));
  const offset = parseUploadOffset(headers?.['upload-offset']);
  if (offset !== undefined && offset < source.sizeBytes) throw bytesLost(assetUid, offset, source.sizeBytes);
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

const bytesLost = (assetUid: string, offset: number, acknowledged: number) =>
  new MediactlError(`the service lost bytes of asset ${assetUid}`, {
    ...{ code: 'bytes_lost', retryable: true, details: { asset_uid: assetUid } },
    reason: `it has ${offset} bytes, and had acknowledged ${acknowledged}`,
  });

/** Returns the error for an asset whose checksum differs. @param resendCommand command that uploads the file again */
export function checksumMismatch(path: string, resendCommand: string, entry: CompleteEntry): MediactlError {
  const { session, blake3, serviceBlake3 } = entry;
  return new MediactlError(`asset ${session.assetUid} does not have the content of ${path}`, {
    code: 'checksum_mismatch',
    reason: `BLAKE3 here ${blake3}, at the service ${serviceBlake3}`,
    hint: `do not use that asset; ${resendCommand} sends the file again`,
    details: { asset_uid: session.assetUid, blake3, service_blake3: serviceBlake3 },
  });
}

/** Returns the error for a complete upload without a checksum if `--require-checksum` is set. */
export const unverifiedError = (assetUid: string) =>
  new MediactlError(`asset ${assetUid} is uploaded, but unverified`, {
    ...{ code: 'unverified', details: { asset_uid: assetUid } },
    reason: 'the service gave no checksum to compare with',
  });
