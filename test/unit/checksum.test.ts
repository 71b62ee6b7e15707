import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openChecksum, openWasmChecksum, parseDigest } from '../../src/client/upload/sources/checksum.ts';
import { b3sum, pseudoRandomBytes } from '../support/files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// BLAKE3's official test vectors: the input is 0, 1, 2 … 250, 0, 1 …
const input = Buffer.from(Array.from({ length: 2048 }, (_, n) => n % 251));
const vectors: [number, string][] = [
  [0, 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'],
  [1, '2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213'],
  [1024, '42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7'],
];

describe.each([
  ['native', openChecksum],
  ['WebAssembly', openWasmChecksum],
])('%s BLAKE3', (_kind, openHash) => {
  it.each(vectors)('the BLAKE3 digest of %i bytes equals the official test vector', async (length, expected) => {
    const hash = await openHash();
    hash.update(input.subarray(0, length));
    expect(hash.digest()).toBe(expected);
  });

  it('a BLAKE3 digest can be read midstream and then updated further', async () => {
    const hash = await openHash();
    hash.update(input.subarray(0, 1));
    expect(hash.digest()).toBe(vectors[1]?.[1]); // the official digest of 1 byte
    hash.update(input.subarray(1, 1024));
    expect(hash.digest()).toBe(vectors[2]?.[1]); // the official digest of 1024 bytes
  });

  it('the BLAKE3 digest of 3 MB equals the output of b3sum', { tags: 'b3sum' }, async () => {
    const path = join(temporaryFolder(), 'bytes');
    const bytes = pseudoRandomBytes(3_000_000);
    writeFileSync(path, bytes);
    const b3sumDigest = b3sum(path);
    const hash = await openHash();
    hash.update(bytes);
    expect(hash.digest()).toBe(b3sumDigest);
  });
});

describe('A18: 256-bit digests', () => {
  const hex = vectors[0]?.[1] as string;
  const raw = Buffer.from(hex, 'hex');
  it.each([
    hex,
    ` ${hex.toUpperCase()}`,
    raw.toString('base64'),
    raw.toString('base64url'),
    `"${hex}"`,
    `0x${hex}`,
    `blake3:${hex}`,
    `BLAKE3=${raw.toString('base64')}`,
    `${hex}, ${hex}`,
  ])('parses %s as a 256-bit digest', (digestText) => expect(parseDigest(digestText)).toBe(hex));
  it.each([undefined, '', hex.slice(32), 'sha256:abc', `${hex}, ${vectors[1]?.[1]}`, `${hex}00`])(
    'does not accept %j as a 256-bit digest',
    (digestText) => expect(parseDigest(digestText)).toBeUndefined(),
  );
});
