import type { RateLimitBudget } from '../../client/http/rate-limiter.ts';
import type { FileEvent, RunEvent, UploadEvent } from '../../client/upload/session/events.ts';
import type { Clock } from '../../contract/clock.ts';
import { formatBytes } from '../../contract/figures.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { Context } from '../context.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { describeWait, RunStats } from './run-stats.ts';

/** Values of --progress. `auto` shows a bar on a terminal and plain lines elsewhere. */
export const progressModes = ['auto', 'bar', 'plain', 'json', 'none'] as const;
export type ProgressMode = (typeof progressModes)[number];

/** Shows the progress of transfers on stderr. `close` removes the live display. */
export type ProgressDisplay = {
  /** True if stderr is for JSON events, or for problems only: the run then prints no plan, summary or next step. */
  hidesSummary: boolean;
  show(event: UploadEvent): void;
  close(): void;
};

type ProgressOptions = {
  /** Returns the requests remaining in the rate limit window. Absent for downloads, which need few requests. */
  budget?: () => RateLimitBudget | undefined;
  /** True for a run without an end, which shows many files from the start and does not warn of waits. */
  isEndless?: boolean;
  /** Returns what a run without an end does while it sends nothing, for the first line of a live display. */
  standing?: () => string;
};

/**
 * Creates the progress display for uploads or downloads. It shows a single file until a `planned` event announces
 * several files. With --quiet it shows problems only, unless the user requested a mode.
 */
export async function createProgress(
  { terminal, clock, settings }: Pick<Context, 'terminal' | 'clock' | 'settings'>,
  requested: ProgressMode = 'auto',
  { budget, isEndless = false, standing }: ProgressOptions = {},
): Promise<ProgressDisplay> {
  const auto = settings.outputOptions.format === 'uid' ? 'none' : terminal.canAnimate ? 'bar' : 'plain';
  const mode = requested === 'auto' ? auto : requested;
  const stats = new RunStats(clock, { budget, isBatch: isEndless, standing });
  const { show, close } = await renderers[mode]({ terminal, clock, stats, isEndless });
  return {
    hidesSummary: mode === 'json' || mode === 'none',
    show: (event) => {
      stats.apply(event);
      if (event.event !== 'totals' && (event.event !== 'planned' || stats.isBatch)) show(event);
    },
    close,
  };
}

type RendererDeps = { terminal: Terminal; clock: Clock; stats: RunStats; isEndless: boolean };
/** Prints events of a mode. A `planned` event comes only in a run of several files. */
type Renderer = { show(event: FileEvent | (RunEvent & { event: 'planned' })): void; close(): void };

/** Delay before the live display appears, so that it does not flash for short transfers. */
const showDelayMs = 250;

/** Creates a live display of one file, or of the totals and the files in flight. Notices scroll above it. */
async function createLiveRenderer({ terminal, stats, isEndless }: RendererDeps): Promise<Renderer> {
  const { LiveDisplay } = await import('./live-display.lazy.ts');
  let display: InstanceType<typeof LiveDisplay> | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Line of a file that is uploaded, if its asset is waited for. Otherwise the line of the outcome follows at once. */
  let uploadedLine: string | undefined;
  const open = () => {
    timer = undefined;
    if (stats.statusLines().length > 0) display ??= new LiveDisplay(terminal, () => stats.statusLines());
  };
  const close = () => {
    clearTimeout(timer);
    timer = undefined;
    display?.close();
    display = undefined;
  };
  return {
    close,
    show: (event) => {
      if (event.event === 'warning') return terminal.warn(formatNotice(event, stats));
      if (event.event === 'planned') return event.files_total > 0 || isEndless ? open() : undefined;
      if (stats.isBatch) return;
      const eventLine = event.event === 'status' ? uploadedLine : formatEvent(event);
      uploadedLine = event.event === 'uploaded' ? eventLine : undefined;
      if (eventLine && !uploadedLine) terminal.emit(eventLine);
      if (event.event === 'finished' || (event.event === 'status' && event.status === 'ready')) return close();
      if (event.event === 'waiting') return open();
      if (!eventLine) timer ??= setTimeout(open, showDelayMs);
    },
  };
}

/** Creates log lines: one for each event of a single file, and the bytes or totals every ten seconds. */
function createPlainRenderer({ terminal, clock, stats }: RendererDeps): Renderer {
  const isDue = createTimer(clock, 10_000);
  const warnOfWait = createWaitWarner(terminal, clock);
  const statuses = new Map<string, string>();
  return {
    close: () => {},
    show: (event) => {
      if (event.event === 'planned') return;
      const { path } = event;
      if (event.event === 'warning') terminal.warn(formatNotice(event, stats));
      if (stats.isBatch) {
        warnOfWait(event);
        return isDue() ? terminal.emit(stats.summaryLine()) : undefined;
      }
      const eventLine = formatEvent(event);
      if (eventLine) terminal.emit(eventLine);
      // Polling reports the same status repeatedly.
      if (event.event === 'status' && statuses.get(path) !== event.status) {
        statuses.set(path, event.status);
        terminal.emit(`${escapeControls(path)}: ${escapeControls(event.status)}`);
      }
      if (event.event === 'waiting')
        terminal.emit(`${path === '' ? '' : `${escapeControls(path)}: `}${describeWait(event, clock.now())}`);
      if (event.event === 'progress' && isDue()) terminal.emit(stats.fileLine(path));
    },
  };
}

/** Prints every event as a line of JSON, and the totals of several files every second. */
function createJsonRenderer({ terminal, clock, stats }: RendererDeps): Renderer {
  const isDue = createTimer(clock, 1_000);
  const printTotals = () => terminal.emitJson(JSON.stringify(stats.overall()));
  return {
    show: (event) => {
      terminal.emitJson(JSON.stringify(event));
      if (stats.isBatch && event.event !== 'planned' && isDue()) printTotals();
    },
    close: () => {
      if (stats.isBatch) printTotals();
    },
  };
}

/** Prints warnings only: notices, waits, and a single file that is unverified. */
function createQuietRenderer({ terminal, clock, stats, isEndless }: RendererDeps): Renderer {
  const warnOfWait = createWaitWarner(terminal, clock);
  return {
    close: () => {},
    show: (event) => {
      if (event.event === 'planned') return;
      if (!isEndless) warnOfWait(event);
      if (event.event === 'warning') terminal.warn(formatNotice(event, stats));
      if (event.event === 'uploaded' && event.verified === null && !stats.isBatch)
        terminal.warn(`${escapeControls(event.path)}: ${unverified}`);
    },
  };
}

const renderers = {
  bar: createLiveRenderer,
  plain: createPlainRenderer,
  json: createJsonRenderer,
  none: createQuietRenderer,
};

/** Returns a function that returns true at most once per interval. */
function createTimer(clock: Clock, intervalMs: number): () => boolean {
  let last = clock.now();
  return () => {
    const isDue = clock.now() - last >= intervalMs;
    if (isDue) last = clock.now();
    return isDue;
  };
}

/** Creates an event handler that warns when a wait begins, but only once for all files that wait together. */
function createWaitWarner(terminal: Terminal, clock: Clock): (event: FileEvent) => void {
  let warned = '';
  return (event) => {
    if (event.event === 'requests_resumed') warned = '';
    if (event.event !== 'waiting') return;
    const wait = event.kind === 'rate_limited' ? event.until : event.kind;
    if (wait !== warned) terminal.warn(describeWait(event, clock.now()));
    warned = wait;
  };
}

const formatNotice = ({ path, message }: FileEvent & { event: 'warning' }, { isBatch }: RunStats) =>
  `${isBatch ? `${escapeControls(path)}: ` : ''}${escapeControls(message)}`;

const unverified = 'unverified: the service returned no usable checksum';

/** Formats an event that gets its own line in the bar and plain modes; undefined for all other events. */
function formatEvent(event: FileEvent): string | undefined {
  const name = escapeControls(event.path);
  switch (event.event) {
    case 'verifying':
      return `${name}: checking ${formatBytes(event.offset_bytes)} uploaded earlier`;
    case 'resumed':
      return `${name}: resuming at ${formatBytes(event.offset_bytes)}, asset ${event.asset_uid}`;
    case 'created':
      return `${name}: asset ${event.asset_uid}`;
    case 'uploaded':
      return `${name}: uploaded, ${event.verified === null ? unverified : 'verified (BLAKE3)'}`;
    default:
      return undefined;
  }
}
