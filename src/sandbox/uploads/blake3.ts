/** An incremental BLAKE3 hash. `finish` returns it as a hex string and must be called only once. */
export type Blake3 = { update(bytes: Buffer): void; finish(): string };

export async function createBlake3(): Promise<Blake3> {
  const native = await import('@napi-rs/blake-hash').catch(() => undefined);
  if (native) {
    const hasher = new native.Blake3Hasher();
    return { update: (bytes) => void hasher.update(bytes), finish: () => hasher.digest('hex') };
  }
  const { createBLAKE3 } = await import('hash-wasm');
  const hasher = await createBLAKE3();
  return { update: (bytes) => void hasher.update(bytes), finish: () => hasher.digest('hex') };
}
