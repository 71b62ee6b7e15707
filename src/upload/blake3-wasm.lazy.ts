// The package's whole entry carries every hash it knows; this file is BLAKE3 alone.
export { createBLAKE3 } from 'hash-wasm/dist/blake3.umd.min.js';
