import type { RateLimitBudget } from '../../client/http/rate-limiter.ts';
import type { FileEvent } from '../../client/upload/session/events.ts';
import type { Clock } from '../../shared/clock.ts';
import { escapeControls } from '../../shared/sanitize.ts';
import type { Context } from '../context.ts';
import { type Look, linesOf } from './live-lines.ts';
import { applyEvent, emptyState, paceOf, type RunState, type ShownEvent } from './run-state.ts';
import { describeWait, totalsLine, transferLine, unverified, wordsOf } from './run-words.ts';

/** Values of --progress. `auto` shows a bar on a terminal and plain lines elsewhere. */
export const progressModes = ['auto', 'bar', 'plain', 'json', 'none'] as const;
export type ProgressMode = (typeof progressModes)[number];

/** Shows a run on stderr as it goes on: its events make its state, which a renderer shows. */
export type ProgressDisplay = {
  readonly state: RunState;
  /** True if stderr is for JSON events, or for problems only: the run then prints no plan, summary or next step. */
  hidesSummary: boolean;
  show(event: ShownEvent): void;
  close(): void;
};

type ProgressOptions = {
  /** Returns the requests remaining in the rate limit window. Absent for downloads, which need few requests. */
  budget?: () => RateLimitBudget | undefined;
  /** True for a run without an end, which shows many files from the start and does not warn of waits. */
  isEndless?: boolean;
  /** Log of a service, which gets the events in place of a display. */
  log?: Renderer | undefined;
};

/**
 * Creates the progress display for uploads or downloads. It shows a single file until a `planned` event announces
 * several files. With --quiet it shows problems only, unless the user requested a mode.
 */
export async function createProgress(
  { terminal, clock, settings }: Pick<Context, 'terminal' | 'clock' | 'settings'>,
  requested: ProgressMode = 'auto',
  { budget = () => undefined, isEndless = false, log }: ProgressOptions = {},
): Promise<ProgressDisplay> {
  const lines = isEndless ? 'none' : 'plain';
  const auto = settings.outputOptions.format === 'uid' ? 'none' : terminal.canAnimate ? 'bar' : lines;
  const mode = requested === 'auto' ? auto : requested;
  const state = { ...emptyState(), isBatch: isEndless };
  const view = { terminal, clock, state, budget, isEndless };
  const renderer = log ?? (await renderers[mode](view));
  return {
    state,
    hidesSummary: log !== undefined || mode === 'json' || mode === 'none',
    show: (event) => {
      applyEvent(state, event, clock.now());
      if (event.event !== 'outcomes') renderer.show(event);
    },
    close: () => renderer.close?.(),
  };
}

type View = Pick<Context, 'terminal' | 'clock'> & {
  state: RunState;
  budget: () => RateLimitBudget | undefined;
  isEndless: boolean;
};

type Renderer = { show(event: Exclude<ShownEvent, { event: 'outcomes' }>): void; close?(): void };

/** Delay before the live display appears, so that it does not flash for short transfers. */
const showDelayMs = 250;

/** Creates a live display of one file, or of the totals and the files in flight. Notices scroll above it. */
async function createLiveRenderer({ terminal, clock, state, budget, isEndless }: View): Promise<Renderer> {
  const { openLiveDisplay } = await import('./live-display.lazy.ts');
  let closeDisplay: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Line of a file that is uploaded, if its asset is waited for. Otherwise the line of the outcome follows at once. */
  let uploadedLine: string | undefined;
  const lines = (look: Look) => linesOf(state, { ...look, now: clock.now(), budget: budget() });
  const open = () => {
    timer = undefined;
    const isEmpty = lines({ columns: 80, colors: terminal.colors(terminal.stderr), spinner: '' }).length === 0;
    if (!isEmpty) closeDisplay ??= openLiveDisplay(terminal, lines);
  };
  const close = () => {
    clearTimeout(timer);
    timer = undefined;
    closeDisplay?.();
    closeDisplay = undefined;
  };
  return {
    close,
    show: (event) => {
      if (event.event === 'planned') return event.files_total > 0 || isEndless ? open() : undefined;
      if (event.event === 'awaited') return open();
      if (event.event === 'warning') return terminal.warn(formatNotice(event, state));
      if (state.isBatch) return;
      const { line } = wordsOf(event, clock.now());
      const eventLine = event.event === 'status' ? uploadedLine : line && ofFile(event, line);
      uploadedLine = event.event === 'uploaded' ? eventLine : undefined;
      if (eventLine && !uploadedLine) terminal.emit(eventLine);
      if (event.event === 'finished' || (event.event === 'status' && event.status === 'ready')) return close();
      if (event.event === 'waiting') return open();
      if (!eventLine) timer ??= setTimeout(open, showDelayMs);
    },
  };
}

/**
 * Creates a renderer of lines. With `isDetailed`, one for each event of a single file, and the bytes or totals every ten
 * seconds; else only of notices, waits, and a single file that is unverified.
 */
const createLineRenderer =
  (isDetailed: boolean) =>
  ({ terminal, clock, state, budget, isEndless }: View): Renderer => {
    const isDue = createTimer(clock, 10_000);
    let warnedOf = '';
    let lastStatus = '';
    /** Warns when a wait begins, but only once for all files that wait together. */
    const warnOfWait = (event: FileEvent) => {
      if (event.event === 'requests_resumed') warnedOf = '';
      if (event.event !== 'waiting') return;
      const wait = event.kind === 'rate_limited' ? event.until : event.kind;
      if (wait !== warnedOf) terminal.warn(describeWait(event, clock.now()));
      warnedOf = wait;
    };
    const showFile = (event: FileEvent) => {
      const now = clock.now();
      const { line } = wordsOf(event, now);
      if (line) terminal.emit(ofFile(event, line));
      if (event.event === 'waiting') terminal.emit(ofFile(event, describeWait(event, now)));
      if (event.event === 'progress' && isDue()) terminal.emit(ofFile(event, transferLine(state, event.path, now)));
      if (event.event === 'status') {
        const statusLine = ofFile(event, escapeControls(event.status));
        if (statusLine !== lastStatus) terminal.emit(statusLine); // polling reports the same status repeatedly
        lastStatus = statusLine;
      }
    };
    return {
      show: (event) => {
        if (!('path' in event)) return;
        if (event.event === 'warning') terminal.warn(formatNotice(event, state));
        if (isDetailed ? state.isBatch : !isEndless) warnOfWait(event);
        if (isDetailed && state.isBatch && isDue()) terminal.emit(totalsLine(state, clock.now(), budget()));
        if (state.isBatch) return;
        if (isDetailed) showFile(event);
        else if (event.event === 'uploaded' && event.verified === null) terminal.warn(ofFile(event, unverified));
      },
    };
  };

/** Prints every event as a line of JSON, and the totals of several files every second. */
function createJsonRenderer({ terminal, clock, state, budget }: View): Renderer {
  const isDue = createTimer(clock, 1_000);
  const printTotals = () => terminal.emitJson(JSON.stringify(toTotals(state, clock.now(), budget())));
  return {
    show: (event) => {
      if (event.event !== 'planned' || state.isBatch) terminal.emitJson(JSON.stringify(event));
      if (state.isBatch && event.event !== 'planned' && isDue()) printTotals();
    },
    close: () => {
      if (state.isBatch) printTotals();
    },
  };
}

const renderers = {
  bar: createLiveRenderer,
  plain: createLineRenderer(true),
  json: createJsonRenderer,
  none: createLineRenderer(false),
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

/** Puts the name of the file before what is said of it. The rate limit, and what is downloaded to stdout, have none. */
const ofFile = ({ path }: { path: string }, text: string) => (path === '' ? text : `${escapeControls(path)}: ${text}`);

const formatNotice = ({ path, message }: FileEvent & { event: 'warning' }, { isBatch }: RunState) =>
  ofFile({ path: isBatch ? path : '' }, escapeControls(message));

/** Event with the totals of several files, which --progress json prints about once a second. */
function toTotals(state: RunState, now: number, budget: RateLimitBudget | undefined) {
  const { bytes, bytesPerSecond, secondsLeft } = paceOf(state, now);
  return {
    event: 'totals',
    files_done: state.done.files,
    files_total: state.planned.files_total,
    files_failed: state.done.failed,
    bytes_done: bytes,
    bytes_total: state.planned.bytes_total,
    bytes_per_second: bytesPerSecond === undefined ? null : Math.round(bytesPerSecond),
    eta_seconds: secondsLeft === undefined ? null : Math.round(secondsLeft),
    /** Requests left in the rate-limit window, and its reset time; null if the service reports no limit. */
    requests_remaining: budget?.left ?? null,
    resets_at: budget ? new Date(budget.resetAt).toISOString() : null,
  };
}
