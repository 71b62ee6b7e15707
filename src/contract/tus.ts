import { normalizeName } from '../shared/json-values.ts';
import { maxChunkMiB, sessionHours } from './limits.ts';

/* Constants and headers of the upload protocol (§4 Upload, TUS). */

export const tusVersion = '1.0.0';

/** Default time after which a silent service ends an attempt to upload. */
export const defaultIdleTimeoutMs = 120_000;

/** Maximum size of an upload chunk, and its default. */
export const maxChunkBytes = maxChunkMiB * 1024 * 1024;
/** The same as users enter it. */
export const maxChunkSize = `${maxChunkMiB}MiB`;

export const sessionLifetimeMs = sessionHours * 3_600_000;

/** Keys of the `Upload-Metadata` header. The first two are required. */
export type UploadMetadata = {
  filename: string;
  workspace_uid: string;
  asset_name?: string | undefined;
  description?: string;
  parent_folder_uid?: string;
  content_type?: string;
};

/** Returns the names that an uploaded asset might have: its given name, else the file name with or without extension. */
export function possibleNames({ filename, asset_name }: Pick<UploadMetadata, 'filename' | 'asset_name'>): Set<string> {
  const names = asset_name === undefined ? [filename, filename.replace(/\.[^.]+$/, '')] : [asset_name];
  return new Set(names.map(normalizeName));
}

/** Encodes the `Upload-Metadata` header, a "comma-separated list of `key <base64(value)>` pairs" (§4). */
export function encodeMetadata(metadata: UploadMetadata): string {
  return Object.entries(metadata)
    .flatMap(([key, value]) => (value === undefined ? [] : `${key} ${Buffer.from(value, 'utf8').toString('base64')}`))
    .join(',');
}

/** Parses the `Upload-Offset` header (§4), which a proxy might repeat. Returns undefined for an invalid offset. */
export function parseUploadOffset(header = ''): number | undefined {
  const values = new Set(header.split(',').map((each) => each.trim()));
  const [only = ''] = values;
  return values.size === 1 && /^\d{1,15}$/.test(only) ? Number(only) : undefined;
}
