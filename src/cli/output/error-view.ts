import type { MediactlError } from '../../client/errors.ts';
import { toJson } from '../../contract/reading.ts';
import { printable } from '../../contract/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Prints an error to stderr as problem, cause and hint; as one JSON line if `machine` is set. */
export function showError(terminal: Terminal, error: MediactlError, machine: boolean): void {
  if (machine) {
    terminal.tell(toJson({ error: error.toJSON() }));
    return;
  }
  // A declined confirmation is not shown as an error.
  if (error.explanation.code === 'declined') {
    terminal.tell(error.message);
    return;
  }
  const { bold, dim, red } = terminal.colors(terminal.stderr);
  const { reason, lines = [], hint } = error.explanation;
  const causes = [...(reason ? [reason] : []), ...lines].map(printable);
  terminal.tellStyled(
    [
      `${red('error:')} ${bold(printable(error.message))}`,
      ...causes.map((cause, at) => `${at === 0 ? dim('  cause:') : '        '} ${cause}`),
      ...(hint ? [`${dim('  try:  ')} ${printable(hint)}`] : []),
    ].join('\n'),
  );
}
