/** Returns the media type of an image by its magic number. SVG is not supported, because it can run scripts. */
export function detectImageType(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  return magicNumbers.find(([, beginning]) => beginning.test(start))?.[0];
}

const magicNumbers: readonly [mediaType: string, beginning: RegExp][] = [
  // biome-ignore lint/suspicious/noControlCharactersInRegex: bytes are looked for
  ['image/png', /^\x89PNG\r\n\x1a\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF.{4}WEBP/s],
  ['image/avif', /^.{4}ftypavi[fs]/s],
];
