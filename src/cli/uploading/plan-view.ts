import type { RateWindow } from '../../client/http/rate-limit-headers.ts';
import { countFiles, type Plan, totalToSend } from '../../client/upload/batch/plan.ts';
import { formatBytes, formatCount, pluralize } from '../../contract/figures.ts';
import { sessionLifetimeMs } from '../../contract/tus.ts';
import type { Column } from '../output/result.ts';
import type { OutputRecord } from '../reference/schemas.ts';

export type PlanRecord = OutputRecord<'upload-estimate'>;

/**
 * Estimates the hours that requests take at the rate limit; null if the service reports none.
 * Assumes the specification's window: "1000 requests per hour per key by default" (§8).
 */
export function estimateCost(requests: number, rateLimit: RateWindow | undefined, now: number) {
  // A window that ends within minutes might be shorter than the specification's hour.
  const isHour = rateLimit && rateLimit.resetAt - now > 5 * 60_000;
  const hours = isHour ? Math.round((requests / rateLimit.limit) * 10) / 10 : null;
  return { requests, hours, limit: rateLimit?.limit ?? null };
}

/** Formats a cost, such as "1,204 requests, about 1.2 h at 1,000 requests per hour". */
export function formatCost(count: number, rateLimit: RateWindow | undefined, now: number): string {
  const { hours, limit } = estimateCost(count, rateLimit, now);
  const requests = pluralize(count, 'request');
  if (hours === null || limit === null || hours < 0.1) return requests;
  return `${requests}, about ${formatCount(hours)} h at ${formatCount(limit)} requests per hour`;
}

export const exceedsSessionLifetime = (sizeBytes: number, bytesPerSecond: number | undefined) =>
  bytesPerSecond !== undefined && (sizeBytes / bytesPerSecond) * 1000 > sessionLifetimeMs;

type PlanFormat = {
  rateLimit: RateWindow | undefined;
  now: number;
  /** Number of files whose content is already uploaded, if compared. */
  duplicates?: number;
  /** True if files were compared by content, not only by size and mtime. */
  isExact?: boolean;
};

/** Formats a plan: "480 files: 1 already uploaded, 479 new; 21.4 GiB, 1,204 requests, about 1.2 h at 1,000 requests per hour". */
export function formatPlan(plan: Plan, { rateLimit, now, duplicates = 0, isExact = false }: PlanFormat): string {
  const { skipped, same_name_and_size, exists, changed, sameSize, new: fresh } = plan;
  const send = totalToSend(plan);
  const counts = [
    [skipped.files, 'already uploaded'],
    [duplicates, 'duplicate content'],
    [same_name_and_size.files, 'same name and size, not compared'],
    [exists.files, 'same name, skipped'],
    [fresh.files, 'new'],
    [isExact ? changed.files : 0, 'changed'],
    [sameSize.files + (isExact ? 0 : changed.files), 'to compare'],
  ] as const;
  const parts = counts.filter(([count]) => count > 0).map(([count, what]) => `${formatCount(count)} ${what}`);
  const qualifier = isExact || sameSize.files + changed.files === 0 ? '' : 'at most ';
  const files = countFiles(plan) + duplicates;
  return `${formatCount(files)} ${files === 1 ? 'file' : 'files'}: ${parts.join(', ')}; ${qualifier}${formatBytes(send.bytes)}, ${formatCost(plan.comparisons + plan.requests, rateLimit, now)}`;
}

/** A row of the table that `--estimate` prints. */
export type PlanRow = PlanRecord['new'] & { outcome: string };

export function toPlanRows(record: PlanRecord): PlanRow[] {
  const { skipped, new: fresh, changed, duplicate, same_name_and_size, exists, deleted_count } = record;
  return [
    { outcome: 'skipped', ...skipped },
    { outcome: 'new', ...fresh },
    { outcome: 'changed', ...changed },
    { outcome: 'duplicate', ...duplicate },
    ...(same_name_and_size.file_count > 0 ? [{ outcome: 'same_name_and_size', ...same_name_and_size }] : []),
    ...(exists.file_count > 0 ? [{ outcome: 'exists', ...exists }] : []),
    ...(deleted_count > 0 ? [{ outcome: 'deleted', file_count: deleted_count, size_bytes: 0 }] : []),
  ];
}

/** Maps outcomes to texts for a terminal, where they differ. */
const outcomeTexts: Record<string, string> = {
  skipped: 'already uploaded',
  duplicate: 'duplicate content',
  same_name_and_size: 'same name and size',
  exists: 'same name',
  deleted: 'to the trash',
};

export const planColumns: Column<PlanRow>[] = [
  {
    header: 'OUTCOME',
    value: ({ outcome }, { isTerminal }) => (isTerminal && outcomeTexts[outcome]) || outcome,
    noTruncate: true,
  },
  { header: 'FILES', value: ({ file_count }, { isTerminal }) => (isTerminal ? formatCount : String)(file_count) },
  { header: 'SIZE', value: ({ size_bytes }, { isTerminal }) => (isTerminal ? formatBytes : String)(size_bytes) },
];
