// The package's whole entry carries every hash it knows; this file is BLAKE3 alone.
import blake3 from 'hash-wasm/dist/blake3.umd.min.js';

export const { createBLAKE3 } = blake3;
