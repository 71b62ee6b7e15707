const longestName = 200;

/** Gives a name to each of many that are to lie beside each other: one that is taken gets part of its uid. */
export function unlikeOthers(): (name: string, uid: string) => string {
  const taken = new Set<string>();
  return (name, uid) => {
    const isTaken = taken.has(name.toLowerCase()); // some file systems do not tell case
    const shown = isTaken ? name.replace(/(\.[A-Za-z0-9]{1,4})?$/, `-${uid.slice(0, 8)}$1`) : name;
    taken.add(shown.toLowerCase());
    return shown;
  };
}

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
