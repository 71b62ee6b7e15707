import type { ChalkInstance } from 'chalk';
import stringWidth from 'string-width';
import type { RateLimitBudget } from '../../client/http/rate-limiter.ts';
import { formatBytes, formatDuration } from '../../shared/figures.ts';
import { escapeControls } from '../../shared/sanitize.ts';
import { truncate, truncateEnd } from '../terminal/truncate.ts';
import { paceOf, type RunState } from './run-state.ts';
import { amountOf, leftText, rateText, reasonOf, totalsOf } from './run-words.ts';

/** Look of a frame: its width, its colors, and what turns while something is waited for. */
export type Look = { columns: number; colors: ChalkInstance; spinner: string };

/** Maximum number of files in flight to show, so that earlier output stays visible on a 24-line terminal. */
const maxFilesShown = 8;

/** Returns the lines of a run: totals or the only file, the current wait, and files in flight, each of one row. */
export function linesOf(
  state: RunState,
  { columns, colors, spinner, now, budget }: Look & { now: number; budget?: RateLimitBudget | undefined },
): string[] {
  const { secondsToWait } = paceOf(state, now);
  const ends = `: retrying in ${formatDuration(Math.max(1, Math.ceil(secondsToWait)))}`;
  const wait = colors.yellow(`  ${truncateEnd(reasonOf(state.wait), columns - 2 - ends.length)}${ends}`);
  const waits = secondsToWait > 0 ? [wait] : [];
  if (state.isBatch)
    return [joinFitting(totalsOf(state, now, budget), columns), ...waits, ...fileLines(state, columns)];
  const [file] = state.inFlight.values();
  if (file?.progress && file.progress.sent + file.size > 0) {
    const rate = waits.length > 0 ? undefined : state.rate.bytesPerSecond(now);
    const left = rate && file.size > 0 ? state.rate.secondsFor(file.size - file.progress.sent, now) : undefined;
    const transfer = { ...file.progress, size: file.size, rate: rateText(rate), left: leftText(left) };
    return [renderTransfer(transfer, columns, colors), ...waits];
  }
  if (!state.status || waits.length > 0) return waits;
  const seconds = (now - state.status.since) / 1000;
  const time = seconds < 1 ? '' : `  ${colors.dim(formatDuration(seconds))}`;
  const text = truncateEnd(escapeControls(state.status.text), columns - 2 - stringWidth(time));
  return [`${colors.cyan(spinner)} ${text}${time}`];
}

/** Joins the parts that fit, the most important first. */
function joinFitting(parts: readonly string[], columns: number): string {
  let line = '';
  for (const part of parts) {
    const longer = line === '' ? truncateEnd(part, columns) : `${line} · ${part}`;
    if (stringWidth(longer) > columns) break;
    line = longer;
  }
  return line;
}

/** Returns a line for each file that has been in flight longest. Names are truncated at the start: paths differ at the end. */
function fileLines({ inFlight }: RunState, columns: number): string[] {
  const files = [...inFlight].slice(0, maxFilesShown).map(([path, { progress, size, isRehashing }]) => {
    const sent = progress?.sent ?? 0;
    const share = `${Math.floor((100 * sent) / Math.max(1, size))}%`.padStart(4);
    const amount = size > 0 ? `${share} of ${formatBytes(size)}` : formatBytes(sent);
    return { name: escapeControls(path), state: isRehashing ? 'checking sent bytes' : amount };
  });
  const widest = Math.max(...files.map(({ state }) => stringWidth(state)));
  const cut = files.map(({ name }) => truncate(name, columns - widest - 4, 0));
  const width = Math.max(...cut.map((name) => stringWidth(name)));
  return files.map(({ state }, at) => {
    const name = cut[at] ?? '';
    return `  ${name}${' '.repeat(width - stringWidth(name))}  ${state}`;
  });
}

/** Bytes of a file, `sent` to the network and `acknowledged` by the service; `size` is 0 if unknown. */
type Transfer = { acknowledged: number; sent: number; size: number; rate: string; left: string };

const gap = '  ';
const minBarWidth = 6;
const maxBarWidth = 40;

/** Renders a progress bar and figures. A narrow terminal drops the rate first, then the bytes, then the percentage. */
function renderTransfer(transfer: Transfer, columns: number, colors: ChalkInstance): string {
  const { acknowledged, sent, size, rate, left } = transfer;
  const share = size > 0 ? `${Math.min(acknowledged < size ? 99 : 100, Math.floor((100 * sent) / size))}%` : '';
  // The most important part first, each padded to its maximum width; `at` is its position on the line.
  const parts = [
    { at: 4, text: left.padStart(left === '' ? 0 : 10) },
    { at: 1, text: share.padStart(4) },
    { at: 2, text: amountOf(sent, size).padStart(size > 0 ? 2 * formatBytes(size).length + 4 : 0) },
    { at: 3, text: rate.padStart(rate === '' ? 0 : 11) },
  ].filter(({ text }) => text.trim() !== '');
  const fittingParts: typeof parts = [];
  const widthOf = (all: typeof parts) => all.reduce((sum, { text }) => sum + gap.length + text.length, 0);
  for (const part of parts)
    if (fittingParts.length === 0 || widthOf([...fittingParts, part]) + 2 + minBarWidth <= columns)
      fittingParts.push(part);
  const texts = fittingParts.sort((a, b) => a.at - b.at).map(({ text }) => text);
  const barWidth = Math.min(maxBarWidth, columns - 2 - widthOf(fittingParts));
  const drawn = size > 0 && barWidth >= minBarWidth ? [renderBar(transfer, barWidth, colors)] : [];
  return `  ${[...drawn, ...texts].join(gap)}`.slice(0, drawn.length > 0 ? undefined : columns);
}

function renderBar({ acknowledged, sent, size }: Transfer, columns: number, colors: ChalkInstance): string {
  const upTo = (count: number) => Math.floor((columns * Math.min(count, size)) / size);
  const [full, some] = [upTo(acknowledged), upTo(Math.max(sent, acknowledged))];
  return [
    colors.cyan('█'.repeat(full)),
    colors.cyan('▒'.repeat(some - full)),
    colors.dim('░'.repeat(columns - some)),
  ].join('');
}
