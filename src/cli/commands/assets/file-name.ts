import { join } from 'node:path';
import { isGenericType } from '../../../client/http/content-types.ts';
import type { SelectedAsset } from '../../../client/library/select-assets.ts';
import { asText } from '../../../contract/json-values.ts';
import { controlCharacters } from '../../../contract/sanitize.ts';
import type { AssetRecord } from '../../../contract/types.ts';

/** Maximum bytes of a name: the 255 of file systems, less the suffixes of files that are being written (output-file.ts). */
const maxNameBytes = 232;

/** A file name in two parts: what is cut if it is too long, and the extension with its dot. */
type FileName = { stem: string; extension: string };

/**
 * Returns relative paths that are unique within a directory: the folder, and the name of the asset. Appends the uid to
 * names that would collide.
 *
 * @param files assets and their folders, such as `day 1/cam a`; empty for none
 */
export async function uniqueFilePaths(files: readonly { asset: AssetRecord; folder: string }[]): Promise<string[]> {
  const folders = files.map(({ folder }) =>
    folder.split('/').map((name) => joinName({ stem: sanitize(name), extension: '' })),
  );
  const names = await Promise.all(files.map(({ asset }) => fileNameOf(asset)));
  const pathOf = (at: number, name: string) => join(...(folders[at] ?? []), name);
  const paths = names.map((name, at) => pathOf(at, joinName(name)));
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
        paths[at] = pathOf(at, joinName(names[at] as FileName, `-${asset.uid}`));
  }
  return paths;
}

/** Normalizes a name for comparison. Some file systems ignore case or Unicode composition. */
const comparisonKey = (name: string) => name.normalize('NFC').toLowerCase();

const extensionOf = (name: string) => /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? '';

const loadTypes = async () => (await import('mime')).default;

/** Returns an asset's name as a file name, with the extension of its file. */
export const assetFileName = async (asset: AssetRecord): Promise<string> => joinName(await fileNameOf(asset));

/** Returns the name of an asset with another extension, in place of one that it has. */
export async function imageFileName({ uid, name }: AssetRecord, extension: string): Promise<string> {
  const own = sanitize(name) || uid;
  const replaced = (await loadTypes()).getType(extensionOf(own)) ? extensionOf(own) : '';
  return joinName({ stem: own.slice(0, own.length - replaced.length), extension: `.${extension}` });
}

/**
 * Returns the record of an asset that shows the extension of its file. Reads the asset if the record that was found,
 * usually from a list, does not.
 *
 * @throws the errors of `get`
 */
export async function readFileRecord(
  assets: { get(uid: string): Promise<AssetRecord> },
  { uid, record }: SelectedAsset,
): Promise<AssetRecord> {
  const isShown =
    record && ((await recordedExtension(record)) || (await loadTypes()).getType(extensionOf(sanitize(record.name))));
  return isShown ? record : assets.get(uid);
}

/**
 * Splits an asset's name. The extension that the record shows is appended, unless the name has it, or has that of
 * another file of its kind. What follows the dot in a title, such as `Take 1.5`, is not an extension.
 */
async function fileNameOf(asset: AssetRecord): Promise<FileName> {
  const types = await loadTypes();
  const kindOf = (extension: string) => types.getType(extension)?.split('/')[0];
  const name = sanitize(asset.name) || asset.uid;
  const own = extensionOf(name);
  const recorded = await recordedExtension(asset);
  const isSameKind = kindOf(own) !== undefined && kindOf(own) === kindOf(recorded);
  return recorded === '' || isSameKind || own.toLowerCase() === recorded.toLowerCase()
    ? { stem: name.slice(0, name.length - own.length), extension: own }
    : { stem: name, extension: recorded };
}

/** Extensions that are more common than those that the table of types has first. */
const usualExtensions: Record<string, string> = { 'video/quicktime': 'mov', 'audio/mpeg': 'mp3' };

/** Returns the extension of the file that was uploaded, or else that of its type; empty if the record shows neither. */
async function recordedExtension({ filename, content_type }: AssetRecord): Promise<string> {
  const uploaded = extensionOf(asText(filename) ?? '');
  const type = asText(content_type) ?? '';
  if (uploaded !== '' || isGenericType(type)) return uploaded;
  const extension = usualExtensions[type] ?? (await loadTypes()).getExtension(type);
  return extension ? `.${extension}` : '';
}

/**
 * Sanitizes a name that the service sent. The result contains no path separators and nothing that controls a terminal,
 * and does not start with a dash or a dot. Every letter stays, also the invisible joiners of scripts and emoji.
 */
const sanitize = (name: unknown): string =>
  (typeof name === 'string' ? name : '')
    .replace(unusable, '_')
    .replace(/^-+/, '_') // a leading dash would be read as an option, or as stdout
    .replace(/^[.\s]+|[.\s]+$/g, '')
    .replace(windowsDevice, '_$&');

/** Matches what a file name cannot have on some system, or what controls a terminal. */
const unusable = new RegExp(`(?:${controlCharacters.source}|[<>:"/\\\\|?*])+`, 'g');

/** Matches a name that is a device on Windows, also with an extension. */
const windowsDevice = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)/i;

/** Joins a name, and cuts its stem to the bytes of UTF-8 that a file system takes. @param mark kept before the extension */
function joinName({ stem, extension }: FileName, mark = ''): string {
  const end = `${mark}${extension}`;
  return `${truncateToBytes(stem, maxNameBytes - Buffer.byteLength(end))}${end}`;
}

/** Truncates text to bytes of UTF-8, at the boundary of what a user sees as one character. */
function truncateToBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  let truncated = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (Buffer.byteLength(truncated + segment) > maxBytes) break;
    truncated += segment;
  }
  return truncated.replace(/[.\s]+$/, '');
}
