import type { MediactlError } from '../../client/errors.ts';
import { toJson } from '../../contract/json-values.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Prints an error to stderr with its cause and hint, or as one JSON line if `machine` is true. */
export function printError(terminal: Terminal, error: MediactlError, machine: boolean): void {
  if (machine) {
    terminal.emit(toJson({ error: error.toJSON() }));
    return;
  }
  // A declined confirmation is not shown as an error.
  if (error.explanation.code === 'declined') {
    terminal.emit(error.message);
    return;
  }
  const { bold, dim, red } = terminal.colors(terminal.stderr);
  const { reason, lines = [], hint } = error.explanation;
  const causes = [...(reason ? [reason] : []), ...lines].map(escapeControls);
  terminal.emitStyled(
    [
      `${red('error:')} ${bold(escapeControls(error.message))}`,
      ...causes.map((cause, at) => `${at === 0 ? dim('  cause:') : '        '} ${cause}`),
      ...(hint ? [`${dim('  try:  ')} ${escapeControls(hint)}`] : []),
    ].join('\n'),
  );
}
