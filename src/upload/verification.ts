import type { Headers } from '../api/rate-limit.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import { namesDigest, openChecksum } from './checksum.ts';
import type { FileSource } from './source.ts';

/** What the service's checksum says of the file; `lastChunkOnly` is a digest of less (A18). */
export type Verdict =
  | { verified: true | null; lastChunkOnly?: true }
  | { verified: false; serviceBlake3: string };

/**
 * Compares "X-Checksum-Blake3" of the last chunk's answer (§4) with what was read from disk.
 *
 * @param blake3 of the whole file, in hex
 */
export async function verify(
  source: FileSource,
  blake3: string,
  lastChunkStart: number,
  headers: Headers,
): Promise<Verdict> {
  const header = headers['x-checksum-blake3'];
  if (header === undefined) return { verified: null };
  if (namesDigest(header, blake3)) return { verified: true };
  const lastChunk = await openChecksum();
  for await (const bytes of source.read(lastChunkStart, source.sizeBytes)) lastChunk.update(bytes);
  if (namesDigest(header, lastChunk.digest())) return { verified: null, lastChunkOnly: true };
  return { verified: false, serviceBlake3: header };
}

export const mismatch = (
  path: string,
  assetUid: string,
  blake3: string,
  serviceBlake3: string | undefined,
) =>
  new MediactlError(`asset ${assetUid} is not what ${path} holds`, {
    code: 'checksum_mismatch',
    exitCode: exitCodes.integrity,
    reason: `BLAKE3 here ${blake3}, at the service ${serviceBlake3}`,
    hint: `do not use that asset; mediactl upload --no-resume '${path}' sends the file again`,
    details: { asset_uid: assetUid, blake3, service_blake3: serviceBlake3 },
  });

export const unverified = (assetUid: string) =>
  new MediactlError(`asset ${assetUid} is uploaded, but unverified`, {
    code: 'unverified',
    exitCode: exitCodes.integrity,
    reason: 'the service named no checksum to compare with',
    hint: 'leave out --require-checksum to accept that',
    details: { asset_uid: assetUid },
  });
