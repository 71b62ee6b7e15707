import type { RateWindow } from '../../client/http/rate-limit-headers.ts';
import { countFiles, type Plan, totalToSend } from '../../client/upload/batch/plan.ts';
import { type DecideNotice, warningOf } from '../../client/upload/decide/decision.ts';
import type { UploadSettings } from '../../client/upload/decide/upload-settings.ts';
import { sessionHours } from '../../contract/limits.ts';
import { sessionLifetimeMs } from '../../contract/tus.ts';
import { formatBytes, formatCount, pluralize } from '../../shared/figures.ts';
import { escapeControls } from '../../shared/sanitize.ts';
import { keptOutcomes, plannedOutcomes } from '../../shared/upload-outcomes.ts';
import type { Context } from '../context.ts';

/**
 * Formats a cost, such as "1,204 requests, about 1.2 h at 1,000 requests per hour". The time is left out if the requests
 * that remain are enough, if it is short, or unknown. Assumes the specification's window: "1000 requests per hour per key by default" (§8).
 */
export function formatCost(count: number, rateLimit: RateWindow | undefined, now: number): string {
  const requests = pluralize(count, 'request');
  // A window that ends within minutes might be shorter than the specification's hour.
  if (!rateLimit || count <= rateLimit.remaining || rateLimit.resetAt - now <= 5 * 60_000) return requests;
  const hours = Math.round((count / rateLimit.limit) * 10) / 10;
  if (hours < 0.1) return requests;
  return `${requests}, about ${formatCount(hours)} h at ${formatCount(rateLimit.limit)} requests per hour`;
}

/** Warns if the largest file takes longer than a session lives. */
export function warnOfSlowUpload({ terminal }: Context, { largestBytes }: Plan, { rateLimit }: UploadSettings): void {
  if (rateLimit !== undefined && (largestBytes / rateLimit) * 1000 > sessionLifetimeMs)
    terminal.warn(
      `at this --limit-rate, some uploads take longer than ${sessionHours} hours, and their sessions expire`,
    );
}

/** Formats a plan: "480 files: 1 already uploaded, 479 new; 21.4 GiB, 1,204 requests, about 1.2 h at 1,000 requests per hour". */
export function formatPlan(plan: Plan, rateLimit: RateWindow | undefined, now: number): string {
  const { toCompare, ...totals } = plan.totals;
  const counts = [...keptOutcomes, 'new', 'changed', 'resumed'] as const;
  const parts = counts.map((name) => [totals[name].files, plannedOutcomes[name].plan] as const);
  const words = [...parts, [toCompare.files, 'to compare'] as const].flatMap(([count, what]) =>
    count > 0 ? [`${formatCount(count)} ${what}`] : [],
  );
  const size = `${toCompare.files === 0 ? '' : 'at most '}${formatBytes(bytesLeft(plan))}`;
  const cost = formatCost(plan.comparisons + plan.requests, rateLimit, now);
  return `${pluralize(countFiles(plan), 'file')}: ${words.join(', ')}; ${size}, ${cost}`;
}

/** Returns the number of bytes to send, without those of unfinished uploads that the service has. */
const bytesLeft = (plan: Plan) => totalToSend(plan).bytes - plan.acknowledgedBytes;

export function reportDecideNotice({ terminal }: Pick<Context, 'terminal'>, each: DecideNotice): void {
  if (each.notice === 'reading')
    terminal.info(
      `reading ${pluralize(each.files, 'file')}, ${formatBytes(each.bytes)}: they may have been renamed since they were uploaded`,
    );
  else if (each.notice === 'listing') terminal.info(`comparing the files with ${each.assets} assets in their folder`);
  else {
    const advice = each.notice === 'same_name' ? '; --existing name skips such files' : '';
    terminal.warn(escapeControls(`${warningOf(each)}${advice}`));
  }
}
