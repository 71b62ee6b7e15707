import type { RateLimitBudget } from '../../client/http/rate-limiter.ts';
import type { FileEvent, RunEvent } from '../../client/upload/session/events.ts';
import type { Clock } from '../../contract/clock.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { ProgressMode } from './progress-modes.ts';
import { RunStats } from './run-stats.ts';

type PlannedEvent = RunEvent & { event: 'planned' };

/** Progress display for a run of many files, with totals, files in flight and warnings. */
export type RunProgress = {
  begin(planned: PlannedEvent): void;
  show(event: FileEvent): void;
  close(): void;
};

/** Maximum number of files in flight to show, so that earlier output stays visible on a 24-line terminal. */
const maxFilesShown = 8;
const plainIntervalMs = 10_000;
const jsonIntervalMs = 1_000;

/**
 * Creates the progress display for a run of many files.
 *
 * @param budget returns the requests left in the rate limit window; undefined if unknown
 */
export async function createRunProgress(
  mode: Exclude<ProgressMode, 'auto'>,
  terminal: Terminal,
  clock: Clock,
  budget: () => RateLimitBudget | undefined,
): Promise<RunProgress> {
  const stats = new RunStats(clock, budget);
  if (mode === 'bar') {
    const { LiveDisplay } = await import('./live-display.lazy.ts');
    return createLiveRunProgress(
      terminal,
      stats,
      () => new LiveDisplay(terminal, () => stats.statusLines(maxFilesShown)),
    );
  }
  const printTotals =
    mode === 'json' ? () => terminal.emit(JSON.stringify(stats.overall())) : () => terminal.emit(stats.summaryLine());
  const intervalMs = mode === 'json' ? jsonIntervalMs : plainIntervalMs;
  let lastPrintedAt = clock.now();
  return {
    begin: (planned) => {
      stats.onPlanned(planned);
      if (mode === 'json') terminal.emit(JSON.stringify(planned));
    },
    show: (event) => {
      stats.count(event);
      if (mode === 'json') terminal.emit(JSON.stringify(event));
      else if (event.event === 'notice') terminal.warn(formatNotice(event));
      if (mode === 'none' || clock.now() - lastPrintedAt < intervalMs) return;
      lastPrintedAt = clock.now();
      printTotals();
    },
    close: () => {
      if (mode === 'json') printTotals();
    },
  };
}

/** Creates a live display of the totals and the files in flight. Notices scroll above it. */
function createLiveRunProgress(terminal: Terminal, stats: RunStats, open: () => { close(): void }): RunProgress {
  let display: ReturnType<typeof open> | undefined;
  return {
    begin: (planned) => {
      stats.onPlanned(planned);
      if (planned.files > 0) display ??= open();
    },
    show: (event) => {
      stats.count(event);
      if (event.event === 'notice') terminal.warn(formatNotice(event));
    },
    close: () => {
      display?.close();
      display = undefined;
    },
  };
}

const formatNotice = ({ path, message }: FileEvent & { event: 'notice' }) =>
  `${escapeControls(path)}: ${escapeControls(message)}`;
