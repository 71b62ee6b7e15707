import { usageError } from '../../client/errors.ts';
import { minReserve, reserveShare } from '../../client/http/rate-limiter.ts';
import { defaultSettings, type UploadSettings } from '../../client/upload/decide/upload-settings.ts';
import type { Shard } from '../../client/upload/sources/upload-file.ts';
import { maxChunkBytes, maxChunkSize } from '../../contract/tus.ts';
import type { Context } from '../context.ts';
import type { ProgressMode } from '../progress/progress.ts';
import { parseCount, parseDuration, parseSize } from '../settings/units.ts';

export type RunRequest = {
  settings: UploadSettings;
  progress: ProgressMode;
  /** True to list every file, not only those that failed. */
  verbose: boolean;
  /** File that the result of each file is written to, too. */
  resultsFile: string | undefined;
};

type UploaderFlags = {
  existing?: UploadSettings['existing'] | undefined;
  chunkSize?: string;
  checksum?: boolean | undefined;
  requireChecksum?: boolean | undefined;
};

/** Parses the uploader's options. @throws CodedError `usage` (exit 2) if one is invalid */
export function parseUploadOptions({ settings }: Context, flags: UploaderFlags): UploadSettings {
  const { chunkSize, existing = defaultSettings.existing, checksum = false, requireChecksum = false } = flags;
  const chunkBytes = chunkSize === undefined ? defaultSettings.chunkBytes : parseSize('--chunk-size', chunkSize);
  if (chunkBytes < 1 || chunkBytes > maxChunkBytes)
    throw usageError(
      `--chunk-size does not accept '${chunkSize}'`,
      `use a size from 1 byte to ${maxChunkSize}`,
      `the service accepts at most ${maxChunkSize} per request`,
    );
  const idleTimeoutMs = settings.requestTimeoutMs ?? defaultSettings.idleTimeoutMs;
  return { ...defaultSettings, chunkBytes, idleTimeoutMs, existing, checksum, requireChecksum };
}

export const limitRateOption = ['--limit-rate <rate>', 'maximum total bytes per second, such as 5MiB'] as const;

export const reserveOption = [
  '--reserve-requests <n>',
  `requests per hour to leave for other uses (${minReserve}, or ${100 * reserveShare} %)`,
] as const;

/** Parses `--limit-rate` to bytes per second. @throws CodedError `usage` (exit 2) */
export function parseLimitRate(typed: string | undefined): number | undefined {
  if (typed === undefined) return undefined;
  const bytesPerSecond = parseSize('--limit-rate', typed.replace(/\/s$/, ''));
  if (bytesPerSecond >= 1) return bytesPerSecond;
  throw usageError(`--limit-rate does not accept '${typed}'`, 'use a rate of at least 1 byte per second');
}

/** Parses an optional integer of at least `min`. @throws CodedError `usage` (exit 2) */
export const parseOptionalCount = (flag: string, typed: string | undefined, min: number) =>
  typed === undefined ? undefined : parseCount(flag, typed, min);

/** Parses `--shard`, such as 3/10. @throws CodedError `usage` (exit 2) */
export function parseShard(typed: string | undefined): Shard | undefined {
  if (typed === undefined) return undefined;
  const [, number = 0, total = 0] = (/^(\d{1,6})\/(\d{1,6})$/.exec(typed) ?? []).map(Number);
  if (number >= 1 && number <= total) return { number, total };
  throw usageError(
    `--shard does not accept '${typed}'`,
    'use a value from 1/10 to 10/10; in a Kubernetes job, $((JOB_COMPLETION_INDEX + 1))/10',
  );
}

export const timeoutOption = ['--timeout <duration>', 'maximum time to wait', '30m'] as const;

/** Parses `--timeout` to ms; undefined without `--wait`. @throws CodedError `usage` (exit 2) */
export const parseWaitTimeout = (wait: boolean | undefined, timeout: string) => {
  const timeoutMs = parseDuration('--timeout', timeout);
  return wait ? timeoutMs : undefined;
};
