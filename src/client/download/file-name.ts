import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { AssetRecord } from '../../contract/types.ts';
import { asText } from '../../shared/json-values.ts';
import { isOwnName } from '../../shared/own-names.ts';
import { isWindows } from '../../shared/platform.ts';
import { controlCharacters } from '../../shared/sanitize.ts';
import { isGenericType } from '../http/content-types.ts';
import type { SelectedAsset } from '../library/select-assets.ts';
import { toSlashes } from '../local-path.ts';

/** Maximum bytes of a name in a file system. */
export const maxNameBytes = 255;

/** A file name in two parts: what is cut if it is too long, and the extension with its dot. */
type FileName = { stem: string; extension: string };

/** An asset to save. @property path relative path that it had before, and keeps */
type FileToName = { asset: AssetRecord; folder: string; path?: string | undefined };

/**
 * Returns relative paths that are unique within a directory: the folder, and the name of the asset. Appends the uid to
 * names that would collide, also on a file system that ignores case or Unicode composition.
 *
 * @param files assets and their folders, such as `day 1/cam a`; empty for none
 */
export async function uniqueFilePaths(files: readonly FileToName[]): Promise<string[]> {
  const folders = new FolderNames(files.map(({ folder }) => folder));
  const names = await Promise.all(files.map(({ asset }) => fileNameOf(asset)));
  const pathOf = (at: number, name: string) => join(folders.pathOf(files[at]?.folder ?? ''), name);
  const paths = names.map((name, at) => files[at]?.path ?? pathOf(at, joinName(name)));
  // A name with a uid can equal another asset's own name, which then also gets its uid appended.
  for (let rounds = 0; rounds < 3; rounds++) {
    const count = new Map<string, number>();
    for (const path of paths) count.set(comparisonKey(path), (count.get(comparisonKey(path)) ?? 0) + 1);
    for (const [at, { asset, path: kept }] of files.entries()) {
      const key = comparisonKey(paths[at] as string);
      if (kept === undefined && ((count.get(key) ?? 0) > 1 || folders.has(key)))
        paths[at] = pathOf(at, joinName(names[at] as FileName, uidMark(asset)));
    }
  }
  return paths;
}

/** Returns the suffix that makes a file name unique among assets with the same name. */
const uidMark = ({ uid }: AssetRecord) => `-${uid}`;

/** Directories for the folders of assets. Two folders whose names differ in case only get two directories. */
class FolderNames {
  /** Maps the path of a folder to that of its directory. */
  readonly #paths = new Map<string, string>([['', '']]);
  readonly #taken = new Set<string>();

  constructor(folders: readonly string[]) {
    for (const folder of [...new Set(folders)].sort()) this.#add(folder);
  }

  #add(folder: string): string {
    const known = this.#paths.get(folder);
    if (known !== undefined) return known;
    const at = folder.lastIndexOf('/');
    const above = at < 0 ? '' : this.#add(folder.slice(0, at));
    const usable = usableName(folder.slice(at + 1)) || '_';
    const name = joinName({ stem: usable, extension: '' });
    const own = join(above, name);
    const mark = `-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}`;
    const path = this.has(comparisonKey(own)) ? join(above, joinName({ stem: usable, extension: '' }, mark)) : own;
    this.#paths.set(folder, path);
    this.#taken.add(comparisonKey(path));
    return path;
  }

  pathOf(folder: string): string {
    return this.#paths.get(folder) ?? '';
  }

  /** Returns true if a path in its form for comparisons is that of a directory. */
  has(key: string): boolean {
    return this.#taken.has(key);
  }
}

/** Returns the path of a file in a directory, where `` is the current one, such that no program takes it for an option. */
export const inDirectory = (directory: string, path: string) =>
  directory === '' && path.startsWith('-') ? `./${path}` : join(directory, path);

/** Returns true if a relative path has the name of the asset, perhaps with an extension, and its folders. */
export function isNameKept(path: string, asset: AssetRecord, folder: string): boolean {
  const name = asText(asset.name)?.replace(/[.\s]+$/, '') ?? '';
  return basename(path).startsWith(name) && name !== '' && !basename(path).includes(uidMark(asset))
    ? toSlashes(dirname(path)) === (folder || '.')
    : false;
}

/** Normalizes a name for comparison. Some file systems ignore case or Unicode composition. */
const comparisonKey = (name: string) => name.normalize('NFC').toLowerCase();

const extensionOf = (name: string) => /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? '';

const loadTypes = async () => (await import('mime')).default;

/** Returns an asset's name as a file name, with the extension of its file. */
export const assetFileName = async (asset: AssetRecord): Promise<string> => joinName(await fileNameOf(asset));

/** Returns the name of an asset with another extension, in place of one that it has. */
export async function imageFileName({ uid, name }: AssetRecord, extension: string): Promise<string> {
  const own = usableName(name) || uid;
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
    record && ((await recordedExtension(record)) || (await loadTypes()).getType(extensionOf(usableName(record.name))));
  return isShown ? record : assets.get(uid);
}

/**
 * Splits an asset's name. The extension that the record shows is appended, unless the name has it, or has that of
 * another file of its kind. What follows the dot in a title, such as `Take 1.5`, is not an extension.
 */
async function fileNameOf(asset: AssetRecord): Promise<FileName> {
  const types = await loadTypes();
  const kindOf = (extension: string) => types.getType(extension)?.split('/')[0];
  const name = usableName(asset.name) || asset.uid;
  const own = extensionOf(name);
  const recorded = await recordedExtension(asset);
  const isSameKind = kindOf(own) !== undefined && kindOf(own) === kindOf(recorded);
  return recorded === '' || isSameKind || own.toLowerCase() === recorded.toLowerCase()
    ? { stem: name.slice(0, name.length - own.length), extension: own }
    : { stem: name.replace(/[.\s]+$/, ''), extension: recorded };
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
 * Returns a name that the service sent as the name of a file: without path separators and what controls a terminal, and
 * none that means a directory or a device. Every letter stays, also the invisible joiners of scripts and emoji.
 */
function usableName(sent: unknown): string {
  const name = (typeof sent === 'string' ? sent : '').replace(unusable, '_');
  if (name === '.' || name === '..') return name.replaceAll('.', '_');
  return (isWindows ? name.replace(/[. ]+$/, '_') : name).replace(windowsDevice, '_$&');
}

/** Matches what a file name cannot have on this system or as a path on another, or what controls a terminal. */
const unusable = new RegExp(`(?:${controlCharacters.source}|[/\\\\${isWindows ? '<>:"|?*' : ''}])+`, 'g');

/** Matches a name that is a device on Windows, also with an extension. */
const windowsDevice = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)/i;

/**
 * Joins a name, and cuts its stem to the bytes of UTF-8 that a file system takes. A name by which mediactl knows its own
 * files gets another beginning.
 *
 * @param mark kept before the extension
 */
function joinName({ stem, extension }: FileName, mark = ''): string {
  const end = `${mark}${extension}`;
  const name = `${truncateToBytes(stem, maxNameBytes - Buffer.byteLength(end))}${end}`;
  return isOwnName(name) ? `_${name}` : name;
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
