import type { ChalkInstance } from 'chalk';
import { formatBytes } from '../../contract/figures.ts';

/** Progress of a transfer, with the bytes `sent` to the network and `acknowledged` by the service. */
export type TransferState = {
  acknowledged: number;
  sent: number;
  /** Total bytes; 0 if unknown. */
  size: number;
  /** Formatted rate; empty if unknown or during a wait. */
  rate: string;
  /** Formatted time left; empty if unknown. */
  left: string;
};

const gap = '  ';
const minBarWidth = 6;
const maxBarWidth = 40;

/**
 * Renders a progress bar and the figures that fit beside it. On a narrow terminal, drops the rate first, then the
 * bytes, then the percentage.
 */
export function renderTransferLine(
  { acknowledged, sent, size, rate, left }: TransferState,
  columns: number,
  colors: ChalkInstance,
): string {
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
  const drawn =
    size > 0 && barWidth >= minBarWidth
      ? [renderBar({ acknowledged: acknowledged, sent, size }, barWidth, colors)]
      : [];
  return `  ${[...drawn, ...texts].join(gap)}`.slice(0, drawn.length > 0 ? undefined : columns);
}

function renderBar(
  { acknowledged, sent, size }: Pick<TransferState, 'acknowledged' | 'sent' | 'size'>,
  columns: number,
  colors: ChalkInstance,
): string {
  const upTo = (count: number) => Math.floor((columns * Math.min(count, size)) / size);
  const [full, some] = [upTo(acknowledged), upTo(Math.max(sent, acknowledged))];
  return [
    colors.cyan('█'.repeat(full)),
    colors.cyan('▒'.repeat(some - full)),
    colors.dim('░'.repeat(columns - some)),
  ].join('');
}
