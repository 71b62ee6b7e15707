import type { Clock } from '../clock.ts';
import type { Budget, FileEvent, RunEvent } from '../upload/events.ts';
import { printable } from './printable.ts';
import type { ProgressMode } from './progress-modes.ts';
import { Tally } from './tally.ts';
import type { Terminal } from './terminal.ts';

type Planned = RunEvent & { event: 'planned' };

/** Shows a run of many files: in sum, those in flight, and what somebody should know. */
export type ManyProgress = {
  begin(planned: Planned): void;
  show(event: FileEvent): void;
  close(): void;
};

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
    const { Block } = await import('./block.lazy.ts');
    return standing(terminal, tally, () => new Block(terminal, tally));
  }
  const say =
    mode === 'json'
      ? () => terminal.say(JSON.stringify(tally.overall()))
      : () => terminal.say(tally.parts().join(', '));
  const intervalMs = mode === 'json' ? jsonIntervalMs : plainIntervalMs;
  let saidAt = clock.now();
  return {
    begin: (planned) => {
      tally.planned(planned);
      if (mode === 'json') terminal.say(JSON.stringify(planned));
    },
    show: (event) => {
      tally.count(event);
      if (mode === 'json') terminal.say(JSON.stringify(event));
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

/** On a terminal: one block, under what is worth a line of its own. */
function standing(
  terminal: Terminal,
  tally: Tally,
  open: () => { say(text: string): void; close(): void },
): ManyProgress {
  let block: ReturnType<typeof open> | undefined;
  return {
    begin: (planned) => {
      tally.planned(planned);
      if (planned.files > 0) block = open();
    },
    show: (event) => {
      tally.count(event);
      if (event.event !== 'notice') return;
      if (block)
        block.say(`${terminal.colors(terminal.stderr).yellow('warning:')} ${notice(event)}`);
      else terminal.warn(notice(event));
    },
    close: () => {
      block?.close();
      block = undefined;
    },
  };
}

const notice = ({ path, message }: FileEvent & { event: 'notice' }) =>
  `${printable(path)}: ${printable(message)}`;
