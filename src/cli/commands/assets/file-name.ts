import { join } from 'node:path';
import { asText } from '../../../contract/json-values.ts';
import type { AssetRecord } from '../../../contract/types.ts';

const maxNameBytes = 200;

/**
 * Returns relative paths that are unique within a directory: the folder, and the name of the asset. Appends the uid to
 * names that would collide.
 *
 * @param files assets and their folders, such as `day 1/cam a`; empty for none
 */
export function uniqueFilePaths(files: readonly { asset: AssetRecord; folder: string }[]): string[] {
  const folders = files.map(({ folder }) => folder.split('/').map((name) => sanitizeFileName(name, '', null)));
  const pathOf = (at: number, name: string) => join(...(folders[at] ?? []), name);
  const paths = files.map(({ asset }, at) => pathOf(at, assetFileName(asset)));
  /** Directories of the files, whose names no file can have. */
  const directories = new Set(
    folders.flatMap((names) => names.map((_, depth) => comparisonKey(join(...names.slice(0, depth + 1))))),
  );
  // A name with a uid can equal another asset's own name, which then also gets its uid appended.
  for (let rounds = 0; rounds < 3; rounds++) {
    const count = new Map<string, number>();
    for (const path of paths) count.set(comparisonKey(path), (count.get(comparisonKey(path)) ?? 0) + 1);
    for (const [at, { asset }] of files.entries())
      if (
        (count.get(comparisonKey(paths[at] as string)) ?? 0) > 1 ||
        directories.has(comparisonKey(paths[at] as string))
      )
        paths[at] = pathOf(at, withUid(assetFileName(asset), asset.uid));
  }
  return paths;
}

/** Normalizes a name for comparison. Some file systems ignore case or Unicode composition. */
const comparisonKey = (name: string) => name.normalize('NFC').toLowerCase();

const extensionOf = (name: string) => /\.[A-Za-z0-9]{1,4}$/.exec(name)?.[0] ?? '';

function withUid(name: string, uid: string): string {
  const extension = extensionOf(name);
  const stem = name.slice(0, name.length - extension.length);
  return `${truncateToBytes(stem, maxNameBytes - uid.length - 1)}-${uid}${extension}`;
}

/** Returns an asset's name as a file name. If the name has no extension, appends that of the original file. */
export function assetFileName({ uid, name, filename }: AssetRecord): string {
  const own = sanitizeFileName(name, uid, null);
  return extensionOf(own) === '' ? own + extensionOf(asText(filename) ?? '') : own;
}

/**
 * Sanitizes a name that the service sent. The result contains no path separators or control characters, and does
 * not start with a dash or a dot.
 */
export function sanitizeFileName(name: unknown, fallback: string, extension: string | null) {
  const bare = (typeof name === 'string' ? name : '')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>:"/\\|?*]+/gu, '_')
    .replace(/^-+/, '_') // a leading dash would be read as an option, or as stdout
    .replace(/^[.\s]+|[.\s]+$/g, '')
    .replace(windowsDevice, '_$&');
  const base = truncateToBytes(bare, maxNameBytes) || fallback;
  return extension && !new RegExp(`\\.${extension}$`, 'i').test(base)
    ? `${base.replace(/\.[A-Za-z0-9]{1,4}$/, '')}.${extension}`
    : base;
}

/** Matches a name that is a device on Windows, also with an extension. */
const windowsDevice = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)/i;

/** Truncates text to bytes of UTF-8, in which file systems limit a name, at a character boundary. */
function truncateToBytes(text: string, maxBytes: number): string {
  let truncated = '';
  for (const character of text) {
    if (Buffer.byteLength(truncated + character) > maxBytes) break;
    truncated += character;
  }
  return truncated;
}
