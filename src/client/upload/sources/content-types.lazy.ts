import { extname } from 'node:path';
// The tables alone: what `mime` makes of them takes longer than all else in this file.
import other from 'mime/types/other.js';
import standard from 'mime/types/standard.js';

/** Media types by extension that no table has: of side files of cameras, and of pictures and sound as devices store them. */
const moreTypes: { [extension: string]: string } = {
  '360': 'video/mp4',
  ac3: 'audio/ac3',
  arw: 'image/x-sony-arw',
  cr2: 'image/x-canon-cr2',
  cr3: 'image/x-canon-cr3',
  dv: 'video/dv',
  eac3: 'audio/eac3',
  insp: 'image/jpeg',
  insv: 'video/mp4',
  lrf: 'video/mp4',
  lrv: 'video/mp4',
  nef: 'image/x-nikon-nef',
  orf: 'image/x-olympus-orf',
  raf: 'image/x-fuji-raf',
  rw2: 'image/x-panasonic-rw2',
  thm: 'image/jpeg',
  wv: 'audio/x-wavpack',
};

const tables: { [type: string]: string[] }[] = [other, standard];
const typeByExtension = new Map(
  tables.flatMap((table) =>
    Object.entries(table).flatMap(([type, extensions]) => extensions.map((extension) => [extension, type] as const)),
  ),
);

/** Derives a media type from the extension of a path; undefined if it has none. */
export function contentTypeOf(path: string): string | undefined {
  const extension = extname(path).slice(1).toLowerCase();
  return moreTypes[extension] ?? typeByExtension.get(extension);
}
