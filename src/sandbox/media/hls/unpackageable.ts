/** Media that are whole, and cannot be played as HLS without encoding them anew. */
export class Unpackageable extends Error {}
