import type { ChalkInstance } from 'chalk';
import stringWidth from 'string-width';
import { formatBytes, formatDuration } from '../../contract/figures.ts';
import { truncate, truncateEnd } from '../terminal/truncate.ts';

/** Progress of a transfer, with the bytes `sent` to the network and `acknowledged` by the service. */
export type TransferState = {
  acknowledged: number;
  sent: number;
  /** Total bytes; 0 if unknown. */
  size: number;
  /** Formatted rate; empty if unknown or during a wait. */
  rate: string;
  /** Formatted time remaining; empty if unknown. */
  left: string;
};

/** A line of the live display before it is fitted to the width. Control characters must already be escaped. */
export type StatusLine =
  | { kind: 'transfer'; transfer: TransferState }
  /** Current activity and the seconds since it began. */
  | { kind: 'working'; text: string; seconds: number }
  /** Reason for a wait and the seconds until it ends. */
  | { kind: 'waiting'; why: string; seconds: number }
  /** Parts of one line, the most important first. Parts that do not fit are dropped. */
  | { kind: 'parts'; parts: readonly string[] }
  /** Files in flight, one per line. Names are truncated at the start, since paths differ at the end. */
  | { kind: 'files'; files: readonly { name: string; state: string }[] };

/** Renders the lines of the live display, each at most `columns` wide. */
export function renderStatusLines(
  lines: readonly StatusLine[],
  columns: number,
  colors: ChalkInstance,
  spinner: string,
): string[] {
  return lines.flatMap((line): string[] => {
    switch (line.kind) {
      case 'transfer':
        return [renderTransferLine(line.transfer, columns, colors)];
      case 'working': {
        const time = line.seconds < 1 ? '' : `  ${colors.dim(formatDuration(line.seconds))}`;
        return [`${colors.cyan(spinner)} ${truncateEnd(line.text, columns - 2 - stringWidth(time))}${time}`];
      }
      case 'waiting': {
        const left = `: retrying in ${formatDuration(Math.max(1, Math.ceil(line.seconds)))}`;
        return [colors.yellow(`  ${truncateEnd(line.why, columns - 2 - left.length)}${left}`)];
      }
      case 'parts':
        return [joinFitting(line.parts, columns)];
      default:
        return alignFiles(line.files, columns);
    }
  });
}

function joinFitting(parts: readonly string[], columns: number): string {
  let line = '';
  for (const part of parts) {
    const longer = line === '' ? truncateEnd(part, columns) : `${line} · ${part}`;
    if (stringWidth(longer) > columns) break;
    line = longer;
  }
  return line;
}

function alignFiles(files: readonly { name: string; state: string }[], columns: number): string[] {
  const widest = Math.max(...files.map(({ state }) => stringWidth(state)));
  const cut = files.map(({ name }) => truncate(name, columns - widest - 4, 0));
  const width = Math.max(...cut.map((name) => stringWidth(name)));
  return files.map(({ state }, at) => {
    const name = cut[at] ?? '';
    return `  ${name}${' '.repeat(width - stringWidth(name))}  ${state}`;
  });
}

const gap = '  ';
const minBarWidth = 6;
const maxBarWidth = 40;

/** Renders a progress bar and figures. A narrow terminal drops the rate first, then the bytes, then the percentage. */
export function renderTransferLine(transfer: TransferState, columns: number, colors: ChalkInstance): string {
  const { acknowledged, sent, size, rate, left } = transfer;
  const amount = size > 0 ? `${formatBytes(sent)} of ${formatBytes(size)}` : formatBytes(sent);
  const share = size > 0 ? `${Math.min(acknowledged < size ? 99 : 100, Math.floor((100 * sent) / size))}%` : '';
  // The most important part first, each padded to its maximum width; `at` is its position on the line.
  const parts = [
    { at: 4, text: left.padStart(left === '' ? 0 : 10) },
    { at: 1, text: share.padStart(4) },
    { at: 2, text: amount.padStart(size > 0 ? 2 * formatBytes(size).length + 4 : 0) },
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

function renderBar({ acknowledged, sent, size }: TransferState, columns: number, colors: ChalkInstance): string {
  const upTo = (count: number) => Math.floor((columns * Math.min(count, size)) / size);
  const [full, some] = [upTo(acknowledged), upTo(Math.max(sent, acknowledged))];
  return [
    colors.cyan('█'.repeat(full)),
    colors.cyan('▒'.repeat(some - full)),
    colors.dim('░'.repeat(columns - some)),
  ].join('');
}
