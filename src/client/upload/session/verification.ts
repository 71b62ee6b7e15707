import { textIn } from '../../../contract/reading.ts';
import { offsetIn } from '../../../contract/tus.ts';
import type { Api } from '../../api/api.ts';
import { exitCodes, MediactlError } from '../../errors.ts';
import type { Headers } from '../../http/rate-limit.ts';
import { type Checksum, digestIn, openChecksum } from '../sources/checksum.ts';
import type { Source } from '../sources/source.ts';
import type { Whole } from '../store/journal-entry.ts';

/** What the service's checksum says of the file; `note` is why it says nothing. */
export type Verdict =
  | { verified: true }
  | { verified: null; note?: string }
  | { verified: false; serviceBlake3: string };

/**
 * Compares "X-Checksum-Blake3" of the last chunk's answer (§4) with what was read from disk.
 *
 * @param blake3 of the whole file, in hex
 */
export async function verify(
  source: Source,
  blake3: string,
  lastChunkStart: number,
  headers: Headers,
): Promise<Verdict> {
  const header = headers['x-checksum-blake3'];
  if (header === undefined) return { verified: null };
  const stated = digestIn(header);
  if (stated === undefined)
    return {
      verified: null,
      note: `the service’s checksum cannot be read: ${header.slice(0, 80)}`,
    };
  if (stated === blake3) return { verified: true };
  const lastChunk: Checksum = await openChecksum();
  for await (const bytes of source.read(lastChunkStart, source.sizeBytes)) lastChunk.update(bytes);
  if (stated === lastChunk.digest())
    return { verified: null, note: 'the service’s checksum covers the last chunk only' };
  return { verified: false, serviceBlake3: header };
}

/**
 * A second look, where the last answer was lost or told no checksum: the session and the asset's
 * record may tell it too, though the specification promises neither. A header that differs is told; a
 * field of a record may be of anything.
 *
 * @param compare the session's headers with the file
 * @throws MediactlError `bytes_lost` (10) where the session holds less by now
 */
export async function lookAgain(
  { uploadSessions, assets }: Api,
  { url, assetUid }: { url: string; assetUid: string },
  { sizeBytes, blake3 }: { sizeBytes: number; blake3: string },
  compare: (headers: Headers) => Promise<Verdict>,
  signal: AbortSignal | undefined,
): Promise<Verdict> {
  const session = await unlessRefused(uploadSessions.look(url, signal));
  const offset = offsetIn(session?.['upload-offset']);
  if (offset !== undefined && offset < sizeBytes) throw bytesLost(assetUid, offset, sizeBytes);
  const verdict = await compare(session ?? {});
  if (verdict.verified !== null) return verdict;
  const record = await unlessRefused(assets.get(assetUid));
  const isTold = Object.entries(record ?? {}).some(
    ([field, value]) =>
      /blake3|checksum|digest|hash/i.test(field) && digestIn(textIn(value)) === blake3,
  );
  return isTold ? { verified: true } : verdict;
}

/** Undefined where the service refuses this second look: the file then stays unverified. */
const unlessRefused = <T>(look: Promise<T>): Promise<T | undefined> =>
  look.catch((error) => {
    if (error instanceof MediactlError && error.explanation.exitCode < 130) return undefined;
    throw error;
  });

const bytesLost = (assetUid: string, offset: number, acknowledged: number) =>
  new MediactlError(`the service lost bytes of asset ${assetUid}`, {
    code: 'bytes_lost',
    exitCode: exitCodes.unreachable,
    reason: `it has ${offset} bytes, and had acknowledged ${acknowledged}`,
    hint: 'run the same command again',
    retryable: true,
    details: { asset_uid: assetUid },
  });

/** @param again the command that sends the file once more */
export const mismatch = (
  path: string,
  again: string,
  { session: { assetUid }, blake3, serviceBlake3 }: Whole,
) =>
  new MediactlError(`asset ${assetUid} does not have the content of ${path}`, {
    code: 'checksum_mismatch',
    exitCode: exitCodes.integrity,
    reason: `BLAKE3 here ${blake3}, at the service ${serviceBlake3}`,
    hint: `do not use that asset; ${again} sends the file again`,
    details: { asset_uid: assetUid, blake3, service_blake3: serviceBlake3 },
  });

export const unverified = (assetUid: string) =>
  new MediactlError(`asset ${assetUid} is uploaded, but unverified`, {
    code: 'unverified',
    exitCode: exitCodes.integrity,
    reason: 'the service gave no checksum to compare with',
    hint: 'leave out --require-checksum to accept that; --again sends the file again',
    details: { asset_uid: assetUid },
  });
