import type { Clock } from '../../client/clock.ts';
import type { FileEvent, RemainingRequests, RunEvent } from '../../client/upload/session/events.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { ProgressMode } from './progress-modes.ts';
import { Tally } from './tally.ts';

type Planned = RunEvent & { event: 'planned' };

/** Progress display for a run of many files: totals, files in flight, warnings. */
export type ManyProgress = {
  begin(planned: Planned): void;
  show(event: FileEvent): void;
  close(): void;
};

/** Maximum number of files in flight shown; leaves space for earlier output on a terminal of 24 lines. */
const mostFiles = 8;
const plainIntervalMs = 10_000;
const jsonIntervalMs = 1_000;

/** Creates the progress display for a run of many files. @param budget requests left in the rate limit window */
export async function openManyProgress(
  mode: Exclude<ProgressMode, 'auto'>,
  terminal: Terminal,
  clock: Clock,
  budget: () => RemainingRequests | undefined,
): Promise<ManyProgress> {
  const tally = new Tally(clock, budget);
  if (mode === 'bar') {
    const { Standing } = await import('./standing.lazy.ts');
    return standing(terminal, tally, () => new Standing(terminal, () => tally.lines(mostFiles)));
  }
  const say =
    mode === 'json'
      ? () => terminal.tell(JSON.stringify(tally.overall()))
      : () => terminal.tell(tally.text());
  const intervalMs = mode === 'json' ? jsonIntervalMs : plainIntervalMs;
  let saidAt = clock.now();
  return {
    begin: (planned) => {
      tally.planned(planned);
      if (mode === 'json') terminal.tell(JSON.stringify(planned));
    },
    show: (event) => {
      tally.count(event);
      if (mode === 'json') terminal.tell(JSON.stringify(event));
      else if (event.event === 'notice') terminal.warn(notice(event));
      if (mode === 'none' || clock.now() - saidAt < intervalMs) return;
      saidAt = clock.now();
      say();
    },
    close: () => {
      if (mode === 'json') say();
    },
  };
}

/** Shows totals and files in flight as a live display at the bottom of the terminal; notices scroll above it. */
function standing(terminal: Terminal, tally: Tally, open: () => { close(): void }): ManyProgress {
  let shown: ReturnType<typeof open> | undefined;
  return {
    begin: (planned) => {
      tally.planned(planned);
      if (planned.files > 0) shown ??= open();
    },
    show: (event) => {
      tally.count(event);
      if (event.event === 'notice') terminal.warn(notice(event));
    },
    close: () => {
      shown?.close();
      shown = undefined;
    },
  };
}

const notice = ({ path, message }: FileEvent & { event: 'notice' }) =>
  `${escapeControls(path)}: ${escapeControls(message)}`;
