import { textIn } from '../../../contract/reading.ts';
import type { Asset } from '../../../contract/types.ts';

const longestName = 200;

/** Names for files that are to lie beside each other: where several would have one, all of them get their uids. */
export function fileNames(assets: readonly Asset[]): string[] {
  const names = assets.map(nameOf);
  // A name with a uid may be another one's own: then that one gets its uid too.
  for (let rounds = 0; rounds < 3; rounds++) {
    const count = new Map<string, number>();
    for (const name of names) count.set(key(name), (count.get(key(name)) ?? 0) + 1);
    for (const [at, asset] of assets.entries())
      if ((count.get(key(names[at] as string)) ?? 0) > 1)
        names[at] = withUid(nameOf(asset), asset.uid);
  }
  return names;
}

/** Some file systems do not tell case, or compose accents. */
const key = (name: string) => name.normalize('NFC').toLowerCase();

function withUid(name: string, uid: string): string {
  const [extension = ''] = /\.[A-Za-z0-9]{1,4}$/.exec(name) ?? [];
  const stem = name.slice(0, name.length - extension.length);
  return `${cutToBytes(stem, longestName - uid.length - 1)}-${uid}${extension}`;
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
  const base = cutToBytes(bare, longestName) || fallback;
  return extension && !new RegExp(`\\.${extension}$`, 'i').test(base)
    ? `${base.replace(/\.[A-Za-z0-9]{1,4}$/, '')}.${extension}`
    : base;
}

/** File systems count bytes; a character is cut whole. */
function cutToBytes(text: string, most: number): string {
  let cut = '';
  for (const character of text) {
    if (Buffer.byteLength(cut + character) > most) break;
    cut += character;
  }
  return cut;
}
