import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { UploadMetadata } from '../../../contract/tus.ts';
import { withoutUndefined } from '../../../shared/json-values.ts';
import { quoteForShell } from '../../../shared/sanitize.ts';
import type { Api } from '../../api/api.ts';
import { CodedError, usageError } from '../../errors.ts';
import type { OwnFiles } from '../../own-files.ts';

export const isHttpUrl = (path: string) => /^https?:\/\//i.test(path);

/**
 * A file to upload, from the arguments of the user to its receipt. Before it is opened, it describes what was found; a
 * run adds the target and the metadata that are sent.
 */
export type UploadFile = {
  /** Path or URL to show, from which the bytes are read unless the file is a stream; `-` is stdin. */
  path: string;
  /** Real path or URL, by which receipts know the file; undefined for a stream, and if not resolved yet. */
  realPath?: string | undefined;
  /** Command-line argument through which the file was found: its path, a parent directory, a glob or a URL. */
  typedPath?: string | undefined;
  /** File name to send to the service, if it differs from the last part of `path`. */
  filename?: string | undefined;
  /** Subfolders between the given directory and the file, such as `day 1/cam a`; empty for a file given directly. */
  relativeDir: string;
  /** Size of the file; undefined for a stream, whose length is unknown until it is read. */
  sizeBytes?: number | undefined;
  /** Modification time in ns since the epoch, or the version of a source without one. */
  mtimeNs?: string | undefined;
  /** Modification time in milliseconds since the epoch, if `mtimeNs` is a version. */
  modifiedAtMs?: number | undefined;
  /** Inode change time in ns since the epoch; undefined if the source is not a file. */
  ctimeNs?: string | undefined;
  about?: UserMetadata | undefined;
  /** Present for stdin and dropped files, whose bytes can be read only once. Undefined properties are not known yet. */
  stream?: SpooledStream | undefined;
  /** Id of an upload to resume, or of a job; by default derived from service, file and folder. */
  id?: string | undefined;
  /** Where the file goes to; undefined as long as its folder is to be found or created. */
  target?: { workspace: string; folder?: string | undefined } | undefined;
};

/** A file of which it is known where it goes to. */
export type TargetedFile = UploadFile & Required<Pick<UploadFile, 'target'>>;

/** Copy of a stream on disk. Its `identity`, by checksum, size and name, stands for the real path, which it does not have. */
type SpooledStream = { spoolPath?: string | undefined; identity?: string | undefined };

/** By what a file is chosen, beside its path. */
export type FileAttributes = {
  kind: 'file' | 'directory' | 'special';
  sizeBytes: number;
  /** Time of the last change in milliseconds since the Unix epoch; undefined if the source does not tell. */
  changedAtMs: number | undefined;
  /** True if another machine gave the time, whose clock may be wrong. */
  isForeignTime?: boolean;
};

/** Returns the attributes of a local file, with its change time, since a copy can have any modification time. */
export const attributesOf = (found: BigIntStats): FileAttributes => ({
  kind: found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'special',
  sizeBytes: Number(found.size),
  changedAtMs: Number(found.ctimeMs),
});

/** Describes a file of which only the path is known. */
export const fileAt = (path: string, relativeDir = ''): UploadFile => ({ path, relativeDir });

/** Returns the path for events and errors. */
export const shownPathOf = ({ path }: UploadFile): string => (path === '-' ? 'stdin' : path);

/** Returns the upload metadata: "required keys filename and workspace_uid; optional keys …" (§4). */
export function metadataOf({ path, filename, about = {}, target }: TargetedFile): UploadMetadata {
  const { name, description, contentType } = about;
  return {
    filename: filename ?? basename(path),
    workspace_uid: target.workspace,
    ...(name !== undefined && { asset_name: name }),
    ...(description !== undefined && { description }),
    ...(target.folder !== undefined && { parent_folder_uid: target.folder }),
    ...(contentType !== undefined && { content_type: contentType }),
  };
}

/** Returns the parts of a file that upload metadata were made of, the reverse of `metadataOf`. */
export const fromMetadata = (metadata: UploadMetadata) => ({
  filename: metadata.filename,
  about: { name: metadata.asset_name, description: metadata.description, contentType: metadata.content_type },
  target: { workspace: metadata.workspace_uid, folder: metadata.parent_folder_uid },
});

/** Metadata that the user sets for each file of a run that has none of its own. */
export type RunMetadata = {
  name?: string | undefined;
  description?: string | undefined;
  contentType?: string | undefined;
};

/** Metadata that the user gave for the asset of a file. @property tags slugs, which are set once the upload is complete */
export type GivenMetadata = RunMetadata & { tags?: readonly string[] | undefined };

/** Metadata that the user sets for a file with flags or a manifest. @property folder uid or path of the target folder */
export type UserMetadata = GivenMetadata & { folder?: string | undefined };

/** Returns the metadata that the user gave for a file, without those that are derived from it. */
export function givenMetadataOf({ about }: UploadFile, defaults: RunMetadata): GivenMetadata {
  const { folder: _folder, ...own } = about ?? {};
  return withoutUndefined({ ...defaults, ...withoutUndefined(own) });
}

const placeholders = ['stem', 'date', 'parent'] as const;

/** Returns the placeholders of a name (`expandName`). @throws CodedError `usage` (exit 2) for another word in braces */
export function placeholdersIn(name: string): string[] {
  const words = [...name.matchAll(/\{(\w+)\}/g)].map(([, word = '']) => word);
  const unknown = words.find((word) => !(placeholders as readonly string[]).includes(word));
  if (unknown !== undefined)
    throw usageError(`a name cannot contain {${unknown}}`, `use ${placeholders.map((word) => `{${word}}`).join(', ')}`);
  return words;
}

/**
 * Expands the placeholders of a name: `{stem}` is the file name without its extension, `{date}` the local day of its
 * last change (YYYY-MM-DD), `{parent}` the directory that it is in. One that a file does not have is empty.
 */
export function expandName(template: string, { path, realPath, filename, mtimeNs = '', ...file }: UploadFile): string {
  const parts = (realPath ?? path).replace(/[?#].*$/, '').split(/[\\/:]/);
  const modifiedAtMs = /^[1-9]\d*$/.test(mtimeNs) ? Number(BigInt(mtimeNs) / 1_000_000n) : file.modifiedAtMs;
  const changedAt = modifiedAtMs === undefined ? undefined : new Date(modifiedAtMs);
  const values: Record<string, string> = {
    stem: (filename ?? parts.at(-1) ?? '').replace(/(?<=.)\.[^.]*$/, ''),
    date: changedAt?.toLocaleDateString('sv-SE') ?? '',
    parent: parts.at(-2) ?? '',
  };
  return template.replace(/\{(\w+)\}/g, (word, name: string) => values[name] ?? word);
}

/** Derives a media type from a path; undefined if its extension has none. */
export type ContentTypeOf = (path: string) => string | undefined;

export async function loadContentTypes(): Promise<ContentTypeOf> {
  return (await import('./content-types.lazy.ts')).contentTypeOf;
}

/** Returns a file's own metadata, else that of the run; a missing content type is derived from the path. */
export const userMetadataOf = (
  { path, about }: Pick<UploadFile, 'path' | 'about'>,
  defaults: RunMetadata,
  contentType: ContentTypeOf,
) => ({
  name: about?.name ?? defaults.name,
  description: about?.description ?? defaults.description,
  contentType: about?.contentType ?? defaults.contentType ?? contentType(path),
  ...(about?.tags && { tags: about.tags }),
});

/** Adds to a file where it goes to, and the metadata that are sent with it. @param folder uid; undefined for the top level */
export function targetFile(
  file: UploadFile,
  {
    workspace,
    folder,
    about,
    contentType,
  }: {
    workspace: string;
    folder: string | undefined;
    about: RunMetadata;
    contentType: ContentTypeOf;
  },
): TargetedFile {
  const target = { workspace: file.target?.workspace ?? workspace, folder };
  return { ...file, about: userMetadataOf(file, about, contentType), target };
}

/**
 * Returns the id of an upload, a hash with which a later command finds the entry of the same file and folder. It
 * includes neither the API key, because a rotated key still belongs to the same organization, nor the metadata, which
 * may be given anew.
 */
export const uploadIdOf = (
  { path, filename = basename(path), target }: TargetedFile,
  identity: string,
  { origin }: URL,
) =>
  createHash('sha256')
    .update(JSON.stringify([origin, identity, filename, target.workspace, target.folder]))
    .digest('hex')
    .slice(0, 16);

/** Finds or creates the target folder for each file. */
export type FolderResolver = {
  /** Returns the uid of the target folder; undefined for the top level, null if the folder does not exist yet. */
  find(file: UploadFile): string | undefined | null;
  /** Returns the uid of the target folder, which it creates if necessary; undefined for the top level. */
  findOrCreate(file: UploadFile): Promise<string | undefined>;
  /** Returns the path of the target folder, which may not exist yet. Absent if all files go to one folder. */
  pathOf?: ((file: UploadFile) => string) | undefined;
  /**
   * Takes over the folders of the library, since some were renamed, moved or deleted. Absent if all files go to one folder.
   *
   * @throws CodedError `not_found` (exit 3) if the folder of all files is gone, and may not be created
   */
  refresh?: (() => Promise<void>) | undefined;
};

/** Returns the path of the folder that a file goes to: `top` or its own, and its directory if `isTree`. */
export const targetPathOf = ({ about, relativeDir }: UploadFile, top: string, isTree: boolean): string =>
  [(about?.folder ?? top).replace(/\/+$/, ''), ...(isTree && relativeDir ? [relativeDir] : [])].join('/') || '/';

/** Key of a receipt. A file has at most one receipt for each target folder. */
export type ReceiptKey = {
  service: string;
  workspace: string;
  /** Uid of the folder; empty for the top level. */
  folder: string;
  /** Real path of a local file, URL of another source, or identity of a stream. */
  realPath: string;
};

/** Returns the receipt key of a file; undefined for stdin and if the target folder does not exist yet. */
export function receiptKeyOf(
  file: UploadFile,
  { api, workspace, folders }: { api: Api; workspace: string; folders: Pick<FolderResolver, 'find'> },
): ReceiptKey | undefined {
  const folder = file.target ? file.target.folder : folders.find(file);
  if (file.realPath === undefined || folder === null) return undefined;
  return { service: api.transport.baseUrl.origin, workspace, folder: folder ?? '', realPath: file.realPath };
}

/** Share of the files, such as number 3 of 10, for an upload split over several machines. Numbers start at 1. */
export type Shard = { number: number; total: number };

/** Depends only on a hash of the relative path, so that machines with different roots agree without communication. */
export function isInShard({ number, total }: Shard, { relativeDir, filename, path }: UploadFile): boolean {
  const relativePath = `${relativeDir}/${filename ?? basename(path)}`.normalize('NFC');
  return createHash('sha256').update(relativePath).digest().readUIntBE(0, 6) % total === number - 1;
}

/** Returns the path with the real path of its directory. A link at the path itself is not followed. */
export const realPathOf = async (path: string) => join(await realpath(dirname(path)), basename(path));

/** Describes a file that the user has named. @throws CodedError (exit 2) if it cannot be read, or is in `own` */
export async function describeFile(path: string, found: BigIntStats, own: OwnFiles): Promise<UploadFile> {
  own.assertForeign(path);
  const handle = await open(path, 'r').catch((error) => {
    throw unreadableFile(path, error);
  });
  await handle.close();
  return { ...describeAt(path, await realPathOf(path), found), typedPath: path };
}

export function describeAt(path: string, realPath: string, found: BigIntStats): UploadFile {
  return {
    path,
    // Keep a single string if both are equal, to save memory with 100,000 files.
    realPath: realPath === path ? path : realPath,
    sizeBytes: Number(found.size),
    mtimeNs: String(found.mtimeNs),
    ctimeNs: String(found.ctimeNs),
    relativeDir: '',
  };
}

export const notAFile = (path: string, isDirectory: boolean) =>
  isDirectory
    ? new CodedError(`${path} is a directory`, {
        subcode: 'not_a_file',
        reason: 'only files are uploaded',
        remedy: ['upload_directory', path],
      })
    : unknownLength(`${path} is not a regular file`);

export const unknownLength = (problem: string) =>
  new CodedError(problem, {
    subcode: 'not_a_file',
    reason: 'the size must be known before the upload starts',
  });

/** Names the source for a path that looks like that of an rclone remote, such as `s3://bucket/clips` or `r2:clips`. */
const hintForMissing = (path: string) =>
  /^[a-z0-9][\w-]+:/i.test(path)
    ? 'for a remote of rclone: rclone:REMOTE:PATH (rclone config sets it up)'
    : /^[^/\\.]+$/.test(path)
      ? `check the path; a folder begins with a slash: /${path}`
      : undefined;

export function unreadableFile(path: string, error: unknown): CodedError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new CodedError(`no such file: ${path}`, {
      code: 'file_unusable',
      hint: hintForMissing(path),
      underlying: error,
    });
  return new CodedError(`cannot read ${path}`, {
    subcode: 'unreadable_file',
    reason: code === 'EACCES' ? 'permission denied' : message,
    hint: code === 'EACCES' ? `chmod u+r ${quoteForShell(path)}, or run as its owner` : undefined,
    underlying: error,
  });
}
