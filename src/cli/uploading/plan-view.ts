import type { RateWindow } from '../../client/http/rate-limit-headers.ts';
import { countFiles, type Plan, totalToSend } from '../../client/upload/batch/plan.ts';
import { formatBytes, formatCount, pluralize } from '../../contract/figures.ts';
import { sessionLifetimeMs } from '../../contract/tus.ts';
import { keptOutcomes, type PlannedOutcome, plannedNames, plannedOutcomes } from '../../contract/upload-outcomes.ts';
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
  /** True if files were compared by content, not only by size and mtime. */
  isExact?: boolean;
};

/** Formats a plan: "480 files: 1 already uploaded, 479 new; 21.4 GiB, 1,204 requests, about 1.2 h at 1,000 requests per hour". */
export function formatPlan(plan: Plan, { rateLimit, now, isExact = false }: PlanFormat): string {
  const { changed, sameSize } = plan.totals;
  const unread = sameSize.files + (isExact ? 0 : changed.files);
  const known = [...keptOutcomes, 'new', ...(isExact ? ['changed' as const] : [])] as const;
  const counts = known.map((name) => ({ count: plan.totals[name].files, words: plannedOutcomes[name].plan as string }));
  const parts = [...counts, { count: unread, words: 'to compare' }].flatMap(({ count, words }) =>
    count > 0 ? [`${formatCount(count)} ${words}`] : [],
  );
  const size = `${unread === 0 ? '' : 'at most '}${formatBytes(totalToSend(plan).bytes)}`;
  const cost = formatCost(plan.comparisons + plan.requests, rateLimit, now);
  return `${pluralize(countFiles(plan), 'file')}: ${parts.join(', ')}; ${size}, ${cost}`;
}

/** A row of the table that `--estimate` prints. */
export type PlanRow = PlanRecord['new'] & { outcome: PlannedOutcome };

/** Outcomes that the table shows only if there are any. */
const rareOutcomes: readonly PlannedOutcome[] = ['same_name_and_size', 'exists', 'deleted'];

export function toPlanRows(record: PlanRecord): PlanRow[] {
  const counts = { ...record, deleted: { file_count: record.deleted_count, size_bytes: 0 } };
  return plannedNames
    .map((outcome) => ({ outcome, ...counts[outcome] }))
    .filter(({ outcome, file_count }) => file_count > 0 || !rareOutcomes.includes(outcome));
}

export const planColumns: Column<PlanRow>[] = [
  {
    header: 'OUTCOME',
    value: ({ outcome }, { isTerminal }) => (isTerminal ? plannedOutcomes[outcome].label : outcome),
    noTruncate: true,
  },
  { header: 'FILES', value: ({ file_count }, { isTerminal }) => (isTerminal ? formatCount : String)(file_count) },
  { header: 'SIZE', value: ({ size_bytes }, { isTerminal }) => (isTerminal ? formatBytes : String)(size_bytes) },
];
