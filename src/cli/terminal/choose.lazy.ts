import select from '@inquirer/select';
import stringWidth from 'string-width';
import type { Terminal } from './terminal.ts';
import { truncateEnd } from './truncate.ts';

/** Maximum number of choices visible at once, which fits a 24-line terminal. */
const pageSize = 12;

/**
 * Shows an interactive list on stderr and waits until the user chooses a row. Aligns the cells. Control characters
 * in cells must already be escaped.
 *
 * @returns the index of the chosen row, or undefined if the user cancelled
 */
export async function selectIndex(
  terminal: Pick<Terminal, 'answers' | 'stderr' | 'columns' | 'interruption'>,
  question: string,
  rows: readonly (readonly string[])[],
): Promise<number | undefined> {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => stringWidth(row[at] ?? ''))));
  const padded = (cell: string, at: number) => cell + ' '.repeat((widths[at] ?? 0) - stringWidth(cell));
  const choices = rows.map((row, at) => ({
    name: truncateEnd(row.map(padded).join('  ').trimEnd(), terminal.columns - 3),
    short: row[0] ?? '',
    value: at,
  }));
  try {
    const { answers: input, stderr: output, interruption } = terminal;
    const streams = { input, output, clearPromptOnDone: true, ...(interruption && { signal: interruption }) };
    return await select({ message: question, choices, pageSize, loop: false }, streams);
  } catch (error) {
    terminal.interruption?.throwIfAborted();
    if ((error as Error).name === 'ExitPromptError') return undefined;
    throw error;
  }
}
