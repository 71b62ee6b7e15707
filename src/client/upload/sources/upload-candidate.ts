import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CodedError, usageError } from '../../errors.ts';
import type { OwnFiles } from './own-files.ts';

export const isHttpUrl = (path: string) => /^https?:\/\//i.test(path);

/** Names of a file to upload. Events and errors use the first of `label` and `path`. */
export type FileNames = {
  /** Path or URL shown to the user; `-` is stdin. */
  path: string;
  /** Key under which receipts store the file: its real path or URL; undefined for stdin or if not resolved yet. */
  sourceId?: string | undefined;
  /** File name to send to the service, if it differs from the last part of `path`. */
  filename?: string | undefined;
  /** Name for events and errors if `path` means nothing to the user. */
  label?: string | undefined;
};

/** A file that the user wants to upload, described before any byte of it is read. */
export type UploadCandidate = FileNames & {
  /** Command-line argument through which the file was found: its path, a parent directory or a glob. */
  typedPath?: string | undefined;
  /** Size of the file; undefined for stdin, whose length is unknown until it is read. */
  sizeBytes?: number | undefined;
  mtimeNs?: string | undefined;
  /** Inode change time in ns since the epoch; undefined if the source is not a file. */
  ctimeNs?: string | undefined;
  /** Subfolders between the given directory and the file, such as `day 1/cam a`; empty for a file given directly. */
  relativeDir: string;
  about?: UserMetadata | undefined;
  /** Properties of an unfinished upload, as recorded in its entry. */
  resumable?: {
    id: string;
    workspace: string;
    folder?: string | undefined;
    filename: string;
    label?: string;
    identity?: string;
  };
};

/** Metadata that the user sets for a file with flags or a manifest. */
export type UserMetadata = {
  name?: string | undefined;
  description?: string | undefined;
  contentType?: string | undefined;
  /** Uid or path of the target folder. */
  folder?: string | undefined;
  /** Slugs of the tags, which are set once the upload is complete. */
  tags?: readonly string[] | undefined;
};

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
export function expandName(template: string, { path, sourceId, filename, mtimeNs }: UploadCandidate): string {
  const parts = (sourceId ?? path).replace(/[?#].*$/, '').split(/[\\/:]/);
  const changedAt = mtimeNs === undefined ? undefined : new Date(Number(BigInt(mtimeNs) / 1_000_000n));
  const values: Record<string, string> = {
    stem: (filename ?? parts.at(-1) ?? '').replace(/(?<=.)\.[^.]*$/, ''),
    date: changedAt?.toLocaleDateString('sv-SE') ?? '',
    parent: parts.at(-2) ?? '',
  };
  return template.replace(/\{(\w+)\}/g, (word, name: string) => values[name] ?? word);
}

/** Returns a function that derives a media type from a path; undefined if its extension has none. */
export async function loadContentTypes() {
  const { default: mime } = await import('mime/lite');
  return (path: string) => mime.getType(path) ?? undefined;
}

/** Returns a file's own metadata, else that of the run; a missing content type is derived from the path. */
export const userMetadataOf = (
  { path, about }: Pick<UploadCandidate, 'path' | 'about'>,
  defaults: Pick<UserMetadata, 'name' | 'description' | 'contentType'>,
  contentType: (path: string) => string | undefined,
) => ({
  name: about?.name ?? defaults.name,
  description: about?.description ?? defaults.description,
  contentType: about?.contentType ?? defaults.contentType ?? contentType(path),
  ...(about?.tags && { tags: about.tags }),
});

/** Finds or creates the target folder for each file. */
export type FolderResolver = {
  /** Returns the uid of the target folder; undefined for the top level, null if the folder does not exist yet. */
  find(file: UploadCandidate): string | undefined | null;
  /** Returns the uid of the target folder, which it creates if necessary; undefined for the top level. */
  findOrCreate(file: UploadCandidate): Promise<string | undefined>;
};

/** Returns the path of the folder that a file goes to: `top` or its own, and its directory if `isTree`. */
export const targetPathOf = ({ about, relativeDir }: UploadCandidate, top: string, isTree: boolean): string =>
  [(about?.folder ?? top).replace(/\/+$/, ''), ...(isTree && relativeDir ? [relativeDir] : [])].join('/') || '/';

/** Key of a receipt. A file has at most one receipt for each target folder. */
export type ReceiptKey = {
  service: string;
  workspace: string;
  /** Uid of the folder; empty for the top level. */
  folder: string;
  /** Real path of a local file, or URL of another source. */
  path: string;
};

/** Returns the receipt key of a file; undefined for stdin and if the target folder does not exist yet. */
export function receiptKeyOf(
  file: UploadCandidate,
  { service, workspace, folders }: { service: string; workspace: string; folders: FolderResolver },
): ReceiptKey | undefined {
  const folder = file.resumable ? file.resumable.folder : folders.find(file);
  if (file.sourceId === undefined || folder === null) return undefined;
  return { service, workspace, folder: folder ?? '', path: file.sourceId };
}

/** Share of the files, such as number 3 of 10, for an upload split over several machines. Numbers start at 1. */
export type Shard = { number: number; total: number };

/** Depends only on a hash of the relative path, so that machines with different roots agree without communication. */
export function isInShard({ number, total }: Shard, { relativeDir, filename, path }: UploadCandidate): boolean {
  const relativePath = `${relativeDir}/${filename ?? basename(path)}`.normalize('NFC');
  return createHash('sha256').update(relativePath).digest().readUIntBE(0, 6) % total === number - 1;
}

/** Returns the path with the real path of its directory. A link at the path itself is not followed. */
export const realPathOf = async (path: string) => join(await realpath(dirname(path)), basename(path));

/** Describes a file that the user has named. @throws CodedError (exit 2) if it cannot be read, or is in `own` */
export async function describeFile(path: string, found: BigIntStats, own: OwnFiles): Promise<UploadCandidate> {
  own.assertForeign(path);
  const handle = await open(path, 'r').catch((error) => {
    throw unreadableFile(path, error);
  });
  await handle.close();
  return { ...toCandidate(path, await realPathOf(path), found), typedPath: path };
}

export function toCandidate(path: string, sourceId: string, found: BigIntStats): UploadCandidate {
  return {
    path,
    // Keep a single string if both are equal, to save memory with 100,000 files.
    sourceId: sourceId === path ? path : sourceId,
    sizeBytes: Number(found.size),
    mtimeNs: String(found.mtimeNs),
    ctimeNs: String(found.ctimeNs),
    relativeDir: '',
  };
}

export const notAFile = (path: string, isDirectory: boolean) =>
  isDirectory
    ? new CodedError(`${path} is a directory`, {
        code: 'not_a_file',
        reason: 'only files are uploaded',
        remedy: ['upload_directory', path],
      })
    : unknownLength(path, `${path} is not a regular file`);

export const unknownLength = (_path: string, problem: string) =>
  new CodedError(problem, {
    code: 'not_a_file',
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
      code: 'file_not_found',
      hint: hintForMissing(path),
      underlying: error,
    });
  return new CodedError(`cannot read ${path}`, {
    code: 'unreadable_file',
    reason: code === 'EACCES' ? 'permission denied' : message,
    hint: code === 'EACCES' ? `chmod u+r ${path}, or run as its owner` : undefined,
    underlying: error,
  });
}
