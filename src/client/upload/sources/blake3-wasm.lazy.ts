// The package's main entry bundles every hash; this file has only BLAKE3.
import blake3 from 'hash-wasm/dist/blake3.umd.min.js';

export const { createBLAKE3 } = blake3;
