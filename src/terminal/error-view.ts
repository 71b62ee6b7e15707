import type { MediactlError } from '../errors.ts';
import { toJson } from '../wire/reading.ts';
import { printable } from './printable.ts';
import type { Terminal } from './terminal.ts';

/** Problem, cause, next step on stderr; in a machine mode, one JSON line. */
export function showError(terminal: Terminal, error: MediactlError, machine: boolean): void {
  if (machine) {
    terminal.say(toJson({ error: error.toJSON() }));
    return;
  }
  // Who says no has not met an error.
  if (error.explanation.code === 'declined') {
    terminal.say(error.message);
    return;
  }
  const { bold, dim, red } = terminal.colors(terminal.stderr);
  const { reason, hint } = error.explanation;
  terminal.sayStyled(
    [
      `${red('error:')} ${bold(printable(error.message))}`,
      ...(reason ? [`${dim('  cause:')} ${printable(reason)}`] : []),
      ...(hint ? [`${dim('  try:  ')} ${printable(hint)}`] : []),
    ].join('\n'),
  );
}
