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

/** Whether `X-Checksum-Blake3` names this digest: hex or base64, either case (A18). */
export function namesDigest(header: string, hexDigest: string): boolean {
  const value = header.trim();
  return (
    value.toLowerCase() === hexDigest ||
    Buffer.from(value, 'base64').toString('hex') === hexDigest ||
    Buffer.from(value, 'base64url').toString('hex') === hexDigest
  );
}
