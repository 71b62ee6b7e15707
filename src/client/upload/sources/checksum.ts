/** A running BLAKE3 that can be asked in mid-stream. */
export type Checksum = {
  update(bytes: Buffer): void;
  /** Of everything so far, in hex; more may follow. */
  digest(): string;
};

/** The native hasher (4 GiB/s) where its optional package installed, else WebAssembly (0.7 GiB/s). */
export async function openChecksum(): Promise<Checksum> {
  try {
    const { Blake3Hasher } = await import('@napi-rs/blake-hash');
    const hasher = new Blake3Hasher();
    return { update: (bytes) => void hasher.update(bytes), digest: () => hasher.digest('hex') };
  } catch {
    return openWasmChecksum();
  }
}

/** The portable half of openChecksum. */
export async function openWasmChecksum(): Promise<Checksum> {
  const { createBLAKE3 } = await import('./blake3-wasm.lazy.ts');
  const hasher = await createBLAKE3();
  return {
    update: (bytes) => void hasher.update(bytes),
    digest: () => {
      const state = hasher.save(); // digest() ends a hash-wasm hasher; this brings it back
      const digest = hasher.digest('hex');
      hasher.load(state);
      return digest;
    },
  };
}

/**
 * The digest that a header or field names, in lower-case hex: as hex or base64, quoted or with the
 * algorithm's name before it (A18). Undefined for what is no BLAKE3 of 256 bits.
 */
export function digestIn(text: string | undefined): string | undefined {
  // A proxy may have repeated it.
  const values = new Set(text?.split(',').map((each) => each.trim()));
  const [only = ''] = values;
  if (values.size !== 1) return undefined;
  const value = only.replace(/^"(.*)"$/, '$1').replace(/^(?:blake3[:=-]|0x)/i, '');
  if (/^[0-9a-f]{64}$/i.test(value)) return value.toLowerCase();
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(value)) return undefined;
  return Buffer.from(value.replaceAll('-', '+').replaceAll('_', '/'), 'base64').toString('hex');
}
