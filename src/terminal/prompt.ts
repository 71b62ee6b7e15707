import { exitCodes, MediactlError, usageError } from '../errors.ts';
import { printable } from './printable.ts';
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

/** One line from the person at the terminal; what they type is shown unless `hidden`. */
async function ask(terminal: Terminal, question: string, hidden: boolean): Promise<string> {
  const [{ createInterface }, { Writable }] = await Promise.all([
    import('node:readline'),
    import('node:stream'),
  ]);
  // Names of the service stand in questions: they must not rewrite them.
  terminal.stderr.write(terminal.redactor.redact(printable(question)));
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({
    input: terminal.stdin,
    output: hidden ? silent : terminal.stderr,
    terminal: true,
  });
  return new Promise((resolve, reject) => {
    let answered = false;
    const end = (settle: () => void) => {
      answered = true;
      if (hidden) terminal.stderr.write('\n');
      lines.close();
      settle();
    };
    lines.once('line', (line) => end(() => resolve(line)));
    lines.once('SIGINT', () => end(() => reject(interrupted())));
    lines.once('close', () => !answered && end(() => reject(declined())));
  });
}

/** Asks for a line. Interactive terminals only. */
export const askLine = async (terminal: Terminal, question: string) =>
  (await ask(terminal, `${question}: `, false)).trim();

/** Asks for a secret without showing it. Interactive terminals only. */
export const askSecret = (terminal: Terminal, question: string) =>
  ask(terminal, `${question}: `, true);

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
  if (!terminal.isInteractive) throw usageError(`${question} Nobody can be asked here`, instead);
  const answer = await ask(terminal, `${question} [y/N] `, false);
  if (!/^y(es)?$/i.test(answer.trim())) throw declined();
}

/** Everything on stdin, for `--with-key` and `-`. */
export async function readStdin(terminal: Terminal): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of terminal.stdin) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}
