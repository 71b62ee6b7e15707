import type { Clock } from '../../client/clock.ts';
import type { Budget, FileEvent, RunEvent } from '../../client/upload/session/events.ts';
import { printable } from '../../contract/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { ProgressMode } from './progress-modes.ts';
import { Tally } from './tally.ts';

type Planned = RunEvent & { event: 'planned' };

/** Shows a run of many files: in sum, those in flight, and what somebody should know. */
export type ManyProgress = {
  begin(planned: Planned): void;
  show(event: FileEvent): void;
  close(): void;
};

/** In a terminal's usual 24 lines there is room for what came before. */
const mostFiles = 8;
const plainIntervalMs = 10_000;
const jsonIntervalMs = 1_000;

export async function openManyProgress(
  mode: Exclude<ProgressMode, 'auto'>,
  terminal: Terminal,
  clock: Clock,
  budget: () => Budget | undefined,
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

/** On a terminal: the whole and the files in flight, under what is worth a line of its own. */
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
  `${printable(path)}: ${printable(message)}`;
