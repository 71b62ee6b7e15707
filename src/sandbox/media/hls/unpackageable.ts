/** Error for intact media that cannot be played as HLS without re-encoding. */
export class Unpackageable extends Error {}
