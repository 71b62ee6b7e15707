import { CodedError, usageError } from '../../client/errors.ts';
import { escapeControls } from '../../shared/sanitize.ts';
import type { Terminal } from './terminal.ts';
import { wrapText } from './wrap.ts';

const declined = () => new CodedError('nothing was changed', { code: 'declined' });

const interrupted = () => new CodedError('interrupted; nothing was changed', { code: 'interrupted' });

async function ask(terminal: Terminal, question: string): Promise<string> {
  const { createInterface } = await import('node:readline');
  // Questions can contain names from the service, whose control characters could rewrite the question.
  terminal.stderr.write(wrapText(terminal.redactor.redact(escapeControls(question)), terminal.stderr.columns || 80));
  const lines = createInterface({
    input: terminal.answers,
    output: terminal.stderr,
    terminal: true,
    ...(terminal.interruption && { signal: terminal.interruption }),
  });
  return new Promise((resolve, reject) => {
    let answered = false;
    const end = (settle: () => void) => {
      answered = true;
      lines.close();
      terminal.closeTty();
      settle();
    };
    lines.once('line', (line) => end(() => resolve(line)));
    lines.once('SIGINT', () => end(() => reject(interrupted())));
    lines.once('close', () => !answered && end(() => reject(terminal.interruption?.reason ?? declined())));
  });
}

/** Prompts for a line of text. Requires an interactive terminal. */
export const askLine = async (terminal: Terminal, question: string) => (await ask(terminal, `${question}: `)).trim();

export async function askSecret(terminal: Terminal, question: string): Promise<string> {
  const { default: password } = await import('@inquirer/password');
  const { answers: input, stderr: output, interruption } = terminal;
  return password(
    { message: `${question}:`, mask: '•', theme: { prefix: '' } },
    { input, output, ...(interruption && { signal: interruption }) },
  ).catch((error: Error) => {
    interruption?.throwIfAborted();
    throw error.name === 'ExitPromptError' ? interrupted() : error;
  });
}

/**
 * Asks the user to confirm a change; the default answer is no. Does not ask with --yes.
 *
 * @param instead what to do if the terminal is not interactive
 * @throws CodedError `declined` (exit 130) if the user declines, `usage` (exit 2) if the terminal is not
 *   interactive
 */
export async function confirm(
  { terminal, settings }: { terminal: Terminal; settings: { yes: boolean } },
  question: string,
  instead = 'run the same command with --yes',
): Promise<void> {
  if (settings.yes) return;
  if (!terminal.isInteractive)
    throw usageError(`${question} Cannot prompt: this is not an interactive terminal`, instead);
  if (!/^\s*y(es)?\s*$/i.test(await ask(terminal, `${question} [y/N] `))) throw declined();
}

/**
 * Prompts the user to choose one of several records. Requires an interactive terminal.
 *
 * @param rows the cells of each record, with control characters escaped
 * @throws CodedError `declined` (exit 130) if the user cancels
 */
export async function choose<T>(
  terminal: Terminal,
  question: string,
  records: readonly T[],
  rows: readonly (readonly string[])[],
): Promise<T> {
  const { selectIndex } = await import('./choose.lazy.ts');
  const at = await selectIndex(terminal, escapeControls(question), rows).finally(() => terminal.closeTty());
  if (at === undefined) throw declined();
  return records[at] as T;
}

/** Reads stdin to its end, for `--with-key` and for the path `-`. */
export const readStdin = async (terminal: Terminal): Promise<Buffer> =>
  (await import('node:stream/consumers')).buffer(terminal.stdin);
