import type { RateLimit } from '../../client/http/rate-limit-headers.ts';
import { type FileTotals, type Plan, totalToSend } from '../../client/upload/batch/plan.ts';
import { formatBytes, formatCount } from '../../contract/figures.ts';
import { sessionLifetimeMs } from '../../contract/tus.ts';
import type { Column } from '../output/result.ts';
import type { OutputRecord } from '../reference/schemas.ts';

export type PlanRecord = OutputRecord<'plan-summary'>;

/**
 * Estimates the requests of a plan, and the hours that they take at the rate limit; null if the service reports none.
 * Assumes the specification's window: "1000 requests per hour per key by default" (§8).
 */
export const estimateCost = ({ requests }: Plan, rateLimit: RateLimit | undefined, now: number) => ({
  requests,
  // A window that ends within minutes might be shorter than the specification's hour.
  hours: rateLimit && rateLimit.resetAt - now > 5 * 60_000 ? Math.round((requests / rateLimit.limit) * 10) / 10 : null,
  limit: rateLimit?.limit ?? null,
});

export const exceedsSessionLifetime = (sizeBytes: number, bytesPerSecond: number | undefined) =>
  bytesPerSecond !== undefined && (sizeBytes / bytesPerSecond) * 1000 > sessionLifetimeMs;

type PlanFormat = {
  rateLimit: RateLimit | undefined;
  now: number;
  /** Number of files whose content is already uploaded, if compared. */
  same?: number;
  /** True if files were compared by content, not only by size and mtime. */
  isExact?: boolean;
};

/** Formats a plan: "100,000 files: 61,204 there, 38,790 new, 6 changed; 77,580 requests, 78 h at 1,000 an hour". */
export function formatPlan(plan: Plan, { rateLimit, now, same = 0, isExact = false }: PlanFormat): string {
  const { there, changed, sameSize, new: fresh } = plan;
  const send = totalToSend(plan);
  const { requests, hours, limit } = estimateCost(plan, rateLimit, now);
  const counts = [
    [there.files, 'there'],
    [same, 'with content that is already there'],
    [fresh.files, 'new'],
    [isExact ? changed.files : 0, 'changed'],
    [sameSize.files + (isExact ? 0 : changed.files), 'to be compared'],
  ] as const;
  const parts = counts.filter(([count]) => count > 0).map(([count, what]) => `${formatCount(count)} ${what}`);
  const time =
    hours !== null && limit !== null && hours >= 0.1
      ? `, ${formatCount(hours)} h at ${formatCount(limit)} an hour`
      : '';
  const qualifier = isExact || sameSize.files + changed.files === 0 ? '' : 'at most ';
  const files = there.files + same + send.files;
  return `${formatCount(files)} ${files === 1 ? 'file' : 'files'}: ${parts.join(', ')}; ${qualifier}${formatBytes(send.bytes)}, ${formatCount(requests)} requests${time}`;
}

export type PlanRow = { kind: string } & FileTotals;

export const toPlanRows = ({ there, changed, same, new: fresh, gone }: PlanRecord): PlanRow[] => [
  { kind: 'there', ...there },
  { kind: 'new', ...fresh },
  { kind: 'changed', ...changed },
  { kind: 'same content', ...same },
  ...(gone > 0 ? [{ kind: 'to the trash', files: gone, bytes: 0 }] : []),
];

export const planColumns: Column<PlanRow>[] = [
  { header: 'KIND', value: ({ kind }) => kind, noTruncate: true },
  { header: 'FILES', value: ({ files }, { isTerminal }) => (isTerminal ? formatCount(files) : String(files)) },
  { header: 'SIZE', value: ({ bytes: size }, { isTerminal }) => (isTerminal ? formatBytes(size) : String(size)) },
];
