import type { RateLimitBudget } from '../../client/http/rate-limiter.ts';
import type { FileEvent } from '../../client/upload/session/events.ts';
import { formatBytes, formatCount, formatDuration, formatTimeOfDay, formatWait } from '../../shared/figures.ts';
import { escapeControls } from '../../shared/sanitize.ts';
import type { LogEntry } from '../terminal/terminal.ts';
import { paceOf, type RunState } from './run-state.ts';

export const unverified = 'unverified: the service returned no usable checksum';

/**
 * Returns the words for an event: a `line` for people, after the name of the file, and the `entry` of a log. Events of which
 * a file has many have neither.
 */
export function wordsOf(event: FileEvent, now: number): { line?: string; entry?: LogEntry } {
  switch (event.event) {
    case 'started':
      return { entry: { level: 'info', message: 'started', size_bytes: event.size_bytes } };
    case 'verifying':
      return { line: `checking ${formatBytes(event.offset_bytes)} uploaded earlier` };
    case 'resumed': {
      const { asset_uid, offset_bytes } = event;
      const message = `resuming at ${formatBytes(offset_bytes)}`;
      return { line: `${message}, asset ${asset_uid}`, entry: { level: 'info', message, asset_uid, offset_bytes } };
    }
    case 'created':
      return { line: `asset ${event.asset_uid}` };
    case 'uploaded':
      return { line: `uploaded, ${event.verified === null ? unverified : 'verified (BLAKE3)'}` };
    case 'waiting':
      return { entry: { level: 'warn', message: describeWait(event, now) } };
    case 'warning':
      return { entry: { level: 'warn', message: event.message } };
    default:
      return {};
  }
}

/** Formats a wait, as in `rate limit reached; waiting 50:00, until 14:07`. */
export const describeWait = ({ reason, until }: { reason: string; until: string }, now: number): string =>
  `${escapeControls(reason)}; ${formatWait(Date.parse(until), now)}`;

/** Returns the reason for a wait in a few words, without the requests that are kept in reserve. */
export const reasonOf = ({ kind, reason }: RunState['wait']) =>
  kind === 'rate_limited' ? 'rate limit reached' : escapeControls(reason);

/** Formats the bytes transferred so far, with the total if it is known. */
export const amountOf = (soFar: number, total: number) =>
  total > 0 ? `${formatBytes(soFar)} of ${formatBytes(total)}` : formatBytes(soFar);

export const rateText = (rate: number | undefined) => (rate === undefined ? '' : `${formatBytes(rate)}/s`);
export const leftText = (seconds: number | undefined) =>
  seconds === undefined ? '' : `ETA ${formatDuration(seconds)}`;

/** Formats the totals, the most important first. Omits the rate and the ETA during a wait. */
export function totalsOf(state: RunState, now: number, budget: RateLimitBudget | undefined): string[] {
  const { done, planned, processing } = state;
  const { files_total: files, bytes_total, files_settling: settling } = planned;
  const { bytes, bytesPerSecond, secondsLeft, secondsToWait } = paceOf(state, now);
  const isSending = done.files < files;
  return [
    settling === undefined ? '' : settling > 0 ? `watching; ${settling} still changing` : 'watching',
    `${formatCount(done.files)} of ${formatCount(files)} files`,
    done.failed > 0 ? `${formatCount(done.failed)} failed` : '',
    isSending ? amountOf(bytes, bytes_total) : '',
    leftText(secondsLeft),
    isSending && secondsToWait === 0 ? rateText(bytesPerSecond) : '',
    processing.size > 0 ? `${formatCount(processing.size)} processing` : '',
    budget ? `${formatCount(budget.left)} requests remaining, reset at ${formatTimeOfDay(budget.resetAt)}` : '',
  ].filter((part) => part !== '');
}

/** Formats the totals as one line of a log. */
export function totalsLine(state: RunState, now: number, budget: RateLimitBudget | undefined): string {
  const { secondsToWait } = paceOf(state, now);
  const waiting = secondsToWait > 0 ? [`${reasonOf(state.wait)}: waiting ${formatDuration(secondsToWait)}`] : [];
  return [...totalsOf(state, now, budget), ...waiting].join(', ');
}

export function transferLine({ inFlight, rate }: RunState, path: string, now: number): string {
  const { size = 0, progress: { acknowledged, sent } = { acknowledged: 0, sent: 0 } } = inFlight.get(path) ?? {};
  const parts = [
    amountOf(sent, size),
    acknowledged < sent ? `${formatBytes(acknowledged)} acknowledged` : '',
    rateText(rate.bytesPerSecond(now)),
    size > 0 ? leftText(rate.secondsFor(size - sent, now)) : '',
  ];
  return parts.filter(Boolean).join(', ');
}
