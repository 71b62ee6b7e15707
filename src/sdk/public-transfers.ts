import type { CallOptions, MediactlError } from './public-records.ts';

/* Part of the package's public API (public-types.ts): uploads, downloads and checks. */

export type DownloadOptions = CallOptions & {
  /** True to replace an existing file. */
  overwrite?: boolean | undefined;
  /** True to accept a file that is not the original. */
  acceptRendition?: boolean | undefined;
  /** Called with the bytes received, and the total if it is known. */
  onProgress?: ((receivedBytes: number, totalBytes: number | undefined) => void) | undefined;
};

/** Options of a download of many files. */
export type FolderDownloadOptions = Omit<DownloadOptions, 'onProgress'> & {
  /** True to save the files of all subfolders in one directory. */
  flatten?: boolean | undefined;
  /** Number of files that are received at the same time. Default: 4. */
  transfers?: number | undefined;
  onProgress?: ((progress: DownloadProgress) => void) | undefined;
};

/** Progress of one file. `totalBytes` is undefined as long as it is not known. */
export type DownloadProgress = {
  path: string;
  phase: 'started' | 'receiving' | 'waiting' | 'done';
  receivedBytes: number;
  totalBytes: number | undefined;
};

/**
 * A file of a folder: `downloaded` by this call; `skipped`, since it is there and neither it nor its asset has changed; or
 * `not_in_library`: from an earlier call, but its asset is gone now, or has another name or folder. `path` is null for an
 * asset that could not be read.
 */
export type FolderDownload =
  | (Download & { uid: string; outcome: 'downloaded' | 'skipped' | 'not_in_library'; error?: undefined })
  | { uid: string; path: string | null; outcome: 'failed'; error: MediactlError };

/** A saved file. `isVerified` is true if it was compared with the file that was uploaded; null if that is not known. */
export type Download = { path: string; sizeBytes: number; contentType: string | undefined; isVerified: boolean | null };

export type UploadOptions = CallOptions & {
  /** Folder by path or uid. Missing folders are created. Default: the top level. */
  folder?: string | undefined;
  name?: string | undefined;
  description?: string | undefined;
  /** Media type. Default: that of the extension. */
  contentType?: string | undefined;
  /** Slugs. */
  tags?: readonly string[] | undefined;
  /**
   * What counts as uploaded already, besides the asset that was uploaded from the same path: the same `content` in the
   * folder (default of `upload`), the same content `anywhere`, or no other `file` (default of `uploadDirectory`), unless that
   * is gone. `upload` sends all, as new assets.
   */
  existing?: 'content' | 'anywhere' | 'file' | 'upload' | undefined;
  /**
   * Directories. A file that is not below one of them, once links are resolved, fails with `outside_roots` when it is
   * opened, and is not read.
   */
  roots?: readonly string[] | undefined;
  /** True to fail if the service sends no checksum to compare with. */
  requireChecksum?: boolean | undefined;
  /** Maximum bytes per second. */
  limitRate?: number | undefined;
  /** Bytes per request. Default and maximum: 50 MiB. */
  chunkBytes?: number | undefined;
  onProgress?: ((progress: UploadProgress) => void) | undefined;
};

export type DirectoryOptions = Omit<UploadOptions, 'name'> & {
  /**
   * Globs of files to upload, or of directories and so all that is in them. One that begins with `/` is matched from the
   * top of the directory, any other at any depth.
   */
  include?: readonly string[] | undefined;
  /** Globs of files and directories to leave out. */
  exclude?: readonly string[] | undefined;
  /** True to also upload files that other programs leave, such as `.DS_Store`. */
  allFiles?: boolean | undefined;
  /** True to upload all files to one folder instead of mirroring the directories. */
  flatten?: boolean | undefined;
  /** Number of files that are sent at the same time. Default: 8. */
  transfers?: number | undefined;
};

/** Progress of one file. `sentBytes` may go back after a dropped connection; `acknowledgedBytes` does not. */
export type UploadProgress = {
  path: string;
  phase: 'started' | 'verifying' | 'sending' | 'waiting' | 'done';
  sentBytes: number;
  acknowledgedBytes: number;
  totalBytes: number;
};

export type UploadResult = {
  path: string;
  uid: string;
  /**
   * `uploaded` by this call, `skipped` (uploaded before from this path), `updated` (uploaded before from this path, and
   * its asset has the given metadata now), `duplicate` (of content uploaded before), or
   * `same_name_and_size` (as an asset that was not compared, which the command line found with the same state folder).
   */
  outcome: 'uploaded' | 'skipped' | 'updated' | 'duplicate' | 'same_name_and_size';
  bytesSent: number;
  /** Offset at which an earlier upload was resumed; null for a new one. */
  resumedFromBytes: number | null;
  /** BLAKE3 in hex; null if it is not known. */
  blake3: string | null;
  /** True if the service's checksum is equal; null if it sent none. */
  isVerified: boolean | null;
};

export type DirectoryResult =
  | { path: string; upload: UploadResult; error?: undefined }
  | { path: string; upload?: undefined; error: MediactlError };

export type CheckOptions = CallOptions &
  Pick<DirectoryOptions, 'folder' | 'include' | 'exclude' | 'allFiles'> & {
    /** True to download each asset and to compare its bytes. What is found is kept in the receipts. */
    download?: boolean | undefined;
    onProgress?: ((progress: DownloadProgress) => void) | undefined;
  };

/** Difference between a file and the assets of a folder, and what shows it: the words of `mediactl check --json`. */
export type Difference = {
  path: string;
  outcome:
    | 'missing_remotely'
    | 'missing_locally'
    | 'moved'
    | 'renamed'
    | 'changed'
    | 'different'
    | 'same_name'
    | 'failed'
    | 'unverified'
    | 'unreadable';
  uid: string | null;
  evidence: { kind: string; foundAt: Date } | null;
};

/** Number of files that were compared, those that match, and how the others differ. */
export type CheckResult = { files: number; matches: Omit<Difference, 'outcome'>[]; differences: Difference[] };
