import { defaultIdleTimeoutMs, maxChunkBytes } from '../../../contract/tus.ts';
import type { Existing } from '../../../shared/file-evidence.ts';
import type { Lane } from '../../http/rate-limiter.ts';
import { everyFile, type FileChoice } from '../sources/file-chooser.ts';
import type { RunMetadata } from '../sources/upload-file.ts';

/**
 * What a user asked for, of an upload. Each way in (command line, page, package, worker) makes one from
 * `defaultSettings`, and it is passed on whole. What belongs to one file is in `UploadFile`.
 */
export type UploadSettings = {
  /** Which files of the sources are uploaded. */
  choice: FileChoice;
  /** Metadata of each file that has none of its own. */
  about: RunMetadata;
  /** What counts as uploaded already, besides the asset that this machine uploaded from the same path. */
  existing: Existing;
  /** True to hash each file that has a receipt, instead of comparing size and times. */
  checksum: boolean;
  /** True to fail if the service returns no checksum to verify. */
  requireChecksum: boolean;
  /** Number of files that are sent at the same time. */
  transfers: number;
  /** Priority of the requests; undefined for interactive for one file, and bulk for several. */
  lane: Lane | undefined;
  /** Maximum number of bytes per second, of all files together; undefined for no limit. */
  rateLimit: number | undefined;
  /** Number of requests per rate-limit window to leave for other uses; undefined for the default. */
  reserveRequests: number | undefined;
  /** Time to stop, in milliseconds since the Unix epoch, and the time as the user entered it. */
  stopAt: { time: number; typed: string } | undefined;
  chunkBytes: number;
  idleTimeoutMs: number;
  /** Maximum time to wait until the assets are ready; undefined to not wait. */
  timeoutMs: number | undefined;
};

/** The defaults of all ways in. The number of transfers is for a typical connection and service. */
export const defaultSettings: UploadSettings = {
  choice: everyFile,
  about: {},
  existing: 'content',
  checksum: false,
  requireChecksum: false,
  transfers: 8,
  lane: undefined,
  rateLimit: undefined,
  reserveRequests: undefined,
  stopAt: undefined,
  chunkBytes: maxChunkBytes,
  idleTimeoutMs: defaultIdleTimeoutMs,
  timeoutMs: undefined,
};
