const longestName = 200;

/** A name for a file in this folder, whatever the service calls the asset. */
export function fileNameFor(name: unknown, fallback: string, extension: string | null) {
  const bare = (typeof name === 'string' ? name : '')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>:"/\\|?*]+/gu, '_')
    .replace(/^-+/, '_') // an option, or stdout, to others
    .replace(/^[.\s]+|[.\s]+$/g, '');
  // File systems count bytes; a character is cut whole.
  let base = '';
  for (const character of bare) {
    if (Buffer.byteLength(base + character) > longestName) break;
    base += character;
  }
  base ||= fallback;
  return extension && !new RegExp(`\\.${extension}$`, 'i').test(base)
    ? `${base.replace(/\.[A-Za-z0-9]{1,4}$/, '')}.${extension}`
    : base;
}
