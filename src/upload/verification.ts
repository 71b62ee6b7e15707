import type { Api } from '../api/api.ts';
import type { Headers } from '../api/rate-limit.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import { textIn } from '../wire/reading.ts';
import { offsetIn } from '../wire/tus.ts';
import { type Checksum, digestIn, openChecksum } from './checksum.ts';
import type { FileSource } from './source.ts';

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
  source: FileSource,
  blake3: string,
  lastChunkStart: number,
  headers: Headers,
): Promise<Verdict> {
  const header = headers['x-checksum-blake3'];
  if (header === undefined) return { verified: null };
  const told = digestIn(header);
  if (told === undefined)
    return {
      verified: null,
      note: `the service’s checksum cannot be read: ${header.slice(0, 80)}`,
    };
  if (told === blake3) return { verified: true };
  const lastChunk: Checksum = await openChecksum();
  for await (const bytes of source.read(lastChunkStart, source.sizeBytes)) lastChunk.update(bytes);
  if (told === lastChunk.digest())
    return { verified: null, note: 'the service’s checksum covers the last chunk only' };
  return { verified: false, serviceBlake3: header };
}

/**
 * A second look, where the last answer was lost or told no checksum: the session and the asset's
 * record may tell it too, though the specification promises neither.
 *
 * @throws MediactlError `bytes_lost` (10) where the session holds less by now
 */
export async function lookAgain(
  { uploadSessions, assets }: Api,
  { url, assetUid }: { url: string; assetUid: string },
  { sizeBytes, blake3 }: { sizeBytes: number; blake3: string },
  signal: AbortSignal | undefined,
): Promise<Verdict> {
  const session = await unlessRefused(uploadSessions.look(url, signal));
  const offset = offsetIn(session?.['upload-offset']);
  if (offset !== undefined && offset < sizeBytes) throw bytesLost(assetUid, offset, sizeBytes);
  const told = [session?.['x-checksum-blake3']];
  if (!told.some((each) => digestIn(each) === blake3)) {
    const record = await unlessRefused(assets.get(assetUid));
    for (const [field, value] of Object.entries(record ?? {}))
      if (/blake3|checksum|digest|hash/i.test(field)) told.push(textIn(value));
  }
  return { verified: told.some((each) => digestIn(each) === blake3) ? true : null };
}

/** It was only a look: what cannot be had leaves the file unverified. */
const unlessRefused = <T>(look: Promise<T>): Promise<T | undefined> =>
  look.catch((error) => {
    if (error instanceof MediactlError && error.explanation.exitCode < 130) return undefined;
    throw error;
  });

const bytesLost = (assetUid: string, offset: number, acknowledged: number) =>
  new MediactlError(`the service lost bytes of asset ${assetUid}`, {
    code: 'bytes_lost',
    exitCode: exitCodes.unreachable,
    reason: `it holds ${offset}, and had acknowledged ${acknowledged}`,
    hint: 'run the same command again',
    retryable: true,
    details: { asset_uid: assetUid },
  });

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
    hint: 'leave out --require-checksum to accept that; --no-resume sends the file again',
    details: { asset_uid: assetUid },
  });
