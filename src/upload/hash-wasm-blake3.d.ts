declare module 'hash-wasm/dist/blake3.umd.min.js' {
  export { createBLAKE3 } from 'hash-wasm';
}
