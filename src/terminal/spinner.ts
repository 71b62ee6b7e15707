import { printable } from './printable.ts';
import type { Terminal } from './terminal.ts';

/** What is being waited for, on stderr: a spinner on a terminal, a line a change elsewhere. */
export type Spinner = { say(what: string): void; stop(): void };

/** ora costs 61 ms to load, so only a terminal that shows it pays. */
export async function openSpinner(terminal: Terminal): Promise<Spinner> {
  if (!terminal.canAnimate) {
    let lastText = '';
    return {
      say: (what) => {
        if (what !== lastText) terminal.say(printable(what));
        lastText = what;
      },
      stop: () => {},
    };
  }
  const { default: ora } = await import('ora');
  const spinner = ora({
    stream: terminal.stderr as NodeJS.WriteStream,
    discardStdin: false,
    isEnabled: true,
  });
  return {
    say: (what) => {
      spinner.text = printable(what);
      if (!spinner.isSpinning) spinner.start();
    },
    stop: () => {
      if (spinner.isSpinning) spinner.stop();
    },
  };
}
