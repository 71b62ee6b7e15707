/** Error for intact media that cannot be played as HLS without re-encoding. */
export class NotPackageableError extends Error {}
