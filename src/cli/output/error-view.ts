import type { MediactlError } from '../../client/errors.ts';
import { toJson } from '../../contract/reading.ts';
import { printable } from '../../contract/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Problem, cause, next step on stderr; in a machine mode, one JSON line. */
export function showError(terminal: Terminal, error: MediactlError, machine: boolean): void {
  if (machine) {
    terminal.tell(toJson({ error: error.toJSON() }));
    return;
  }
  // Who says no has not met an error.
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
