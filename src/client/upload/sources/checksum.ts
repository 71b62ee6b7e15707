/** Incremental BLAKE3 hasher whose digest can be read at any point in the stream. */
export type Checksum = {
  update(bytes: Buffer): void;
  /** Returns the hex digest of all bytes hashed so far. `update` can still be called afterwards. */
  digest(): string;
};

/**
 * Creates a native hasher (4 GiB/s) if its optional package is installed, otherwise a WebAssembly one (0.7 GiB/s).
 */
export async function openChecksum(): Promise<Checksum> {
  try {
    const { Blake3Hasher } = await import('@napi-rs/blake-hash');
    const hasher = new Blake3Hasher();
    return { update: (bytes) => void hasher.update(bytes), digest: () => hasher.digest('hex') };
  } catch {
    return openWasmChecksum();
  }
}

/** Creates the portable WebAssembly hasher. */
export async function openWasmChecksum(): Promise<Checksum> {
  const { createBLAKE3 } = await import('./blake3-wasm.lazy.ts');
  const hasher = await createBLAKE3();
  return {
    update: (bytes) => void hasher.update(bytes),
    digest: () => {
      const state = hasher.save(); // hash-wasm's digest() finalizes the hasher, so restore its state
      const digest = hasher.digest('hex');
      hasher.load(state);
      return digest;
    },
  };
}

/**
 * Parses a BLAKE3 digest from a header or field and returns it in lower-case hex. Accepts hex or base64, quoted or
 * prefixed with the algorithm's name (assumption A18). Returns undefined if the text is not a 256-bit digest.
 */
export function parseDigest(text: string | undefined): string | undefined {
  // A proxy might have duplicated the header.
  const values = new Set(text?.split(',').map((each) => each.trim()));
  const [only = ''] = values;
  if (values.size !== 1) return undefined;
  const value = only.replace(/^"(.*)"$/, '$1').replace(/^(?:blake3[:=-]|0x)/i, '');
  if (/^[0-9a-f]{64}$/i.test(value)) return value.toLowerCase();
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(value)) return undefined;
  return Buffer.from(value.replaceAll('-', '+').replaceAll('_', '/'), 'base64').toString('hex');
}
