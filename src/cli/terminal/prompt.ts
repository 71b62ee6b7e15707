import { exitCodes, MediactlError, usageError } from '../../client/errors.ts';
import { printable } from '../../contract/sanitize.ts';
import type { Terminal } from './terminal.ts';

const declined = () =>
  new MediactlError('nothing was changed', {
    code: 'declined',
    exitCode: exitCodes.interrupted,
  });

const interrupted = () =>
  new MediactlError('interrupted; nothing was changed', {
    code: 'interrupted',
    exitCode: exitCodes.interrupted,
  });

/** One line from the person at the terminal. */
async function ask(terminal: Terminal, question: string): Promise<string> {
  const { createInterface } = await import('node:readline');
  // Names of the service stand in questions: they must not rewrite them.
  terminal.stderr.write(terminal.redactor.redact(printable(question)));
  const lines = createInterface({
    input: terminal.stdin,
    output: terminal.stderr,
    terminal: true,
    ...(terminal.interruption && { signal: terminal.interruption }),
  });
  return new Promise((resolve, reject) => {
    let answered = false;
    const end = (settle: () => void) => {
      answered = true;
      lines.close();
      settle();
    };
    lines.once('line', (line) => end(() => resolve(line)));
    lines.once('SIGINT', () => end(() => reject(interrupted())));
    const leave = () => reject(terminal.interruption?.reason ?? declined());
    lines.once('close', () => !answered && end(leave));
  });
}

/** Asks for a line. Interactive terminals only. */
export const askLine = async (terminal: Terminal, question: string) =>
  (await ask(terminal, `${question}: `)).trim();

/** Asks for a secret: a dot for each character. Interactive terminals only. */
export async function askSecret(terminal: Terminal, question: string): Promise<string> {
  const { default: password } = await import('@inquirer/password');
  const { stdin: input, stderr: output, interruption } = terminal;
  return password(
    { message: `${question}:`, mask: '•', theme: { prefix: '' } },
    { input, output, ...(interruption && { signal: interruption }) },
  ).catch((error: Error) => {
    interruption?.throwIfAborted();
    throw error.name === 'ExitPromptError' ? interrupted() : error;
  });
}

/**
 * Asks a yes-or-no question, default No.
 *
 * @param instead what to type where nobody can be asked
 * @throws MediactlError exit 130 when declined, exit 2 where nobody can be asked
 */
export async function confirm(
  terminal: Terminal,
  question: string,
  { yes, instead }: { yes: boolean; instead: string },
): Promise<void> {
  if (yes) return;
  if (!terminal.isInteractive) throw usageError(`${question} There is nobody to ask here`, instead);
  const answer = await ask(terminal, `${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw declined();
}

/**
 * One of a list, chosen by the person at the terminal. Interactive terminals only.
 *
 * @param rows the cells of each, printable
 * @throws MediactlError exit 130 where they leave
 */
export async function choose<T>(
  terminal: Terminal,
  question: string,
  records: readonly T[],
  rows: readonly (readonly string[])[],
): Promise<T> {
  const { chooseAt } = await import('./choose.lazy.ts');
  const at = await chooseAt(terminal, printable(question), rows);
  if (at === undefined) throw declined();
  return records[at] as T;
}

/** Everything on stdin, for `--with-key` and `-`. */
export async function readStdin(terminal: Terminal): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of terminal.stdin) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}
