import { textIn } from '../../wire/reading.ts';
import type { Asset } from '../../wire/types.ts';

const longestName = 200;

/** Names for files that are to lie beside each other, by uid: where several would have one, all get their uids. */
export function fileNames(assets: readonly Asset[]): Map<string, string> {
  const bare = assets.map(nameOf);
  const count = new Map<string, number>();
  const key = (name: string) => name.normalize('NFC').toLowerCase(); // some file systems do not tell case
  for (const name of bare) count.set(key(name), (count.get(key(name)) ?? 0) + 1);
  return new Map(
    assets.map(({ uid }, at) => {
      const name = bare[at] as string;
      const isShared = (count.get(key(name)) ?? 0) > 1;
      return [uid, isShared ? name.replace(/(\.[A-Za-z0-9]{1,4})?$/, `-${uid}$1`) : name];
    }),
  );
}

/** The name of an asset's file: that of the asset, with the extension that its file had. */
export function nameOf({ uid, name, filename }: Asset): string {
  const own = fileNameFor(name, uid, null);
  const extension = /\.[A-Za-z0-9]{1,4}$/;
  const [had = ''] = extension.exec(textIn(filename) ?? '') ?? [];
  return extension.test(own) ? own : own + had;
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
