// The package's main entry point bundles every hash function, while this file contains only BLAKE3.
import blake3 from 'hash-wasm/dist/blake3.umd.min.js';

export const { createBLAKE3 } = blake3;
